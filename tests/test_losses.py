"""Losses: their values, best constants and forms for few background rows, beside plain twins and scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import clarysage as cs
import oracle
from clarysage.errors import InputError, ModelError
from clarysage.losses import as_loss
from clarysage.losses.debiasing import MeanEstimate, Taylor

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


# names with the value of a parameter


WITH_PARAMETERS = [
    cs.Pinball(0.9),
    cs.Pinball((0.1, 0.5, 0.9)),
    cs.Huber(1e-5),
    cs.Huber(3),
    cs.TweedieDeviance(np.float64(1.2)),
    cs.MultiLabel(label=2),
]


@pytest.mark.parametrize("loss", WITH_PARAMETERS, ids=lambda loss: loss.name)
def test_the_name_of_a_loss_with_a_parameter_stands_for_it(loss):
    assert as_loss(loss.name) == loss
    words, _, numbers = loss.name.partition("(")
    assert as_loss(f"{words.upper().replace(' ', '_')} ({numbers}") == loss
    assert "float64" not in loss.name


def test_a_parameter_may_be_named():
    assert as_loss("pinball(alpha=0.9)") == as_loss("Quantile( 0.9 )") == cs.Pinball(0.9)
    assert as_loss("huber(delta=2)").name == cs.Huber(2.0).name == "huber(2.0)"


@pytest.mark.parametrize(
    "name", ["brier(2)", "pinball()", "pinball(high)", "pinball(delta=0.5)", "pinball(0.5", "(0.5)"]
)
def test_names_with_parameters_that_a_loss_does_not_have_are_unknown(name):
    with pytest.raises(InputError, match=r"^loss: got .*; wanted one of 'squared error'"):
        as_loss(name)


def test_a_parameter_out_of_range_is_an_error_about_the_loss():
    with pytest.raises(InputError, match=r"^loss: got 'pinball\(2\)', with alpha 2; wanted a number between 0 and 1"):
        as_loss("pinball(2)")


def test_several_quantiles_of_one_response_are_judged_each_by_its_level(seed):
    rng = np.random.default_rng(seed)
    y, outputs, levels = rng.normal(size=50), rng.normal(size=(50, 3)), (0.1, 0.5, 0.8)
    loss = cs.Pinball(levels)
    target = loss.encode(y, None, outputs)
    by_level = [pinball(level) for level in levels]
    wanted = [sum(twin(y[i], outputs[i, j]) for j, twin in enumerate(by_level)) for i in range(50)]
    np.testing.assert_allclose(loss(outputs, target), wanted, rtol=1e-12)
    np.testing.assert_array_equal(
        loss.best_constant(target, np.ones(50), 3),
        [cs.Pinball(level).best_constant(target[:, :1], np.ones(50), 1)[0] for level in levels],
    )
    with pytest.raises(ModelError, match="got 2 outputs for each row; wanted one for each of the 3 levels"):
        loss.encode(y, None, outputs[:, :2])


# derivatives, best constants, and few background rows


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_those_of_difference_quotients(name, seed):
    loss, _, y, prediction = data_of(name, np.random.default_rng(seed))
    at, target, h = prediction[:, None], y[:, None], 1e-5
    first, second = loss.derivatives(at, target)
    away_from_kinks = np.abs(np.abs(y - prediction) - getattr(loss, "delta", np.inf)) > 10 * h
    values = [loss(at + step, target) for step in (-h, 0.0, h)]
    error = 1e-4 * np.maximum(1, 1 / prediction**4 if name in AMOUNTS else 1)  # derivatives grow near zero
    slopes = (values[2] - values[0]) / (2 * h)
    assert (np.abs(first[:, 0] - slopes) <= error * (1 + np.abs(slopes)))[away_from_kinks].all()
    slopes = (loss.derivatives(at + h, target)[0] - loss.derivatives(at - h, target)[0])[:, 0] / (2 * h)
    assert (np.abs(second[:, 0] - slopes) <= error * (1 + np.abs(slopes)))[away_from_kinks].all()


@of_both
def test_the_best_constant_has_the_least_weighted_mean_loss(name, seed):
    rng = np.random.default_rng(seed)
    loss, _, y, _ = data_of(name, rng, n=60)
    weights, target = rng.exponential(size=60) * (rng.random(60) < 0.8), y[:, None]
    best = loss.best_constant(target, weights, 1)

    def risk(constant):
        return weights @ loss(np.full((60, 1), constant), target)

    used = y[weights > 0]
    grid = np.linspace(max(used.min(), 1e-3 if name in AMOUNTS else -np.inf), used.max(), 2001)
    assert risk(best[0]) <= min(map(risk, grid)) * (1 + 1e-12)


@pytest.mark.parametrize("q", [4, 6])
@pytest.mark.parametrize("name", SMOOTH)
def test_the_correction_takes_off_most_of_the_bias_over_all_subsets_of_rows(name, q, seed):
    """The mean over all subsets of q of 8 rows, which is exact, beside that of the plain loss of their means."""
    rng = np.random.default_rng(seed)
    loss, _, y, _ = data_of(name, rng, n=1000)
    level = rng.normal(size=(1000, 1)) if name in NUMBERS else 1 + rng.gamma(2.0, size=(1000, 1))
    spread = 0.2 * loss.scale(level)
    rows = level + spread * rng.uniform(-1, 1, size=(1000, 8))  # predictions of each background row
    truth = loss(rows.mean(axis=1, keepdims=True), y[:, None])
    subsets = [list(subset) for subset in combinations(range(8), q)]
    plain, corrected = np.zeros(1000), np.zeros(1000)
    for subset in subsets:
        drawn = rows[:, subset]
        mean, variance = drawn.mean(axis=1, keepdims=True), drawn.var(axis=1, ddof=1, keepdims=True) / q * (1 - q / 8)
        estimate = MeanEstimate(mean, mean, variance)
        plain += loss(mean, y[:, None]) / len(subsets)
        corrected += loss.debiasing(loss, estimate, y[:, None]) / len(subsets)
    assert np.abs(corrected - truth).sum() < 0.25 * np.abs(plain - truth).sum()


@pytest.mark.parametrize("name", SMOOTH)
def test_the_correction_is_bounded_where_variances_are_large(name, seed):
    rng = np.random.default_rng(seed)
    loss, _, y, prediction = data_of(name, rng)
    at = prediction[:, None]
    target = y[:, None]
    bound = 0.5 * np.abs(loss.derivatives(at, target)[1] * loss.scale(at) ** 2)[:, 0]
    for variance in (0.0, 1e-3, 1.0, 1e6):
        estimate = MeanEstimate(at, at, np.full_like(at, variance))
        gap = np.abs(loss(at, target) - loss.debiasing(loss, estimate, target))
        assert (gap <= bound * (1 + 1e-9) + 1e-9 * np.abs(loss(at, target))).all()
        if variance == 0:
            assert not gap.any()


# values, against enumeration


def numbers(Z: np.ndarray) -> np.ndarray:
    return Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2])


def amounts(Z: np.ndarray) -> np.ndarray:
    return np.exp(numbers(Z) / 2)


def label_shares(Z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 2] - Z[:, 0]])))


def quantiles(Z: np.ndarray) -> np.ndarray:
    return np.column_stack([numbers(Z) - 1, numbers(Z) + 0.5 * Z[:, 2] ** 2])


def of_both_levels(y: float, p: Any) -> float:
    return pinball(0.1)(y, p[0]) + pinball(0.9)(y, p[1])


# name of the loss -> the model, the loss of one example, and how responses are drawn given the model's outputs
Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]
GAMES: dict[str, tuple[Any, Any, Draw]] = {
    **{name: (numbers, NUMBERS[name][1], lambda f, rng: f + rng.normal(size=len(f))) for name in NUMBERS},
    "pinball(0.1, 0.9)": (quantiles, of_both_levels, lambda f, rng: rng.normal(size=len(f))),
    "poisson deviance": (amounts, poisson, lambda f, rng: rng.poisson(f).astype(float)),
    "gamma deviance": (amounts, gamma, lambda f, rng: f * rng.gamma(2.0, size=len(f))),
    "tweedie deviance(1.1)": (amounts, tweedie(1.1), lambda f, rng: rng.poisson(f) * rng.gamma(2.0, size=len(f))),
    "multi label cross entropy": (label_shares, multi_label, lambda f, rng: (rng.random(f.shape) < f) * 1),
    "hinge": (numbers, hinge, lambda f, rng: (f + rng.normal(size=len(f)) > 0) * 1),
}


def twin_of(name: str) -> Any:
    twin = GAMES[name][1]
    is_of_one = GAMES[name][0] in (numbers, amounts)
    return (lambda y, p: twin(float(y), float(p))) if is_of_one else twin


@pytest.mark.parametrize("name", GAMES)
def test_exact_values_are_those_of_enumeration_with_the_twin(name, seed):
    rng, f = np.random.default_rng(seed), GAMES[name][0]
    X, background = rng.normal(size=(15, 3)), rng.normal(size=(9, 3))
    y = GAMES[name][2](f(X), rng)
    truth = oracle.sage(f, twin_of(name), X, y, background)
    exact = cs.sage(f, X, y, loss=name, background=background, method="exact")
    np.testing.assert_allclose(exact.values, truth, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", GAMES)
def test_values_from_few_background_rows_are_those_of_all_of_them(name, seed):
    """Paired walks draw 4 or 8 of 60 rows for each walk; what bias they have is corrected."""
    rng, f = np.random.default_rng(seed), GAMES[name][0]
    X, background = rng.normal(size=(40, 3)), rng.normal(size=(60, 3))
    y = GAMES[name][2](f(X), rng)
    options = {"loss": name, "background": background}
    truth = cs.sage(f, X, y, method="exact", **options).values
    values = cs.sage(f, X, y, method="paired walks", rng=seed, budget=400_000, tolerance=None, **options)
    assert (np.abs(values.values - truth) <= 6 * values.std_error + 1e-9).all()
    assert (values.std_error < 0.1 * np.abs(truth).max()).all()


def test_a_run_has_one_explanation_for_each_label(seed):
    """Each is that of the label's own model and cross entropy, and their mean is that of the mean loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    y = (rng.random((30, 2)) < label_shares(X)) * 1
    options = {"background": X[:12], "method": "exact"}
    by_label = cs.sage(label_shares, X, y, loss=cs.MultiLabel.each(2), **options)
    assert [explanation.loss for explanation in by_label] == [f"multi label cross entropy({j})" for j in range(2)]
    for j, explanation in enumerate(by_label):
        alone = cs.sage(lambda Z, j=j: label_shares(Z)[:, j], X, y[:, j], loss="cross entropy", **options)
        np.testing.assert_allclose(explanation.values, alone.values, rtol=0, atol=1e-12)
    together = cs.sage(label_shares, X, y, loss="multi label cross entropy", **options)
    mean = (by_label[0].values + by_label[1].values) / 2
    np.testing.assert_allclose(together.values, mean, rtol=0, atol=1e-12)


def score(y, p):
    return -np.abs(y - p)


def test_a_loss_that_seems_to_be_a_score_has_a_warning():
    X = np.random.default_rng(0).normal(size=(60, 2))
    (warning,) = (note for note in cs.sage(lambda X: X[:, 0], X, X[:, 0], loss=score, rng=0).notes if "worse" in note)
    assert warning.level == "warning"
    assert "No value of the loss score is positive." in warning
    assert "A loss must be smaller for better predictions: is larger better in score?" in warning


@pytest.mark.parametrize("loss", [lambda y, p: np.abs(y - p), lambda y, p: np.abs(y - p) - 1.0, "squared error"])
def test_a_model_that_predicts_worse_is_no_sign_of_a_score(loss):
    X = np.random.default_rng(0).normal(size=(60, 2))
    (note,) = (note for note in cs.sage(lambda X: -5 * X[:, 0], X, X[:, 0], loss=loss, rng=0).notes if "worse" in note)
    assert str(note) == "The model predicts worse with its features than without them on these examples."
