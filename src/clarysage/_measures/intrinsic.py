"""Intrinsic importances: heuristics of Table 1 that are read off a model: its coefficients, splits or weights.

None of them uses predictions of the model, or y. The adapter of the model's library, or the representation of its
structure, reads the numbers (see ``structure.intrinsic_numbers``). Here they are summed over the columns that the steps
of a pipeline derive from a column of X, and over the members of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from clarysage._measures.options import with_shared_options
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.provenance import fingerprint, fingerprint_of_rows, versions
from clarysage._measures.table import MEASURES
from clarysage.errors import InputError, Note, Or, Set, Words
from clarysage.inference.estimate import StopReason
from clarysage.inference.moments import FULL_COVARIANCE
from clarysage.models import ModelAdapter, Predictor, adapter_of, as_predictor, libraries_with
from clarysage.models.pipelines import InnerColumns, Unwrapped, unwrap
from clarysage.protocols import GroupsLike, ModelLike, TableLike, TargetLike, WeightsLike, ability
from clarysage.results import Explanation
from clarysage.structure.base import Structure, UnknownStructureError
from clarysage.structure.intrinsic_numbers import (
    HasCoefficients,
    HasGains,
    HasLayerWeights,
    HasSplitCounts,
    LayerWeights,
)
from clarysage.tables import as_table, read_weights, schema_of

OUTSIDE = "A heuristic, outside the framework of additive importance measures: it measures"
ABOUT_COEFFICIENTS = Note(
    f"{OUTSIDE} how steep the model is in a feature, not how much the feature improves predictions. Redundant features "
    "may have large coefficients of opposite sign, or share a large one."
)
ABOUT_GAINS = Note(
    f"{OUTSIDE} how much splits on a feature improved the fit to the training rows, not how much the feature improves "
    "predictions of other rows. It is biased towards columns with many distinct values, even if they are noise."
)
ABOUT_SPLITS = Note(
    "A heuristic, outside the framework of additive importance measures: it counts how often trees split on a feature, "
    "not how much the feature improves predictions. It is biased towards columns with many distinct values, even if "
    "they are noise; a single split on a column of two values may matter more than many."
)
ABOUT_WEIGHTS = Note(
    f"{OUTSIDE} how large the weights on a feature are, not how much the feature improves predictions. Later layers "
    "may cancel the effects of the first."
)
NETWORK = (
    "an MLPClassifier or MLPRegressor of scikit-learn, or a PyTorch module that applies Linear layers to rows directly"
)
ANY_MODEL = "cs.sage, which works with any model"
READ_OFF = "values are read off the model"
THROUGH = ("first layer", "all layers")

Ability = TypeVar("Ability")


@with_shared_options(otherwise=READ_OFF)
def coefficient_size(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    scaled: bool = False,
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    r"""Coefficient size: the magnitude of a linear model's coefficients (Table 1), a heuristic.

    .. math:: \phi_i = \sum_k \sum_{j \in i} |w_{jk}| \qquad \text{or, scaled,} \qquad
        \phi_i = \sum_k sd_x \Big( \sum_{j \in i} w_{jk} z_j(x) \Big)

    with outputs k (one, or several for several classes or responses), and the columns j, with values z_j, that the
    steps of a pipeline derive from column i: one if it is scaled, several if it is one-hot encoded.

    Parameters
    ----------
    model : a linear model: of scikit-learn, with ``coef_``, or of statsmodels, from arrays or frames; also as the last
        step of a Pipeline whose other steps transform columns separately
    X : rows, for the names and the order of columns, and for their scales
    y : ignored
    scaled : False, the default, for the plain coefficients of the heuristic, which depend on the units of columns. True
        for the standard deviation of the contribution of a feature to the output on the rows of X, in units of the
        output: for a number the size of its coefficient times its standard deviation, for a category the standard
        deviation of the effects of its values, weighted by their frequencies, whichever value the encoding left out
    groups : mapping of names to columns, whose values are added up
    sample_weight : one weight for each row, for standard deviations
    feature_names : names of the columns, if X has none or to replace them

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``, since the sum of the values has no meaning

    Notes
    -----
    After a scaler, coefficients are those of the scaled columns. With a link function, as in logistic regression, the
    output is the margin; with a transformed response, the transformed prediction. A classifier of K classes has K
    coefficients for each column, or one if there are two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> coefficient_size(LinearRegression().fit(X, 2 * X[:, 0] - 3 * X[:, 1]), X).values.round(6)
    array([2., 3.])
    """
    opened = OpenedModel.of("coefficient size", model)
    weights, inside = _coefficients(opened)
    table = opened.with_table(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    values = table.sizes(weights, inside, scaled=scaled).sum(axis=1)
    return table.explanation(values, [ABOUT_COEFFICIENTS, _about_scale("Coefficients", scaled)])


def _coefficients(opened: OpenedModel) -> tuple[np.ndarray, InnerColumns]:
    """Returns weights (D, K) of the columns that the last estimator gets, and the origin of these columns."""
    linear = opened.ability(HasCoefficients)
    weights = None if linear is None else linear.coefficients()
    if weights is not None:
        return weights, opened.columns
    representation = opened.ability_of_representation(HasCoefficients)
    weights = None if representation is None else representation.coefficients()
    if weights is not None:
        return weights, opened.columns_of_representation
    raise opened.refusal("a linear model, such as scikit-learn's with coef_")


@with_shared_options(otherwise=READ_OFF)
def gini_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Gini importance: the share of the impurity decrease by splits on each feature (Table 1), a heuristic.

    Parameters
    ----------
    model : trees, a forest or boosted trees, such as those of scikit-learn, XGBoost, LightGBM and CatBoost; also as the
        last step of a Pipeline whose other steps transform columns separately: values are then summed over the columns
        derived from a column of X
    X : rows, for the names and the order of columns
    y, sample_weight : ignored: the values are statistics of the training that the model has stored
    groups : mapping of names to columns, whose values are added up
    feature_names : names of the columns, if X has none or to replace them

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``. Values add up to 1 for every library, or to 0 if no tree
    has a split

    Notes
    -----
    Libraries store different statistics. scikit-learn has ``feature_importances_``, the decrease of impurity as shares
    of each tree. Its histogram boosting, XGBoost and LightGBM have the gain of the objective, summed over splits
    (``feature_importances_`` of XGBoost is the mean over splits). CatBoost has the change of predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> gini_importance(DecisionTreeRegressor(max_depth=1).fit(X, X[:, 1]), X).values
    array([0., 1.])
    """
    opened = OpenedModel.of("gini importance", model)
    trees = opened.ability(HasGains)
    gains = None if trees is None else trees.gains()
    if gains is None:
        raise opened.refusal(_trees_with(HasGains))
    inside = opened.columns
    table = opened.with_table(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    total = gains.values.sum()
    shares = gains.values / total if total > 0 else np.zeros_like(gains.values)
    remarks = [Note(gains.remark)] if gains.remark else []
    return table.explanation(table.sum_by_column(shares, inside), [ABOUT_GAINS, *remarks])


@with_shared_options(otherwise=READ_OFF)
def number_of_splits(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Number of splits: how many splits of all trees use each feature (Table 1), a heuristic.

    Parameters
    ----------
    model : trees, a forest or boosted trees, such as those of scikit-learn, XGBoost, LightGBM and CatBoost; also as the
        last step of a Pipeline whose other steps transform columns separately: values are then summed over the columns
        derived from a column of X
    X : rows, for the names and the order of columns
    y, sample_weight : ignored
    groups : mapping of names to columns, whose values are added up
    feature_names : names of the columns, if X has none or to replace them

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``. Values are whole numbers

    Notes
    -----
    Trees after the best iteration of XGBoost and LightGBM, which predictions do not use, do not count. A level of a
    CatBoost tree has the same split at every node, which counts once; a split on a statistic of several categories
    counts for each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> number_of_splits(DecisionTreeRegressor(max_leaf_nodes=4).fit(X, X[:, 1]), X).values
    array([0., 3.])
    """
    opened = OpenedModel.of("number of splits", model)
    counts, inside = _split_counts(opened)
    table = opened.with_table(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    return table.explanation(table.sum_by_column(counts, inside), [ABOUT_SPLITS])


def _split_counts(opened: OpenedModel) -> tuple[np.ndarray, InnerColumns]:
    """Returns the number of splits on each column that the last estimator gets, (D,), and their origin."""
    trees = opened.ability(HasSplitCounts)
    counts = None if trees is None else trees.split_counts()
    if counts is not None:
        return counts, opened.columns
    representation = opened.ability_of_representation(HasSplitCounts)
    counts = None if representation is None else representation.split_counts()
    if counts is not None:
        return counts, opened.columns_of_representation
    raise opened.refusal(_trees_with(HasSplitCounts))


def _trees_with(kind: type) -> str:
    """Returns the words for models whose adapters can read a property of trees."""
    *others, last = libraries_with(kind)
    libraries = f"{', '.join(others)} or {last}" if others else last
    return f"trees, a forest or boosted trees of {libraries}"


@with_shared_options(otherwise=READ_OFF)
def network_weights(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    through: str = "first layer",
    scaled: bool = False,
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    r"""Network weights: the magnitude of a network's weights on each feature (Table 1), a heuristic.

    .. math:: \phi_i = \sum_h |W_1|_{ih} \qquad \text{or, through all layers,} \qquad
        \phi_i = \sum_k \big( |W_1| |W_2| \cdots |W_L| \big)_{ik}

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor of scikit-learn, also as the last step of a Pipeline whose other steps
        transform columns separately; or a PyTorch module that applies Linear layers to rows
    X : rows, for the names and the order of columns, and for their scales
    y : ignored
    through : "first layer", or "all layers" for products of the magnitudes of weights along all paths to the outputs,
        which bound the slope of a network whose activations have slopes of at most 1; only for fully connected networks
    scaled : False, the default, for plain weights, which depend on the units of columns; True for weights times the
        standard deviation of their inputs over the rows of X
    groups : mapping of names to columns, whose values are added up
    sample_weight : one weight for each row, for standard deviations
    feature_names : names of the columns, if X has none or to replace them

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``

    Notes
    -----
    After a scaler, weights are those of the scaled columns; the weights of a one-hot encoded column are added up. A
    BatchNorm next to a Linear layer of a ``Sequential`` is folded into that layer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neural_network import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> network = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", random_state=0).fit(X, X[:, 0])
    >>> bool(np.allclose(network_weights(network, X).values, np.abs(network.coefs_[0]).sum(axis=1)))
    True
    """
    if through not in THROUGH:
        raise InputError("through", got=f"{through!r}", wanted=" or ".join(map(repr, THROUGH)))
    opened = OpenedModel.of("network weights", model)
    weights, inside = _layer_weights(opened, X)
    if through == "all layers" and weights.later is None:
        raise InputError(
            "through",
            got='"all layers" of a network whose layers are not all known',
            wanted='"first layer"',
            hint="a torch.nn.Sequential of Linear layers",
        )
    table = opened.with_table(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    sizes = table.sizes(weights.first, inside, scaled=scaled)
    for later in weights.later or () if through == "all layers" else ():
        sizes = sizes @ np.abs(later)
    notes = [ABOUT_WEIGHTS, _about_scale("Weights", scaled)]
    return table.explanation(sizes.sum(axis=1), notes, model_rows=weights.model_rows)


def _layer_weights(opened: OpenedModel, X: TableLike) -> tuple[LayerWeights, InnerColumns]:
    """Returns the weights of the layers, and the origin of the columns of the first layer.

    The representation has precedence, since there a BatchNorm is folded into the Linear layer next to it.
    """
    table, _ = opened.f.known_columns(as_table(X, "X"), "X")
    width, representation = int(table.shape[1]), opened.ability_of_representation(HasLayerWeights)
    weights = None if representation is None else representation.layer_weights(width)
    if weights is not None:
        return weights, opened.columns_of_representation
    network = opened.ability(HasLayerWeights)
    weights = None if network is None else network.layer_weights(width)
    if weights is not None:
        return weights, opened.columns
    raise opened.refusal(NETWORK)


def _about_scale(what: str, scaled: bool) -> Note:
    if scaled:
        return Note(f"{what} are multiplied by the standard deviation of their inputs over the rows of X.")
    plain = f"{what} depend on the units of their columns: "
    return Note([plain, Set("scaled", True), " makes them comparable."])


@dataclass(frozen=True)
class OpenedModel:
    """A model without its wrappers, from which a measure is read off."""

    measure: str
    f: Predictor
    unwrapped: Unwrapped

    @classmethod
    def of(cls, measure: str, model: ModelLike) -> OpenedModel:
        return cls(measure, as_predictor(model).with_own_pace, unwrap(model))

    @property
    def adapter(self) -> ModelAdapter:
        """The adapter of the last estimator."""
        return adapter_of(self.unwrapped.last)

    def ability(self, kind: type[Ability]) -> Ability | None:
        """Returns an ability of the last estimator, None if it does not have it."""
        return ability(self.adapter, kind)

    def ability_of_representation(self, kind: type[Ability]) -> Ability | None:
        """Returns an ability of the representation of the full model, None if it does not have it."""
        return None if self.structure is None else ability(self.structure.representation, kind)

    @property
    def columns(self) -> InnerColumns:
        """The origin of the columns of the last estimator."""
        try:
            return self.unwrapped.inner_columns()
        except UnknownStructureError as error:
            raise InputError(
                "model",
                got=f"{self.f.name}, of whose steps {error}",
                wanted="steps before the last that derive each column from one column of X: scalers, imputers, "
                "encoders, selectors",
                hint=ANY_MODEL,
            ) from error

    @property
    def columns_of_representation(self) -> InnerColumns:
        """The origin of the columns of the model representation."""
        return InnerColumns() if self.structure is None else InnerColumns.of(self.structure)

    @cached_property
    def structure(self) -> Structure | None:
        """The structure of the model as its adapter reads it; None if it cannot."""
        try:
            return None if self.f.structure is None else self.f.structure()
        except Exception:  # an unknown structure is treated as none
            return None

    def refusal(self, expected: str, hint: Words = ANY_MODEL) -> InputError:
        """Returns the error for a model without the measure."""
        origin, last = self.f.origin, self.unwrapped.last
        got = self.f.name if origin is None or origin is last else f"{self.f.name} around {type(last).__name__}"
        return InputError("model", got=f"{got}, which has no {self.measure}", wanted=expected, hint=hint)

    def with_table(
        self,
        X: TableLike,
        *,
        groups: GroupsLike | None,
        sample_weight: WeightsLike | None,
        feature_names: Sequence[str] | None,
    ) -> ModelAndTable:
        """Returns the model together with the columns of X."""
        table, notes = self.f.known_columns(as_table(X, "X"), "X")
        arranged, names = self.f.arrange(table), column_names(table, feature_names, self.f.feature_names)
        player_order = PlayerOrder.of(names, table, arranged, groups)
        return ModelAndTable(self, arranged, player_order, read_weights(sample_weight, table, len(table)), notes)


@dataclass(frozen=True)
class ModelAndTable:
    """A model and a table X, its columns in the model's order, with the weights of its rows (n,), which sum to one.

    ``notes`` are about columns that were left out.
    """

    opened: OpenedModel
    X: Any
    player_order: PlayerOrder
    weights: np.ndarray
    notes: tuple[str, ...] = ()

    def owner(self, inside: InnerColumns, count: int) -> np.ndarray:
        """Returns the column of X that each of ``count`` inner columns is derived from."""
        d = int(self.X.shape[1])
        owner = np.arange(count) if inside.owner is None else inside.owner
        if len(owner) != count or (inside.owner is None and count != d) or (count and owner.max() >= d):
            expected = f"those that {self.opened.f.name} was fitted on"
            raise InputError("X", got=f"{d} columns", wanted=expected, hint="the columns that the model predicts from")
        return np.asarray(owner)

    def sum_by_column(self, values: np.ndarray, inside: InnerColumns) -> np.ndarray:
        """Adds up values (D, ...) of inner columns that are derived from the same column: (d, ...)."""
        sums = np.zeros((int(self.X.shape[1]), *values.shape[1:]))
        np.add.at(sums, self.owner(inside, len(values)), values)
        return sums

    def sizes(self, coefficients: np.ndarray, inside: InnerColumns, *, scaled: bool) -> np.ndarray:
        """Returns the magnitudes of coefficients (D, H) of inner columns for each column of X, (d, H).

        These are sums of absolute values over the columns derived from a column; if ``scaled``, the standard deviation
        over the rows of X of the contribution of the column to each of the H linear combinations.
        """
        if not scaled:
            return self.sum_by_column(np.abs(coefficients), inside)
        owner, z = self.owner(inside, len(coefficients)), self._rows(inside)
        sizes = np.zeros((int(self.X.shape[1]), coefficients.shape[1]))
        for column in np.unique(owner):
            inner = owner == column
            # relative to the first row, so that a constant adds exactly zero
            added = (z[:, inner] - z[:1, inner]) @ coefficients[inner]
            sizes[column] = np.sqrt(self.weights @ (added - self.weights @ added) ** 2)
        return sizes

    def _rows(self, inside: InnerColumns) -> np.ndarray:
        """Returns the rows of X as the last estimator gets them, (n, D)."""
        schema = schema_of(self.X)
        rows = schema.encode(self.X, "X")
        try:
            if inside.view is not None:
                rows = inside.view(self.opened.f.bind(schema).schema.decode(rows))
            elif not schema.is_number.all():
                raise UnknownStructureError("some columns are not numbers")
        except Exception as error:
            got = f"rows that {self.opened.f.name} does not take ({error})"
            raise InputError("X", got=got, wanted="rows that the model predicts from") from error
        if not np.isfinite(rows).all():
            raise InputError(
                "X",
                got="missing or infinite cells",
                wanted="numbers, for standard deviations",
                hint=["rows without such cells", Or(), Set("scaled", False)],
            )
        return rows

    def by_player(self, values: np.ndarray) -> np.ndarray:
        """Adds up values (..., d) of columns over the members of groups, in the user's order: (..., p)."""
        players = self.player_order.players
        sums = np.zeros((len(players), *values.shape[:-1]))
        np.add.at(sums, players.owner, np.moveaxis(values, -1, 0))
        return np.moveaxis(sums[list(self.player_order.order)], 0, -1)

    def explanation(self, values: np.ndarray, notes: Sequence[Note], **changes: Any) -> Explanation:
        """Returns values (d,) of columns as an explanation; ``changes`` replace the default fields of heuristics."""
        sums, row = self.by_player(values), MEASURES[self.opened.measure]
        if self.player_order.members is not None:
            notes = (*notes, Note("The value of a group is the sum of the values of its members."))
        return Explanation(
            **{
                "values": sums,
                "std_error": np.zeros(len(sums)),
                "covariance": np.zeros((len(sums), len(sums))) if len(sums) <= FULL_COVARIANCE else None,
                "feature_names": tuple(self.player_order.players.names[i] for i in self.player_order.order),
                "constant": None,
                "total": None,
                "base": None,
                "model_rows": 0,
                "draws": 0,
                "stopped": StopReason.EXACT,
                "measure": row.name,
                "headline": row.headline,
                "values_are": row.values_are,
                "held_fixed": "nothing",
                "loss": "none",
                "removal": "none",
                "method": "read off the model",
                "groups": self.player_order.members,
                "notes": (*self.notes, *notes),
                "provenance": self._provenance(),
                **changes,
            }
        )

    def _provenance(self) -> dict[str, Any]:
        schema = schema_of(self.X)
        return {
            **versions(),
            "model": self.opened.f.name,
            "examples": int(self.X.shape[0]),
            "columns": int(self.X.shape[1]),
            "fingerprints": {
                "X": fingerprint_of_rows(schema.encode(self.X, "X"), schema),
                "weights": fingerprint(self.weights),
            },
        }
