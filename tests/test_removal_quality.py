"""Removals are judged by E||f - f_S||^2, which is least for f_S = E[f | x_S] and known where the law is."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
import clarysage._measures.removal_choice as removal_choice
from clarysage import as_predictor
from clarysage.catalogue import REMOVALS, RemovalRow
from clarysage.players import Players
from clarysage.registry import Registry
from clarysage.removal.background import bound_to
from clarysage.removal.removal_error import EvaluationSample, RemovalEvaluation, mean_and_covariance
from tests.registered import only_rows, with_rows

SIGMA = 4.5  # standard errors by which an estimate may be off: missed once in 150,000 times
LINEAR = np.array([1.0, -2.0, 0.5, 1.5])
COVARIANCE = np.array([[1.0, 0.8, 0.3, 0.0], [0.8, 1.0, 0.5, 0.2], [0.3, 0.5, 1.0, 0.6], [0.0, 0.2, 0.6, 1.0]])
TABLE = np.array([[[0.20, 0.02], [0.08, 0.10]], [[0.05, 0.15], [0.10, 0.30]]])  # P(x0, x1, x2)


def linear(X):
    return np.asarray(X) @ LINEAR


def gaussians(n, rng):
    return rng.multivariate_normal(np.zeros(4), COVARIANCE, size=n)


def subsets(p):
    """Proper subsets with their chances: sizes alike, subsets of a size alike."""
    for size in range(1, p):
        for kept in combinations(range(p), size):
            yield list(kept), 1 / ((p - 1) * comb(p, size))


def conditional(kept):
    """Coefficients of E[x_rest | x_S], and the covariance of what is left."""
    rest = [j for j in range(4) if j not in kept]
    slope = COVARIANCE[np.ix_(rest, kept)] @ np.linalg.inv(COVARIANCE[np.ix_(kept, kept)])
    return rest, slope, COVARIANCE[np.ix_(rest, rest)] - slope @ COVARIANCE[np.ix_(kept, rest)]


def left_by_gaussians():
    """E Var(f | X_S) of the linear model, over coalitions."""
    found = 0.0
    for kept, chance in subsets(4):
        rest, _, covariance = conditional(kept)
        found += chance * LINEAR[rest] @ covariance @ LINEAR[rest]
    return found


def of_marginal_gaussians():
    """E (f - f_S)^2 where withheld columns are at their mean, zero: f_S is off by the whole of their part."""
    found = 0.0
    for kept, chance in subsets(4):
        rest = [j for j in range(4) if j not in kept]
        found += chance * LINEAR[rest] @ COVARIANCE[np.ix_(rest, rest)] @ LINEAR[rest]
    return found


@dataclass(frozen=True)
class Told:
    """A restricted model that a function tells: (x (d,), kept (d,), rng) -> (k,)."""

    bound: Any
    told: Any
    rows_per_prediction: int = 1
    rows_of_checks: int = 3
    remarks: tuple = ()

    @property
    def schema(self):
        return self.bound.schema

    def full(self, x):
        raise AssertionError("the model itself is what counts")

    def predict(self, x, kept, rng):
        return np.array([np.atleast_1d(self.told(row, mask, rng)) for row, mask in zip(x, kept, strict=True)])


@dataclass(frozen=True)
class Oracle:
    told: Any
    name: str = "oracle"
    seen: list = field(default_factory=list)

    def restrict(self, predictor, X):
        bound = bound_to(predictor, X, X, 1e9).predictor

        def told(row, mask, rng):
            self.seen.append((row.copy(), mask.copy()))
            return self.told(row, mask, rng)

        return Told(bound, told)


def gaussian_mean(x, kept, rng, shift=0.0):
    (there,) = np.nonzero(kept)
    rest, slope, _ = conditional(there.tolist())
    return LINEAR[there] @ x[there] + LINEAR[rest] @ slope @ x[there] + shift


def gaussian_draws(m):
    def told(x, kept, rng):
        (there,) = np.nonzero(kept)
        rest, slope, covariance = conditional(there.tolist())
        drawn = rng.multivariate_normal(slope @ x[there], covariance, size=m)
        return LINEAR[there] @ x[there] + (drawn @ LINEAR[rest]).mean()

    return told


def near(estimate, error, truth):
    return abs(estimate - truth) <= SIGMA * error


def test_the_exact_conditional_mean_of_gaussians_wins_and_leaves_their_conditional_variance(seed):
    X = gaussians(1000, np.random.default_rng(seed))
    removals = {"exact": Oracle(gaussian_mean), "mean": cs.Baseline(np.zeros(4)), "marginal": "marginal"}
    quality = cs.removal_quality(removals, linear, X, rows=400, coalitions=4, rng=seed)
    assert quality.best == "exact"
    assert near(quality.scores[0], quality.std_error[0], left_by_gaussians())
    assert near(quality.scores[1], quality.std_error[1], of_marginal_gaussians())
    worse, error = quality.difference("mean")
    assert near(worse, error, of_marginal_gaussians() - left_by_gaussians())
    assert worse > SIGMA * error
    assert quality.variance == pytest.approx(LINEAR @ COVARIANCE @ LINEAR, rel=SIGMA * np.sqrt(2 / 400))
    np.testing.assert_allclose(quality.unexplained, quality.scores / quality.variance)


def test_the_exact_conditional_mean_of_a_discrete_law_wins_with_probabilities_summed_over_classes(seed):
    rng = np.random.default_rng(seed)
    cells = np.array(list(np.ndindex(2, 2, 2)))
    chance = np.array([0.05, 0.4, 0.3, 0.5, 0.6, 0.7, 0.6, 0.95])
    outputs = np.column_stack([chance, 1 - chance])  # (8, 2)
    mass = TABLE.ravel()

    def f(X):
        return outputs[np.asarray(X, dtype=int) @ [4, 2, 1]]

    def exact(x, kept, rng):
        alike = (cells[:, kept] == x[kept]).all(axis=1) * mass
        return alike @ outputs / alike.sum()

    truth = 0.0
    for kept, share in subsets(3):
        mask = np.isin(np.arange(3), kept)
        means = np.array([exact(cell, mask, None) for cell in cells])
        truth += share * mass @ ((outputs - means) ** 2).sum(axis=1)
    X = cells[rng.choice(8, size=800, p=mass)].astype(float)
    quality = cs.removal_quality([Oracle(exact), "baseline", "marginal"], f, X, rows=400, rng=seed)
    assert near(quality.scores[0], quality.std_error[0], truth)
    assert quality.best == "oracle"


def test_what_is_added_to_the_conditional_mean_is_added_to_the_error(seed):
    X = gaussians(400, np.random.default_rng(seed))
    removals = {"exact": Oracle(gaussian_mean), "off": Oracle(lambda *given: gaussian_mean(*given, shift=0.3))}
    quality = cs.removal_quality(removals, linear, X, rows=400, rng=seed)
    assert near(*quality.difference("off", "exact"), 0.3**2)
    assert quality.difference("off", "exact")[1] < quality.std_error[0]  # paired


def test_few_draws_add_their_part_of_the_conditional_variance(seed):
    X = gaussians(500, np.random.default_rng(seed))
    removals = {"exact": Oracle(gaussian_mean), "three draws": Oracle(gaussian_draws(3))}
    quality = cs.removal_quality(removals, linear, X, rows=500, rng=seed)
    assert near(*quality.difference("three draws", "exact"), left_by_gaussians() / 3)


@pytest.mark.statistical
def test_standard_errors_are_those_of_repetition(seed):
    rng = np.random.default_rng(seed)
    removals = {"exact": Oracle(gaussian_mean), "mean": cs.Baseline(np.zeros(4))}
    truth = np.array([left_by_gaussians(), of_marginal_gaussians()])
    scores, errors, apart = [], [], []
    for _ in range(120):
        quality = cs.removal_quality(removals, linear, gaussians(60, rng), coalitions=4, rng=rng)
        scores.append(quality.scores)
        errors.append(quality.std_error)
        apart.append(quality.difference("mean", "exact"))
    scores, errors, apart = map(np.array, (scores, errors, apart))
    # sums of 60 squares of normal numbers: the relative standard error of a deviation of 120 of them is about 8 %
    np.testing.assert_allclose(scores.std(axis=0, ddof=1), np.sqrt((errors**2).mean(axis=0)), rtol=SIGMA * 0.08)
    np.testing.assert_allclose(apart[:, 0].std(ddof=1), np.sqrt((apart[:, 1] ** 2).mean()), rtol=SIGMA * 0.08)
    off = (scores.mean(axis=0) - truth) / (scores.std(axis=0) / np.sqrt(120))
    assert (np.abs(off) < SIGMA).all()


@pytest.mark.statistical
def test_standard_errors_are_those_of_repetition_where_rows_share_coalitions(seed):
    rng = np.random.default_rng(seed)
    players, weights = Players.of(["a", "b", "c", "d"]), np.repeat([1.0, 2.0], 48)
    truth = np.array([left_by_gaussians(), of_marginal_gaussians()])
    scores, covariances, apart = [], [], []
    for _ in range(160):
        X = gaussians(96, rng)
        sample = EvaluationSample.draw(weights, 96, 2, 4, rng, clusters=24)
        assert len(np.unique(sample.coalitions.reshape(96, -1), axis=0)) <= 24
        assert np.bincount(sample.cluster).tolist() == [4] * 24
        evaluation = RemovalEvaluation.of(as_predictor(linear), X, X, sample, players)
        removals = (Oracle(gaussian_mean), cs.Baseline(np.zeros(4)))
        errors = np.column_stack([evaluation.error_of(removal, rng).errors for removal in removals])
        means, covariance = mean_and_covariance(errors, weights, sample.cluster)
        alone = mean_and_covariance(errors, weights, np.arange(96))[1]
        scores.append(means)
        covariances.append(np.diag(covariance))
        apart.append(np.diag(alone))
    scores, found, apart = np.array(scores), np.mean(covariances, axis=0), np.mean(apart, axis=0)
    # relative standard errors: 6 to 8 % of a deviation of 160, 1.5 % of the mean of 160 with 24 groups each
    np.testing.assert_allclose(scores.std(axis=0, ddof=1), np.sqrt(found), rtol=SIGMA * 0.07)
    assert (np.abs(scores.mean(axis=0) - truth) < SIGMA * scores.std(axis=0) / np.sqrt(160)).all()
    assert found[1] > apart[1]  # rows that are taken to be independent say too little: by 18 %, which is 7 to 9 errors


def test_all_removals_meet_the_same_pairs_and_sizes_are_alike(seed):
    X = gaussians(300, np.random.default_rng(seed))
    one, two = Oracle(gaussian_mean), Oracle(gaussian_mean)
    quality = cs.removal_quality([one, two], linear, X, rows=300, coalitions=4, rng=seed)
    assert quality.names == ("oracle", "oracle (2)")
    assert quality.difference("oracle", "oracle (2)") == (0.0, 0.0)
    assert all(
        np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in zip(one.seen, two.seen, strict=True)
    )
    masks = np.array([mask for _, mask in one.seen])
    assert len(masks) == 1200
    counts = np.bincount(masks.sum(axis=1), minlength=5)
    assert counts[0] == counts[4] == 0
    assert (np.abs(counts[1:4] - 400) < SIGMA * np.sqrt(2 * 1200 * 2 / 9)).all()  # complements go in pairs
    often = masks.mean(axis=0)
    assert (np.abs(often - 0.5) < SIGMA * np.sqrt(0.25 / 1200)).all()


def test_groups_are_withheld_together(seed):
    X = gaussians(50, np.random.default_rng(seed))
    oracle = Oracle(lambda x, kept, rng: 0.0)
    cs.removal_quality([oracle], linear, X, groups={"pair": ["x0", "x2"]}, rng=seed)
    masks = np.array([mask for _, mask in oracle.seen])
    assert (masks[:, 0] == masks[:, 2]).all()
    assert (masks[:, 0] != masks[:, 1]).any()


def test_rows_count_by_their_weights(seed):
    rng = np.random.default_rng(seed)
    X, weights = gaussians(60, rng), rng.integers(0, 4, size=60).astype(float)
    quality = cs.removal_quality([Oracle(lambda *_: 0.0)], linear, X, sample_weight=weights, rng=seed)
    assert quality.scores[0] == pytest.approx(weights @ linear(X) ** 2 / weights.sum())
    assert quality.rows == (weights > 0).sum()
    mean = weights @ linear(X) / weights.sum()
    n = quality.rows
    assert quality.variance == pytest.approx(weights @ (linear(X) - mean) ** 2 / weights.sum() * n / (n - 1))


@dataclass(frozen=True)
class Memory:
    """The prediction for that row of the background which is nearest in what is kept: perfect on its own rows."""

    background: Any
    name: str = "memory"

    def restrict(self, predictor, X):
        tables = bound_to(predictor, X, self.background, 1e9)
        bound, rows = tables.predictor, tables.background

        def told(x, kept, rng):
            return bound(rows[[((rows - x)[:, kept] ** 2).sum(axis=1).argmin()]])[0]

        return Told(bound, told)


def test_no_removal_is_judged_on_rows_it_was_made_of(seed, monkeypatch):
    with_rows(monkeypatch, REMOVALS, RemovalRow("memory", "", lambda background, weights: Memory(background)))
    X = gaussians(200, np.random.default_rng(seed))
    apart = cs.removal_quality(["memory"], linear, X, rng=seed)
    assert apart.scores[0] > left_by_gaussians() / 2
    assert apart.rows == 100
    assert tuple(map(str, apart.notes)) == ("Removals were made from 100 rows of X, and evaluated on 100 others.",)
    for own in (
        cs.removal_quality(["memory"], linear, X, background=X, rng=seed),
        cs.removal_quality(Memory(X), linear, X, rng=seed),
    ):
        assert own.scores[0] < 1e-20
        assert "made from 200 of the 200 rows it was evaluated on" in own.notes[-1]


def test_all_judges_what_can_be_made_and_says_what_cannot(seed, monkeypatch):
    def refuses(background, weights):
        raise cs.InputError("background", got="text", wanted="numbers")

    picky = RemovalRow("picky", "", refuses)
    with_rows(monkeypatch, REMOVALS, picky)
    X = gaussians(80, np.random.default_rng(seed))
    quality = cs.removal_quality("all", linear, X, rng=seed)
    assert set(quality.names) == set(REMOVALS) - {"picky"}
    assert quality.left_out["picky"] == "background: got text; wanted numbers."
    assert "Left out: 'picky'" in str(quality)
    with pytest.raises(cs.InputError, match="got text"):
        cs.removal_quality(["marginal", "picky"], linear, X, rng=seed)
    monkeypatch.setattr("clarysage._measures.removal_quality.REMOVALS", Registry("removal", (picky,)))
    with pytest.raises(cs.InputError, match="got text"):
        cs.removal_quality("all", linear, X, rng=seed)


def test_the_same_seed_gives_the_same_bits(seed):
    X = gaussians(100, np.random.default_rng(seed))
    one, two, other = (cs.removal_quality("all", linear, X, rng=s) for s in (seed, seed, seed + 1))
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.covariance, two.covariance)
    assert (one.scores != other.scores).all()


def test_what_each_took_is_counted(seed):
    X = gaussians(40, np.random.default_rng(seed))
    quality = cs.removal_quality([Oracle(gaussian_mean), "marginal"], linear, X, coalitions=3, rows=10, rng=seed)
    assert quality.model_rows.tolist() == [10 * 3 + 3, 10 * 3 * 20]
    assert (quality.seconds > 0).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_with_text_are_judged(seed, kind):
    library = pytest.importorskip(kind)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue"], 60), "size": rng.normal(size=60)})
    tables = {
        "pandas": lambda: frame,
        "polars": lambda: library.DataFrame(frame.to_dict("list")),
        "pyarrow": lambda: library.table(frame.to_dict("list")),
    }

    def f(table):
        columns = table.to_pydict() if kind == "pyarrow" else {name: list(table[name]) for name in ("colour", "size")}
        return np.array([(c == "red") + s for c, s in zip(columns["colour"], columns["size"], strict=True)])

    quality = cs.removal_quality("all", f, tables[kind](), rng=seed)
    assert {"marginal", "baseline"} <= set(quality.names)
    assert (quality.scores > 0).all()


def test_a_constant_model_has_no_error_and_no_share(seed):
    quality = cs.removal_quality(
        ["marginal"], lambda X: np.ones(len(X)), gaussians(20, np.random.default_rng(seed)), rng=0
    )
    assert quality.scores[0] == 0
    assert np.isnan(quality.unexplained).all()
    assert "nan" not in str(quality)


def test_a_result_can_be_read_and_is_fixed(seed):
    quality = cs.removal_quality(
        {"<b>": "marginal", "mean": "baseline"}, linear, gaussians(50, np.random.default_rng(seed))
    )
    lines = str(quality).splitlines()
    assert lines[1].split()[:2] == ["removal", "error"]
    assert lines[2].split()[0] == quality.best
    assert "<b>" not in quality._repr_html_()
    assert "&lt;b&gt;" in quality._repr_html_()
    frame = quality.to_frame()
    assert frame["removal"][0] == quality.best
    assert frame["error"].is_monotonic_increasing
    assert frame["difference"][0] == frame["difference_std_error"][0] == 0
    with pytest.raises(ValueError, match="read-only"):
        quality.scores[0] = 0
    again = pickle.loads(pickle.dumps(quality))
    np.testing.assert_array_equal(again.covariance, quality.covariance)
    with pytest.raises(cs.InputError, match="'magic'; wanted one of"):
        quality.difference("magic")


def test_a_plot_shows_each_removal_with_its_interval(seed):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    X = gaussians(300, np.random.default_rng(seed))
    quality = cs.removal_quality(
        {"exact": Oracle(gaussian_mean), "mean": cs.Baseline(np.zeros(4))}, linear, X, rng=seed
    )
    ax = quality.plot(title="Which removal?")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["exact", "mean"]
    ends = [container.lines[2][0].get_segments()[0][:, 0] for container in ax.containers]
    for (low, high), score, error in zip(ends, quality.scores, quality.std_error, strict=True):
        assert (low + high) / 2 == pytest.approx(score)
        assert 1.9 * error < (high - low) / 2 < 2.1 * error
    colours = [container.lines[0].get_color() for container in ax.containers]
    assert colours[0] != colours[1]
    own = pyplot.figure().add_subplot()
    assert quality.plot(ax=own) is own
    with pytest.raises(cs.InputError, match="removal_quality"):
        cs.plots.removal_errors("quality")
    pyplot.close("all")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: cs.removal_quality([], linear, X), "removals: got none"),
        (lambda X: cs.removal_quality("magic", linear, X), "'magic'"),
        (lambda X: cs.removal_quality([3], linear, X), "got int"),
        (lambda X: cs.removal_quality("auto conditional", linear, X), "which chooses a removal"),
        (lambda X: cs.removal_quality("all", linear, X, coalitions=0), "coalitions: got 0"),
        (lambda X: cs.removal_quality("all", linear, X, rows=1), "rows: got 1"),
        (lambda X: cs.removal_quality("all", linear, X, rows=2.5), "rows: got 2.5"),
        (lambda X: cs.removal_quality("all", linear, X[:3]), "3 rows, and no background"),
        (lambda X: cs.removal_quality("all", linear, X[:1], background=X), "one row to evaluate on"),
        (lambda X: cs.removal_quality("all", linear, X, groups={"all": [0, 1, 2, 3]}), "one player"),
        (lambda X: cs.removal_quality("all", linear, X, sample_weight=[1.0]), "1 weights"),
        (lambda X: cs.removal_quality("all", linear, X, rng="seed"), "rng: got 'seed'"),
    ],
)
def test_what_cannot_be_judged_is_an_error(call, words):
    with pytest.raises(cs.InputError) as caught:
        call(gaussians(20, np.random.default_rng(0)))
    assert words in str(caught.value)


def stand_ins(monkeypatch):
    """Conditional removals for the choice: a good one, a bad one, and one that refuses."""

    def refuses(background, weights):
        raise cs.InputError("background", got="text", wanted="numbers")

    table = {
        "gaussian": lambda background, weights: cs.Baseline(np.full(4, 3.0), name="gaussian"),
        "copula": lambda background, weights: cs.Baseline(background=background, name="copula"),
        "trees": refuses,
    }
    rows = (RemovalRow(name, "", make, is_conditional=True) for name, make in table.items())
    only_rows(monkeypatch, REMOVALS, *rows)


def test_auto_conditional_takes_the_removal_with_the_smallest_error_and_says_so(seed, monkeypatch):
    stand_ins(monkeypatch)
    X = gaussians(200, np.random.default_rng(seed))
    chosen = cs.sage(linear, X, linear(X), removal="Auto-conditional", rng=seed)
    assert chosen.removal == "copula"
    (note,) = [str(note) for note in chosen.notes if "was chosen: mean" in note]
    assert note.startswith("Removal 'copula' was chosen: mean squared error of f_S against f ")
    assert ", gaussian " in note
    assert ", trees could not be used" in note
    by_name = cs.sage(linear, X, linear(X), removal="copula", rng=seed)
    np.testing.assert_array_equal(chosen.values, by_name.values)
    pairs = removal_choice.COALITIONS * min(removal_choice.ROWS, 100)
    assert chosen.model_rows - by_name.model_rows == pairs // removal_choice.COALITIONS + 2 * pairs
    again = cs.sage(linear, X, linear(X), removal="auto conditional", rng=seed)
    assert again.notes == chosen.notes


@pytest.mark.parametrize("background", [None, "X", "part of X", "other"])
def test_auto_conditional_never_judges_a_removal_on_its_own_rows(seed, monkeypatch, background):
    """A removal that remembers its rows would else be chosen with an error of zero."""
    judged = []

    class Watched(Memory):
        def restrict(self, predictor, X):
            judged.append((np.asarray(self.background), np.asarray(X)))
            return super().restrict(predictor, X)

    watched = RemovalRow("gaussian", "", lambda background, weights: Watched(background), is_conditional=True)
    only_rows(monkeypatch, REMOVALS, watched)
    rng = np.random.default_rng(seed)
    X = gaussians(100, rng)
    given = {None: None, "X": X, "part of X": X[:30], "other": gaussians(50, rng)}[background]
    f, players = cs.as_predictor(linear), cs.Players.of("abcd")
    source = np.arange(100) if given is None else None
    choice = removal_choice.choose_removal(f, X, X if given is None else given, players, seed, source=source)
    for made_of, rows in judged:
        assert not (made_of[:, None] == rows[None]).all(axis=2).any()
    assert choice.removal.background is (X if given is None else given)


def test_auto_conditional_says_what_it_cannot(monkeypatch):
    X = gaussians(20, np.random.default_rng(0))
    stand_ins(monkeypatch)
    with pytest.raises(cs.InputError, match="3 background rows"):
        cs.sage(linear, X[:3], linear(X[:3]), removal="auto conditional")
    one = cs.sage(linear, X, linear(X), groups={"all": [0, 1, 2, 3]}, removal="auto conditional")
    assert any("a single player" in note for note in one.notes)


def test_auto_conditional_leaves_out_what_would_take_too_long(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 13))
    found = cs.sage(lambda X: X[:, 0], X[:40], X[:40, 0], background=X[40:], removal="auto conditional", rng=seed)
    (note,) = [note for note in found.notes if "was chosen: mean squared error" in note]
    assert "trees not tried" in note
    assert "surrogate" in note


def test_auto_conditional_takes_one_column_of_categories():
    X = pd.DataFrame({"kind": ["a", "b"] * 20})
    found = cs.sage(
        lambda X: (X["kind"] == "a").to_numpy(float), X, np.tile([1.0, 0.0], 20), removal="auto conditional"
    )
    assert found.removal == "copula"
    assert found.values[0] == found.total > 0
