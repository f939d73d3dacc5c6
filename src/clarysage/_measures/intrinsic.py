"""Intrinsic importances: heuristics of Table 1 that are read off a model, its coefficients, splits or weights.

None of them asks the model for predictions, or looks at y. What is read comes from the adapter of the model's library
or from the form of its insides (see ``structure.abilities``); here it is summed over what the steps of a pipeline make
of a column, and over the members of groups.
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
from clarysage.models.unwrap import InnerColumns, Unwrapped, unwrap
from clarysage.protocols import GroupsLike, ModelLike, TableLike, TargetLike, WeightsLike, ability
from clarysage.results import Explanation
from clarysage.structure.abilities import HasCoefficients, HasGains, HasLayerWeights, HasSplitCounts, LayerWeights
from clarysage.structure.base import Structure, UnknownStructureError
from clarysage.tables import as_table, read_weights, schema_of

OUTSIDE = "A heuristic, outside the framework of additive importance measures: it tells"
ABOUT_COEFFICIENTS = Note(
    f"{OUTSIDE} how steep the model is in a feature, not what the feature is worth to its predictions. Features that "
    "tell the same may have large coefficients that cancel, or share one that is large."
)
ABOUT_GAINS = Note(
    f"{OUTSIDE} how much splits on a feature helped to fit the rows that trees were grown on, not what the feature is "
    "worth to predictions of other rows. Columns with many distinct values get more, even where they are noise."
)
ABOUT_SPLITS = Note(
    "A heuristic, outside the framework of additive importance measures: it counts how often trees ask for a feature, "
    "not what the answers are worth to predictions. Columns with many distinct values are asked for more often, even "
    "where they are noise; one split on a column of two values may be worth more than many."
)
ABOUT_WEIGHTS = Note(
    f"{OUTSIDE} how large weights on a feature are, not what the feature is worth to predictions. Later layers may "
    "cancel what the first lets in."
)
NETWORK = (
    "an MLPClassifier or MLPRegressor of scikit-learn, or a PyTorch module whose rows go into Linear layers as they are"
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

    with outputs k (one, but for several classes or responses), and the columns j, of values z_j, that the steps of a
    pipeline make of column i: one where it is scaled, several where it is one-hot encoded.

    Parameters
    ----------
    model : a linear model: of scikit-learn, with ``coef_``; of statsmodels, by arrays or frames; at the end of a
        Pipeline if its other steps keep columns apart
    X : rows, for the names and the order of columns, and for their scales
    y : is not looked at
    scaled : False, the default, for the coefficients as they are, which is what the heuristic means: they depend on
        the units of columns. True for the standard deviation of what a feature adds to the output on the rows of X, in
        units of the output: that of a number is |w| times its standard deviation, that of a category is the spread of
        the effects of its values, weighted by how frequent they are, whichever of them was left out of the encoding
    groups : mapping of names to columns, whose values are added up
    sample_weight : one weight a row, for standard deviations
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``: values add up to nothing that a model gains

    Notes
    -----
    Behind a scaler coefficients are those of the scaled columns. With links, as of a logistic regression, the output
    is the margin; with a transformed response, it is that. A classifier of K classes has K coefficients a column, or
    one where there are two classes.

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
    table = opened.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    values = table.sizes(weights, inside, scaled=scaled).sum(axis=1)
    return table.explanation(values, [ABOUT_COEFFICIENTS, _about_scale("Coefficients", scaled)])


def _coefficients(opened: OpenedModel) -> tuple[np.ndarray, InnerColumns]:
    """Weights (D, K) of the columns that the last estimator gets, and where these come from."""
    linear = opened.ability(HasCoefficients)
    weights = None if linear is None else linear.coefficients()
    if weights is not None:
        return weights, opened.inside
    form = opened.ability_of_form(HasCoefficients)
    weights = None if form is None else form.coefficients()
    if weights is not None:
        return weights, opened.inside_of_form
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
    """Gini importance: shares of the impurity that splits on each feature take away (Table 1), a heuristic.

    Parameters
    ----------
    model : trees, a forest or boosted trees, such as those of scikit-learn, XGBoost, LightGBM and CatBoost; at the end
        of a Pipeline if its other steps keep columns apart, and values are added up over what they make of a column
    X : rows, for the names and the order of columns
    y, sample_weight : are not looked at: what the model remembers of its training is all there is
    groups : mapping of names to columns, whose values are added up
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``. Values add up to 1, whatever the library; to 0 where no
    tree has a split

    Notes
    -----
    What a library keeps differs. scikit-learn has ``feature_importances_``, the decrease of the impurity, tree by tree
    in shares; its histogram boosting, XGBoost and LightGBM the gain of the objective, summed over splits (XGBoost's own
    ``feature_importances_`` is the mean over splits instead); CatBoost the change of predictions.

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
    inside = opened.inside
    table = opened.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    total = gains.values.sum()
    shares = gains.values / total if total > 0 else np.zeros_like(gains.values)
    remarks = [Note(gains.remark)] if gains.remark else []
    return table.explanation(table.summed(shares, inside), [ABOUT_GAINS, *remarks])


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
    """Number of splits of all trees that are about each feature (Table 1), a heuristic.

    Parameters
    ----------
    model : trees, a forest or boosted trees, such as those of scikit-learn, XGBoost, LightGBM and CatBoost; at the end
        of a Pipeline if its other steps keep columns apart, and values are added up over what they make of a column
    X : rows, for the names and the order of columns
    y, sample_weight : are not looked at
    groups : mapping of names to columns, whose values are added up
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``. Values are whole numbers

    Notes
    -----
    Trees that predictions do not use, after the best iteration of XGBoost and LightGBM, do not count. CatBoost asks one
    question for a whole level of a tree, which counts once; one about a statistic of several categories together
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
    table = opened.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    return table.explanation(table.summed(counts, inside), [ABOUT_SPLITS])


def _split_counts(opened: OpenedModel) -> tuple[np.ndarray, InnerColumns]:
    """Splits on each column that the last estimator gets, (D,), and where these come from."""
    trees = opened.ability(HasSplitCounts)
    counts = None if trees is None else trees.split_counts()
    if counts is not None:
        return counts, opened.inside
    form = opened.ability_of_form(HasSplitCounts)
    counts = None if form is None else form.split_counts()
    if counts is not None:
        return counts, opened.inside_of_form
    raise opened.refusal(_trees_with(HasSplitCounts))


def _trees_with(kind: type) -> str:
    """What to give to a measure that reads an ability of trees."""
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
    r"""Network weights: the magnitude of the weights that a network has on each feature (Table 1), a heuristic.

    .. math:: \phi_i = \sum_h |W_1|_{ih} \qquad \text{or, through all layers,} \qquad
        \phi_i = \sum_k \big( |W_1| |W_2| \cdots |W_L| \big)_{ik}

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor of scikit-learn, also at the end of a Pipeline if its other steps keep columns
        apart; or a PyTorch module whose rows go into Linear layers
    X : rows, for the names and the order of columns, and for their scales
    y : is not looked at
    through : "first layer", or "all layers" for products of the magnitudes of weights along all ways to the outputs,
        which bound how steep the network is where its activations are nowhere steeper than 1; for networks of full
        layers alone
    scaled : False, the default, for weights as they are, which depend on the units of columns; True for times the
        standard deviation, over the rows of X, of what they are multiplied with
    groups : mapping of names to columns, whose values are added up
    sample_weight : one weight a row, for standard deviations
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``

    Notes
    -----
    Behind a scaler weights are those of the scaled columns; of a column that is one-hot encoded they are added up.
    BatchNorm beside a Linear layer of a ``Sequential`` is taken into it.

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
    table = opened.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    sizes = table.sizes(weights.first, inside, scaled=scaled)
    for later in weights.later or () if through == "all layers" else ():
        sizes = sizes @ np.abs(later)
    notes = [ABOUT_WEIGHTS, _about_scale("Weights", scaled)]
    return table.explanation(sizes.sum(axis=1), notes, model_rows=weights.model_rows)


def _layer_weights(opened: OpenedModel, X: TableLike) -> tuple[LayerWeights, InnerColumns]:
    """Weights of the layers, and where the columns of the first come from.

    The form is asked first, since it has a BatchNorm beside a Linear layer taken into that.
    """
    width, form = int(as_table(X, "X").shape[1]), opened.ability_of_form(HasLayerWeights)
    weights = None if form is None else form.layer_weights(width)
    if weights is not None:
        return weights, opened.inside_of_form
    network = opened.ability(HasLayerWeights)
    weights = None if network is None else network.layer_weights(width)
    if weights is not None:
        return weights, opened.inside
    raise opened.refusal(NETWORK)


def _about_scale(what: str, scaled: bool) -> Note:
    if scaled:
        return Note(f"{what} are times the standard deviation, over the rows of X, of what they are multiplied with.")
    plain = f"{what} are as large as the units of their columns make them: "
    return Note([plain, Set("scaled", True), " makes them comparable."])


@dataclass(frozen=True)
class OpenedModel:
    """A model that a measure is to be read off, taken out of its wrappers."""

    measure: str
    f: Predictor
    unwrapped: Unwrapped

    @classmethod
    def of(cls, measure: str, model: ModelLike) -> OpenedModel:
        return cls(measure, as_predictor(model), unwrap(model))

    @property
    def adapter(self) -> ModelAdapter:
        """What reads the last estimator."""
        return adapter_of(self.unwrapped.last)

    def ability(self, kind: type[Ability]) -> Ability | None:
        """An ability of the last estimator."""
        return ability(self.adapter, kind)

    def ability_of_form(self, kind: type[Ability]) -> Ability | None:
        """An ability of the form of the whole model's insides."""
        return None if self.structure is None else ability(self.structure.representation, kind)

    @property
    def inside(self) -> InnerColumns:
        """Where the columns of the last estimator come from."""
        try:
            return self.unwrapped.inner_columns()
        except UnknownStructureError as error:
            raise InputError(
                "model",
                got=f"{self.f.name}, of whose steps {error}",
                wanted="steps before the last each column of which is made of one column of X: scalers, imputers, "
                "encoders, selectors",
                hint=ANY_MODEL,
            ) from error

    @property
    def inside_of_form(self) -> InnerColumns:
        """Where the columns of the form come from."""
        return InnerColumns() if self.structure is None else InnerColumns.of(self.structure)

    @cached_property
    def structure(self) -> Structure | None:
        """The model's insides as an adapter has read them; None where it has not."""
        try:
            return None if self.f.structure is None else self.f.structure()
        except Exception:  # insides that were not understood are as good as none
            return None

    def refusal(self, wanted: str, hint: Words = ANY_MODEL) -> InputError:
        """The error for a model that has no such thing."""
        origin, last = self.f.origin, self.unwrapped.last
        got = self.f.name if origin is None or origin is last else f"{self.f.name} around {type(last).__name__}"
        return InputError("model", got=f"{got}, which has no {self.measure}", wanted=wanted, hint=hint)

    def beside(
        self,
        X: TableLike,
        *,
        groups: GroupsLike | None,
        sample_weight: WeightsLike | None,
        feature_names: Sequence[str] | None,
    ) -> ModelAndTable:
        """The model beside the columns of X."""
        table = as_table(X, "X")
        arranged, names = self.f.arrange(table), column_names(table, feature_names, self.f.feature_names)
        player_order = PlayerOrder.of(names, table, arranged, groups)
        return ModelAndTable(self, arranged, player_order, read_weights(sample_weight, table, len(table)))


@dataclass(frozen=True)
class ModelAndTable:
    """A model beside X, its columns in the model's order, and the weights of its rows (n,), which add up to one."""

    opened: OpenedModel
    X: Any
    player_order: PlayerOrder
    weights: np.ndarray

    def owner(self, inside: InnerColumns, count: int) -> np.ndarray:
        """The column of X that each of so many inner columns is made of."""
        d = int(self.X.shape[1])
        owner = np.arange(count) if inside.owner is None else inside.owner
        if len(owner) != count or (inside.owner is None and count != d) or (count and owner.max() >= d):
            wanted = f"those that {self.opened.f.name} was fitted on"
            raise InputError("X", got=f"{d} columns", wanted=wanted, hint="the columns that the model predicts from")
        return np.asarray(owner)

    def summed(self, values: np.ndarray, inside: InnerColumns) -> np.ndarray:
        """Values (D, ...) of inner columns, added up over those that are made of one column: (d, ...)."""
        sums = np.zeros((int(self.X.shape[1]), *values.shape[1:]))
        np.add.at(sums, self.owner(inside, len(values)), values)
        return sums

    def sizes(self, coefficients: np.ndarray, inside: InnerColumns, *, scaled: bool) -> np.ndarray:
        """How large coefficients (D, H) of inner columns are for each column of X, (d, H).

        The sum of their magnitudes over what is made of a column; ``scaled``: the standard deviation, over the rows
        of X, of what the column adds to each of the H sums.
        """
        if not scaled:
            return self.summed(np.abs(coefficients), inside)
        owner, z = self.owner(inside, len(coefficients)), self._rows(inside)
        sizes = np.zeros((int(self.X.shape[1]), coefficients.shape[1]))
        for column in np.unique(owner):
            its = owner == column
            added = (z[:, its] - z[:1, its]) @ coefficients[its]  # from the first row on: a constant adds zero
            sizes[column] = np.sqrt(self.weights @ (added - self.weights @ added) ** 2)
        return sizes

    def _rows(self, inside: InnerColumns) -> np.ndarray:
        """Rows of X as the last estimator gets them, (n, D)."""
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
        """Values (..., d) of columns, added up over the members of groups, in the user's order: (..., p)."""
        players = self.player_order.players
        sums = np.zeros((len(players), *values.shape[:-1]))
        np.add.at(sums, players.owner, np.moveaxis(values, -1, 0))
        return np.moveaxis(sums[list(self.player_order.order)], 0, -1)

    def explanation(self, values: np.ndarray, notes: Sequence[Note], **changes: Any) -> Explanation:
        """Values (d,) of columns as an explanation; ``changes`` are fields that differ from a plain heuristic's."""
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
                "notes": tuple(notes),
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
