"""What "auto" chooses, and when it changes its mind: forecasts of model rows, and runs that prove them wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import clarysage as cs
from clarysage.estimators import Exact, PairedWalks, choose, estimate
from clarysage.estimators.forecast import expected_pairs, expected_rows
from clarysage.estimators.paired_walks.alternative import Alternative
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.games import PredictivePower
from clarysage.games.closed_form import AnalyticForm
from clarysage.inference.estimate import StopReason
from clarysage.inference.stopping import Budget, Converged, Deadline
from clarysage.removal import Marginal

N, M, P = 130, 110, 3
RNG = np.random.default_rng(5)
X, BACKGROUND = RNG.normal(size=(N, P)), RNG.normal(size=(M, P))


def score(rows):
    return rows[:, 0] + rows[:, 1] * rows[:, 2]


def votes(rows):
    """Probabilities of zero and one, as those of a classifier that votes."""
    return np.column_stack([score(rows) <= 0, score(rows) > 0]).astype(float)


def wrong(y, shares):
    """The zero-one loss as a loss of one's own, of which no forecast knows that it is a step function."""
    return np.asarray(shares)[np.arange(len(y)), np.asarray(y)] <= 0.5


Y = (score(X) + 0.5 * RNG.normal(size=N) > 0).astype(int)
OPTIONS = {"background": BACKGROUND, "loss": wrong, "rng": 0, "check_manifold": False}
COALITIONS = 2**P - 2


def game(loss=wrong, model=votes, y=Y, background=BACKGROUND):
    return PredictivePower.of(Marginal(background).restrict(model, X), loss, X, y)


def test_a_vote_is_enumerated_once_walks_turn_out_to_take_longer():
    """Walks were forecast to take 76,000 rows and would take 1.6 million; exact values take 86,000."""
    v = game()
    estimator, why = choose(v, [Converged()])
    assert isinstance(estimator, PairedWalks)
    assert "all coalitions would take 85,800 model rows, walks about 75,520" in why
    result = cs.sage(votes, X, Y, **OPTIONS)
    exact = cs.sage(votes, X, Y, method="exact", **OPTIONS)
    np.testing.assert_array_equal(result.values, exact.values)
    for about in ("rows", "population"):
        np.testing.assert_array_equal(result.targets[about].std_error, exact.targets[about].std_error)
    assert result.method == "exact"
    assert result.stopped is StopReason.EXACT
    assert exact.model_rows < result.model_rows < 1.3 * exact.model_rows
    assert any("Method 'exact' took over after 64 pairs of walks" in note for note in result.notes)


def test_a_forecast_for_a_step_function_is_mostly_about_its_bias():
    """Walks take 1.6 million rows, and exact values 86,000: these are chosen at once."""
    v = game("zero one")
    walks = expected_pairs(v, [Converged()]) * rows_of_pair(v)
    assert 10 * walks < expected_rows(v, [Converged()]) < 1.6e6
    estimator, why = choose(v, [Converged()])
    assert isinstance(estimator, Exact)
    assert "all coalitions take 85,800 model rows, no more than walks would" in why
    result = cs.sage(votes, X, Y, **{**OPTIONS, "loss": "zero one"})
    assert result.model_rows == N + M + COALITIONS * N * M


def test_walks_of_a_step_function_spend_most_rows_on_its_bias():
    """With as many rows for the correction as for walks they took 3.1 million rows to the same error."""
    many = np.random.default_rng(6).normal(size=(1000, P))
    options = {"background": many, "loss": "zero one", "rng": 0, "check_manifold": False, "tolerance": 0.05}
    result = cs.sage(votes, X, Y, method="paired walks", **options)
    assert result.model_rows < 2e6


def test_the_change_has_the_same_bits_with_any_workers():
    alone, shared = cs.sage(votes, X, Y, **OPTIONS), cs.sage(votes, X, Y, n_jobs=2, **OPTIONS)
    np.testing.assert_array_equal(alone.values, shared.values)
    assert alone.model_rows == shared.model_rows
    assert alone.notes == shared.notes


def test_all_rows_are_counted():
    asked = []

    def counted(rows):
        asked.append(len(rows))
        return votes(rows)

    result = cs.sage(counted, X, Y, **OPTIONS)
    assert result.method == "exact"
    assert sum(asked) == result.model_rows


@pytest.mark.parametrize(
    ("loss", "model", "y"), [("squared error", score, score(X)), ("cross entropy", votes, Y), (wrong, votes, Y)]
)
def test_forecasts_include_the_bias_correction(loss, model, y):
    v = game(loss, model, y)
    walks = expected_pairs(v, [Converged()]) * rows_of_pair(v)
    assert expected_rows(v, [Converged()]) == walks if v.subsampled.is_unbiased else walks + 16 * 2 * M + walks / 8


def test_walks_that_keep_to_their_forecast_go_on(seed):
    smooth = game("squared error", score, score(X), background=np.random.default_rng(6).normal(size=(2000, P)))
    estimator = PairedWalks(alternative=Alternative(Exact(), (Converged(),)))
    result, plain = (estimate(smooth, each, seed=seed) for each in (estimator, PairedWalks()))
    assert result.method is None
    assert result.stopped is StopReason.CONVERGED
    np.testing.assert_array_equal(result.values, plain.values)
    np.testing.assert_array_equal(result.covariance, plain.covariance)
    assert result.model_rows == plain.model_rows


@pytest.mark.parametrize(
    "stop",
    [
        [Converged(), Deadline(3600.0)],
        [Converged(), cs.SignsKnown()],
        [Converged(), Budget(N + M + COALITIONS * N * M)],
    ],
    ids=["deadline", "other rule", "budget that does not suffice"],
)
def test_some_runs_never_change(stop):
    """An enumeration cannot be cut short, walks may end at any time by a rule, and a budget is kept."""
    v = game()
    estimator, _ = choose(v, stop)
    result = estimate(v, estimator, stop=[lambda now: now.draws >= 700], seed=1)
    assert result.method is None
    assert result.draws >= 700


def test_a_budget_that_suffices_is_kept():
    enough = N + M + COALITIONS * N * M + 40_000
    result = cs.sage(votes, X, Y, budget=enough, **OPTIONS)
    assert result.method == "exact"
    assert result.model_rows <= enough


def interrupting(after, error):
    rows = [0]

    def model(batch):
        rows[0] += len(batch)
        if rows[0] > after:
            raise error
        return votes(batch)

    return model


def test_a_run_that_is_interrupted_after_the_change_returns_what_the_walks_had_estimated():
    whole = cs.sage(votes, X, Y, **OPTIONS)
    result = cs.sage(interrupting(whole.model_rows - 2 * N * M, KeyboardInterrupt()), X, Y, **OPTIONS)
    assert result.stopped is StopReason.INTERRUPTED
    assert result.method == "paired walks"
    assert result.draws == 64
    assert (result.std_error > 0).all()
    assert np.abs((result.values - whole.values) / result.std_error).max() < 6


def test_a_run_that_fails_after_the_change_goes_on_from_its_checkpoint(tmp_path):
    whole = cs.sage(votes, X, Y, **OPTIONS)
    broken = interrupting(whole.model_rows - 2 * N * M, OSError("gone"))
    broken.__name__ = broken.__qualname__ = "votes"
    with pytest.raises(cs.RunFailedError):
        cs.sage(broken, X, Y, checkpoint=tmp_path / "run", **OPTIONS)
    result = cs.sage(votes, X, Y, checkpoint=tmp_path / "run", tolerance=0.3, **OPTIONS)
    np.testing.assert_array_equal(result.values, whole.values)
    assert result.model_rows == whole.model_rows
    assert result.method == "exact"


def test_a_closed_form_that_seemed_slow_takes_over_too():
    """Its time is compared with that of the pairs of walks that are still to come."""
    exact = estimate(game(), Exact())
    assert exact.components is not None
    parts = exact.components.contributions

    def solve(examples):
        from clarysage.protocols import ClosedFormBatch

        return ClosedFormBatch(parts[examples].sum(axis=0), parts[examples])

    for seconds, method in ((3.0, "exact"), (3000.0, None)):
        form = AnalyticForm("it is known", solve, 1000, seconds, 1e-3)
        v = replace(game(), given_closed_form=form)
        stop = [Converged(), lambda now: now.draws >= 2000]
        estimator = PairedWalks(alternative=Alternative(choose_closed(), (Converged(),)))
        result = estimate(v, estimator, stop=stop, seed=0)
        assert result.method == method
    assert isinstance(choose(v, [Converged()])[0], PairedWalks)


def choose_closed():
    from clarysage.estimators import ClosedFormValues

    return ClosedFormValues(with_influence=False)


FEW = np.random.default_rng(7).integers(0, 4, size=(240, P)).astype(float)  # four values in each of three columns


def levels(rows):
    """A vote by whole numbers, one of three classes."""
    return np.eye(3)[(rows[:, 0] + rows[:, 1] * rows[:, 2]).astype(int) % 3]


@pytest.mark.parametrize("overlap", [0, 30])
@pytest.mark.parametrize("loss", ["zero one", "squared error", "cross entropy"])
def test_equal_hybrid_rows_are_passed_once(loss, overlap):
    """4 or 16 distinct cells times 16 or 4 of them, instead of 120 times 100 hybrid rows, and the same payoffs."""
    asked = []

    def model(rows):
        asked.append(len(rows))
        return levels(rows) if loss != "squared error" else rows[:, 0] * rows[:, 1] + rows[:, 2]

    x, b = FEW[:120], FEW[120 - overlap : 220]
    y = FEW[:120, 0] if loss == "squared error" else FEW[:120, 0].astype(int) % 3
    options = {"background": b, "loss": loss, "rng": 0, "check_manifold": False}
    result = cs.sage(model, x, y, **options)
    assert result.method == "exact"
    assert result.model_rows == sum(asked) <= 120 + len(b) + 16 + COALITIONS * 64
    assert "hybrid rows, no more than walks would" in str(result.notes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clarysage.games.subsampled.FEW_ROWS", 0.0)
        each = cs.sage(model, x, y, method="exact", **options)
    assert each.model_rows == 120 + len(b) + COALITIONS * 120 * len(b)
    np.testing.assert_array_equal(result.values, each.values)
    for about in ("rows", "population"):
        np.testing.assert_array_equal(result.targets[about].std_error, each.targets[about].std_error)


def test_groups_and_missing_cells_among_equal_rows():
    rows = np.random.default_rng(3).integers(0, 3, size=(90, 4)).astype(float)
    rows[::5, 3] = np.nan
    rows[1::7, 0] = -0.0

    def model(rows):
        return rows[:, 0] + rows[:, 1] * np.nan_to_num(rows[:, 3], nan=2.0) - np.signbit(rows[:, 0]) * rows[:, 2]

    options = {"background": rows[50:], "groups": {"both": [1, 3]}, "method": "exact", "check_manifold": False}
    result = cs.sage(model, rows[:50], rows[:50, 0], **options)
    assert result.model_rows < 90 + 16 + 6 * 50 * 40 / 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clarysage.games.subsampled.FEW_ROWS", 0.0)
        np.testing.assert_array_equal(result.values, cs.sage(model, rows[:50], rows[:50, 0], **options).values)


def test_a_model_that_does_not_repeat_itself_is_asked_for_every_row():
    noise = np.random.default_rng(0)

    def model(rows):
        return rows[:, 0] + noise.normal(size=len(rows))

    v = PredictivePower.of(Marginal(FEW[:50]).restrict(model, FEW[50:90]), "squared error", FEW[50:90], FEW[50:90, 0])
    assert v.subsampled.distinct_rows is None
    result = estimate(v, Exact())
    assert result.model_rows == v.rows_spent + COALITIONS * 40 * 50


def test_interactions_count_equal_rows_once_too():
    asked = []

    def model(rows):
        asked.append(len(rows))
        return rows[:, 0] * rows[:, 1]

    result = cs.interactions(model, FEW[:60], FEW[:60, 0], background=FEW[60:], rng=0, check_manifold=False)
    assert result.explanation.method == "exact"
    assert sum(asked) < 60 + 180 + 16 + COALITIONS * 64 + 1


def test_the_work_on_rows_whose_predictions_are_known_is_part_of_the_forecast():
    """Predictions of 64 rows are enough, but the losses of a million are not worth it if walks need 64,000."""
    many = np.random.default_rng(7).integers(0, 4, size=(1500, P)).astype(float)
    v = PredictivePower.of(
        Marginal(many[1000:]).restrict(lambda rows: rows.sum(axis=1), many), "squared error", many, many[:, 0]
    )
    estimator, why = choose(v, [Converged()])
    assert isinstance(estimator, PairedWalks)
    assert "model rows for 4,500,000 hybrid rows" in why
