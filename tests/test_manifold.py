"""Hybrid rows against real ones: alike where columns are independent, told apart as far as they can be where not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
import clarysage._measures.off_manifold as measured
import clarysage._measures.sage as sage_module
from clarysage.removal.off_manifold import LEAF, RowPairs, forest_scores, two_sample_test

SIGMA = 4.5  # standard errors by which an estimate may be off: missed once in 150,000 times


def total(X):
    return np.asarray(X, dtype=float).sum(axis=1)


def warnings_of(explanation):
    return [note for note in explanation.notes if "look unlike real ones" in note]


@pytest.mark.statistical
def test_independent_columns_give_an_auc_of_one_half_with_the_standard_error_it_says(seed):
    """Hybrid rows of independent columns have the law of real ones, so that no classifier has anything to go by."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(40):
        found.append(cs.off_manifold(rng.gamma(1.0, size=(80, 3)), rng=rng))
    z = np.array([(one.auc - 0.5) / one.std_error for one in found])
    assert abs(z.mean()) < SIGMA / np.sqrt(40)
    assert z.std(ddof=1) == pytest.approx(1.0, abs=SIGMA / np.sqrt(2 * 40))
    assert not any(one.is_high for one in found)


@pytest.mark.parametrize("columns", [2, 3, 5])
def test_a_duplicate_is_found_as_often_as_coalitions_part_it(seed, columns):
    """The pair is parted with a chance q, and then plain to see: at best an AUC of (1 + q) / 2, and a share of q."""
    sizes = np.arange(1, columns)
    q = float(np.mean(2 * sizes * (columns - sizes) / (columns * (columns - 1))))
    X = np.random.default_rng(seed).normal(size=(512, columns))
    X[:, 1] = X[:, 0]
    found = cs.off_manifold(X, rng=seed)
    spread = np.sqrt(q * (1 - q) / 256)  # of the share of pairs that are parted: both hybrid rows are, or none
    assert found.is_high
    assert (1 + q) / 2 - 0.06 - SIGMA * found.std_error < found.auc < (1 + q) / 2 + SIGMA * (found.std_error + 1e-3)
    assert q - 0.12 - SIGMA * spread < found.share < q + SIGMA * spread + 0.01


def test_columns_withheld_together_stay_together(seed):
    X = np.random.default_rng(seed).normal(size=(400, 4))
    X[:, 1] = X[:, 0]
    apart = cs.off_manifold(X, rng=seed)
    together = cs.off_manifold(X, groups={"pair": [0, 1]}, rng=seed)
    assert apart.is_high
    assert not together.is_high
    assert abs(together.auc - 0.5) < SIGMA * together.std_error


def test_stronger_correlation_makes_more_rows_strange(seed):
    rng, found = np.random.default_rng(seed), []
    for correlation in (0.2, 0.7, 0.95):
        covariance = np.full((5, 5), correlation) + (1 - correlation) * np.eye(5)
        found.append(cs.off_manifold(rng.multivariate_normal(np.zeros(5), covariance, size=512), rng=seed))
    assert found[0].auc < found[1].auc < found[2].auc
    assert found[0].share < found[1].share < found[2].share
    assert not found[0].is_high
    assert found[2].is_high


def test_dependence_that_is_no_correlation_is_found(seed):
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, size=512)
    assert cs.off_manifold(np.column_stack([np.cos(angle), np.sin(angle)]), rng=seed).is_high


def mixed(rng, n, *, is_tied):
    """Text, numbers and missing cells; tied: the text repeated, and cells missing together."""
    town, other = rng.choice(list("abcdef"), n), rng.choice(list("abcdef"), n)
    is_missing = rng.random((2, n)) < 0.3
    return pd.DataFrame(
        {
            "town": town,
            "city": town if is_tied else other,
            "height": np.where(is_missing[0], np.nan, rng.normal(size=n)),
            "width": np.where(is_missing[0 if is_tied else 1], np.nan, rng.normal(size=n)),
        }
    )


def test_categories_and_missing_cells_are_seen(seed):
    rng = np.random.default_rng(seed)
    tied, free = (mixed(rng, 500, is_tied=is_tied) for is_tied in (True, False))
    assert cs.off_manifold(tied[["town", "city"]], rng=seed).is_high
    assert cs.off_manifold(tied[["height", "width"]], rng=seed).share > 0.05
    assert cs.off_manifold(tied, rng=seed).is_high
    found = cs.off_manifold(free, rng=seed)
    assert abs(found.auc - 0.5) < SIGMA * found.std_error
    assert not found.is_high


def test_strange_numbers_are_no_obstacle(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 6))
    X[:, 0] = np.inf
    X[::2, 1] = -np.inf
    X[:, 2] *= 1e300
    X[:, 3] = np.nan
    X[:, 4] = 7.0
    found = cs.off_manifold(X, rng=seed)
    assert abs(found.auc - 0.5) < SIGMA * found.std_error


def test_very_many_columns_are_looked_at_in_part(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 1)) + 0.1 * rng.normal(size=(60, 1500))
    assert cs.off_manifold(X, rng=seed).is_high


@pytest.mark.parametrize("kind", ["X itself", "part of X", "others"])
def test_no_individual_is_in_two_pairs(seed, kind):
    """Else a row that was fitted on would come back among those that are judged."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 2))
    background, own = {
        "X itself": (X, np.arange(90)),
        "part of X": (X[:50], np.where(np.arange(90) < 50, np.arange(90), -1)),
        "others": (rng.normal(size=(70, 2)), None),
    }[kind]
    pairs = RowPairs.draw(X, background, own, np.ones(90), np.ones(len(background)), rng)
    rows = {tuple(row) for row in pairs.real()}
    assert len(rows) == 2 * len(pairs)
    assert len(pairs) == {"X itself": 45, "part of X": 45, "others": 70}[kind]
    assert rows <= {tuple(row) for row in np.vstack([X, background])}


def test_rows_without_weight_are_not_drawn(seed):
    rng = np.random.default_rng(seed)
    X, background = np.zeros((60, 2)), np.zeros((60, 2))
    X[:10], background[:10] = 1.0, 2.0
    weights = np.where(np.arange(60) < 10, 0.0, rng.random(60) + 0.1)
    pairs = RowPairs.draw(X, background, None, weights, weights, rng)
    assert len(pairs) == 50
    assert (pairs.real() == 0).all()


@pytest.mark.parametrize("is_product", [False, True])
def test_hybrid_rows_have_the_cells_of_real_ones_column_by_column(seed, is_product):
    rng = np.random.default_rng(seed)
    pairs = RowPairs(rng.normal(size=(30, 4)), rng.normal(size=(30, 4)))
    players = cs.Players.of("abcd", groups={"pair": ["a", "c"]})
    hybrids = pairs.hybrids(players, rng, is_product=is_product)
    np.testing.assert_array_equal(np.sort(hybrids, axis=0), np.sort(pairs.real(), axis=0))
    is_x = hybrids[:30] == pairs.x
    assert (is_x[:, 0] == is_x[:, 2]).all()  # a group is kept whole
    assert (is_x.any(axis=1) & ~is_x.all(axis=1)).all()  # and coalitions are never all or none
    one_row = ((hybrids[:30] == pairs.b) | is_x).all(axis=1)
    assert one_row.all() != is_product


def test_the_same_seed_gives_the_same_bits(seed):
    X = np.random.default_rng(seed).normal(size=(100, 3))
    assert cs.off_manifold(X, rng=seed) == cs.off_manifold(X, rng=seed)
    assert cs.off_manifold(X, rng=seed) != cs.off_manifold(X, rng=seed + 1)


@pytest.mark.parametrize("columns", [2, 30])
def test_trees_fitted_one_by_one_have_the_scores_of_a_forest_of_classifiers(columns, seed):
    from sklearn.ensemble import ExtraTreesClassifier

    rng = np.random.default_rng(seed)
    X, tested = (rng.normal(size=(rows, columns)).astype(np.float32) for rows in (300, 100))
    is_hybrid = np.arange(300) >= 100
    X[is_hybrid] *= 2
    forest = ExtraTreesClassifier(8, min_samples_leaf=LEAF, class_weight="balanced", random_state=seed)
    expected = forest.fit(X, is_hybrid).predict_proba(tested)[:, 1]
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(forest_scores(X, is_hybrid, tested, 8, seed), expected, rtol=1e-12)


def test_it_can_be_read(seed):
    x = np.random.default_rng(seed).normal(size=(200, 1))
    found = cs.off_manifold(np.hstack([x, x]), rng=seed)
    assert str(found) == (
        f"Hybrid rows against real ones: AUC {found.auc:.3f} ± {found.std_error:.3f}, {100 * found.share:.0f} % look "
        "off the manifold; many are unlike real rows."
    )
    assert found.pairs == 100


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: cs.off_manifold(X[:, :1]), "one player"),
        (lambda X: cs.off_manifold(X, groups={"all": [0, 1, 2]}), "one player"),
        (lambda X: cs.off_manifold(X[:49]), "49 rows and 49 background rows"),
        (lambda X: cs.off_manifold(X, X[:, :2]), "2 columns; wanted 3"),
        (lambda X: cs.off_manifold(X, rng=-1), "rng: got -1"),
    ],
)
def test_what_cannot_be_told_is_an_error(call, words):
    with pytest.raises(cs.InputError) as caught:
        call(np.random.default_rng(0).normal(size=(100, 3)))
    assert words in str(caught.value)


def correlated(rng, n):
    return rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 4))


def test_sage_warns_of_correlated_features_and_says_what_to_try(seed):
    rng = np.random.default_rng(seed)
    X = correlated(rng, 200)
    for options in ({}, {"background": correlated(rng, 100)}, {"removal": "product of marginals"}):
        (note,) = warnings_of(cs.sage(total, X, total(X), rng=seed, **options))
        assert 'Try removal="auto conditional", or groups of correlated features.' in note
    free = rng.normal(size=(200, 4))
    for options in ({}, {"background": rng.normal(size=(100, 4))}, {"removal": "product of marginals"}):
        assert warnings_of(cs.sage(total, free, total(free), rng=seed, **options)) == []


def test_a_product_of_marginals_parts_what_a_group_would_keep_together(seed):
    X = np.random.default_rng(seed).normal(size=(300, 3))
    X[:, 1] = X[:, 0]
    options = {"groups": {"pair": [0, 1]}, "rng": seed}
    assert warnings_of(cs.sage(total, X, total(X), **options)) == []
    assert len(warnings_of(cs.sage(total, X, total(X), removal="product of marginals", **options))) == 1


def test_nothing_is_said_where_nothing_can_be(seed):
    rng = np.random.default_rng(seed)
    X, few = correlated(rng, 200), correlated(rng, 49)
    assert warnings_of(cs.sage(total, X, total(X), groups={"all": [0, 1, 2, 3]}, rng=seed)) == []
    assert warnings_of(cs.sage(total, X, total(X), removal="baseline", rng=seed)) == []
    assert warnings_of(cs.sage(total, few, total(few), rng=seed)) == []
    players = cs.Players.of("abcd")
    assert two_sample_test(RowPairs(few[:24], few[24:48]), players, np.ones(4, dtype=bool), rng) is None


@pytest.mark.parametrize("method", ["auto", "permutation", "kernel"])
def test_the_look_changes_no_number_of_a_run(seed, method, monkeypatch):
    def model(X):
        return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 3]

    X = correlated(np.random.default_rng(seed), 100)
    options = {"method": method, "budget": 200_000, "rng": seed}
    with_it = cs.sage(model, X, model(X), **options)
    monkeypatch.setattr(sage_module, "about_manifold", lambda *given: [])
    without = cs.sage(model, X, model(X), **options)
    np.testing.assert_array_equal(with_it.values, without.values)
    np.testing.assert_array_equal(with_it.std_error, without.std_error)
    assert with_it.model_rows == without.model_rows
    assert [note for note in with_it.notes if note not in without.notes] == warnings_of(with_it)


def test_the_look_never_makes_a_run_fail(seed, monkeypatch):
    def breaks(*given, **options):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(measured, "two_sample_test", breaks)
    X = correlated(np.random.default_rng(seed), 100)
    assert warnings_of(cs.sage(total, X, total(X), rng=seed)) == []


def test_a_look_that_fails_is_a_warning(seed, monkeypatch):
    def breaks(*given, **options):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(measured, "two_sample_test", breaks)
    X = correlated(np.random.default_rng(seed), 100)
    (note,) = [note for note in cs.sage(total, X, total(X), rng=seed).notes if "no such luck" in note]
    assert note.level == "warning"
    assert "Try check_manifold=False" in note


def test_faults_of_the_program_are_not_taken_for_unusual_data(monkeypatch):
    def breaks(*given, **options):
        raise TypeError("a fault")

    monkeypatch.setattr(measured, "two_sample_test", breaks)
    X = correlated(np.random.default_rng(0), 100)
    with pytest.raises(TypeError, match="a fault"):
        cs.sage(total, X, total(X), rng=0)


def trees_of(model, X, y, monkeypatch, **options):
    """Returns the number of trees of the look in a run, None where it was left out; and the notes of the run."""
    trees = []

    def counted(*given, **with_trees):
        trees.append(with_trees["trees"])
        return two_sample_test(*given, **with_trees)

    with monkeypatch.context() as patch:
        patch.setattr(measured, "two_sample_test", counted)
        notes = cs.sage(model, X, y, rng=0, **options).notes
    return (trees[0] if trees else None), [note for note in notes if "was not tested" in note]


@pytest.mark.parametrize("columns", [5, 60])
def test_the_look_grows_with_the_work_that_a_run_is_expected_to_do(columns, monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, columns))
    y = X[:, 0] * X[:, 1]

    def model(rows):
        return rows[:, 0] * rows[:, 1]

    counts = []
    for tolerance in (0.3, 0.025, 0.005):
        trees, notes = trees_of(model, X, y, monkeypatch, method="paired walks", tolerance=tolerance, budget=600_000)
        assert (trees is None) == bool(notes)
        counts.append(trees or 0)
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_run_of_milliseconds_leaves_the_look_out_and_says_so(monkeypatch):
    from sklearn.linear_model import LinearRegression

    X = correlated(np.random.default_rng(0), 300)
    trees, (note,) = trees_of(LinearRegression().fit(X, total(X)), X, total(X), monkeypatch)
    assert trees is None
    assert "would take more than a tenth of so short a run" in note
    assert trees_of(LinearRegression().fit(X, total(X)), X, total(X), monkeypatch, check_manifold=False) == (None, [])


INDEPENDENT = {
    "numbers": lambda rng: rng.normal(size=(512, 20)),
    "few rows": lambda rng: rng.normal(size=(50, 5)),
    "long tails": lambda rng: np.exp(2 * rng.normal(size=(100, 50))),
    "flags": lambda rng: (rng.random((200, 8)) < 0.3).astype(float),
    "missing cells": lambda rng: np.where(rng.random((200, 8)) < 0.2, np.nan, rng.normal(size=(200, 8))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_columns_give_no_alarm_in_200_trials(seed, name):
    alarms = [
        cs.off_manifold(INDEPENDENT[name](np.random.default_rng([seed, run])), rng=run).is_high for run in range(200)
    ]
    assert not any(alarms)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [10, 50])
def test_correlations_of_seven_tenths_always_give_one(seed, columns):
    root = np.linalg.cholesky(0.7 + 0.3 * np.eye(columns))
    alarms = [
        cs.off_manifold(np.random.default_rng([seed, run]).normal(size=(512, columns)) @ root.T, rng=run).is_high
        for run in range(40)
    ]
    assert all(alarms)


def test_a_constant_model_has_rounded_losses_and_no_warning_of_rows_unlike_real_ones():
    x = np.random.default_rng(0).normal(size=(300, 1))
    X, y = np.hstack([x, x, x]), 170 + 20 * x[:, 0]
    constant = cs.sage(lambda X: np.full(len(X), 3.0), X, y, rng=0)
    loss = f"{np.mean((y - 3) ** 2):,.0f}"
    assert f"by 0: it is {loss} without features and {loss} with them" in str(constant)
    assert not any("unlike real ones" in note for note in constant.notes)
    assert any("predicts the same for every row" in note for note in constant.notes)
    varying = cs.sage(lambda X: 3.0 + X[:, 0], X, y, rng=0)
    assert any("unlike real ones" in note for note in varying.notes)
