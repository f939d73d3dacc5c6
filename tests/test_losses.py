"""Losses: their values, best constants and forms for few background rows, beside plain twins and scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import clarysage as cs
from clarysage.losses.debiasing import Taylor

Twin = Callable[[Any, Any], float]


# plain twins, of one response and one prediction


def pinball(alpha: float) -> Twin:
    return lambda y, p: alpha * (y - p) if y >= p else (1 - alpha) * (p - y)


def huber(delta: float) -> Twin:
    return lambda y, p: (y - p) ** 2 / 2 if abs(y - p) <= delta else delta * abs(y - p) - delta**2 / 2


def log_cosh(y: float, p: float) -> float:
    return math.log((math.exp(y - p) + math.exp(p - y)) / 2)


def poisson(y: float, p: float) -> float:
    return 2 * p if y == 0 else 2 * (y * math.log(y) - y * math.log(p) - y + p)


def gamma(y: float, p: float) -> float:
    return 2 * (math.log(p) - math.log(y) + y / p - 1)


def tweedie(power: float) -> Twin:
    """Twice the integral of (y - m) / m^power from the prediction to y, term by term."""
    a, b = 1 - power, 2 - power
    return lambda y, p: 2 * ((y**b / (a * b) if y else 0.0) - y * p**a / a + p**b / b)


def hinge(y: int, margin: float) -> float:
    return max(0.0, 1 - (margin if y else -margin))


def multi_label(y: Any, p: Any) -> float:
    losses = [-math.log(q if label else 1 - q) for label, q in zip(y, p, strict=True)]
    return sum(losses) / len(losses)


NUMBERS: dict[str, tuple[Any, Twin]] = {
    "pinball(0.1)": (cs.Pinball(0.1), pinball(0.1)),
    "pinball": (cs.Pinball(), pinball(0.5)),
    "huber": (cs.Huber(), huber(1.0)),
    "huber(0.3)": (cs.Huber(0.3), huber(0.3)),
    "log cosh": (cs.LogCosh(), log_cosh),
}
AMOUNTS: dict[str, tuple[Any, Twin]] = {
    "poisson deviance": (cs.PoissonDeviance(), poisson),
    "gamma deviance": (cs.GammaDeviance(), gamma),
    "tweedie deviance": (cs.TweedieDeviance(), tweedie(1.5)),
    "tweedie deviance(1.1)": (cs.TweedieDeviance(1.1), tweedie(1.1)),
    "tweedie deviance(1)": (cs.TweedieDeviance(1.0), poisson),
    "tweedie deviance(2)": (cs.TweedieDeviance(2.0), gamma),
    "tweedie deviance(3)": (cs.TweedieDeviance(3.0), tweedie(3.0)),
}
SMOOTH = {name: pair for name, pair in {**NUMBERS, **AMOUNTS}.items() if isinstance(pair[0].debiasing, Taylor)}
of_numbers = pytest.mark.parametrize("name", NUMBERS)
of_amounts = pytest.mark.parametrize("name", AMOUNTS)
of_both = pytest.mark.parametrize("name", {**NUMBERS, **AMOUNTS})


def data_of(name: str, rng: np.random.Generator, n: int = 200) -> tuple[Any, Twin, np.ndarray, np.ndarray]:
    """A loss, its twin, responses and predictions, with zeros among the responses where the loss takes them."""
    loss, twin = {**NUMBERS, **AMOUNTS}[name]
    if name in NUMBERS:
        return loss, twin, rng.normal(size=n) * 2, rng.normal(size=n)
    y, prediction = rng.gamma(1.0, 2.0, size=n), rng.gamma(2.0, size=n)
    if loss.power < 2:
        y[: n // 4] = 0.0
    return loss, twin, y, prediction


@of_both
def test_losses_of_numbers_are_those_of_their_twins(name, seed):
    loss, twin, y, prediction = data_of(name, np.random.default_rng(seed))
    target = loss.encode(y, None, prediction[:, None])
    values = [twin(*pair) for pair in zip(y.tolist(), prediction.tolist(), strict=True)]
    np.testing.assert_allclose(loss(prediction[:, None], target), values, rtol=1e-11, atol=1e-12)


@of_both
def test_losses_of_several_outputs_are_sums(name, seed):
    rng = np.random.default_rng(seed)
    loss, _, y, prediction = data_of(name, rng)
    both = loss(prediction.reshape(-1, 2), y.reshape(-1, 2))
    alone = loss(prediction[:, None], y[:, None])
    np.testing.assert_allclose(both, alone.reshape(-1, 2).sum(axis=1), rtol=1e-13)


def test_means_of_losses_are_the_metrics_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    of_sklearn = {
        "pinball(0.1)": lambda y, p: metrics.mean_pinball_loss(y, p, alpha=0.1),
        "pinball": metrics.mean_pinball_loss,
        "poisson deviance": metrics.mean_poisson_deviance,
        "gamma deviance": metrics.mean_gamma_deviance,
        "tweedie deviance": lambda y, p: metrics.mean_tweedie_deviance(y, p, power=1.5),
        "tweedie deviance(3)": lambda y, p: metrics.mean_tweedie_deviance(y, p, power=3),
    }
    for name, metric in of_sklearn.items():
        loss, _, y, prediction = data_of(name, rng)
        assert loss(prediction[:, None], y[:, None]).mean() == pytest.approx(metric(y, prediction), rel=1e-11)
    y, margins = rng.choice([-1, 1], size=200), rng.normal(size=200) * 2
    target = cs.Hinge().encode(y, None, margins[:, None])
    assert cs.Hinge()(margins[:, None], target).mean() == pytest.approx(metrics.hinge_loss(y, margins), rel=1e-12)
    labels, outputs = rng.integers(2, size=(200, 3)), rng.random((200, 3))
    by_label = [metrics.log_loss(labels[:, j], outputs[:, j]) for j in range(3)]
    assert cs.MultiLabel()(outputs, labels).mean() == pytest.approx(np.mean(by_label), rel=1e-12)
    for loss, wanted in zip(cs.MultiLabel.each(3), by_label, strict=True):
        assert loss(outputs, labels).mean() == pytest.approx(wanted, rel=1e-12)
