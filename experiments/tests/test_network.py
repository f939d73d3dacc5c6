"""The network of the paper's experiments: what it learns, when it stops, and that its bits depend on the seed alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.parts import Part, Parts

pytestmark = pytest.mark.needs("torch")


def _parts(rows: int, *, noise: float = 0.0, seed: int = 0) -> Parts:
    """Draws points, labelled by the nearest of three corners; a share of the labels is random."""
    rng = np.random.default_rng(seed)

    def part(n: int) -> Part:
        y = rng.integers(3, size=n)
        X = np.eye(3)[y] + rng.normal(0, 0.15, size=(n, 3))
        y = np.where(rng.random(n) < noise, rng.integers(3, size=n), y)
        return Part(pd.DataFrame(X.astype(np.float32), columns=list("abc")), y)

    return Parts(part(rows), part(rows), part(rows))


def _trained(parts: Parts, **options: Any) -> Any:
    from experiments.network import trained

    return trained(parts, **{"width": 16, "rows": None, "epochs": 100, "seed": 0, **options})


def _weights(network: Any) -> np.ndarray:
    return np.concatenate([parameter.detach().numpy().ravel() for parameter in network.module.parameters()])


def test_a_learnable_problem_is_learned():
    parts = _parts(400)
    network = _trained(parts)
    right = network.classes_[network.predict_proba(parts.test.X).argmax(axis=1)] == parts.test.y
    assert right.mean() > 0.97


def test_chances_add_up_and_are_those_that_clarysage_sees():
    parts = _parts(200)
    network = _trained(parts, epochs=3)
    chances = network.predict_proba(parts.test.X)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert network.explained(parts.test.X.to_numpy()) == pytest.approx(chances, abs=1e-6)


def test_same_seed_same_bits_whatever_was_drawn_before():
    import torch

    parts = _parts(200)
    first = _weights(_trained(parts, epochs=3))
    torch.manual_seed(1)
    torch.rand(5)
    assert (_weights(_trained(parts, epochs=3)) == first).all()
    assert (_weights(_trained(parts, epochs=3, seed=1)) != first).any()


def test_the_number_of_threads_is_left_as_it_was():
    import torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        _trained(_parts(100), epochs=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_early_stopping_keeps_the_weights_of_the_best_epoch():
    """A network that was told to end at the epoch of least validation loss has the same weights."""
    from experiments.network import PATIENCE

    parts = _parts(60, noise=0.5)
    stopped = _trained(parts, width=64, epochs=500)
    assert PATIENCE < stopped.epochs < 500
    best = _trained(parts, width=64, epochs=stopped.epochs - PATIENCE)
    assert best.epochs == stopped.epochs - PATIENCE
    assert (_weights(best) == _weights(stopped)).all()


def test_weights_that_are_kept_do_best_on_the_validation_part():
    """The weights are those of the best epoch; runs that stop at each epoch tell which one that is."""
    parts = _parts(60, noise=0.5)
    stopped = _trained(parts, width=64, epochs=500)

    def loss(network: Any) -> float:
        chances = network.predict_proba(parts.validation.X)[np.arange(60), parts.validation.y]
        return float(-np.log(chances).mean())

    losses = [loss(_trained(parts, width=64, epochs=epochs)) for epochs in range(1, stopped.epochs + 1)]
    assert loss(stopped) == pytest.approx(min(losses))
    assert losses[0] > min(losses)


def test_so_many_rows_are_the_first_ones_and_a_fifth_as_many_validate():
    """The rest may be anything."""
    parts = _parts(200)
    spoiled = Parts(
        Part(parts.train.X.assign(a=np.where(np.arange(200) < 50, parts.train.X["a"], 99.0)), parts.train.y),
        Part(
            parts.validation.X.assign(a=np.where(np.arange(200) < 10, parts.validation.X["a"], 99.0)),
            parts.validation.y,
        ),
        parts.test,
    )
    assert (_weights(_trained(spoiled, rows=50)) == _weights(_trained(parts, rows=50))).all()
    assert (_weights(_trained(parts)) != _weights(_trained(parts, rows=50))).any()


def test_labels_may_be_any_numbers():
    parts = _parts(200)
    moved = Parts(*(Part(part.X, 10 * part.y + 5) for part in (parts.train, parts.validation, parts.test)))
    network = _trained(moved, epochs=5)
    assert network.classes_.tolist() == [5, 15, 25]
    assert (_weights(network) == _weights(_trained(parts, epochs=5))).all()


def test_the_surrogate_of_conditional_sage_gives_chances_none_of_which_is_nought():
    """The output is standardized by the targets, which the library reverts."""
    import torch

    from experiments.methods.chances import EVEN, Chances

    rng = np.random.default_rng(0)
    targets = rng.dirichlet(np.ones(4), size=50)
    rows = torch.tensor(rng.normal(0, 100, size=(30, 6)), dtype=torch.float32)
    first, same = (Chances(6, targets)(rows).detach().numpy() for _ in range(2))
    chances = first * targets.std(axis=0) + targets.mean(axis=0)
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert chances.min() > 0.99 * EVEN / 4
    assert (first == same).all()
