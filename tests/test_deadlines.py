"""Deadlines hold: models advance a clock that stands still otherwise, so that no test depends on real times."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import clarysage as cs
from clarysage import StopReason
from clarysage._utils.pace import Pace
from clarysage.games.proxy_model import ProxyModel
from clarysage.protocols import ability
from clarysage.structure.linear import Linear

N, M = 60, 32


class Clock:
    """A clock that only models advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class SlowModel:
    """A model that takes time for each row and each call, and records the rows of its calls."""

    def __init__(self, clock: Clock, per_row: float, per_call: float = 0.0) -> None:
        self.clock, self.per_row, self.per_call = clock, per_row, per_call
        self.calls: list[int] = []

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.calls.append(len(rows))
        self.clock.now += self.per_call + self.per_row * len(rows)
        return np.asarray(rows.sum(axis=1) + rows[:, 0] * rows[:, 1])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def tables(columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, columns))
    return X, X[:, 0] + rng.normal(size=N), rng.normal(size=(M, columns))


def taken(clock: Clock, call: Callable[[], Any]) -> tuple[float, Any]:
    """Returns the seconds of a call, and its result or its error."""
    began = clock.now
    try:
        result = call()
    except cs.InputError as error:
        result = error
    return clock.now - began, result


MEASURES = {
    "sage": cs.sage,
    "shapley effects": cs.shapley_effects,
    "mean loss shap": cs.mean_loss_shap,
    "mean absolute shap": cs.mean_absolute_shap,
    "permutation importance": cs.permutation_importance,
    "conditional permutation importance": cs.conditional_permutation_importance,
    "interactions": cs.interactions,
}


SPEEDS = [
    (1.0, 1e-4),
    (1.0, 1e-3),
    (5.0, 1e-3),
    (1.0, 5e-3),
    (5.0, 5e-3),
    (60.0, 5e-3),
    (5.0, 0.05),
    (60.0, 0.5),
    (1.0, 0.5),
]


@pytest.mark.parametrize(("seconds", "per_row"), SPEEDS)
@pytest.mark.parametrize("measure", MEASURES)
def test_deadline_holds_within_a_tenth_or_one_row(measure, seconds, per_row, clock):
    X, y, background = tables(8)
    model = SlowModel(clock, per_row)
    options = {"background": background, "tolerance": 1e-9, "deadline": seconds, "rng": 1}
    passed, result = taken(clock, lambda: MEASURES[measure](model, X, y, **options))
    assert passed <= max(1.1 * seconds, seconds + per_row)
    if isinstance(result, cs.InputError):
        assert result.argument == "deadline"
        assert re.search(r"wanted (at least about [\d.,]+ s|more time)", str(result))


@pytest.mark.parametrize("method", ["paired walks", "permutation", "kernel", "surrogate walks"])
def test_deadline_holds_for_every_method(method, clock):
    X, y, background = tables(6)
    model = SlowModel(clock, 2e-3)
    options = {"background": background, "tolerance": 1e-9, "deadline": 5.0, "rng": 2, "method": method}
    passed, result = taken(clock, lambda: cs.sage(model, X, y, **options))
    assert 4 <= passed <= 5.5
    assert result.stopped is StopReason.DEADLINE
    assert sum(model.calls) == pytest.approx(result.model_rows, abs=options["deadline"] / 10 / model.per_row)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_overhead_of_a_call_is_not_taken_for_the_time_of_its_rows(share, clock):
    """A call of 0.4 s, whatever its rows: few calls are made, and the time is used."""
    X, y, background = tables(6)
    model = SlowModel(clock, share * 1e-4, per_call=0.4)
    options = {"background": background, "tolerance": 1e-9, "deadline": 8.0, "rng": 2}
    passed, result = taken(clock, lambda: cs.sage(model, X, y, **options))
    assert passed <= 8.0 + 0.4 + 0.4
    assert result.stopped is StopReason.DEADLINE
    assert sum(model.calls) > 100 * len(model.calls)


def test_first_call_that_takes_long_is_not_held_against_the_others(clock):
    """As where a model imports a library, or compiles itself, when it is first called."""
    X, y, background = tables(6)
    model = SlowModel(clock, 1e-4)

    def lazy(rows: np.ndarray) -> np.ndarray:
        clock.now += 3.0 * (not model.calls)
        return model(rows)

    options = {"background": background, "tolerance": 1e-9, "deadline": 10.0, "rng": 2}
    passed, result = taken(clock, lambda: cs.sage(lazy, X, y, **options))
    assert 9.8 <= passed <= 11
    assert result.model_rows > 0.9 * (10 - 3) / 1e-4


@pytest.mark.parametrize(
    ("measure", "seconds"), [("sage", 20.0), ("permutation importance", 60.0), ("interactions", 100.0)]
)
def test_too_short_a_deadline_is_refused_as_soon_as_that_is_known(measure, seconds, clock):
    X, y, background = tables(8)
    model, options = SlowModel(clock, 0.4), {"background": background, "tolerance": 1e-9, "rng": 1}
    passed, result = taken(clock, lambda: MEASURES[measure](model, X, y, deadline=seconds, **options))
    assert isinstance(result, cs.InputError)
    needed = float(re.search(r"at least about ([\d.]+) s", str(result))[1])
    assert passed < seconds < needed
    passed, result = taken(clock, lambda: MEASURES[measure](model, X, y, deadline=1.1 * needed, **options))
    assert passed <= 1.1 * 1.1 * needed


def test_deadline_of_less_than_a_second_asks_for_an_estimate_as_soon_as_possible(clock):
    X, y, background = tables(8)
    options = {"background": background, "tolerance": 1e-9, "deadline": 0.1, "rng": 1}
    passed, result = taken(clock, lambda: cs.sage(SlowModel(clock, 0.01), X, y, **options))
    assert 1 < passed < 10
    assert result.draws >= 2
    assert any("took" in note and "0.1 s" in note for note in result.notes)
    passed, result = taken(clock, lambda: cs.sage(SlowModel(clock, 0.2), X, y, **options))
    assert passed < 10
    assert isinstance(result, cs.InputError)


def test_without_a_deadline_calls_are_not_cut(clock):
    X, y, background = tables(8)
    model = SlowModel(clock, 1.0)
    cs.sage(model, X, y, background=background, budget=5000, method="paired walks", rng=1)
    assert model.calls[:2] == [N, M]
    assert max(model.calls) > 300


def test_deadline_that_is_far_away_changes_no_bit(clock):
    X, y, background = tables(8)
    options = {"background": background, "tolerance": 0.1, "method": "paired walks", "rng": 1}
    plain = cs.sage(SlowModel(clock, 1e-6), X, y, **options)
    timed = cs.sage(SlowModel(clock, 1e-6), X, y, deadline=1e5, **options)
    assert plain.values.tobytes() == timed.values.tobytes()
    assert plain.std_error.tobytes() == timed.std_error.tobytes()


def test_run_goes_on_from_its_checkpoint_with_draws_of_its_own(clock, tmp_path):
    """Chunks follow the speed of the model, and the file knows them: no draw is made twice."""
    X, y, background = tables(5)
    model = SlowModel(clock, 1e-3)
    options = {"background": background, "method": "paired walks", "tolerance": 0.03, "rng": 4}
    draws = [0]
    for _ in range(200):
        found = cs.sage(model, X, y, deadline=3.0, checkpoint=tmp_path / "run", **options)
        assert found.draws > draws[-1] or found.converged
        draws.append(found.draws)
        if found.converged:
            break
    assert found.converged
    assert len(draws) > 3
    exact = cs.sage(SlowModel(clock, 0.0), X, y, background=background, method="exact")
    assert np.all(np.abs(found.values - exact.values) <= 6 * found.std_error)


@pytest.mark.parametrize("seconds_of_call", [0.3, 4.0])
def test_deadline_holds_where_the_structure_of_a_model_is_evaluated(seconds_of_call, clock, monkeypatch):
    """Evaluations of a known structure cannot be cut, but none begins after the deadline."""
    X, y, background = tables(12)
    model = LogisticRegression().fit(X, y > 0)
    evaluate = Linear.prefix_margins

    def slowly(*args: Any) -> np.ndarray:
        clock.now += seconds_of_call
        return evaluate(*args)

    monkeypatch.setattr(Linear, "prefix_margins", slowly)
    options = {"background": background, "tolerance": 1e-9, "deadline": 5.0, "rng": 2, "method": "paired walks"}
    passed, result = taken(clock, lambda: cs.sage(model, X, y > 0, **options))
    if isinstance(result, cs.InputError):
        assert seconds_of_call == 4.0
        assert passed <= 10.0 + seconds_of_call
        assert "more time before the first estimate" in str(result)
    else:
        assert passed <= 5.0 + seconds_of_call


def test_what_is_left_out_for_lack_of_time_is_named(clock):
    X, y, background = tables(8)
    options = {"background": background, "tolerance": 1e-9, "rng": 1}
    hasty = cs.sage(SlowModel(clock, 1e-4), X, y, deadline=0.5, **options)
    assert any("was not tested, since the deadline is near" in note for note in hasty.notes)
    patient = cs.sage(SlowModel(clock, 1e-4), X, y, deadline=20.0, **options)
    assert not any("was not tested" in note for note in patient.notes)


@pytest.mark.parametrize("method", ["permutation", "paired walks", "kernel", "exact"])
@pytest.mark.parametrize("seconds_of_fit", [0.05, 0.5, 5.0])
def test_deadline_holds_for_refits_within_a_tenth_or_one_coalition(method, seconds_of_fit, clock):
    class Slow(LinearRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            clock.now += seconds_of_fit
            return super().fit(X, y, sample_weight)

    X, y, _ = tables(10)
    options = {"folds": 2, "tolerance": 1e-9, "rng": 1, "method": method}
    passed, result = taken(clock, lambda: cs.universal_power(Slow(), X, y, deadline=20.0, **options))
    assert passed <= max(22.0, 20.0 + 2 * 2 * seconds_of_fit)
    if isinstance(result, cs.InputError):
        assert re.search(r"got 20 s; wanted (at least about [\d.,]+ s|more time)", str(result))
    else:
        assert result.stopped is StopReason.DEADLINE


def test_rows_that_may_be_known_are_no_reason_to_say_how_long_it_takes(clock):
    """With cells of 0 and 1 most hybrid rows are known: rows that are counted in advance say nothing about the time."""
    X, y, background = tables(40)
    X, background = (X > 1.5) * 1.0, (background > 1.5) * 1.0
    options = {"background": background, "tolerance": 1e-9, "rng": 1, "loss": "squared error"}
    passed, result = taken(clock, lambda: cs.sage(SlowModel(clock, 0.05), X, y, deadline=6.0, **options))
    assert passed <= 6.6
    assert isinstance(result, cs.InputError)
    assert "at least" not in str(result)


def test_preparations_of_surrogates_keep_the_deadline(clock, monkeypatch):
    """Predictions of a surrogate take time, too: the values of a surrogate take a part of the rest, and no more."""
    predict = ProxyModel.__call__

    def slowly(proxy: ProxyModel, codes: np.ndarray) -> np.ndarray:
        clock.now += 5e-4 * len(codes)
        return predict(proxy, codes)

    monkeypatch.setattr(ProxyModel, "__call__", slowly)
    X, y, background = tables(6)
    options = {"background": background, "tolerance": 1e-9, "deadline": 20.0, "rng": 2, "method": "surrogate walks"}
    passed, result = taken(clock, lambda: cs.sage(SlowModel(clock, 2e-3), X, y, **options))
    assert passed <= 22
    assert result.stopped is StopReason.DEADLINE


def test_a_predictor_has_no_state_of_its_calls():
    """Restricted models of the same predictor measured their calls together: one deadline ended the other's run."""
    f, rows = cs.as_predictor(lambda table: np.asarray(table)[:, 0]), np.random.default_rng(0).normal(size=(20, 2))
    one, other = (cs.Marginal(rows).restrict(f, rows) for _ in range(2))
    one.full(rows)
    first, second = ability(one, Pace), ability(other, Pace)
    assert first is not None
    assert second is not None
    assert first.asked > second.asked
    assert f.pace is None
