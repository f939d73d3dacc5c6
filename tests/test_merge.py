"""merge: runs made apart with different seeds are one; what is not the same game, or the same draws, is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm as normal

import clarysage as cs
from clarysage._measures.explanations import explanations_of
from clarysage.errors import InputError, Note
from clarysage.estimators import Exact, PairedWalks, Permutation, estimate
from clarysage.estimators.limits import Chunk
from clarysage.estimators.loop import ChunkSampler
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Target
from clarysage.inference.sequential import level_of
from clarysage.removal import Marginal
from clarysage.results.compare import reordered
from tests.lab.coverage import binomial_room, covers
from tests.lab.populations import POPULATIONS
from tests.lab.repeated_runs import AfterDraws

NOTHING_BY_ROW = {"parts": None, "parts_weight": None, "parts_error": None}


def f(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows[:, 0] * rows[:, 1] + rows[:, 2])


@cache
def data(n: int = 24, m: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, f(X) + rng.normal(size=n) / 2, rng.normal(size=(m, 4))


def game(n: int = 24, m: int = 12) -> PredictivePower:
    X, y, B = data(n, m)
    return PredictivePower.of(Marginal(B).restrict(f, X), "squared error", X, y)


def read(v: Any, estimator: Any, draws: int | None, seed: int) -> cs.Explanation:
    """A run of so many draws, at the least, as an explanation; exact where there is no number."""
    stop = [] if draws is None else [AfterDraws(draws)]
    result = estimate(v, estimator, stop=stop, seed=seed)
    told = {"measure": "sage", "removal": "marginal", "method": estimator.name, "provenance": {"seed": seed}}
    return explanations_of(v, result, v.players, range(v.n_players), headline="", notes=(), **told)[0]


@cache
def run(seed: int, **options: Any) -> cs.Explanation:
    X, y, B = data()
    chosen = {"background": B, "loss": "squared error", "method": "paired walks", "budget": 4000, **options}
    found: cs.Explanation = cs.sage(f, X, y, rng=seed, **chosen)
    return found


def lean(explanation: cs.Explanation) -> cs.Explanation:
    """As a file has it that was written without rows."""
    return replace(explanation, **NOTHING_BY_ROW)


def refusal(*explanations: Any) -> str:
    with pytest.raises(InputError) as error:
        cs.merge(list(explanations))
    return str(error.value)


def assert_close(one: cs.Explanation, other: cs.Explanation) -> None:
    """The same numbers, but for rounding."""
    for about in {"data", *one.targets, *other.targets}:
        for part in ("values", "std_error", "dof", "skew"):
            mine, its = (getattr(each.target(about), part) for each in (one, other))
            np.testing.assert_allclose(mine, its, rtol=1e-8, atol=1e-12, err_msg=f"{about} {part}")
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9, atol=1e-15)


# values and errors


def test_values_are_means_by_draws_and_covariances_add_with_squared_weights() -> None:
    runs = [run(1), run(2, budget=9000), run(3)]
    merged = cs.merge(runs)
    draws = np.array([one.draws for one in runs])
    assert len(set(draws)) == 2
    w = draws / draws.sum()
    np.testing.assert_allclose(merged.values, w @ [one.values for one in runs], rtol=1e-12, atol=1e-15)
    wanted = sum(weight**2 * one.covariance for weight, one in zip(w, runs, strict=True))
    np.testing.assert_allclose(merged.covariance, wanted, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(merged.std_error**2, np.diagonal(wanted), rtol=1e-9, atol=1e-18)
    assert merged.draws == draws.sum()
    assert merged.model_rows == sum(one.model_rows for one in runs)
    assert (merged.total, merged.base, merged.constant) == (runs[0].total, runs[0].base, 0.0)
    used = merged.std_error > 1e-9
    doubt = sum(weight**4 * one.std_error**4 / (one.dof + 1) for weight, one in zip(w, runs, strict=True))
    np.testing.assert_allclose(merged.dof[used], merged.std_error[used] ** 4 / doubt[used] - 1, rtol=1e-9)
    assert (merged.dof[used] > min(one.dof[used].min() for one in runs)).all()


def test_two_streams_merged_are_the_states_of_both_merged_in_one_run() -> None:
    v, walks, found, states = game(), Permutation(), [], []
    for seed in (1, 2):
        found.append(read(v, walks, 300, seed))
        chunks = range(0, found[-1].draws, walks.chunk(v))
        made = [ChunkSampler(walks, v, seed)(Chunk(i, first, walks.chunk(v))) for i, first in enumerate(chunks)]
        state = made[0]
        for part in made[1:]:
            state = walks.merge(state, part)
        states.append(state)
    both = walks.read(v, walks.merge(*states))
    merged = cs.merge(found)
    assert both.draws == merged.draws
    np.testing.assert_allclose(merged.values, both.values[0], rtol=1e-10, atol=1e-14)
    # in one run, deviations are from the mean of both: of relative size 1 / n for each
    np.testing.assert_allclose(merged.std_error, both.std_error[0], rtol=0.02)


@cache
def many(seed: int, pairs: int = 150) -> tuple[np.ndarray, np.ndarray, list[cs.Explanation]]:
    """Pairs of runs of few draws, merged; of which one makes three times as many as the other."""
    v = game()
    exact = read(v, Exact(), None, 0)
    merged = [
        cs.merge([read(v, PairedWalks(), draws, 10_000 * (seed + 1) + 2 * k + i) for i, draws in enumerate((64, 192))])
        for k in range(pairs)
    ]
    return exact.values, np.array([one.values for one in merged]), merged


@pytest.mark.statistical
def test_reported_variance_is_that_of_merged_values_over_seeds(seed: int) -> None:
    truth, values, merged = many(seed)
    n = len(values)
    reported = np.mean([one.std_error**2 for one in merged], axis=0)
    used = reported > 1e-20
    off = values[:, used] - values[:, used].mean(axis=0)
    variance = (off**2).sum(axis=0) / (n - 1)
    error = np.sqrt(((off**4).mean(axis=0) - variance**2) / n)  # of a variance, whatever the law
    assert used.sum() == 3
    assert (np.abs(variance - reported[used]) < 5 * error).all(), (variance, reported[used], error)
    bias = np.abs(values.mean(axis=0) - truth)[used]
    assert (bias < 5 * np.sqrt(variance / n)).all()


@pytest.mark.statistical
def test_intervals_about_the_data_hold_exact_values_95_percent_of_the_time(seed: int) -> None:
    truth, _, merged = many(seed)
    ends = (explanation.interval(0.95, about="data") for explanation in merged)
    share = covers(ends, truth, rounding=1e-12).mean(axis=0)[:3]
    assert (np.abs(share - 0.95) < binomial_room(len(merged), std_errors=5)).all(), share


def fresh(name: str, number: int, *, examples: int, background: int, runs: int, passes: float) -> list[cs.Explanation]:
    """Runs on the same fresh rows of a population."""
    rng = np.random.default_rng([number, 77])
    v = POPULATIONS[name]().game(examples, background, rng)
    return [read(v, PairedWalks(), int(passes * examples), 100 * number + k + 1) for k in range(runs)]


def coverage(name: str, times: int, seed: int, **shape: Any) -> dict[str, np.ndarray]:
    """Coverage of each feature by merged intervals about the population, with parts and without."""
    truth = POPULATIONS[name]().truth
    runs = [fresh(name, 10_000 * seed + number, **shape) for number in range(times)]
    given = {"with rows": runs, "without": [[lean(explanation) for explanation in each] for each in runs]}
    ends = {key: [cs.merge(each).interval(0.95, about="population") for each in given[key]] for key in given}
    return {key: covers(ends[key], truth, rounding=1e-9).mean(axis=0) for key in ends}


@pytest.mark.statistical
@pytest.mark.parametrize("passes", [2.0, 0.8], ids=["every row seen", "rows unseen"])
def test_intervals_about_the_population_hold_its_values_no_less_often_than_they_say(passes: float, seed: int) -> None:
    times = 40
    found = coverage("linear", times, seed, examples=100, background=50, runs=3, passes=passes)
    for share in found.values():
        assert (share > 0.95 - binomial_room(times, std_errors=5)).all(), share
        assert share.mean() > 0.95 - binomial_room(times, std_errors=3.5), share


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "boosting", "logistic"])
def test_intervals_about_the_population_hold_in_many_runs(name: str, seed: int) -> None:
    times = 150
    found = coverage(name, times, seed, examples=150, background=80, runs=4, passes=2.0)
    for share in found.values():
        assert (share > 0.93 - binomial_room(times, std_errors=4)).all(), share


def test_what_rows_and_background_are_off_by_stays_and_sampling_averages_out() -> None:
    v = game(60, 30)
    exact = read(v, Exact(), None, 0)
    runs = [read(v, PairedWalks(), 120, seed) for seed in range(1, 41)]
    used = exact.std_error.size - 1
    for given in (runs, [lean(one) for one in runs]):
        merged = cs.merge(given)
        for about in ("rows", "population"):
            alone = np.mean([one.targets[about].std_error ** 2 for one in runs], axis=0)[:used]
            shared = exact.targets[about].std_error[:used] ** 2
            found = merged.targets[about].std_error[:used] ** 2
            assert (found < 0.97 * alone).all()
            # left is a fortieth of the sampling, and how far estimates of the shared part are off
            np.testing.assert_allclose(found, shared, rtol=0.15)
            assert (found >= merged.std_error[:used] ** 2).all()


def test_errors_about_rows_are_those_of_averaged_parts() -> None:
    runs = [run(1), run(2)]
    assert all(one.parts is not None for one in runs)
    merged = cs.merge(runs)
    e, w = merged.parts, merged.parts_weight
    np.testing.assert_allclose(e, (runs[0].parts + runs[1].parts) / 2, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(e.sum(axis=0), merged.values, rtol=1e-9, atol=1e-12)
    n, off = len(e), e - w[:, None] * merged.values
    wanted = n / (n - 1) * (off**2).sum(axis=0) + merged.parts_error**2
    np.testing.assert_allclose(merged.targets["rows"].std_error ** 2, wanted, rtol=1e-9, atol=1e-15)


def test_without_parts_sampling_alone_shrinks() -> None:
    runs = [lean(run(1)), lean(run(2))]
    merged = cs.merge(runs)
    for about in ("rows", "population"):
        V, own = (np.array([one.targets[about].std_error ** 2 for one in runs]), [one.std_error**2 for one in runs])
        wanted = (V - own).mean(axis=0) + np.sum(own, axis=0) / 4
        np.testing.assert_allclose(merged.targets[about].std_error ** 2, wanted, rtol=1e-9, atol=1e-15)
    assert merged.parts is None


@pytest.mark.parametrize("form", [lambda one: one, lean], ids=["with rows", "without"])
def test_merging_is_associative(form: Callable[[cs.Explanation], cs.Explanation]) -> None:
    v = game(200, 30)  # enough rows for degrees of freedom above the fewest there can be, where they stop adding up
    a, b, c, d = (form(read(v, PairedWalks(), 300 + 100 * seed, seed)) for seed in (1, 2, 3, 4))
    whole = cs.merge([a, b, c, d])
    for other in (cs.merge([cs.merge([a, b]), c, d]), cs.merge([cs.merge([a, b]), cs.merge([c, d])])):
        assert_close(whole, other)
        assert (other.draws, other.model_rows, other.looks) == (whole.draws, whole.model_rows, whole.looks)
        assert other.provenance == whole.provenance
        assert other.notes == whole.notes
        assert other.stopped is whole.stopped
    np.testing.assert_allclose(cs.merge([cs.merge([a, b]), c, d]).trace, whole.trace, rtol=1e-9)


def test_merging_does_not_depend_on_the_order_of_runs() -> None:
    assert_close(cs.merge([run(1), run(2), run(3)]), cs.merge([run(3), run(1), run(2)]))


def test_features_in_another_order_are_put_in_order() -> None:
    names, turned = ("a", "b", "c", "d"), [2, 0, 3, 1]
    one, other = (run(seed, feature_names=names) for seed in (1, 2))
    assert_close(cs.merge([one, other]), cs.merge([one, reordered(other, [names[i] for i in turned])]))
    assert cs.merge([one, other]).feature_names == names


@pytest.mark.parametrize("method", ["permutation", "kernel", pytest.param("surrogate walks", marks=pytest.mark.slow)])
def test_other_methods_can_be_merged(method: str) -> None:
    merged = cs.merge([run(1, method=method, budget=20_000), run(2, method=method, budget=20_000)])
    X, y, B = data()
    truth = cs.sage(f, X, y, background=B, loss="squared error", method="exact").values
    assert merged.method == method
    assert (np.abs(merged.values - truth) <= 6 * merged.std_error + 1e-12).all()


def test_the_constant_of_a_permutation_importance_goes_with_its_values() -> None:
    X, y, B = data()
    runs = [cs.permutation_importance(f, X, y, background=B, loss="squared error", rng=seed) for seed in (1, 2)]
    merged = cs.merge(runs)
    assert runs[0].constant != runs[1].constant
    assert merged.power(merged.feature_names) == pytest.approx(merged.total, rel=1e-9)
    for about in merged.targets:
        assert (merged.targets[about].std_error <= 1.2 * max(one.targets[about].std_error.max() for one in runs)).all()


def test_values_of_single_examples_are_merged() -> None:
    X, y, B = data()
    runs = [
        cs.mean_loss_shap(f, X, y, background=B, loss="squared error", method="paired walks", walks=8, rng=seed)
        for seed in (1, 2)
    ]
    merged = cs.merge(runs)
    np.testing.assert_allclose(merged.per_example, (runs[0].per_example + runs[1].per_example) / 2, rtol=1e-12)
    wanted = np.sqrt(runs[0].per_example_error ** 2 + runs[1].per_example_error ** 2) / 2
    np.testing.assert_allclose(merged.per_example_error, wanted, rtol=1e-12)
    assert merged.stopped is cs.StopReason.REPEATED
    np.testing.assert_allclose(merged.per_example.mean(axis=0), merged.values, rtol=1e-6, atol=1e-9)


# what is refused


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"measure": "shapley effects"}, "measure 'sage' in number 1 and 'shapley effects' in number 3"),
        ({"loss": "absolute error"}, "loss 'squared error' in number 1 and 'absolute error' in number 3"),
        ({"removal": "baseline"}, "removal 'marginal' in number 1 and 'baseline' in number 3"),
        ({"method": "kernel"}, "method 'paired walks' in number 1 and 'kernel' in number 3"),
        ({"headline": "Values"}, "headline"),
        ({"feature_names": ("x0", "x1", "x2", "z")}, "number 1 without 'z', which number 3 has"),
        ({"groups": {"x0": ["a", "b"]}}, "groups {} in number 1"),
        ({"total": 9.0}, "total of all features"),
        ({"base": 9.0}, "loss without features"),
        ({"base": None, "total": None}, "loss without features"),
        ({"stopped": cs.StopReason.NO_EFFECT}, "number 3, in which no feature changed any loss, and number 1"),
    ],
)
def test_what_makes_another_game_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    message = refusal(run(1), run(2), replace(run(3), **changes))
    assert message.startswith("explanations: got ")
    assert said in message


@pytest.mark.parametrize("part", ["X", "y", "weights", "background"])
def test_other_data_are_refused_by_their_fingerprints(part: str) -> None:
    told = run(2).provenance
    prints = {**told["fingerprints"], part: "another"}
    message = refusal(run(1), replace(run(2), provenance={**told, "fingerprints": prints}))
    assert f"a different {'sample_weight' if part == 'weights' else part} in number 2 than in number 1" in message


@pytest.mark.parametrize("key", ["model", "examples", "columns", "background_rows"])
def test_other_settings_are_refused(key: str) -> None:
    told = {**run(2).provenance, key: "another"}
    assert f"{key.replace('_', ' ')} " in refusal(run(1), replace(run(2), provenance=told))


def test_responses_of_shapley_effects_are_the_models_own_and_may_differ_in_bits() -> None:
    X, _, B = data()
    options: dict[str, Any] = {"background": B, "method": "paired walks", "budget": 4000}
    one, other = (cs.sage(f, X, rng=seed, **options) for seed in (1, 2))
    told = {**other.provenance, "fingerprints": {**other.provenance["fingerprints"], "y": "another"}}
    assert cs.merge([one, replace(other, provenance=told)]).draws == one.draws + other.draws


def test_a_background_drawn_with_the_seed_is_refused_with_what_to_do() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    one, other = (cs.sage(f, X, f(X), loss="squared error", budget=30_000, rng=seed) for seed in (1, 2))
    message = refusal(one, other)
    assert "a different background in number 2 than in number 1" in message
    assert "Try background= with the same rows in every run" in message


def test_a_removal_that_learns_with_the_seed_is_refused_and_an_object_is_not() -> None:
    X, y, B = data()
    options: dict[str, Any] = {"loss": "squared error", "method": "paired walks", "budget": 3000}
    one, other = (cs.sage(f, X, y, background=B, removal="trees", rng=seed, **options) for seed in (1, 2))
    assert (one.total, one.base) == (other.total, other.base)  # which do not tell these games apart
    assert "the removal 'trees', which was fitted with a different seed in number 2" in refusal(one, other)
    trees = cs.TreeConditional(B)
    same = [cs.sage(f, X, y, removal=trees, rng=seed, **options) for seed in (1, 2)]
    assert cs.merge(same).draws == same[0].draws + same[1].draws


def test_the_same_seed_twice_is_refused_whichever_runs_have_it() -> None:
    assert "the same seed 1, and so the same draws, in numbers 2 and 3" in refusal(run(2), run(1), run(1, budget=5000))
    merged = cs.merge([run(1), run(2)])
    assert "the same seed 2, and so the same draws, in numbers 1 and 2" in refusal(merged, run(2, budget=6000))
    assert "the same seed 2, and so the same draws, in numbers 1 and 2" in refusal(merged, cs.merge([run(2), run(3)]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "got none; wanted one or more"),
        (None, "got NoneType; wanted a list"),
        ("ab", "got str; wanted a list"),
        ([3], "got int as number 1"),
        ([[]], "[cs.merge(runs) for runs in zip(*lists)]"),
    ],
)
def test_what_is_no_list_of_explanations_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        cs.merge(given)
    assert said in str(error.value)


def test_one_explanation_outside_of_a_list_and_comparisons_are_refused() -> None:
    with pytest.raises(InputError, match=r"got Explanation; wanted a list of explanations. Try cs.merge"):
        cs.merge(run(1))  # type: ignore[arg-type]
    assert "got Comparison as number 2" in refusal(run(1), cs.compare(run(1), run(2)))


def test_sampled_sizes_are_refused() -> None:
    X, _, B = data()
    runs = [cs.mean_absolute_shap(f, X, background=B, method="paired walks", walks=8, rng=seed) for seed in (1, 2)]
    assert "which are absolute values" in refusal(*runs)


def test_a_tolerance_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="tolerance"):
        cs.merge([run(1), run(2)], tolerance=2.0)


# what cannot be seen


def test_missing_fingerprints_and_seeds_are_taken_on_trust_and_said() -> None:
    bare = [replace(run(seed), provenance={}) for seed in (1, 2)]
    merged = cs.merge(bare)
    assert sum("could not be checked" in note for note in merged.notes) == 2
    assert "seed" not in merged.provenance
    assert_close(merged, cs.merge([run(1), run(2)]))
    assert not any("could not be checked" in note for note in cs.merge([run(1), run(2)]).notes)
    assert "the same run twice" in refusal(bare[0], bare[0])


# one alone, exact ones, nothing at all


def test_one_alone_is_returned() -> None:
    assert cs.merge([run(1)]) is run(1)


def exact(model: Any = f, seed: int = 0) -> cs.Explanation:
    X, y, B = data()
    found: cs.Explanation = cs.sage(model, X, y, background=B, loss="squared error", method="exact", rng=seed)
    return found


def test_exact_values_are_returned_and_sampled_ones_beside_them_left_out() -> None:
    one = exact()
    assert cs.merge([one, exact(), exact(seed=1)]) is one
    both = cs.merge([run(1), one, run(2)])
    np.testing.assert_array_equal(both.values, one.values)
    assert (both.draws, both.model_rows, both.stopped) == (0, one.model_rows, cs.StopReason.EXACT)
    assert str(both.notes[-1]) == "The values are exact: 2 sampled runs were left out."


def test_exact_values_that_differ_are_refused() -> None:
    other = exact()
    without = dict.fromkeys(("parts", "parts_weight", "parts_error"))
    other = replace(other, values=other.values + np.array([0.1, -0.1, 0.0, 0.0]), **without)
    assert "different values in numbers 1 and 2, although nothing was sampled" in refusal(exact(), other)


def test_exact_values_of_another_game_are_refused_beside_sampled_ones() -> None:
    assert "model 'f' in number 1 and '<lambda>' in number 2" in refusal(run(1), exact(lambda X: X[:, 0]))
    assert "total of all features" in refusal(run(1), replace(exact(), total=9.0))


def test_runs_in_which_nothing_has_an_effect_stay_so() -> None:
    X, y, B = data()
    runs = [
        cs.sage(lambda X: np.ones(len(X)), X, y, background=B, loss="squared error", method="permutation", rng=seed)
        for seed in (1, 2)
    ]
    assert all(one.stopped is cs.StopReason.NO_EFFECT for one in runs)
    merged = cs.merge(runs)
    assert merged.stopped is cs.StopReason.NO_EFFECT
    assert not merged.values.any()
    assert set(merged.signs.values()) == {"no effect"}


# how it ended, and what may be decided


def ended(*reasons: cs.StopReason, tolerance: float | None = 1e-6) -> cs.StopReason:
    runs = [replace(run(seed), stopped=reason) for seed, reason in enumerate(reasons, start=1)]
    return cs.merge(runs, tolerance=tolerance).stopped


def test_it_ends_as_the_least_satisfied_run_did_unless_all_together_meet_the_tolerance() -> None:
    reason = cs.StopReason
    assert ended(reason.CONVERGED, reason.CONVERGED) is reason.CONVERGED
    assert ended(reason.EQUAL, reason.CONVERGED) is reason.CONVERGED
    assert ended(reason.CONVERGED, reason.SIGNS_KNOWN) is reason.SIGNS_KNOWN
    assert ended(reason.BUDGET, reason.CONVERGED, reason.DEADLINE) is reason.DEADLINE
    assert ended(reason.BUDGET, reason.BUDGET, tolerance=None) is reason.BUDGET
    assert ended(reason.BUDGET, reason.INTERRUPTED, tolerance=0.5) is reason.CONVERGED


def test_runs_that_stopped_at_their_budget_converge_together() -> None:
    runs = [run(seed) for seed in range(1, 13)]
    span = np.ptp(runs[0].values)
    tolerance = 2 * float(cs.merge(runs).std_error.max() / span)
    assert all(one.stopped is cs.StopReason.BUDGET for one in runs)
    assert cs.merge(runs[:2], tolerance=tolerance).stopped is cs.StopReason.BUDGET
    assert cs.merge(runs, tolerance=tolerance).converged


def test_examples_that_may_be_unseen_keep_a_merge_from_converging() -> None:
    v = game(400, 12)
    runs = [replace(read(v, PairedWalks(), 100, seed), stopped=cs.StopReason.BUDGET) for seed in (1, 2)]
    runs = [replace(one, provenance={**one.provenance, "examples": 400}) for one in runs]
    assert all(one.parts is None for one in runs)
    assert cs.merge(runs, tolerance=0.9).stopped is cs.StopReason.BUDGET
    few = [replace(one, provenance={**one.provenance, "examples": 20}) for one in runs]
    assert cs.merge(few, tolerance=0.9).converged


def test_looks_add_up_and_the_least_confidence_counts() -> None:
    merged = cs.merge([run(1), replace(run(2), looks=3, confidence=0.9), replace(run(3), looks=2)])
    assert (merged.looks, merged.confidence) == (4, 0.9)


@pytest.mark.parametrize("runs", [2, 4])
def test_signs_of_runs_that_stopped_when_they_seemed_known_are_wrong_seldom_enough(runs: int, seed: int) -> None:
    """Of a value of zero, any sign is wrong; draws double from look to look, eight at most."""
    rng, times = np.random.default_rng([seed, runs]), 40_000
    total, draws, looks = np.zeros(times), np.zeros(times), np.ones(times, dtype=int)
    for _ in range(runs):
        found, made, goes_on = np.zeros(times), np.zeros(times), np.ones(times, dtype=bool)
        for look in range(1, 9):
            more = np.where(goes_on, np.maximum(made, 1), 0)
            found, made = found + rng.normal(size=times) * np.sqrt(more), made + more
            looks += goes_on & (look > 1)
            goes_on &= np.abs(found) <= normal.isf((1 - level_of(0.95, look)) / 2) * np.sqrt(made)
        total, draws = total + found, draws + made
    beyond = np.array([normal.isf((1 - level_of(0.95, look)) / 2) for look in range(1, looks.max() + 1)])
    wrong = np.mean(np.abs(total) > beyond[looks - 1] * np.sqrt(draws))
    assert wrong < 0.05 + binomial_room(times, std_errors=5, level=0.05)


# provenance, notes, trace, files and pages


def test_provenance_keeps_all_seeds_and_lists_versions_that_differ() -> None:
    other = replace(run(2), provenance={**run(2).provenance, "numpy": "1.0"})
    mine = run(1).provenance["numpy"]
    merged = cs.merge([cs.merge([run(1), other]), run(3)])
    assert merged.provenance["seed"] == [1, 2, 3]
    assert merged.provenance["numpy"] == f"{mine}, 1.0"
    assert merged.provenance["merged"]["draws"] == [run(seed).draws for seed in (1, 2, 3)]
    assert merged.provenance["fingerprints"] == run(1).provenance["fingerprints"]


def test_notes_are_said_once_and_those_on_the_same_topic_too() -> None:
    def share(percent: float, name: str) -> Note:
        return Note(f"It rests on {percent:g} % of {name!r}.", topic=f"share of {name}")

    said = [(Note("Same."), share(93.1, "x1")), (Note("Same."), share(91, "x1"), share(91, "x2"))]
    runs = [replace(run(seed), notes=notes) for seed, notes in enumerate(said, start=1)]
    merged = cs.merge(runs)
    assert [*map(str, merged.notes[:-1])] == ["Same.", "It rests on 93.1 % of 'x1'.", "It rests on 91 % of 'x2'."]
    assert str(merged.notes[-1]) == f"Merged from 2 runs of {runs[0].draws:,} draws each."
    again = cs.merge([merged, run(3, budget=9000)]).notes
    assert sum(str(note).startswith("Merged from") for note in again) == 1
    assert str(again[-1]).startswith("Merged from 3 runs of ")


def test_the_trace_goes_on_with_a_point_for_each_further_run() -> None:
    merged = cs.merge([run(1), run(2), run(3)])
    assert merged.trace is not None
    assert run(1).trace is not None
    np.testing.assert_array_equal(merged.trace[:-2], run(1).trace)
    span = float(np.ptp(merged.values))
    wanted = [merged.draws, merged.model_rows, merged.std_error.max(), span]
    np.testing.assert_allclose(merged.trace[-1], wanted, rtol=1e-12)
    assert (np.diff(merged.trace[:, 0]) > 0).all()


@pytest.mark.parametrize("rows", [True, False])
def test_files_come_back_and_can_be_merged(rows: bool, tmp_path: Any) -> None:
    for seed in (1, 2, 3):
        run(seed).save(tmp_path / f"{seed}.json", rows=rows)
    loaded = [cs.load(tmp_path / f"{seed}.json") for seed in (1, 2, 3)]
    merged = cs.merge(loaded)
    wanted = cs.merge([run(seed) if rows else lean(run(seed)) for seed in (1, 2, 3)])
    assert json.dumps(merged.to_dict()) == json.dumps(wanted.to_dict())
    merged.save(tmp_path / "merged.json", rows=rows)
    again = cs.load(tmp_path / "merged.json")
    assert again.to_dict() == merged.to_dict()
    assert (again.parts is not None) is rows
    further = cs.merge([again, run(4) if rows else lean(run(4))])
    assert_close(further, cs.merge([*loaded, run(4) if rows else lean(run(4))]))
    assert "the same seed 3, and so the same draws, in numbers 1 and 2" in refusal(again, run(3))


def test_it_prints_plots_and_reports() -> None:
    merged = cs.merge([run(1), run(2)])
    assert "Merged from 2 runs" in str(merged)
    assert "Merged from 2 runs" in merged._repr_html_()
    page = merged.report()
    assert page is not None
    assert "Merged from 2 runs" in page
    import matplotlib

    matplotlib.use("Agg")
    assert merged.plot() is not None
    assert merged.to_frame()["feature"].tolist() == list(merged.feature_names)


def test_hand_made_targets_without_variance_of_their_own_stay_above_the_sampling() -> None:
    """Rows that are said to vary less than sampling does cannot make a variance below that of the sampling."""
    tiny = Target(run(1).values, np.full(4, 1e-9), np.full(4, 9.0), np.zeros(4))
    runs = [replace(lean(run(seed)), targets={"rows": tiny}) for seed in (1, 2)]
    merged = cs.merge(runs)
    np.testing.assert_allclose(merged.targets["rows"].std_error, np.maximum(merged.std_error, 0), rtol=1e-9, atol=1e-9)
