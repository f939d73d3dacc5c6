"""Aggregated saliency of PyTorch modules: closed forms, completeness, sums of many small steps, and no trace left."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from clarysage._measures.aggregated_saliency import aggregated_saliency

torch = pytest.importorskip("torch")
N = 60


@pytest.fixture(name="X")
def examples(seed):
    return np.random.default_rng(seed).normal([0.0, 1.0, -2.0], size=(N, 3))


def _network(seed: int, outputs: int = 1, activation: type | None = None, dtype: object = None):
    torch.manual_seed(seed)
    between = torch.nn.Tanh if activation is None else activation
    layers = torch.nn.Linear(3, 8), between(), torch.nn.Linear(8, 8), between(), torch.nn.Linear(8, outputs)
    return torch.nn.Sequential(*layers).to(torch.float64 if dtype is None else dtype)


def _slowly(module, x, baseline, outputs, steps=4000):
    """Integrated gradients (n, k, d) as plain sums: slopes by differences of the module along each column."""
    found = np.zeros((len(x), outputs, x.shape[1]))
    nudge = 1e-5
    shares = (np.arange(steps) + 0.5) / steps
    for row, example in enumerate(x):
        way = baseline + shares[:, None] * (example - baseline)
        for column in range(x.shape[1]):
            aside = np.zeros(x.shape[1])
            aside[column] = nudge
            up, down = (module(torch.tensor(way + sign * aside)).detach().numpy() for sign in (1, -1))
            slopes = (up - down).reshape(steps, -1) / (2 * nudge)
            found[row, :, column] = slopes.mean(axis=0) * (example - baseline)[column]
    return found


def test_of_a_linear_module_it_is_the_mean_absolute_deviation_times_the_coefficient(X):
    module = torch.nn.Linear(3, 1).double()
    found = aggregated_saliency(module, X)
    weights = np.abs(module.weight.detach().numpy()[0])
    assert found.values == pytest.approx(weights * np.abs(X - X.mean(axis=0)).mean(axis=0))
    assert found.per_example == pytest.approx(weights * np.abs(X - X.mean(axis=0)))


def test_of_a_quadratic_it_is_known_in_closed_form(X):
    class Quadratic(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(3.0, dtype=torch.float64))

        def forward(self, rows):
            return self.factor * (rows[:, 0] ** 2 + rows[:, 1] * rows[:, 2])

    b = np.array([0.5, -1.0, 2.0])
    found = aggregated_saliency(Quadratic(), X, baseline=b)
    middle, way = (X + b) / 2, X - b  # slopes are linear, so that they average to those in the middle
    wanted = 3 * np.abs(np.stack([2 * middle[:, 0], middle[:, 2], middle[:, 1]], axis=1) * way)
    assert found.per_example == pytest.approx(wanted)
    assert found.values == pytest.approx(wanted.mean(axis=0))


def test_attributions_agree_with_sums_of_many_small_steps(X, seed):
    module, baseline = _network(seed, outputs=2), X[10:].mean(axis=0)
    wanted = _slowly(module, X[:6], baseline, 2)
    found = aggregated_saliency(module, X[:6], background=X[10:])
    assert found.per_example == pytest.approx(np.abs(wanted).sum(axis=1), rel=1e-3, abs=1e-4)
    own = np.array([0, 1, 1, 0, 1, 0])
    found = aggregated_saliency(module, X[:6], own, background=X[10:])
    assert found.per_example == pytest.approx(np.abs(wanted[np.arange(6), own]), rel=1e-3, abs=1e-4)


def test_probabilities_are_looked_at_where_the_predictor_makes_them(X, seed):
    module = _network(seed, outputs=3)
    wanted = _slowly(lambda rows: torch.softmax(module(rows), dim=1), X[:4], X[4:].mean(axis=0), 3)
    f = cs.as_predictor(module, output="softmax", classes=["u", "v", "w"])
    found = aggregated_saliency(f, X[:4], np.array(["w", "u", "v", "w"]), background=X[4:])
    assert found.per_example == pytest.approx(np.abs(wanted[np.arange(4), [2, 0, 1, 2]]), rel=1e-3, abs=1e-4)
    single = _network(seed)
    wanted = _slowly(lambda rows: torch.sigmoid(single(rows)), X[:4], X[4:].mean(axis=0), 1)
    found = aggregated_saliency(cs.as_predictor(single, output="sigmoid"), X[:4], background=X[4:])
    assert found.per_example == pytest.approx(np.abs(wanted[:, 0]), rel=1e-3, abs=1e-4)  # the first mirrors it
    pair = torch.nn.Sequential(_network(seed, outputs=2), torch.nn.Softmax(dim=1))
    found, first = aggregated_saliency(pair, X), aggregated_saliency(pair, X, np.zeros(N, dtype=int))
    assert found.per_example == pytest.approx(first.per_example)


def test_more_steps_are_taken_where_attributions_do_not_add_up(X, seed):
    class Kink(torch.nn.Module):
        def forward(self, rows):
            return torch.clamp((rows[:, :1] + 7.9) / 2, 0, 1)  # all of which lies between baseline and examples

    below = [-8.0, 0.0, 0.0]
    few, many = (aggregated_saliency(Kink(), X, baseline=below, steps=steps) for steps in (8, None))
    assert any("misses the change of the output" in note for note in few.notes)
    assert not any("misses the change of the output" in note for note in many.notes)
    assert many.per_example[:, 0] == pytest.approx(1.0, abs=0.01)
    assert many.model_rows > few.model_rows


def test_a_module_that_jumps_is_said_to_have_no_gradients_that_add_up(X):
    class Jump(torch.nn.Module):
        def forward(self, rows):
            return (rows > 0).to(rows.dtype).sum(dim=1, keepdim=True) + 0 * rows.sum(dim=1, keepdim=True)

    found = aggregated_saliency(Jump(), X, steps=16)
    assert any("misses the change of the output" in note for note in found.notes)


def test_single_precision_is_fine(X, seed):
    network = _network(seed, outputs=2, dtype=torch.float32)
    single = aggregated_saliency(network, X)
    double = aggregated_saliency(network.double(), X)
    assert single.values == pytest.approx(double.values, rel=1e-3)
    assert not any("add up" in note for note in single.notes)


def test_the_module_is_left_as_it_was(X, seed):
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(), torch.nn.Linear(4, 1)
    )
    module[0].weight.requires_grad_(False)
    module[1].eval()
    state = {name: value.clone() for name, value in module.state_dict().items()}
    modes = [part.training for part in module.modules()]
    with torch.no_grad():
        first = aggregated_saliency(module, X)
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        second = aggregated_saliency(module, X)
    assert first.values.tolist() == second.values.tolist()
    assert [part.training for part in module.modules()] == modes
    assert all(parameter.grad is None for parameter in module.parameters())
    assert [part.requires_grad for part in module.parameters()] == [False, True, True, True, True, True]
    assert all(torch.equal(value, state[name]) for name, value in module.state_dict().items())


def test_rows_that_the_module_writes_into_stay_as_they_are(X):
    class Rude(torch.nn.Module):
        def forward(self, rows):
            rows *= 2.0
            return rows.sum(dim=1)

    kept = X.copy()
    assert aggregated_saliency(Rude(), X).values == pytest.approx(2 * np.abs(X - X.mean(axis=0)).mean(axis=0), rel=1e-5)
    assert np.array_equal(X, kept)


def test_batches_change_nothing(X, seed, monkeypatch):
    module = _network(seed)
    whole = aggregated_saliency(module, X)
    monkeypatch.setattr("clarysage.models.torch.GRADIENT_ROWS", 100)
    assert aggregated_saliency(module, X).values == pytest.approx(whole.values)


def test_intervals_are_those_of_a_mean_over_examples(X, seed):
    found = aggregated_saliency(_network(seed), X)
    target = found.target("rows")
    assert found.shown == "rows"
    assert target.values == pytest.approx(found.per_example.mean(axis=0))
    assert target.std_error == pytest.approx(found.per_example.std(axis=0, ddof=1) / np.sqrt(N))
    assert (target.dof <= N - 1).all()
    assert found.std_error.tolist() == [0.0, 0.0, 0.0]


def test_weights_count_like_rows_that_come_several_times(X, seed):
    module, times = _network(seed), np.arange(N) % 3
    weighted = aggregated_saliency(module, X, sample_weight=times)
    repeated = aggregated_saliency(module, np.repeat(X, times, axis=0))
    assert weighted.values == pytest.approx(repeated.values)


def test_groups_and_names(X, seed):
    module = _network(seed)
    alone = aggregated_saliency(module, pd.DataFrame(X, columns=["a", "b", "c"]))
    grouped = aggregated_saliency(module, X, feature_names=["a", "b", "c"], groups={"ends": ["a", "c"]})
    assert alone.feature_names == ("a", "b", "c")
    assert grouped.feature_names == ("ends", "b")
    wanted = np.stack([alone.per_example[:, 0] + alone.per_example[:, 2], alone.per_example[:, 1]], axis=1)
    assert grouped.per_example == pytest.approx(wanted)
    assert grouped.values == pytest.approx(wanted.mean(axis=0))


def test_it_is_kept_with_its_examples(X, seed, tmp_path):
    found = cs.importance("aggregated saliency", _network(seed), X)
    found.save(tmp_path / "found.json")
    loaded = cs.load(tmp_path / "found.json")
    assert loaded.values.tolist() == found.values.tolist()
    assert loaded.interval()[0].tolist() == found.interval()[0].tolist()


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"steps": 0}, "steps"),
        ({"outputs": "some"}, "outputs"),
        ({"outputs": "own class"}, "y"),
        ({"y": np.full(N, 7)}, "y"),
        ({"baseline": [0.0, 1.0]}, "baseline values"),
        ({"baseline": [0.0, 1.0, 2.0], "background": np.zeros((2, 3))}, "background"),
    ],
)
def test_options_are_checked(X, seed, options, argument):
    with pytest.raises(cs.InputError) as caught:
        aggregated_saliency(_network(seed, outputs=2), X, **options)
    assert caught.value.argument == argument


def test_cells_must_be_numbers(X, seed):
    X[3, 1] = np.nan
    with pytest.raises(cs.InputError, match="missing"):
        aggregated_saliency(_network(seed), X, baseline=[0.0, 0.0, 0.0])


def test_a_module_without_gradients_is_refused(X):
    class Detached(torch.nn.Module):
        def forward(self, rows):
            return rows.detach().sum(dim=1)

    with pytest.raises(cs.ModelError, match="carry no gradients"):
        aggregated_saliency(Detached(), X)
