"""Surrogate: one regressor for all coalitions, against conditional expectations."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
from clarysage.removal.restricted.learned import OutputRange, masked_inputs
from clarysage.removal.surrogate import MaskedRows
from conditional_laws import Gaussian, coalitions, mean_error


def linear():
    return make_pipeline(SimpleImputer(keep_empty_features=True), LinearRegression())


def unweighted():
    """A regressor that takes no weights."""
    return make_pipeline(SimpleImputer(keep_empty_features=True), KNeighborsRegressor(20))


def asked(removal, X):
    """What a removal says of the first column where it alone is known."""
    f_S = removal.restrict(first, X)
    return f_S.predict(X, np.tile(np.arange(X.shape[1]) == 0, (len(X), 1)), None)


def first(Z):
    return Z[:, 0]


class Memory(RegressorMixin, BaseEstimator):
    """Knows the answer of every row it has seen, by its first column, and says -100 to others."""

    def fit(self, Z, y):
        self.known_ = {cell: value for cell, value in zip(Z[:, 0].tolist(), y.tolist(), strict=True) if cell == cell}
        return self

    def predict(self, Z):
        return np.array([self.known_.get(cell, -100.0) for cell in Z[:, 0].tolist()])


def test_error_against_the_conditional_expectation_falls_with_the_background(seed):
    law, rng = Gaussian(4), np.random.default_rng(seed)
    X = law.draw(100, rng)
    errors = [mean_error(cs.Surrogate(law.draw(m, rng), copies=8 * m), law, X) / law.variance for m in (64, 1024)]
    assert errors[1] < errors[0] / 2
    assert errors[1] < 0.04  # measured: 8 to 11, and 1.4 to 2.1 %
    assert mean_error(cs.Marginal(law.draw(512, rng)), law, X) / law.variance > 3 * errors[1]


def test_an_example_is_answered_by_a_regressor_that_has_not_seen_it():
    X = np.arange(40.0).reshape(20, 2)
    f_S = cs.Surrogate(X, regressor=Memory(), copies=2000).restrict(lambda Z: Z[:, 0] - 200, X)
    kept = np.tile([True, False], (20, 1))
    np.testing.assert_array_equal(f_S.predict(X, kept, None), np.full((20, 1), -162.0))  # -100, within f's range
    stranger = X[:1] + 0.0
    stranger[0, 1] = -5.0
    assert f_S.predict(stranger, kept[:1], None)[0, 0] < -162.0  # three of four have seen a row with that cell


def test_in_sample_errors_are_no_better_than_those_of_fresh_rows(seed):
    rng = np.random.default_rng(seed)
    X, fresh = rng.normal(size=(2, 300, 2))
    f_S = cs.Surrogate(X, regressor=DecisionTreeRegressor(random_state=0), copies=1200).restrict(lambda Z: Z[:, 1], X)
    kept = np.tile([True, False], (300, 1))
    own, others = (((f_S.predict(rows, kept, None)[:, 0] - rows[:, 1]) ** 2).mean() for rows in (X, fresh))
    assert own > others > 0.8  # one tree alone does worse than the mean of four, and neither knows what is withheld


def test_masks_have_uniform_sizes_and_rows_come_by_mass(seed):
    rng = np.random.default_rng(seed)
    mass = np.array([0.1, 0.2, 0.7])
    copies = MaskedRows.drawn(mass, 9000, 4, rng)
    np.testing.assert_allclose(np.bincount(copies.row), 9000 * mass, atol=1)
    sizes = np.bincount(copies.is_kept.sum(axis=1), minlength=5)
    assert sizes[0] == sizes[4] == 0
    assert np.abs(sizes[1:4] - 3000).max() < 5 * np.sqrt(9000 * (1 / 3) * (2 / 3))
    singles = copies.is_kept[copies.is_kept.sum(axis=1) == 1].sum(axis=0)
    assert np.abs(singles - singles.mean()).max() < 5 * np.sqrt(singles.sum() * 0.25 * 0.75)
    seen = masked_inputs(np.ones((1, 2)), np.array([[True, False]]))
    np.testing.assert_array_equal(seen, [[1.0, np.nan, 1.0, 0.0]])


def test_the_model_is_asked_for_the_background_and_the_examples_alone():
    asked = []

    def model(Z):
        asked.append(len(Z))
        return Z[:, 0]

    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(10, 3)), rng.normal(size=(30, 3))
    found = cs.sage(model, X, X[:, 0], removal=cs.Surrogate(rows, regressor=linear()), method="exact")
    assert sum(asked) == 40
    assert found.model_rows == 40 + 6 * 10  # and one of the surrogate for each payoff, as the notes say
    assert any("count as model rows" in note for note in found.notes)
    assert found.provenance["background_rows"] == 30


def test_a_linear_surrogate_of_independent_columns_is_the_marginal_expectation(seed):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(20, 3)), rng.normal(size=(2000, 3))
    f_S = cs.Surrogate(rows, regressor=linear(), copies=20_000).restrict(lambda Z: Z @ [1.0, -2.0, 0.5], X)
    for kept in coalitions(3):
        found = f_S.predict(X, np.tile(kept, (20, 1)), None)[:, 0]
        # least squares of 20,000 rows whose noise is below the model's deviation of 2.3, with 2,000 rows behind them
        np.testing.assert_allclose(found, np.where(kept, X, 0) @ [1.0, -2.0, 0.5], atol=1.0)
        assert np.corrcoef(found, np.where(kept, X, 0) @ [1.0, -2.0, 0.5])[0, 1] > 0.98


def test_predictions_stay_in_range_and_probabilities_add_up():
    probabilities = np.array([[0.2, 0.8], [0.0, 1.0], [0.5, 0.5]])
    form = OutputRange.of(probabilities)
    found = form(np.array([[-3.0], [0.6], [7.0]]))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found > 0).all()
    np.testing.assert_allclose(found[1], [0.4, 0.6])
    three = OutputRange.of(np.tile([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], (10, 1)))
    said = three(np.array([[2.0, 2.0, -1.0]]))
    np.testing.assert_allclose(said, [[0.6 / 1.1, 0.3 / 1.1, 0.2 / 1.1]])
    numbers = OutputRange.of(np.array([[-5.0], [3.0]]))
    np.testing.assert_array_equal(numbers(np.array([[-9.0], [0.0], [9.0]])), [[-5.0], [0.0], [3.0]])


def test_the_range_of_outputs_is_never_narrowed():
    small = np.linspace(1e-6, 9e-6, 50)[:, None]  # below half a row in 50
    np.testing.assert_array_equal(OutputRange.of(small)(small), small)
    rare = np.hstack([1 - small, small])
    np.testing.assert_allclose(OutputRange.of(rare)(small)[:, 1:], small, rtol=1e-9)
    few = np.vstack([[[0.0]], small])
    np.testing.assert_array_equal(OutputRange.of(few, is_classifier=True)(few)[1:], small)
    assert OutputRange.of(few, is_classifier=True)(few)[0, 0] == 1e-6  # more than none, and no more than was seen
    assert OutputRange.of(few)(few)[0, 0] == 0.0
    never = np.tile([0.0, 0.4, 0.6], (5, 1))
    np.testing.assert_allclose(OutputRange.of(never)(never), never)


def test_a_surrogate_does_not_depend_on_the_scale_of_outputs(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    kept = np.tile([True, False, True], (300, 1))
    found = [
        cs.Surrogate(X, copies=600).restrict(lambda Z, s=scale: s * (0.5 + 0.4 * np.tanh(Z[:, 0] + Z[:, 2])), X)
        for scale in (2.0**-17, 1.0)
    ]
    small, large = (f_S.predict(X, kept, None) for f_S in found)
    np.testing.assert_allclose(small * 2.0**17, large, rtol=1e-6)
    assert large.std() > 0.1


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_probabilities_of_any_precision_add_up(seed, kind):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3), size=200).astype(kind).astype(float)
    form = OutputRange.of(shares)
    assert form.adds_up
    np.testing.assert_allclose(form(shares + 0.1 * rng.normal(size=shares.shape)).sum(axis=1), 1)


def test_the_same_seed_gives_the_same_bits_and_another_gives_others(seed):
    rng = np.random.default_rng(seed)
    law = Gaussian(3)
    X, rows = law.draw(15, rng), law.draw(200, rng)
    kept = np.tile([True, False, True], (15, 1))
    found = [
        cs.Surrogate(rows, copies=800, rng=number).restrict(law.f, X).predict(X, kept, None)
        for number in (seed, seed, seed + 1)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_a_regressor_of_ones_own_is_cloned_and_one_that_cannot_be_fitted_is_an_input_error():
    X = np.random.default_rng(0).normal(size=(40, 2))
    mine = HistGradientBoostingRegressor(max_iter=3)
    asked(cs.Surrogate(X, regressor=mine, copies=100), X)
    assert not hasattr(mine, "n_iter_")
    with pytest.raises(cs.InputError, match="LinearRegression"):
        asked(cs.Surrogate(X, regressor=LinearRegression(), copies=100), X)


@pytest.mark.parametrize(
    "options",
    [{"regressor": "boosting"}, {"regressor": LinearRegression}, {"copies": 0}, {"copies": 1.5}, {"rng": "x"}],
)
def test_options_that_make_no_sense_are_input_errors(options):
    with pytest.raises(cs.InputError, match=next(iter(options))):
        cs.Surrogate(np.eye(3), **options).restrict(lambda Z: Z[:, 0], np.eye(3))


def light_rows(n, rng):
    """Rows of which the second half has a mark of one and next to no weight."""
    is_light = (np.arange(n) >= n // 2) * 1.0
    return np.column_stack([rng.normal(size=(n, 2)), is_light]), np.where(is_light == 1, 1e-4, 1.0)


@pytest.mark.parametrize(
    "regressor", [None, DecisionTreeRegressor(min_samples_leaf=200, random_state=0), linear(), unweighted()]
)
def test_rows_of_next_to_no_weight_count_for_next_to_nothing(seed, regressor):
    rows, weights = light_rows(400, np.random.default_rng(seed))
    f_S = cs.Surrogate(rows, weights=weights, regressor=regressor, copies=800).restrict(lambda Z: Z[:, 2], rows[:1] + 9)
    found = f_S.predict(rows[:50] + 0.01, np.tile([True, True, False], (50, 1)), None)
    # light rows are a share of 1e-4 in all; of the leaves that these fall in, of 20 copies or more, they have 0.01 each
    assert found.mean() < 0.01


def test_weights_of_copies_add_up_to_the_mass_of_their_row(seed):
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(30, 0.2))
    copies = MaskedRows.drawn(mass, 200, 4, rng, least=1)
    found = np.bincount(copies.row, weights=copies.weights(mass))
    np.testing.assert_allclose(found / found.sum(), mass, rtol=1e-12)
    assert copies.weights(mass).mean() == pytest.approx(1)


def test_a_regressor_without_weights_meets_rows_by_their_mass_and_every_fold_has_some():
    rows = np.arange(16.0).reshape(8, 2)
    weights = np.array([1e9, *np.ones(7)])
    f_S = cs.Surrogate(rows, weights=weights, regressor=Memory(), copies=8).restrict(first, rows)
    assert np.isfinite(f_S.predict(rows, np.tile([True, False], (8, 1)), None)).all()


def test_nothing_is_learned_before_it_is_asked_for_and_then_once(seed):
    fits = []

    class Counted(DecisionTreeRegressor):
        def fit(self, Z, y, sample_weight=None):
            fits.append(len(Z))
            return super().fit(Z, y, sample_weight)

    X = np.random.default_rng(seed).normal(size=(60, 2))
    removal = cs.Surrogate(X, regressor=Counted(random_state=0), copies=200)
    one = cs.sage(lambda Z: Z.sum(axis=1), X, X[:, 0], removal=removal, groups={"both": [0, 1]}, method="exact")
    assert one.values[0] == pytest.approx(one.total)
    assert not fits
    f_S = removal.restrict(first, X)
    ends = np.array([[True, True], [False, False]])
    np.testing.assert_array_equal(f_S.predict(X[:2], ends, None), [f_S.full(X[:1])[0], f_S.empty()])
    assert not fits
    kept = np.tile([False, True], (60, 1))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: f_S.predict(X, kept, None), range(8)))
    assert len(fits) == 4
    assert all(part.tobytes() == found[0].tobytes() for part in found)


def test_a_copy_for_another_process_has_learned_already(seed):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    kept = np.tile([False, True], (60, 1))
    here, there = (cs.Surrogate(X, copies=200).restrict(first, X) for _ in range(2))
    sent = pickle.loads(pickle.dumps(there))
    assert sent.learners.is_known
    assert sent.predict(X, kept, None).tobytes() == here.predict(X, kept, None).tobytes()


def test_a_large_background_is_learned_from_within_the_memory_limit(seed):
    sizes = []

    class Counted(DecisionTreeRegressor):
        def fit(self, Z, y, sample_weight=None):
            sizes.append(Z.nbytes)
            return super().fit(Z, y, sample_weight)

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 20))
    removal = cs.Surrogate(X, regressor=Counted(random_state=0), copies=100, memory_limit=1e6)
    f_S = removal.restrict(first, X[:5])
    f_S.predict(X[:5], np.tile(np.arange(20) < 9, (5, 1)), None)
    assert max(sizes) < 1e6 / 4
    assert "fitted to 781 of 3,000 background rows" in f_S.remarks[0]
    assert "memory_limit" in f_S.remarks[1]
    assert f_S.empty()[0] == pytest.approx(X[:, 0].mean())  # which takes all of it
    assert len(cs.Surrogate(X, regressor=Counted(), copies=100).restrict(first, X[:5]).remarks) == 1


@pytest.mark.needs("torch")
def test_a_module_learns_by_weights(seed):
    import torch

    rows, weights = light_rows(400, np.random.default_rng(seed))
    module = torch.nn.Linear(6, 1)
    f_S = cs.Surrogate(rows, weights=weights, regressor=module, copies=1000).restrict(lambda Z: Z[:, 2], rows[:1] + 9)
    found = f_S.predict(rows[:50] + 0.01, np.tile([True, True, False], (50, 1)), None)
    assert found.mean() < 0.05  # 200 of 1,200 copies are light ones, 0.17


@pytest.mark.needs("torch")
def test_a_module_learns_the_conditional_expectation_and_is_left_as_it_was(seed):
    import torch

    law, rng = Gaussian(3), np.random.default_rng(seed)
    X, rows = law.draw(60, rng), law.draw(500, rng)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
        before = [part.detach().clone() for part in module.parameters()]
        state = torch.random.get_rng_state()
        removal = cs.Surrogate(rows, regressor=module, copies=2000)
        error = mean_error(removal, law, X) / law.variance
        assert torch.equal(torch.random.get_rng_state(), state)
    assert error < 0.08
    assert all(torch.equal(one, other) for one, other in zip(before, module.parameters(), strict=True))
    kept = np.tile([True, False, True], (60, 1))
    twice = [removal.restrict(law.f, X).predict(X, kept, None) for _ in range(2)]
    np.testing.assert_array_equal(*twice)


@pytest.mark.needs("torch")
def test_a_module_of_other_outputs_is_an_input_error():
    import torch

    X = np.random.default_rng(0).normal(size=(40, 2))
    for module, expected in (
        (torch.nn.Linear(4, 3), "wanted shape (70, 1)"),
        (torch.nn.Linear(2, 1), "d cells of a row and d indicators of kept columns"),
    ):
        with pytest.raises(cs.InputError, match="Linear") as raised:
            asked(cs.Surrogate(X, regressor=module, copies=100), X)
        assert expected in str(raised.value)


@pytest.mark.subprocess
def test_torch_is_not_loaded_where_it_is_not_used():
    code = (
        "import sys, numpy as np, clarysage as cs\nX = np.eye(4)\n"
        "f_S = cs.Surrogate(X, copies=20).restrict(lambda Z: Z[:, 0], X)\n"
        "f_S.predict(X, X == 1, None)\nprint('torch' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.split() == ["False"]
