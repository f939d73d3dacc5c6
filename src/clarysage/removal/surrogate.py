"""Predictions without the withheld features by a learned surrogate: one regressor for all coalitions.

The surrogate is fitted to copies of background rows with cells masked at random, and so estimates E[f(X) | X_S] for
every S (Frye et al. 2021; Covert et al. 2021). It is gradient boosting, unless the user
chooses another regressor.

References
----------
C. Frye, D. de Mijolla, T. Begley, L. Cowton, M. Stanley, I. Feige (2021). Shapley explainability on the data manifold.
ICLR.
I. Covert, S. Lundberg, S.-I. Lee (2021). Explaining by removing: a unified framework for model explanation. JMLR
22(209).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from clarysage._utils.lazy import Lazy
from clarysage._utils.threads import one_thread
from clarysage.errors import InputError, PythonOnly
from clarysage.models.learners import weights_argument
from clarysage.models.torch import is_module, train_regressor
from clarysage.removal.background import BackgroundRows, seed_of
from clarysage.removal.restricted.learned import FEWEST, Learner, OutputRange, SurrogateModel, masked_inputs
from clarysage.synonyms import with_synonyms
from clarysage.tables import Categories, Schema

FOLDS = 4
COPIES, CELLS = 20_000, 2**20  # masked rows to learn from, and their cells at most
COPIES_A_ROW, FEWEST_COPIES = 40, 4_000  # further copies of a row add little information
BYTES_A_CELL = 64  # of a masked row while learners are fitted: cells, masks, and copies for folds
STOPPING_CHECKS = (25, 50, 75, 100, 150, 200, 300)  # numbers of trees at which early stopping is considered
LEAVES, RATE, FEATURES = 31, 0.1, 0.3  # of boosted trees
ROWS_A_LEAF = 10  # background rows whose copies a leaf must hold, at least
MOST_CATEGORIES = 254  # of a column, that scikit-learn accepts


@with_synonyms
@dataclass(frozen=True)
class Surrogate:
    r"""A regressor learns to predict f from the kept features, and predicts in place of the model.

    .. math:: f_S(x_S) = g(x_S, S), \qquad g = \arg\min_g E[(f(X) - g(X_S, S))^2]

    The minimum is E[f(X) | X_S] for every coalition at once. g is fitted to copies of the background rows with cells
    masked at random: coalition sizes are uniform, and so are coalitions of one size. The model itself predicts only the
    background rows and the examples; g is fitted when a coalition is first evaluated. Four regressors are each fitted
    to three quarters of the rows (cross-fitting): an example that is a background row is predicted by the regressor
    that was not fitted to it, others by the mean of all four. Predictions are clipped to the range of f over the
    background, and probabilities are scaled to add up to one.

    Parameters
    ----------
    background : table of rows with the columns of X; g is fitted to these rows alone, and more of them are better
    weights : one weight for each background row; for a regressor without sample weights, copies of a row are as
        frequent as its weight
    regressor : a scikit-learn regressor that takes missing values, or a PyTorch module; default gradient boosting. A
        regressor is fitted once for each output (once for two probabilities), to d columns of cells, missing where
        withheld, and d indicators of kept columns; categories by their codes. A module maps these rows, standardised,
        with 0 for missing cells, to k outputs, and is trained with Adam until its error on held-out rows stops falling
    copies : masked rows to learn from, at least one for each background row; default 20,000, fewer for few rows and for
        many columns or outputs
    rng : seed or Generator
    memory_limit : bytes that the rows given to the model at once may take; if one copy of each background row would
        take more, fewer rows are learned from, drawn evenly by weight
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; without
        it, such rows are recognised if they equal exactly one row of X

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.random.default_rng(0).normal(size=(500, 1)), 2, axis=1)  # two equal columns
    >>> f_S = Surrogate(rows).restrict(lambda X: X[:, 0], rows[:1])
    >>> prediction = f_S.predict(np.array([[1.0, 1.0]]), np.array([[False, True]]), rng=None)
    >>> bool(abs(prediction[0, 0] - 1) < 0.2)
    True
    """

    background: Any
    weights: Any = None
    regressor: Any = None
    copies: int | None = None
    rng: Any = 0
    memory_limit: float = 1e9
    examples: Any = None
    name: str = "surrogate"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever the removal is used

    def restrict(self, predictor: Any, X: Any) -> SurrogateModel:
        check_regressor(self.regressor)
        if self.copies is not None and (not isinstance(self.copies, Integral) or self.copies < 1):
            raise InputError("copies", got=f"{self.copies!r}", wanted="a whole number of rows to learn from, or None")
        background, examples = BackgroundRows.of(self, predictor, X)
        outputs = background.predictor(background.rows)
        is_classifier = background.predictor.facts.classes is not None
        output_range = OutputRange.of(outputs, is_classifier=is_classifier)
        targets = outputs if is_module(self.regressor) else output_range.targets(outputs)
        fold, count = np.arange(len(outputs)) % FOLDS, self._count(background.rows.shape, targets.shape[1])
        return SurrogateModel(
            background.predictor,
            background.rows,
            background.weights,
            outputs,
            Lazy(partial(self._learners, background, targets, fold, count, self.rng)),
            output_range,
            fold,
            background.self_matches,
            count,
            examples,
        )

    def limited(self, memory_limit: float) -> Surrogate:
        return replace(self, memory_limit=memory_limit)

    def with_self_matches(self, examples: np.ndarray) -> Surrogate:
        return replace(self, examples=examples)

    def _count(self, shape: tuple[int, ...], outputs: int) -> int:
        """Returns the number of masked rows to learn from, for a background (m, d)."""
        m, d = shape
        useful = min(COPIES, CELLS // d, max(FEWEST_COPIES, COPIES_A_ROW * m))
        affordable = useful / outputs ** (0.0 if is_module(self.regressor) else 0.5)
        once_each = min(m, max(FEWEST, int(self.memory_limit / (BYTES_A_CELL * d))))
        return max(once_each, int(affordable if self.copies is None else self.copies))

    def _learners(
        self, background: BackgroundRows, targets: np.ndarray, fold: np.ndarray, count: int, seed: int
    ) -> tuple[Learner, ...]:
        """Fits one learner for each fold of the background rows, on the rows of the other folds."""
        (m, d), row_weights = background.rows.shape, background.weights
        is_weighted = m <= count and takes_weights(self.regressor)
        least = 1 if is_weighted else _heaviest(row_weights, fold)
        copies = MaskedRows.drawn(row_weights, count, d, np.random.default_rng(seed), least=least)
        # copies of rows of equal weight are numerous enough by themselves
        has_equal_weights = bool((row_weights == row_weights[0]).all())
        weights = copies.weights(row_weights) if is_weighted and not has_equal_weights else None
        inputs = masked_inputs(background.rows[copies.row], copies.is_kept)
        fit = self._fit(background.predictor.schema, max(1.0, count / m), seed)
        learners = []
        with one_thread():
            for number in range(min(FOLDS, m)):
                is_held_out = (fold == number)[copies.row] if m > 1 else np.zeros(len(copies.row), dtype=bool)
                learners.append(fit(inputs, targets[copies.row], is_held_out, weights))
        return tuple(learners)

    def _fit(self, schema: Schema, copies_a_row: float, seed: int) -> Callable[..., Learner]:
        """Returns a function of inputs, targets, a mask of held-out rows and weights, that fits a learner."""
        if self.regressor is None:
            return partial(fit_boosting, schema=schema, copies_a_row=copies_a_row, seed=seed % 2**31)
        if is_module(self.regressor):
            return partial(train_regressor, self.regressor, seed=seed % 2**31)
        return partial(fit_regressors, self.regressor)


@dataclass(frozen=True)
class MaskedRows:
    """Masked copies of background rows: ``row`` (c,) numbers the row of each copy, ``is_kept`` (c, d) is its mask.

    Sizes of coalitions are uniform over 1, ..., d - 1, and coalitions uniform among those of one size.

    Examples
    --------
    >>> copies = MaskedRows.drawn(np.full(4, 0.25), 8, 3, np.random.default_rng(0))
    >>> np.bincount(copies.row)
    array([2, 2, 2, 2])
    """

    row: np.ndarray
    is_kept: np.ndarray

    @classmethod
    def drawn(
        cls, weights: np.ndarray, count: int, columns: int, rng: np.random.Generator, *, least: np.ndarray | int = 0
    ) -> MaskedRows:
        """Draws copies of rows in proportion to their weights (systematic sampling), but at least ``least`` of each."""
        numbers = np.diff(np.floor(np.cumsum(np.concatenate([[rng.random()], count * weights])))).astype(int)
        row = np.repeat(np.arange(len(weights)), np.maximum(numbers, least))
        size = rng.integers(1, columns, size=len(row))
        rank = np.argsort(rng.random((len(row), columns)), axis=1)
        return cls(row, np.argsort(rank, axis=1) < size[:, None])

    def weights(self, row_weights: np.ndarray) -> np.ndarray:
        """Returns weights (c,), one on average, such that the copies of each row together have its weight."""
        share = row_weights[self.row] / np.bincount(self.row, minlength=len(row_weights))[self.row]
        return np.asarray(share / share.mean())


def _heaviest(weights: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Marks the row of largest weight in each fold with one, (m,), so that each learner has a row to learn from."""
    marks = np.zeros(len(weights), dtype=int)
    for number in np.unique(fold):
        rows = np.flatnonzero(fold == number)
        marks[rows[weights[rows].argmax()]] = 1
    return marks


def check_regressor(regressor: Any) -> None:
    """Raises an error unless the object is None, a regressor or a PyTorch module."""
    has_methods = all(callable(getattr(regressor, name, None)) for name in ("fit", "predict", "get_params"))
    if regressor is not None and (isinstance(regressor, type) or not (has_methods or is_module(regressor))):
        raise InputError(
            "regressor",
            got=repr(regressor)[:80],
            wanted="a scikit-learn regressor or a PyTorch module",
            hint=PythonOnly("HistGradientBoostingRegressor()"),
        )


def takes_weights(regressor: Any) -> bool:
    """Tells whether a regressor can be fitted with sample weights; boosting and PyTorch modules can."""
    return regressor is None or is_module(regressor) or weights_argument(regressor) is not None


@dataclass(frozen=True)
class Regressors:
    """Fitted regressors of the user's kind, one for each output."""

    fitted: tuple[Any, ...]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        try:
            outputs = np.column_stack([np.ravel(regressor.predict(inputs)) for regressor in self.fitted])
        except Exception as error:
            raise _unsuitable(self.fitted[0], f"{type(error).__name__} from {{}}: {error}") from error
        if outputs.shape != (len(inputs), len(self.fitted)) or not np.isfinite(outputs).all():
            raise _unsuitable(self.fitted[0], "predictions of {} that are not one finite number per row")
        return outputs


def fit_regressors(
    regressor: Any, inputs: np.ndarray, targets: np.ndarray, is_held_out: np.ndarray, weights: np.ndarray | None
) -> Regressors:
    """Fits copies of a regressor to inputs (n, 2 d) and targets (n, t), without the rows that are held out (n,)."""
    from sklearn.base import clone

    argument = weights_argument(regressor)
    options = {} if weights is None or argument is None else {argument: weights[~is_held_out]}
    rows = inputs[~is_held_out]
    try:
        return Regressors(tuple(clone(regressor).fit(rows, y[~is_held_out], **options) for y in targets.T))
    except Exception as error:
        raise _unsuitable(regressor, f"{type(error).__name__} from {{}}: {error}") from error


def _unsuitable(regressor: Any, problem: str) -> InputError:
    return InputError(
        "regressor",
        got=problem.replace("{}", type(regressor).__name__)[:300],
        wanted="a scikit-learn regressor that can be fitted to rows of numbers, missing ones included",
        hint=[PythonOnly("HistGradientBoostingRegressor(), or "), "a pipeline that begins with an imputer"],
    )


@dataclass(frozen=True)
class Boosting:
    """Fitted ensembles of boosted trees, one for each output."""

    ensembles: tuple[Any, ...]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        return np.column_stack([trees.predict(inputs) for trees in self.ensembles])


def fit_boosting(
    inputs: np.ndarray,
    targets: np.ndarray,
    is_held_out: np.ndarray,
    weights: np.ndarray | None,
    *,
    schema: Schema,
    copies_a_row: float,
    seed: int,
) -> Boosting:
    """Fits boosted trees to inputs (n, 2 d) and targets (n, t), without the rows that are held out (n,)."""
    categorical = [
        column
        for column, values in enumerate(schema.columns)
        if isinstance(values, Categories) and len(values.values) <= MOST_CATEGORIES
    ]
    options = {
        "learning_rate": RATE,
        "max_leaf_nodes": LEAVES,
        "max_features": FEATURES,
        "random_state": seed,
        "min_samples_leaf": max(20, round(ROWS_A_LEAF * copies_a_row)),
        "categorical_features": categorical or None,
    }
    return Boosting(tuple(_with_early_stopping(inputs, y, is_held_out, weights, options) for y in targets.T))


def _with_early_stopping(
    inputs: np.ndarray, y: np.ndarray, is_held_out: np.ndarray, weights: np.ndarray | None, options: dict[str, Any]
) -> Any:
    """Adds trees as long as the squared error on the held-out rows decreases."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(warm_start=True, early_stopping=False, **options)
    fit_weights, test_weights = (None, None) if weights is None else (weights[~is_held_out], weights[is_held_out])
    least = np.inf
    try:
        for count in STOPPING_CHECKS:
            trees.set_params(max_iter=count).fit(inputs[~is_held_out], y[~is_held_out], sample_weight=fit_weights)
            has_test_rows = is_held_out.any()
            squares = (trees.predict(inputs[is_held_out]) - y[is_held_out]) ** 2 if has_test_rows else np.zeros(1)
            error = float(np.average(squares, weights=test_weights if has_test_rows else None))
            if not error < least:
                break
            least = error
    except ValueError as error:
        raise InputError(
            "background",
            got=f"rows that gradient boosting does not accept ({error})",
            wanted="numbers and categories",
            hint="another regressor",
        ) from error
    return trees
