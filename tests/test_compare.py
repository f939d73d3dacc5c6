"""Comparisons: differences of explanations, against closed forms and by simulation."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import FormatError, InputError, UnavailableError
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.estimate import StopReason, Target, VarianceComponents
from clarysage.inference.intervals import adjusted, p_values, two_sided
from clarysage.inference.population import Sampled, paired, targets, unpaired
from clarysage.results.compare import reordered
from clarysage.results.files import as_plain
from made_up import compared
from tests.lab.coverage import binomial_range, covers

mpl.use("Agg")

BETA = np.array([2.0, 1.0, 0.5, 0.0])  # of the response
MODEL = np.array([1.8, 1.0, 0.6, 0.2])  # of the model
RARE = 1e-4  # the chance at which a simulation may fail where all is right


def shares(X, y, coefficients):
    """What rows contribute to SAGE values of a linear model by squared error, background means of zero: Eq. 6 by hand.

    The loss of a row is (y - r_S)^2 with r_i = c_i x_i, so the Shapley value of feature i is r_i (2 y - sum of r).
    """
    r = X * coefficients
    return r * (2 * y[..., None] - r.sum(axis=-1, keepdims=True)) / len(X)


def truth(coefficients, scale=1.0):
    """The mean of N times the above for independent standard normal features, which the model sees times a scale."""
    seen = coefficients * scale
    return 2 * BETA * seen - seen**2


def explained(parts, *, X="rows", names=None, weights=None, **told):
    """An exact explanation of which rows contribute the given parts (N, p)."""
    weights = np.full(len(parts), 1 / len(parts)) if weights is None else weights
    nothing = np.zeros((1, parts.shape[1]))
    components, sampled = VarianceComponents.exact(parts[:, None]), Sampled(weights, np.ones(1))
    rows = targets(Estimated(parts.sum(axis=0)[None], nothing, nothing + 1), components, sampled)["rows"]
    about = Target(rows.values[0], rows.std_error[0], rows.dof[0], rows.skew[0])
    values = {
        "values": parts.sum(axis=0),
        "std_error": np.zeros(parts.shape[1]),
        "covariance": None,
        "model_rows": 0,
        "feature_names": tuple(names or (f"x{i}" for i in range(parts.shape[1]))),
        "total": 1.0,
        "base": 2.0,
        "draws": 0,
        "stopped": StopReason.EXACT,
        "measure": "sage",
        "loss": "squared error",
        "removal": "marginal",
        "method": "exact",
        "targets": {"rows": about},
        "parts": parts,
        "parts_weight": weights,
        "parts_error": np.zeros(parts.shape[1]),
        "provenance": {"fingerprints": {"X": X, "y": X, "weights": "w", "background": "b"}},
    }
    return cs.Explanation(**{**values, **told})


def many(rng, n, runs, coefficients=MODEL, scale=1.0, data=None):
    """Parts of many data sets of n rows, side by side, (n, runs * d); and the data."""
    if data is None:
        X = rng.normal(size=(n, runs, len(BETA)))
        data = X, X @ BETA + rng.normal(size=(n, runs))
    X, y = data
    return shares(X * scale, y, coefficients).reshape(n, -1), data


def background(rng, d=4, m=16):
    """Rows whose means are zero."""
    half = rng.normal(size=(m // 2, d))
    return np.concatenate([half, -half])


def linear(coefficients):
    return lambda X: X @ coefficients


def run(coefficients, X, y, rows, **options):
    options = {"method": "exact", "loss": "squared error", "rng": 0, **options}
    return cs.sage(linear(coefficients), X, y, background=rows, **options)


@pytest.fixture
def two():
    """Two models on the same rows, of which the second makes less of x1; the same for any seed of the tests."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(300, 4)), background(rng)
    y = X @ BETA + rng.normal(size=300)
    return run(MODEL, X, y, rows), run(MODEL * [1, 0.3, 1, 1], X, y, rows)


@pytest.fixture
def apart_two(two):
    """One model on other rows, with another background; the same for any seed of the tests."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    return two[0], run(MODEL, X, X @ BETA + rng.normal(size=200), background(rng), method="paired walks")


def test_flags_are_by_p_values_that_are_adjusted_for_the_number_of_tests():
    """Forty features whose differences are chance: some of them seem changed if one does not count the tests."""
    rng = np.random.default_rng(0)
    one, other = (explained(rng.normal(size=(60, 40)) / 60, X=rows) for rows in ("these rows", "those rows"))
    found = cs.compare(one, other)
    assert np.any(found.p_values(None) < 0.05)
    assert not found.flags.any()
    assert np.array_equal(cs.compare(one, other, adjust=None).flags, found.p_values(None) < 0.05)


def coverage_of(found, true):
    """Coverage of each feature (d,), where those of many data sets are side by side."""
    ends = (end.reshape(-1, len(BETA)) for end in found.interval())  # (runs, d) each
    return covers(zip(*ends, strict=True), true).mean(axis=0)


# what explanations keep of rows


def test_parts_of_an_exact_run_are_the_closed_form(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(50, 4)), background(rng)
    y = X @ BETA + rng.normal(size=50)
    found, oracle = run(MODEL, X, y, rows), explained(shares(X, y, MODEL))
    np.testing.assert_allclose(found.parts, oracle.parts, atol=1e-12)
    np.testing.assert_allclose(found.parts_weight, 1 / 50)
    np.testing.assert_allclose(found.targets["rows"].std_error, oracle.targets["rows"].std_error, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"method": "paired walks"}, {"loss": ["squared error", "absolute error"]}])
def test_parts_add_up_to_the_values(seed, options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    weight = rng.integers(0, 3, size=60).astype(float)
    found = run(MODEL, X, X @ BETA, background(rng), sample_weight=weight, **options)
    for one in found if isinstance(found, list) else [found]:
        assert one.parts.shape == ((weight > 0).sum(), 4)
        np.testing.assert_allclose(one.parts.sum(axis=0), one.values, atol=1e-12)
        np.testing.assert_allclose(one.parts_weight, weight[weight > 0] / weight.sum())


def test_parts_of_a_class_model_add_up_to_the_values_corrected_for_few_background_rows(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(80, 4)), rng.normal(size=(200, 4))
    y = (X[:, 0] > 0).astype(int)

    def chances(Z):
        p = 1 / (1 + np.exp(-Z @ MODEL))
        return np.column_stack([1 - p, p])

    found = cs.sage(chances, X, y, background=rows, loss="cross entropy", method="paired walks", rng=seed)
    assert found.parts_error.shape == (4,)
    np.testing.assert_allclose(found.parts.sum(axis=0), found.values, atol=1e-12)


def test_permutation_importances_of_two_models_on_the_same_rows_are_paired(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    y = X @ BETA + rng.normal(size=200)
    one, other = (cs.permutation_importance(linear(c), X, y, loss="squared error", rng=0) for c in (MODEL, MODEL * 0.5))
    found, apart = cs.compare(one, other), cs.compare(one, other, paired=False)
    assert found.is_paired
    assert np.isfinite(one.parts_error).all()
    gone = 2 * ((0.5 * MODEL) * BETA - MODEL * BETA)  # of twice the covariance of r_i and y, which a permutation takes
    assert (np.abs(found.values - gone)[:3] < 5 * apart.std_error[:3]).all()


def test_parts_are_kept_in_pickles_and_in_files_where_asked_for(two, tmp_path):
    one = two[0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).parts, one.parts)
    assert "parts" not in one.to_dict()
    one.save(tmp_path / "without.json", rows=False)
    one.save(tmp_path / "with.json", rows=True)
    assert cs.load(tmp_path / "without.json").parts is None
    again = cs.load(tmp_path / "with.json")
    for name in ("parts", "parts_weight", "parts_error"):
        np.testing.assert_array_equal(getattr(again, name), getattr(one, name))


def test_rows_cannot_be_saved_where_they_are_not_known(two, tmp_path):
    without = replace(two[0], parts=None)
    with pytest.raises(UnavailableError, match="rows"):
        without.save(tmp_path / "it.json", rows=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("parts", [[1.0]]),
        ("parts", [[1.0, 2.0, 3.0, 4.0]]),  # which adds up to something else
        ("parts_weight", [0.5]),
        ("parts_error", [0.0, 0.0, 0.0, -1.0]),
    ],
)
def test_damaged_parts_are_refused(two, tmp_path, field, value):
    two[0].save(tmp_path / "it.json", rows=True)
    data = json.loads((tmp_path / "it.json").read_text())
    (tmp_path / "it.json").write_text(json.dumps({**data, field: value}))
    with pytest.raises(FormatError, match=field):
        cs.load(tmp_path / "it.json")


# the numbers


def test_unpaired_errors_are_those_of_welch(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(30, 3)), rng.normal(size=(50, 3)) + 0.3
    found = cs.compare(explained(one / 30), explained(other / 50, X="others"))
    np.testing.assert_allclose(found.values, other.mean(axis=0) - one.mean(axis=0))
    variance = one.var(axis=0, ddof=1) / 30 + other.var(axis=0, ddof=1) / 50
    np.testing.assert_allclose(found.std_error, np.sqrt(variance))
    assert not found.is_paired


def test_paired_errors_are_those_of_the_differences(seed):
    rng = np.random.default_rng(seed)
    one = rng.normal(size=(40, 3))
    other = one + rng.normal(0.2, 0.1, size=(40, 3))
    found = cs.compare(explained(one / 40), explained(other / 40))
    np.testing.assert_allclose(found.values, (other - one).mean(axis=0))
    np.testing.assert_allclose(found.std_error, (other - one).std(axis=0, ddof=1) / np.sqrt(40))
    assert found.is_paired
    assert (found.differences[0].target.dof <= 39).all()


def test_weights_of_rows_count_in_paired_differences(seed):
    rng = np.random.default_rng(seed)
    q, counts = rng.normal(size=(30, 2)), rng.integers(1, 4, size=30)
    weights = counts / counts.sum()
    found = paired(q * weights[:, None], weights, np.zeros(2))
    mean = np.average(q, axis=0, weights=weights)
    np.testing.assert_allclose(found.values, mean)
    oracle = np.sqrt(30 / 29 * ((weights[:, None] * (q - mean)) ** 2).sum(axis=0))
    np.testing.assert_allclose(found.std_error, oracle)
    np.testing.assert_allclose(
        paired(q, weights, np.array([0.0, 9.0])).std_error[1] ** 2,
        paired(q, weights, np.zeros(2)).std_error[1] ** 2 + 9,
    )


def test_skewness_of_a_difference_is_that_of_sums_of_independent_errors():
    one = Target(*(np.array([number]) for number in (0.0, 1.0, 50.0, 0.5)))
    assert unpaired(one, one).skew.item() == 0
    still = Target(*(np.array([number]) for number in (0.0, 0.0, 50.0, 0.0)))
    assert unpaired(one, still).skew.item() == -0.5
    assert unpaired(still, one).skew.item() == 0.5


@pytest.mark.statistical
def test_unpaired_intervals_hold_as_often_as_they_say(seed):
    rng, runs = np.random.default_rng(seed), 500
    scale = np.array([1.0, 3.0, 1.0, 1.0])  # the column in another unit
    before, _ = many(rng, 400, runs)
    after, _ = many(rng, 300, runs, scale=scale)
    found = cs.compare(explained(before), explained(after, X="others"))
    assert not found.is_paired
    coverage = coverage_of(found, truth(MODEL, scale) - truth(MODEL))
    least, most = binomial_range(runs, chance=RARE)
    assert ((least <= coverage) & (coverage <= most)).all(), coverage


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("coefficients", "scale"),
    [(MODEL * [1, 0.4, 1, 1], 1.0), (MODEL, np.array([1.0, 3.0, 1.0, 1.0]))],
    ids=["another model", "a column times three"],
)
def test_paired_intervals_hold_as_often_as_they_say_and_are_narrower(seed, coefficients, scale):
    rng, runs = np.random.default_rng(seed), 500
    before, data = many(rng, 400, runs)
    after, _ = many(rng, 400, runs, coefficients, scale, data)
    one, other = explained(before), explained(after)
    found = cs.compare(one, other)
    assert found.is_paired
    coverage = coverage_of(found, truth(coefficients, scale) - truth(MODEL))
    least, most = binomial_range(runs, chance=RARE)
    assert ((least <= coverage) & (coverage <= most)).all(), coverage
    apart = cs.compare(one, other, paired=False)
    ratio = (found.std_error / apart.std_error).reshape(runs, -1).mean(axis=0)
    assert (ratio[[0, 2, 3]] < 0.6).all(), ratio


@pytest.mark.statistical
def test_any_false_flag_by_holm_is_as_rare_as_it_says(seed):
    rng, runs = np.random.default_rng(seed), 600
    before, _ = many(rng, 200, runs)
    after, _ = many(rng, 120, runs)
    alone = cs.compare(explained(before), explained(after, X="others")).p_values(None).reshape(runs, -1)
    by_holm = np.array([adjusted(p, "holm") for p in alone])
    _, most = binomial_range(runs, chance=RARE, level=0.05)
    assert (by_holm < 0.05).any(axis=1).mean() <= most
    assert (alone < 0.05).any(axis=1).mean() > most  # without it they are not


def test_a_column_times_sixty_is_flagged_first(seed):
    rng = np.random.default_rng(seed)
    X, Z, rows = rng.normal(size=(200, 4)), rng.normal(size=(200, 4)), background(rng)
    y, w = (V @ BETA + rng.normal(size=200) for V in (X, Z))
    reference = run(MODEL, X, y, rows)
    found = cs.compare(reference, run(MODEL, Z * [1, 60, 1, 1], w, rows))
    assert found.changed[0] == "x1"
    assert found.values[1] < 0
    assert abs(found.values[1] - (truth(MODEL, 60.0) - truth(MODEL))[1]) < 5 * found.std_error[1]


@pytest.mark.parametrize("method", ["paired walks", "exact"])
def test_paired_differences_of_runs_are_right_and_better_known(seed, method):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(300, 4)), background(rng)
    y = X @ BETA + rng.normal(size=300)
    weaker = MODEL * [1, 0.3, 1, 1]
    one, other = (run(c, X, y, rows, method=method) for c in (MODEL, weaker))
    found, apart = cs.compare(one, other), cs.compare(one, other, paired=False)
    assert found.is_paired
    assert not apart.is_paired
    assert (np.abs(found.values - (truth(weaker) - truth(MODEL))) < 5 * found.std_error).all()
    assert (found.std_error < apart.std_error).all()
    np.testing.assert_allclose(found.values, other.values - one.values, atol=1e-12)


@pytest.mark.parametrize("method", ["paired walks", "exact"])
def test_the_same_run_twice_differs_by_nothing(seed, method):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(100, 4)), background(rng)
    one, other = (run(MODEL, X, X @ BETA, rows, method=method) for _ in range(2))
    found = cs.compare(one, other)
    low, high = found.interval()
    assert (found.values == 0).all()
    assert (low == 0).all()
    assert (high == 0).all()
    assert (found.p_values(None) == 1).all()
    assert found.changed == []


def test_rounding_is_no_difference(two):
    nudged = replace(two[0], parts=two[0].parts * (1 + 1e-15), values=two[0].values * (1 + 1e-15))
    found = cs.compare(two[0], nudged)
    assert (found.values == 0).all()
    assert (found.p_values() == 1).all()


def test_p_values_agree_with_intervals(two):
    found = cs.compare(*two, paired=False)
    p = found.p_values(None)
    for chance, end in [(p * 1.001, True), (p * 0.999, False)]:
        for i, level in enumerate(1 - chance):
            if 0 < level < 1:
                low, high = (ends[i] for ends in found.interval(level))
                assert (low > 0 or high < 0) == end


def test_two_sided_is_twice_the_smaller_side(seed):
    rng = np.random.default_rng(seed)
    values, error, dof = rng.normal(size=50), rng.uniform(0.1, 2, size=50), rng.uniform(3, 90, size=50)
    skew = rng.uniform(-1, 1, size=50)
    sides = [p_values(values, error, dof, side, skew=skew) for side in ("helps", "hurts")]
    np.testing.assert_allclose(
        two_sided(values, error, dof, skew=skew), np.minimum(1, 2 * np.minimum(*sides)), rtol=1e-9
    )


def test_adjustment_counts_all_features_of_all_differences(two):
    several = cs.compare([two[0], two[1], two[1]])
    alone = several.p_values(None)
    np.testing.assert_allclose(several.p_values(), adjusted(alone.ravel(), "holm").reshape(2, 4))
    by_rate = cs.compare(*two, adjust="benjamini hochberg")
    np.testing.assert_allclose(by_rate.p_values(), adjusted(by_rate.p_values(None), "benjamini hochberg"))
    np.testing.assert_array_equal(cs.compare(*two, adjust=None).p_values(), by_rate.p_values(None))


def test_joint_intervals_count_all_differences(two):
    several = cs.compare([two[0], two[1], two[1]])
    low, _ = several.interval(0.95, joint=True)
    np.testing.assert_allclose(low, several.interval(1 - 0.05 / 8)[0])


# like with like


def test_rows_that_were_changed_are_paired_where_that_is_said(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(100, 4)), background(rng)
    y = X @ BETA + rng.normal(size=100)
    before, after = run(MODEL, X, y, rows), run(MODEL, X * [1, 3, 1, 1], y, rows)
    apart = cs.compare(before, after)
    assert not apart.is_paired
    assert "paired=True" in str(apart)
    assert cs.compare(before, after, paired=True).is_paired


def test_the_order_of_features_does_not_matter(two):
    one, other = two
    turned = reordered(other, other.feature_names[::-1])
    assert turned.feature_names == ("x3", "x2", "x1", "x0")
    for is_paired in (True, False):
        found, straight = (cs.compare(one, each, paired=is_paired) for each in (turned, other))
        np.testing.assert_array_equal(found.values, straight.values)
        np.testing.assert_array_equal(found.std_error, straight.std_error)
        np.testing.assert_array_equal(found.of("b"), other.values)
    np.testing.assert_allclose(cs.compare(turned, one).values, -straight.values[::-1], atol=1e-12)


def test_other_backgrounds_are_counted_where_they_can_be(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 4))
    y = X @ BETA + rng.normal(size=100)
    one, other = (run(MODEL, X, y, rng.normal(size=(30, 4)), method="paired walks") for _ in range(2))
    found = cs.compare(one, other)
    assert found.differences[0].about == "population"
    errors = [each.targets["population"].std_error for each in (one, other)]
    np.testing.assert_allclose(found.std_error, np.hypot(*errors))
    assert "both backgrounds" in str(found)
    freed = [each.targets["population"].values for each in (one, other)]
    np.testing.assert_allclose(found.values, freed[1] - freed[0])
    assert not np.allclose(found.values, other.values - one.values)
    said = "values corrected for the bias of a finite background, and not of the values in the columns."
    assert said in found.notes[0]
    alike = cs.compare(*(run(MODEL, X, y, X[:30], method="paired walks") for _ in range(2)))
    assert not any("freed" in note for note in alike.notes)
    told = cs.compare(one, other, paired=True)
    assert told.is_paired
    assert "intervals do not include" in str(told)


def test_backgrounds_of_one_row_differ_with_a_word(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    one, other = (
        cs.sage(linear(MODEL), X, X @ BETA, removal=cs.Baseline(rng.normal(size=4)), loss="squared error", rng=0)
        for _ in range(2)
    )
    found = cs.compare(one, other)
    assert found.differences[0].about == "rows"
    assert "Backgrounds of a and b differ" in found.notes[0]


def test_other_removals_are_named(two):
    assert "Removals differ" in cs.compare(two[0], replace(two[1], removal="baseline")).notes[0]


def test_explanations_from_files_are_paired_where_rows_were_saved(two, tmp_path):
    for one, name in zip(two, "ab", strict=True):
        one.save(tmp_path / f"{name}.json", rows=False)
        one.save(tmp_path / f"{name} rows.json", rows=True)
    plain = [cs.load(tmp_path / f"{name}.json") for name in "ab"]
    whole = [cs.load(tmp_path / f"{name} rows.json") for name in "ab"]
    found = cs.compare(*plain)
    assert not found.is_paired
    assert "save(path, rows=True)" in found.notes[0]
    np.testing.assert_allclose(found.std_error, cs.compare(*two, paired=False).std_error)
    assert cs.compare(*whole).is_paired
    np.testing.assert_array_equal(cs.compare(*whole).std_error, cs.compare(*two).std_error)
    with pytest.raises(UnavailableError, match=r"rows=True"):
        cs.compare(*plain, paired=True)


def everything_in(result):
    """Every field of a result, with the contributions of single rows."""
    return as_plain(result, rows=True)


def test_comparisons_after_loading_are_the_same_in_every_field(two, apart_two, tmp_path):
    for pair, options in [(two, {}), (two, {"paired": False}), (apart_two, {})]:
        for name, explanation in zip("ab", pair, strict=True):
            explanation.save(tmp_path / f"{name}.json")
        before, after = (
            cs.compare(*pair, **options),
            cs.compare(*(cs.load(tmp_path / f"{n}.json") for n in "ab"), **options),
        )
        assert everything_in(after) == everything_in(before)
        assert str(after) == str(before)
        assert after.report() == before.report()
    assert cs.compare(*two).is_paired
    assert not cs.compare(*apart_two).is_paired


def test_a_file_that_leaves_rows_out_says_so(two, tmp_path, monkeypatch):
    monkeypatch.setattr("clarysage.results.files.MOST_NUMBERS", 100)
    with pytest.warns(cs.ClarysageWarning, match=r"without the contributions of single rows.*save\(path, rows=True\)"):
        two[0].save(tmp_path / "it.json")
    assert cs.load(tmp_path / "it.json").parts is None
    for rows in (True, False):  # as asked for, without a warning
        two[0].save(tmp_path / "it.json", rows=rows)
        assert (cs.load(tmp_path / "it.json").parts is None) != rows


def test_explanations_without_parts_are_saved_as_ever(two, tmp_path):
    replace(two[0], parts=None, parts_weight=None, parts_error=None).save(tmp_path / "it.json")
    assert cs.load(tmp_path / "it.json").parts is None


def test_lists_of_losses_are_compared_by_loss(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(60, 4)), background(rng)
    y = X @ BETA
    one = run(MODEL, X, y, rows, loss=["squared error", "absolute error"])
    other = run(BETA, X, y, rows, loss=["absolute error", "squared error"])
    found = cs.compare(one, other)
    assert [each.reference.loss for each in found] == ["squared error", "absolute error"]
    assert [each.explanations[1].loss for each in found] == ["squared error", "absolute error"]


def test_groups_are_compared_as_one(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(60, 4)), background(rng)
    groups = {"last": ["x2", "x3"]}
    one, other = (run(c, X, X @ BETA, rows, groups=groups) for c in (MODEL, BETA))
    assert cs.compare(one, other).feature_names == ("x0", "x1", "last")
    elsewhere = replace(other, groups={"last": ["x1", "x3"]})
    with pytest.raises(InputError, match="groups"):
        cs.compare(one, elsewhere)


def test_a_model_without_effect_is_compared_as_zeros(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(60, 4)), background(rng)
    y = X @ BETA
    one = run(MODEL, X, y, rows, method="paired walks")
    still = run(np.zeros(4), X, y, rows, method="paired walks")
    assert still.stopped is StopReason.NO_EFFECT
    for found, sign in [(cs.compare(one, still), -1), (cs.compare(still, one), 1)]:
        np.testing.assert_allclose(found.values, sign * one.values)
        np.testing.assert_allclose(found.std_error, one.targets["rows"].std_error)
        assert found.is_paired
    for asked in (None, True, False):
        nothing = cs.compare(still, still, paired=asked)
        assert (nothing.values == 0).all()
        assert (nothing.p_values() == 1).all()


def test_shapley_effects_of_two_models_on_the_same_rows_are_paired(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(60, 4)), background(rng)
    one, other = (cs.sage(linear(c), X, background=rows, method="exact", rng=0) for c in (MODEL, BETA))
    assert one.measure == "shapley effects"
    assert cs.compare(one, other).is_paired


def test_without_responses_nothing_is_said_of_them(seed):
    rng = np.random.default_rng(seed)
    rows = background(rng)
    one, other = (
        cs.sage(linear(MODEL), rng.normal(size=(60, 4)), background=rows, method="exact", rng=0) for _ in range(2)
    )
    assert not any("Responses" in note for note in cs.compare(one, other).notes)


@pytest.mark.parametrize("adjust", ["Holm", "Benjamini-Hochberg", "benjamini_hochberg"])
def test_adjustments_have_one_name_however_they_are_written(two, adjust, tmp_path):
    plain = "holm" if adjust == "Holm" else "benjamini hochberg"
    found, expected = cs.compare(*two, adjust=adjust), cs.compare(*two, adjust=plain)
    assert (found.adjust, str(found)) == (plain, str(expected))
    found.save(tmp_path / "found.json")
    assert cs.load(tmp_path / "found.json").adjust == plain


def test_counts_have_separators_of_thousands(seed):
    parts = np.random.default_rng(seed).normal(size=(50, 1200)) / 5e4
    found = cs.compare(explained(parts), explained(parts + 1.0, X="others"))
    assert "(1,200 of 1,200 features)" in str(found)
    X = np.zeros((2000, 1))
    with pytest.raises(InputError, match="for 2,000 of 2,000 rows"):
        cs.sage(lambda rows: np.full(len(rows), np.nan), X, X[:, 0], loss="squared error")
    with pytest.raises(InputError, match="got 1,999 responses; wanted 2,000, one"):
        cs.sage(lambda rows: rows[:, 0], X, X[1:, 0], loss="squared error")
    with pytest.raises(InputError, match="got 1,999 weights; wanted 2,000, one"):
        cs.sage(lambda rows: rows[:, 0], X, X[:, 0], sample_weight=np.ones(1999), loss="squared error")


def test_a_row_that_carries_most_of_a_difference_is_named(seed):
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(50, 2)) / 50
    heavy = parts.copy()
    heavy[7, 1] += 40
    for other in ("rows", "others"):
        found = cs.compare(explained(parts), explained(heavy, X=other))
        assert str(found.notes[-1]).startswith("One row accounts for 98 % of the variance of the difference of 'x1'")
        assert "of 'x1' between a and b." in found.notes[-1]
    others = [explained(heavy + rng.normal(size=(50, 2)) / 5e4, X=f"rows {i}") for i in range(3)]
    named = cs.compare([explained(parts), *others], names=("before", "may", "june", "july"))
    assert [str(note).split(" between ")[1].split(". With")[0] for note in named.notes] == [
        f"before and {month}" for month in ("may", "june", "july")
    ]
    assert not cs.compare(explained(parts), explained(parts + rng.normal(size=(50, 2)) / 50)).notes


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"loss": "absolute error"}, "loss"),
        ({"measure": "permutation importance"}, "measure"),
        ({"feature_names": ("x0", "x1", "x2", "other")}, "'other'"),
    ],
)
def test_explanations_that_are_not_alike_are_refused(two, change, argument):
    with pytest.raises(InputError, match=argument):
        cs.compare(two[0], replace(two[1], **change))


def test_missing_features_are_named(two):
    other = explained(two[1].parts[:, :3])
    with pytest.raises(InputError, match=r"b: got an explanation without 'x3', which a has"):
        cs.compare(two[0], other)
    with pytest.raises(InputError, match=r"without 'x3'"):
        cs.compare(other, two[0])


def test_an_explanation_that_knows_nothing_of_rows_is_refused(two):
    without = replace(two[1], targets={}, parts=None)
    with pytest.raises(UnavailableError, match="variance of values over rows"):
        cs.compare(two[0], without)


def test_bad_inputs_are_named(two):
    one, other = two
    for arguments, options, argument in [
        ((one,), {}, "b: got None"),
        (([one],), {}, "a: got 1 explanation"),
        (([],), {}, "a: got 0 explanations"),
        ((one, "b.json"), {}, "b: got str"),
        ((1, other), {}, "a: got int"),
        (([one], [other, other]), {}, "b: got explanations with losses"),
        (([one], [replace(other, loss="brier")]), {}, "b: got losses"),
        ((one, other), {"paired": "yes"}, "paired"),
        ((one, other), {"adjust": "bonferroni"}, "adjust"),
        ((one, other), {"level": 95}, "level"),
        ((one, other), {"names": ["only"]}, "names"),
        ((one, other), {"names": ["same", "same"]}, "names"),
        ((one, other), {"names": "ab"}, "names"),
    ]:
        with pytest.raises(InputError, match=argument):
            cs.compare(*arguments, **options)
    with pytest.raises(InputError, match="100"):
        cs.compare(one, explained(np.zeros((100, 4))), paired=True)
    with pytest.raises(InputError, match="name"):
        cs.compare(one, other).of("c")


def test_rows_of_other_weights_are_not_paired(two):
    one, other = two
    tilted = np.linspace(1, 2, 300)
    elsewhere = replace(other, parts_weight=tilted / tilted.sum())
    with pytest.raises(UnavailableError, match="weights"):
        cs.compare(one, elsewhere, paired=True)


# to read, to keep, to look at


def test_a_comparison_reads_back_from_its_file(two, tmp_path):
    for found in (cs.compare(*two), cs.compare([*two, two[0]], adjust=None, level=0.9)):
        found.save(tmp_path / "it.json")
        again = cs.load(tmp_path / "it.json")
        assert isinstance(again, cs.Comparison)
        assert str(again) == str(found)
        assert again.to_dict() == found.to_dict()
        np.testing.assert_array_equal(again.p_values(), found.p_values())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 7),
        ("names", ["a"]),
        ("names", ["a", "a"]),
        ("level", 2),
        ("level", None),
        ("adjust", "none"),
        ("changed", ["x3"]),
        ("differences", []),
        ("explanations", [{}, {}]),
        ("notes", [1]),
    ],
)
def test_a_damaged_file_is_refused(two, tmp_path, field, value):
    data = {**cs.compare(*two).to_dict(), field: value}
    (tmp_path / "it.json").write_text(json.dumps(data))
    with pytest.raises(FormatError):
        cs.load(tmp_path / "it.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [("values", [1.0, 0, 0, 0]), ("std_error", [-1.0, 0, 0, 0]), ("about", "data"), ("is_paired", 1), ("dof", None)],
)
def test_a_damaged_difference_is_refused(two, tmp_path, field, value):
    data = cs.compare(*two).to_dict()
    difference = data["differences"][0]
    (difference if field in difference else difference["target"])[field] = value
    (tmp_path / "it.json").write_text(json.dumps(data))
    with pytest.raises(FormatError, match=field):
        cs.load(tmp_path / "it.json")


def test_table_says_what_changed_and_what_that_means(two):
    found = cs.compare(*two, names=("old", "new"))
    text = str(found)
    assert text.startswith("new minus old: SAGE values, in units of squared error")
    assert found.changed == ["x1"]
    line = next(line for line in text.splitlines() if line.startswith("  x1 "))
    assert line.endswith("fell")
    assert "Changed: x1 (1 of 4 features)" in text
    assert "the same rows, compared row by row" in text
    assert "(Holm)" in text
    assert repr(found) == text


def test_runs_that_did_not_converge_are_named(two):
    unfinished = replace(two[1], stopped=StopReason.BUDGET)
    found = cs.compare(two[0], unfinished)
    assert "NOT CONVERGED: b." in str(found)
    assert "NOT CONVERGED: b." in note_below(found.plot())


def test_frame_has_a_row_for_each_difference(two):
    frame = cs.compare(*two).to_frame()
    assert frame["feature"][0] == "x1"
    np.testing.assert_allclose(frame["difference"], frame["other"] - frame["reference"], atol=1e-12)
    assert frame["changed"].tolist() == [True, False, False, False]
    several = cs.compare({"old": two[0], "new": two[1], "newest": two[1]}).to_frame()
    assert several["compared"].tolist() == ["new"] * 4 + ["newest"] * 4


def test_html_escapes_names(two):
    nasty = "<script>alert('x')</script>"
    one, other = (replace(each, feature_names=(nasty, "x1", "x2", "x3")) for each in two)
    shown = cs.compare(one, other, names=("<b>old</b>", "new"))._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown


def note_below(ax):
    return next(text.get_text() for text in ax.texts if text.get_gid() == "note").replace("\n", " ")


def test_plot_has_bars_of_all_explanations_and_a_star_where_something_changed(two):
    found = cs.compare({"old": two[0], "new": two[1], "again": two[0]})
    ax = found.plot(title="it")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [two[0].feature_names[i] for i in np.argsort(-two[0].values)]
    for k, one in enumerate(found.explanations):
        drawn = [patch.get_width() for patch in ax.patches if patch.get_gid() == f"bars {k}"]
        np.testing.assert_allclose(
            drawn, np.sort(one.values)[::-1] if k != 1 else one.values[np.argsort(-two[0].values)]
        )
    stars = [line for line in ax.lines if line.get_gid() == "changed"]
    assert len(stars) == 1
    assert [round(place) for place in stars[0].get_ydata()] == [names.index("x1")]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["old", "new", "again", "changed (Holm)"]
    assert "same rows" in note_below(ax)
    mpl.pyplot.close("all")


def test_plot_of_few_features_keeps_those_that_changed(seed):
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(100, 5)) / 100 + np.array([5, 4, 3, 2, 0]) / 100
    after = parts.copy()
    after[:, 4] += 0.5 / 100 + 0.001 * rng.normal(size=100) / 100
    ax = cs.compare(explained(parts), explained(after)).plot(top=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x0", "x1", "x4"]
    assert "3 of 5 features are drawn." in note_below(ax)
    mpl.pyplot.close("all")


@pytest.mark.parametrize("names", [("a", "b"), ("b", "the model that was fitted in the first week of June")])
@pytest.mark.parametrize("width", [None, 5])
def test_legend_of_a_plot_covers_no_bar_even_if_all_are_long(names, width):
    parts = np.full((50, 2), 1 / 50)
    ax = None if width is None else mpl.pyplot.subplots(figsize=(width, 4), layout="constrained")[1]
    ax = cs.compare(explained(parts), explained(2 * parts), names=names).plot(ax=ax)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    drawn = [*ax.patches, *(line for line in ax.lines if line.get_gid() == "changed")]
    assert not any(legend.overlaps(artist.get_window_extent()) for artist in drawn)
    mpl.pyplot.close("all")


def test_note_of_a_plot_says_how_rows_were_compared(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(50, 2)), rng.normal(size=(2, 40, 2))
    same = {"loss": "squared error", "check_manifold": False, "rng": 0}
    one, other, others = (
        cs.sage(lambda rows: rows[:, 0], rows, rows[:, 0], background=b, **same)
        for rows, b in [(X, background[0]), (X, background[1]), (X + 1, background[0])]
    )
    for comparison in (cs.compare(one, other), cs.compare(one, others)):  # other backgrounds; other rows
        assert "with the rows treated as independent samples" in note_below(comparison.plot())
    assert "on the same rows, paired" in note_below(cs.compare(one, one).plot())
    mpl.pyplot.close("all")


def test_plot_shows_names_as_they_are(two):
    one, other = (replace(each, feature_names=("$a_b$", "x1", "x2", "x3")) for each in two)
    ax = cs.compare(one, other, names=("$old$", "new")).plot()
    assert ax.get_legend().get_texts()[0].get_text() == r"\$old\$"
    ax.figure.canvas.draw()
    mpl.pyplot.close("all")


def test_bad_plots_are_refused(two):
    found = cs.compare(*two)
    for options, argument in [({"top": 0}, "top"), ({"ax": 3}, "ax")]:
        with pytest.raises(InputError, match=argument):
            found.plot(**options)
    with pytest.raises(InputError, match="comparison"):
        cs.plots.comparison(two[0])
    with pytest.raises(InputError, match="at most"):
        cs.compare([two[0]] * 8).plot()


def test_models_that_know_their_columns_in_another_order_are_compared_row_by_row(seed):
    pd = pytest.importorskip("pandas")
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc")).assign(d=rng.choice(["u", "v"], 80))
    y = X["a"] + 0.5 * X["b"] + rng.normal(size=80)
    one, other = (LinearRegression().fit(X[names], y) for names in (["a", "b", "c"], ["c", "a", "b"]))
    options = {"background": X[["a", "b", "c"]].iloc[:20], "rng": 0}
    found = cs.compare(*(cs.sage(model, X[["b", "c", "a"]], y, **options) for model in (one, other)))
    assert found.is_paired
    assert not found.notes
    swapped = X[["b", "c", "a"]].rename(columns={"a": "b", "b": "a"})
    assert not cs.compare(cs.sage(one, X[["a", "b", "c"]], y, **options), cs.sage(one, swapped, y, **options)).is_paired


def test_runs_with_several_losses_are_compared_row_by_row_with_those_of_one(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    options = {"y": X[:, 0], "background": X[:20], "rng": 0}
    single = cs.sage(linear(np.array([1.0, 0.0])), X, loss="squared error", **options)
    both = cs.sage(linear(np.array([1.0, 0.5])), X, loss=["squared error", "absolute error"], **options)
    assert cs.compare(single, both[0]).is_paired


def test_backgrounds_are_the_same_whatever_codes_their_categories_got(seed):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": np.resize(["u", "v", None, "w"], 60)})
    options = {"background": X.iloc[:20], "loss": "squared error", "rng": 0}
    ways = X.iloc[20:40], X.iloc[59:39:-1]  # in which the categories turn up in another order
    one, other = (cs.sage(lambda X: X["a"] + (X["b"] == "u"), way, way["a"], **options) for way in ways)
    assert cs.compare(one, other).differences[0].about == "rows"
    changed = cs.sage(
        lambda X: X["a"] + (X["b"] == "u"),
        ways[0],
        ways[0]["a"],
        **{**options, "background": X.iloc[:20].assign(b=X["b"].map({"u": "v", "v": "u", "w": "w"}))},
    )
    assert cs.compare(one, changed).differences[0].about == "population"


def test_p_values_are_the_callers_own():
    found = compared(5, 3, {0: 0.9})
    before = found.p_values()
    found.p_values()[:] = 0.5
    found.p_values(None)[:] = 0.5
    np.testing.assert_array_equal(found.p_values(), before)
    assert (found.p_values(None) <= before).all()
