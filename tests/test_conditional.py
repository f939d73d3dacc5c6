"""Features withheld given the kept ones: Gaussian and copula against closed forms, and what the paper says of them."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
from clarysage._utils import threads
from clarysage._utils.threads import one_thread
from clarysage.coalitions import masks, shapley_values
from clarysage.estimators import Exact, estimate
from clarysage.removal.copula import Margin, latent_correlation
from clarysage.removal.gaussian import Standardisation, draw_scores, positive_definite
from clarysage.removal.restricted.matheron import GaussianSimulation
from clarysage.tables import schema_of
from tests.lab.coverage import binomial_room, covers

FAR = 4.5  # standard errors that no seed should reach


def law(rng: np.random.Generator, d: int) -> np.ndarray:
    """A covariance matrix with strong correlations."""
    A = rng.normal(size=(d, d))
    C = A @ A.T + 0.3 * np.eye(d)
    return C / np.sqrt(np.outer(np.diag(C), np.diag(C)))


def explained(C: np.ndarray, w: np.ndarray, S: np.ndarray) -> float:
    """Var(E[w'X | X_S]) of a Gaussian law."""
    if not S.any():
        return 0.0
    to_all = C[:, S] @ np.linalg.pinv(C[np.ix_(S, S)])  # E[X | X_S] per X_S
    beta = to_all.T @ w
    return float(beta @ C[np.ix_(S, S)] @ beta)


def conditional_values(C: np.ndarray, w: np.ndarray) -> np.ndarray:
    """SAGE values of the model w'X that predicts w'X + noise, squared error, conditional removal, in closed form."""
    d = len(w)
    return shapley_values(np.array([[explained(C, w, S)] for S in masks(np.arange(2**d), d)]))[:, 0]


@dataclass(frozen=True)
class Slopes:
    """A linear model of which nothing is known."""

    w: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X) @ self.w


# rows that move with what is known


def simulation_of(rng: np.random.Generator, d: int, m: int) -> tuple[GaussianSimulation, np.ndarray, np.ndarray]:
    R, mean = positive_definite(law(rng, d)), rng.normal(size=d)
    size = rng.uniform(0.5, 2, size=d)
    return GaussianSimulation(Standardisation(mean, size), draw_scores(R, m, rng), R), mean, R * np.outer(size, size)


def test_withheld_cells_move_by_regression_on_what_is_known(seed):
    rng = np.random.default_rng(seed)
    simulation, _, C = simulation_of(rng, 5, 7)
    x, kept = rng.normal(size=(6, 5)), rng.random((6, 5)) < 0.5
    rows = simulation.given(x, kept)
    for i in range(6):
        S = kept[i]
        b = simulation.background
        wanted = b.copy()
        wanted[:, S] = x[i, S]
        if S.any():
            wanted[:, ~S] += (x[i, S] - b[:, S]) @ np.linalg.solve(C[np.ix_(S, S)], C[np.ix_(S, ~S)])
        np.testing.assert_allclose(rows[i], wanted, atol=1e-7)


def test_draws_have_the_conditional_mean_and_covariance(seed):
    rng = np.random.default_rng(seed)
    simulation, mean, C = simulation_of(rng, 4, 20_000)
    x, S = rng.normal(size=4), np.array([True, False, True, False])
    rows = simulation.given(x[None], S[None])[0][:, ~S]
    B = C[np.ix_(~S, S)] @ np.linalg.inv(C[np.ix_(S, S)])
    left = C[np.ix_(~S, ~S)] - B @ C[np.ix_(S, ~S)]
    off = (rows.mean(axis=0) - mean[~S] - B @ (x[S] - mean[S])) / np.sqrt(np.diag(left) / len(rows))
    assert np.abs(off).max() < FAR
    error = np.sqrt((np.outer(np.diag(left), np.diag(left)) + left**2) / len(rows))
    assert (np.abs(np.cov(rows.T) - left) / error).max() < FAR


@pytest.mark.parametrize("owner", [[0, 1, 2, 3, 4, 5], [0, 1, 1, 2, 0, 2]])
def test_rows_along_walks_are_those_of_their_prefixes(seed, owner):
    rng = np.random.default_rng(seed)
    simulation, _, _ = simulation_of(rng, 6, 9)
    players = cs.Players(tuple("abcdef"[: max(owner) + 1]), np.array(owner))
    orders = rng.permuted(np.tile(np.arange(len(players)), (5, 1)), axis=1)
    arrivals, x, picks = players.entry_positions(orders), rng.normal(size=(5, 6)), rng.integers(9, size=(5, 3))
    along = simulation.at_prefixes(x, picks, arrivals)
    for step in range(1, len(players)):
        at = simulation.given(x, arrivals <= step)
        np.testing.assert_allclose(along[:, :, step - 1], at[np.arange(5)[:, None], picks], atol=1e-8)
    slopes = rng.normal(size=(6, 2))
    left = simulation.linear_control(slopes, picks, arrivals)
    for step in range(len(players)):
        latent = simulation.given(x, arrivals <= step) / simulation.transform.std  # type: ignore[attr-defined]
        owed = (latent - latent.mean(axis=1, keepdims=True)) @ slopes
        np.testing.assert_allclose(left[:, :, step], owed[np.arange(5)[:, None], picks], atol=1e-7)


def test_a_control_by_scores_has_mean_zero_over_all_rows(seed):
    rng = np.random.default_rng(seed)
    simulation, _, _ = simulation_of(rng, 5, 16)
    arrivals = 1 + rng.permuted(np.tile(np.arange(5), (3, 1)), axis=1)
    left = simulation.linear_control(rng.normal(size=(5, 1)), np.tile(np.arange(16), (3, 1)), arrivals)
    np.testing.assert_allclose(left.mean(axis=1), 0.0, atol=1e-12)
    assert np.abs(left).max() > 0.1


# exact values in closed form


@pytest.mark.parametrize("d", [6, 8])
def test_gaussian_removal_of_a_linear_model_agrees_with_the_closed_form(seed, d):
    rng = np.random.default_rng(seed)
    C, w = law(rng, d), rng.normal(size=d)
    w[0] = 0.0  # ignored, and worth something all the same
    root = np.linalg.cholesky(C)
    X, B = (rng.normal(size=(n, d)) @ root.T for n in (300, 400))
    y = X @ w + rng.normal(size=300)
    removal = cs.Gaussian(B)
    model = LinearRegression().fit(np.vstack([np.zeros(d), np.eye(d)]), np.append(0.0, w))
    exact = cs.sage(model, X, y, removal=removal, method="exact")
    mean, S_B = B.mean(axis=0), np.cov(B.T, bias=True)

    def payoff(S: np.ndarray) -> float:
        """Minus the loss on these examples, under the law as fitted."""
        shift = (X - mean)[:, S] @ np.linalg.solve(S_B[np.ix_(S, S)], S_B[S]) if S.any() else 0.0
        return -float((((mean + shift) @ w - y) ** 2).mean())

    wanted = shapley_values(np.array([[payoff(S)] for S in masks(np.arange(2**d), d)]))[:, 0]
    np.testing.assert_allclose(exact.values, wanted, atol=1e-6 * exact.total)
    assert exact.shown == "rows"
    assert any("linear" in note for note in exact.notes)


@pytest.mark.parametrize(
    ("removal", "method"),
    [
        *product(["gaussian", "copula"], ["paired walks", "permutation", "kernel"]),
        ("gaussian", cs.SurrogateWalks(DecisionTreeRegressor(max_depth=6))),
    ],
)
def test_draws_agree_with_the_closed_form_within_standard_errors(seed, removal, method):
    rng = np.random.default_rng(seed)
    d = 6
    C, w = law(rng, d), rng.normal(size=d)
    root = np.linalg.cholesky(C)
    X, B = (rng.normal(size=(n, d)) @ root.T for n in (400, 4000))
    options = {"background": B, "removal": removal, "rng": seed}
    found = cs.sage(Slopes(w), X, X @ w, method=method, budget=600_000, **options)
    truth = conditional_values(C, w)
    walked = cs.sage(Slopes(w), X, X @ w, method="paired walks", **options)
    about = walked.targets["population"]  # whose variance over rows is that of any method
    error = np.sqrt(about.std_error**2 + found.std_error**2)
    slack = 0.01 * found.total  # of the fitted law, and of 512 draws
    assert (np.abs(found.values - truth) < FAR * error + slack).all()


def coverage(removal: type, seed: int, runs: int) -> np.ndarray:
    """How often intervals about the population hold each value, with fresh rows and fresh draws in every run.

    The law is the true one, which a large background gives nearly.
    """
    d = 4
    rng = np.random.default_rng(seed)
    C, w = law(rng, d), np.array([1.0, 0.7, -0.5, 0.0])
    root, truth = np.linalg.cholesky(C), conditional_values(C, w)
    B = rng.normal(size=(20_000, d)) @ root.T

    def interval(run: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(100, d)) @ root.T
        fresh = removal(B, draws=64, rng=rng)
        explanation = cs.sage(Slopes(w), X, X @ w, removal=fresh, method="paired walks", rng=run)
        return explanation.interval(0.95, about="population")

    return covers((interval(run) for run in range(runs)), truth).mean(axis=0)


@pytest.mark.statistical
def test_intervals_about_the_population_hold_with_conditional_draws(seed):
    shares = coverage(cs.Gaussian, seed, runs=60)
    assert (shares > 0.95 - binomial_room(60, std_errors=FAR)).all(), shares


@pytest.mark.slow
@pytest.mark.parametrize("removal", [cs.Gaussian, cs.Copula])
def test_intervals_with_conditional_draws_hold_as_often_as_they_say(seed, removal):
    """The bars of intervals about populations: 93 to 97.5 % of all, 91 % of each feature, in 500 runs."""
    shares = coverage(removal, seed, 500)
    assert 0.93 <= shares.mean() <= 0.975
    assert shares.min() >= 0.91


@pytest.mark.statistical
def test_finite_draws_are_corrected_for(seed):
    """With few draws values about the data are off by what these add; values about the population are not."""
    rng = np.random.default_rng(seed)
    d, runs = 4, 200
    C, w = law(rng, d), np.ones(d)
    root = np.linalg.cholesky(C)
    B = rng.normal(size=(5000, d)) @ root.T
    X = rng.normal(size=(200, d)) @ root.T
    model = LinearRegression().fit(B, B @ w)
    exact = cs.sage(model, X, X @ w, removal=cs.Gaussian(B), method="exact").values
    off = np.array(
        [
            (lambda one: [one.values - exact, one.targets["population"].values - exact])(
                cs.sage(Slopes(w), X, X @ w, removal=cs.Gaussian(B, draws=8, rng=rng), method="exact")
            )
            for _ in range(runs)
        ]
    )
    error = off.std(axis=0, ddof=1) / np.sqrt(runs)
    assert (np.abs(off.mean(axis=0)[1]) < FAR * error[1]).all()


# what the paper says of conditional removal (Sec. 3.1)


@pytest.mark.parametrize(("removal", "bound"), [("gaussian", 1e-3), ("copula", 1e-2)])
def test_two_perfectly_correlated_features_get_equal_values(seed, removal, bound):
    """Copula draws are values of the background, of which the next one is a few parts in 300 rows away."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(600, 3))
    X = np.column_stack([z[:, 0], z[:, 1] + 0.5 * z[:, 0], z[:, 0]])
    y = 2 * X[:, 0] + X[:, 1]
    first_only = Slopes(np.array([2.0, 1.0, 0.0]))
    options = {"background": X[300:], "method": "exact", "rng": seed}
    given = cs.sage(first_only, X[:40], y[:40], removal=removal, **options)
    assert abs(given.values[0] - given.values[2]) < bound * given.total
    apart = cs.sage(first_only, X[:40], y[:40], removal="marginal", **options)
    assert apart.values[2] == 0
    assert apart.values[0] > 0.3 * apart.total


@pytest.mark.parametrize("removal", ["gaussian", "copula"])
def test_a_feature_that_the_model_ignores_gets_what_it_tells(seed, removal):
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=500)
    X = np.column_stack([cause, cause + 0.3 * rng.normal(size=500), rng.normal(size=500)])
    ignores = Slopes(np.array([1.0, 0.0, 0.0]))
    options = {"background": X[100:], "method": "exact", "rng": seed}
    given = cs.sage(ignores, X[:100], X[:100, 0], removal=removal, **options)
    apart = cs.sage(ignores, X[:100], X[:100, 0], removal="marginal", **options)
    assert given.values[1] > 0.3 * given.total
    assert abs(given.values[2]) < 0.15 * given.total
    assert apart.values[1] == 0


def test_copula_values_do_not_change_with_invertible_maps_of_features(seed):
    rng = np.random.default_rng(seed)
    C = law(rng, 3)
    X = rng.normal(size=(300, 3)) @ np.linalg.cholesky(C).T
    mapped = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, 5 * X[:, 2] - 2])

    def model(X):
        return X[:, 0] * X[:, 1] + X[:, 2]

    def of_mapped(M):
        return model(np.column_stack([np.log(M[:, 0]), np.cbrt(M[:, 1]), (M[:, 2] + 2) / 5]))

    y = model(X)
    one = cs.sage(model, X[:50], y[:50], background=X[50:], removal="copula", method="exact", rng=seed)
    other = cs.sage(of_mapped, mapped[:50], y[:50], background=mapped[50:], removal="copula", method="exact", rng=seed)
    np.testing.assert_allclose(one.values, other.values, atol=1e-9 * one.total)


# a small discrete law, with the conditional expectation itself


LEVELS = 3


@dataclass(frozen=True)
class Enumerated:
    """Removal by the conditional law of cells with known probabilities: f_S is E[f | x_S] exactly."""

    cells: np.ndarray
    chances: np.ndarray
    name: str = "enumerated"

    def restrict(self, predictor, X):
        f = cs.as_predictor(predictor)
        return Expected(f.bind(schema_of(X)), self.cells, self.chances)


@dataclass(frozen=True)
class Expected:
    predictor: object
    cells: np.ndarray
    chances: np.ndarray
    rows_per_prediction: int = 1
    remarks: tuple[str, ...] = ()
    rows_of_checks: int = 0

    @property
    def schema(self):
        return self.predictor.schema

    @property
    def facts(self):
        return self.predictor.facts

    def guarded(self, checks):
        return self

    def full(self, x):
        return self.predictor(x)

    def empty(self):
        return self.chances @ self.predictor(self.cells)

    def predict(self, x, kept, rng):
        agrees = ((x[:, None, :] == self.cells) | ~kept[:, None, :]).all(axis=2) * self.chances
        return agrees @ self.predictor(self.cells) / agrees.sum(axis=1, keepdims=True)

    def walk(self, x, arrivals, rng):
        return np.stack([self.predict(x, arrivals <= j, rng) for j in range(1, int(arrivals.max()))], axis=1)


def discrete(rng: np.random.Generator, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """All cells (c, d) of a law with dependent features, and the chances (c, 2) of each with either response."""
    cells = np.array(list(product(range(LEVELS), repeat=d)), dtype=float)
    return cells, rng.dirichlet(np.full(2 * len(cells), 0.5)).reshape(-1, 2)


def grouped(cells: np.ndarray, chances: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Joint chances of X_S and Y, (kinds, 2)."""
    _, kind = np.unique(cells[:, S], axis=0, return_inverse=True)
    found = np.zeros((kind.max() + 1, 2))
    np.add.at(found, kind.ravel(), chances)
    return found


def information(joint: np.ndarray) -> float:
    """I(Y; X_S) of joint chances."""
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    some = joint > 0
    return float((joint[some] * np.log(joint[some] / apart[some])).sum())


def spread_of_mean(joint: np.ndarray) -> float:
    """Var(E[Y | X_S]) of joint chances."""
    mass = joint.sum(axis=1)
    mean = np.divide(joint[:, 1], mass, out=np.zeros_like(mass), where=mass > 0)
    return float(mass @ mean**2 - (mass @ mean) ** 2)


@pytest.mark.parametrize(("loss", "power"), [("cross entropy", information), ("squared error", spread_of_mean)])
def test_power_of_the_optimal_model_is_what_the_features_tell(seed, loss, power):
    """v_f(S) = I(Y; X_S) for the Bayes classifier, and the values Eq. 7; Var(E[Y | X_S]) for squared error."""
    rng = np.random.default_rng(seed)
    cells, chances = discrete(rng)
    mass = chances.sum(axis=1)
    bayes = chances[:, 1] / mass
    place = LEVELS ** np.arange(3)[::-1]

    def model(X):
        share = bayes[(np.asarray(X) @ place).astype(int)]
        return np.column_stack([1 - share, share]) if loss == "cross entropy" else share

    X, y, weight = np.vstack([cells, cells]), np.repeat([0, 1], len(cells)), chances.T.ravel()
    f_S = Enumerated(cells, mass).restrict(model, X)
    v = cs.PredictivePower.of(f_S, loss, X, y, sample_weight=weight)
    coalitions = masks(np.arange(8), 3)
    known = np.array([power(grouped(cells, chances, S)) for S in coalitions])
    everyone = np.arange(len(X))
    payoffs = np.array([v.weights @ v.payoff(everyone, np.tile(S, (len(X), 1)), rng)[:, 0] for S in coalitions])
    np.testing.assert_allclose(payoffs - payoffs[0], known, atol=1e-10)
    found = estimate(v, Exact())
    np.testing.assert_allclose(found.values[0], shapley_values(known[:, None])[:, 0], atol=1e-10)


def test_copula_draws_of_two_dependent_columns_have_their_joint_chances(seed):
    """Two columns of few values: what is drawn for one, given the other, is what the background has."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4000, 2)) @ np.linalg.cholesky([[1, 0.8], [0.8, 1]]).T
    B = np.column_stack([(z[:, 0] > 0.3).astype(float), np.digitize(z[:, 1], [-0.5, 0.7]).astype(float)])
    f_S = cs.Copula(B, draws=4000, rng=seed).restrict(lambda X: X[:, 1] == 2, B)
    for value in (0.0, 1.0):
        shown = f_S.predict(np.array([[value, 0.0]]), np.array([[True, False]]), rng)[0, 0]
        same = B[:, 0] == value
        known = (B[same, 1] == 2).mean()
        error = np.sqrt(known * (1 - known) * (1 / 4000 + 1 / same.sum()))
        assert abs(shown - known) < FAR * error + 0.01  # of an estimated correlation


def contradicting(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Columns that say the same in part, and E[last | the others] of each row."""
    n = 2000
    x, e, kind, flag = rng.normal(size=n), rng.normal(size=n), rng.integers(3, size=n), rng.random(n) < 0.3
    both = flag & (rng.random(n) < 0.5)
    mean = np.array([0.0, 1.0, 3.0])[kind]
    return {
        "a sign": (np.column_stack([x, x > 0, 0.6 * x + 0.8 * e]), 0.6 * x),
        "bins": (np.column_stack([x, np.digitize(x, [-1, 0, 1]), 0.6 * x + 0.8 * e]), 0.6 * x),
        "one-hot": (np.column_stack([kind == 0, kind == 1, kind == 2, mean + 0.5 * e]), mean),
        "nested": (np.column_stack([flag, both, 1.0 * flag + both + 0.5 * e]), 1.0 * flag + both),
    }


@pytest.mark.parametrize("name", ["a sign", "bins", "one-hot", "nested"])
def test_copula_is_not_misled_by_ties_that_say_the_same(seed, name):
    """Places among ties are drawn given what else is known; taken by themselves, errors are larger than the truth."""
    B, truth = contradicting(np.random.default_rng(seed))[name]
    f_S = cs.Copula(B, rng=seed).restrict(lambda X: X[:, -1], B[:200])
    kept = np.tile(np.arange(B.shape[1]) < B.shape[1] - 1, (200, 1))
    shown = f_S.predict(B[:200].astype(float), kept, np.random.default_rng(0))[:, 0]
    assert np.sqrt(((shown - truth[:200]) ** 2).mean()) < 0.25 * truth.std()


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_two_ties_together_tell_what_they_do(seed, rho):
    """Two flags of correlated scores and a third score: E[w | both up] by a large simulation of the law itself."""
    rng = np.random.default_rng(seed)
    R = np.array([[1, rho, 0.6], [rho, 1, 0.6], [0.6, 0.6, 1]])
    z = rng.normal(size=(40_000, 3)) @ np.linalg.cholesky(R).T
    B = np.column_stack([z[:, :2] > 0, z[:, 2]])
    f_S = cs.Copula(B[:4000], draws=4000, rng=seed).restrict(lambda X: X[:, 2], B[:10])
    kept = np.array([[True, True, False]])
    for value in (0.0, 1.0):
        cell = B[(B[:, :2] == value).all(axis=1), 2]
        shown = f_S.predict(np.array([[value, value, 0.0]]), kept, rng)[0, 0]
        assert abs(shown - cell.mean()) < FAR * cell.std() * np.sqrt(2 / 4000) + 0.03  # of few sweeps


@pytest.mark.parametrize("removal", [cs.Gaussian, cs.Copula])
def test_constant_columns_stay_constant_and_tell_nothing(seed, removal):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(1000, 2)) @ np.linalg.cholesky([[1, 0.8], [0.8, 1]]).T
    B = np.column_stack([z, np.full(1000, 5.0)])
    f_S = removal(B, rng=seed).restrict(lambda X: X[:, 1] + 100 * (X[:, 2] != 5.0), B)
    assert (f_S.background[:, 2] == 5.0).all()
    kept = np.array([[True, False, False], [True, False, True]])
    shown = f_S.predict(np.array([[1.0, 0.0, 5.0]] * 2), kept, rng)[:, 0]
    error = FAR * (0.6 / np.sqrt(512) + 1 / np.sqrt(1000))
    assert np.abs(shown - 0.8).max() < error
    assert shown[0] == pytest.approx(shown[1])


def test_a_removal_gives_the_same_game_whenever_it_is_used():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for removal in (cs.Gaussian(X, rng=np.random.default_rng(1)), cs.Copula(X, rng=np.random.default_rng(1))):
        one, two = (removal.restrict(Slopes(np.ones(2)), X).background for _ in range(2))
        assert (one == two).all()


def test_one_thread_holds_until_the_last_has_left():
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info()]
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert all(pool["num_threads"] == 1 for pool in threadpool_info())
    second.__exit__(None, None, None)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_thread_pools_are_looked_for_again_only_after_an_import(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3))

    def call():
        cs.sage(lambda X: X.sum(axis=1), X, X.sum(axis=1), rng=0)

    call()
    searches, find = [], threads.ThreadpoolController
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: searches.append(1) or find())
    call()
    assert searches == []
    monkeypatch.setitem(sys.modules, "a_module_imported_since", sys)
    call()
    assert searches == [1]


# scores behind columns


@pytest.mark.parametrize("rho", [-0.8, 0.0, 0.5, 0.9])
@pytest.mark.parametrize("cut", ["none", "one", "both"])
def test_correlations_behind_ties_are_found(seed, rho, cut):
    rng = np.random.default_rng(seed)
    n = 4000
    z = rng.normal(size=(n, 2)) @ np.linalg.cholesky([[1, rho], [rho, 1]]).T
    codes = z.copy()
    codes[:, 0] = codes[:, 0] > 0.2 if cut in ("one", "both") else codes[:, 0]
    codes[:, 1] = np.digitize(codes[:, 1], [-1, 0.5]) if cut == "both" else codes[:, 1]
    found = latent_correlation(codes, [Margin.of(column) for column in codes.T])[0, 1]
    seen = {"none": 1.0, "one": 1.6, "both": 2.2}[cut]  # ties hide: errors grow by so much, at most
    assert abs(found - rho) < FAR * seen * (1 - 0.5 * rho**2) / np.sqrt(n)


def test_what_determines_a_column_is_correlated_with_it_by_one(seed):
    flag = (np.random.default_rng(seed).normal(size=500) > 0.4).astype(float)
    found = latent_correlation(np.column_stack([flag, flag]), [Margin.of(flag)] * 2)
    assert found[0, 1] > 0.999


def test_ranks_of_margins_are_those_of_cells_missing_ones_first():
    margin = Margin.of(np.array([3.0, np.nan, 1.0, 3.0]))
    below, up_to = margin.ranks(np.array([np.nan, 1.0, 2.0, 3.0, 9.0]))
    assert below.tolist() == [0, 1, 2, 2, 4]
    assert up_to.tolist() == [1, 2, 2, 4, 4]
    assert np.isnan(margin.at(stats.norm.ppf([0.1])))[0]
    assert margin.at(stats.norm.ppf([0.3, 0.6, 0.99])).tolist() == [1.0, 3.0, 3.0]


# tables as people have them


def mixed(rng: np.random.Generator, n: int = 260) -> tuple[pd.DataFrame, np.ndarray]:
    z = rng.normal(size=(n, 2))
    frame = pd.DataFrame(
        {
            "age": np.round(40 + 10 * z[:, 0]),
            "job": pd.Categorical.from_codes(np.digitize(z[:, 0] + 0.5 * rng.normal(size=n), [-0.7, 0.7]), list("cab")),
            "town": np.where(z[:, 1] > 0, "north", "south"),
            "income": np.where(rng.random(n) < 0.1, np.nan, np.exp(z[:, 1])),
            "member": z[:, 0] + z[:, 1] > 0,
        }
    )
    return frame, (z[:, 0] + z[:, 1] + rng.normal(size=n) > 0).astype(int)


class Club:
    """A classifier of frames that looks at names and kinds."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        assert isinstance(X["job"].dtype, pd.CategoricalDtype)
        assert X["member"].dtype == bool
        score = 0.05 * (X["age"] - 40) + (X["job"] == "b") + (X["town"] == "north") + X["income"].fillna(1).clip(0, 3)
        share = 1 / (1 + np.exp(1.5 - score.to_numpy(dtype=float) - X["member"].to_numpy()))
        return np.column_stack([1 - share, share])


def test_copula_takes_categories_strings_booleans_and_missing_cells(seed):
    rng = np.random.default_rng(seed)
    frame, y = mixed(rng)
    found = cs.sage(
        Club().predict_proba,
        frame[:100],
        y[:100],
        background=frame[100:],
        removal="copula",
        rng=seed,
        loss="cross entropy",
        method="paired walks",
        budget=200_000,
    )
    exact = cs.sage(
        Club().predict_proba,
        frame[:100],
        y[:100],
        background=frame[100:],
        removal="copula",
        rng=seed,
        loss="cross entropy",
        method="exact",
    )
    assert found.removal == "copula"
    assert (np.abs(found.values - exact.values) < FAR * np.sqrt(found.std_error**2 + 1e-20)).all()
    f_S = cs.Copula(frame[100:]).restrict(Club().predict_proba, frame[:100])
    for column, codes in enumerate(f_S.background.T):
        assert np.isin(codes, f_S.schema.encode(frame[100:], "X")[:, column]).all() or np.isnan(codes).any()


def test_an_unheard_of_category_tells_nothing_about_others(seed):
    frame = pd.DataFrame({"kind": ["a", "b"] * 50, "size": [1.0, 5.0] * 50})
    X = pd.DataFrame({"kind": ["a", "b", "new"], "size": [1.0, 5.0, 3.0]})
    f_S = cs.Copula(frame, draws=400, rng=seed).restrict(lambda X: X["size"], X)
    kept = np.array([[True, False]] * 3)
    shown = f_S.predict(f_S.schema.encode(X, "X"), kept, np.random.default_rng(0))[:, 0]
    assert shown[0] < 1.2
    assert shown[1] > 4.8
    assert abs(shown[2] - 3) < 1.0


def test_gaussian_refuses_what_is_not_a_finite_number():
    frame, y = mixed(np.random.default_rng(0))
    with pytest.raises(cs.InputError, match=r"job.*copula"):
        cs.sage(lambda X: X["age"], frame[["age", "job"]], y, removal="gaussian")
    with pytest.raises(cs.InputError, match=r"income.*copula"):
        cs.sage(lambda X: X["age"], frame[["age", "income"]], y, removal="gaussian")


@pytest.mark.parametrize("draws", [1, 0, 2.5, True, "many"])
def test_draws_that_are_no_number_of_rows_are_refused(draws):
    X = np.random.default_rng(0).normal(size=(30, 2))
    for removal in (cs.Gaussian, cs.Copula):
        with pytest.raises(cs.InputError, match="draws"):
            removal(X, draws=draws).restrict(lambda X: X[:, 0], X)


@pytest.mark.parametrize("removal", [cs.Gaussian, cs.Copula])
def test_constant_columns_fewer_rows_than_columns_and_weights_are_taken(seed, removal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 15))
    X[:, 3] = 7.0
    weights = rng.random(12)
    found = cs.sage(
        Slopes(rng.normal(size=15)), X, X[:, 0], removal=removal(X, weights=weights, rng=seed), budget=20_000, rng=seed
    )
    assert np.isfinite(found.values).all()


# machinery


@pytest.mark.parametrize("removal", ["gaussian", "copula"])
def test_conditional_values_are_the_same_bits_on_two_workers(seed, removal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) @ law(rng, 4)
    options = {"background": X, "removal": removal, "method": "paired walks", "budget": 60_000, "rng": seed}
    one, two = (cs.sage(Slopes(np.arange(4.0)), X, X[:, 0], n_jobs=jobs, **options) for jobs in (1, 2))
    assert (one.values == two.values).all()
    assert (one.covariance == two.covariance).all()


def test_conditional_models_survive_a_pickle(seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    f_S = cs.Copula(X).restrict(Slopes(np.ones(3)), X)
    kept = np.random.default_rng(0).random((40, 3)) < 0.5
    again = pickle.loads(pickle.dumps(f_S))
    assert (f_S.predict(X, kept, None) == again.predict(X, kept, None)).all()


def test_known_structure_is_said_to_be_of_no_use(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    model = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])
    found = cs.sage(model, X, X[:, 0], removal="gaussian", rng=seed)
    assert any("row by row" in note for note in found.notes)
    assert any("distribution fitted to" in note for note in found.notes)


def test_correlations_of_few_rows_are_shrunk_as_ledoit_and_wolf_do(seed):
    """A linear model of the last column, whose conditional mean is the regression by the shrunk correlations."""
    rng = np.random.default_rng(seed)
    background = rng.normal(size=(8, 3)) + rng.normal(size=(8, 1))  # fewer than four rows a column
    model = LinearRegression().fit(background, background[:, 2])
    mean, size = background.mean(axis=0), background.std(axis=0)
    scores = (background - mean) / size
    share = ledoit_wolf_shrinkage(scores, assume_centered=True)
    R = (1 - share) * np.corrcoef(background.T) + share * np.eye(3)
    assert share > 0
    x = background[:1] + 1.0
    seen = np.linalg.solve(R[:2, :2], ((x - mean) / size)[0, :2])
    found = cs.Gaussian(background).restrict(model, x).predict(x, np.array([[True, True, False]]), None)
    assert found.item() == pytest.approx(mean[2] + size[2] * R[2, :2] @ seen, rel=1e-6)
