"""Network weights: how large the weights are that a network has on each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage._measures.intrinsic import Reading
from clarysage.errors import InputError
from clarysage.models.torch_first_layer import ROWS, first_weights
from clarysage.models.torch_training import is_module
from clarysage.models.unwrap import Inside
from clarysage.structure.form import Structure
from clarysage.structure.layers import Affine, Layers
from clarysage.tables import as_table

NOTE = (
    "A heuristic, outside the framework of additive importance measures: it tells how large weights on a feature are, "
    "not what the feature is worth to predictions. Later layers may cancel what the first lets in."
)
PLAIN = "Weights are as large as the units of their columns make them: scaled=True makes them comparable."
SCALED = "Weights are times the standard deviation, over the rows of X, of what they are multiplied with."
THROUGH = ("first layer", "all layers")


def network_weights(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    through: str = "first layer",
    scaled: bool = False,
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Any:
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
    reading = Reading.of("network weights", model)
    found = _weights(reading, X)
    if through == "all layers" and found.later is None:
        raise InputError("through", got='"all layers" of a network whose layers are not all known',
                         wanted='"first layer"', hint="a torch.nn.Sequential of Linear layers")  # fmt: skip
    beside = reading.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    sizes = beside.sizes(found.first, found.inside, scaled=scaled)
    for weights in found.later or () if through == "all layers" else ():
        sizes = sizes @ np.abs(weights)
    notes = [NOTE, SCALED if scaled else PLAIN]
    return beside.explanation(sizes.sum(axis=1), notes, model_rows=found.rows)


@dataclass(frozen=True)
class Weights:
    """Of a first layer (D, h), where its columns come from, later layers if known, and rows it took to find out."""

    first: np.ndarray
    inside: Inside
    later: tuple[np.ndarray, ...] | None = None
    rows: int = 0

    @classmethod
    def of(cls, structure: Structure) -> Weights | None:
        """Of a network of full layers; None for any other form."""
        form = structure.form
        if not isinstance(form, Layers):
            return None
        later = tuple(layer.weights for layer in form.later if isinstance(layer, Affine))
        return cls(form.first.weights.astype(np.float64), Inside.of(structure), later)


def _weights(reading: Reading, X: Any) -> Weights:
    last, structure = reading.opened.last, reading.structure
    found = None if structure is None else Weights.of(structure)
    if found is None and type(last).__name__ in ("MLPClassifier", "MLPRegressor"):
        found = Weights(last.coefs_[0], reading.inside, tuple(last.coefs_[1:]))
    if found is None and is_module(last):
        first = first_weights(last, int(as_table(X, "X").shape[1]))
        found = None if first is None else Weights(first, Inside(), rows=ROWS)
    if found is None:
        raise reading.refused("an MLPClassifier or MLPRegressor of scikit-learn, or a PyTorch module whose rows go "
                              "into Linear layers as they are")  # fmt: skip
    return found
