"""Aggregated saliency: the mean magnitude of integrated gradients (Sundararajan, Taly and Yan 2017) of a network.

References
----------
M. Sundararajan, A. Taly, Q. Yan (2017). Axiomatic attribution for deep networks. ICML 70, 3319-3328.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage._measures.intrinsic import OpenedModel
from clarysage._measures.options import with_shared_options
from clarysage.errors import Call, InputError, Note, Or, Set
from clarysage.games.predictive_power import outputs_of
from clarysage.inference.estimate import Target
from clarysage.inference.population import about_rows
from clarysage.models import Predictor
from clarysage.models.torch import Attributions, Gradients, gradients_of
from clarysage.protocols import GroupsLike, ModelLike, TableLike, TargetLike, WeightsLike
from clarysage.removal import Baseline
from clarysage.results import Explanation
from clarysage.tables import read_target

NOTE = Note(
    "A heuristic, outside the framework of additive importance measures: it measures how far a feature moves the "
    "output on the path from the baseline, not whether that makes predictions better; and withheld features are "
    "replaced by a single baseline, which may be a row unlike any real one."
)
STEPS = (64, 256, 1024)  # the larger ones for examples whose attributions do not add up
MAX_GAP = 0.01  # share of the change of the output by which the sum of attributions may be wrong
OUTPUTS = ("auto", "all", "own class")


@with_shared_options(
    unused={"removal": "features move towards a baseline"}, otherwise="values are integrals of gradients"
)
def aggregated_saliency(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    background: TableLike | None = None,
    baseline: str | Sequence[object] | np.ndarray = "mean",
    outputs: str = "auto",
    steps: int | None = None,
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    r"""Aggregated saliency: the mean magnitude of integrated gradients (Table 1), a heuristic for PyTorch modules.

    .. math:: \phi_i = E \Big[ \sum_k \Big| (x_i - b_i) \int_0^1 \partial_i f_k\big(b + t (x - b)\big) dt \Big| \Big]

    with a baseline b and outputs k (Sundararajan, Taly and Yan 2017). The integrals of one output add up, over
    features, to f_k(x) - f_k(b).

    Parameters
    ----------
    model : a PyTorch module that takes rows of numbers; with ``as_predictor(module, output="softmax")``, or "sigmoid",
        the outputs are probabilities instead of logits
    X : examples
    y : their classes, for ``outputs``
    background : rows that the baseline is computed from; default X
    baseline : "mean", "median" or "mode" of the background, or the values themselves, as for
        :class:`~clarysage.Baseline`
    outputs : "own class" for the output of each example's class in y; "all" for the sum over outputs; "auto" for the
        former if y has classes and the module several outputs, else the latter. Of the probabilities of two classes
        only the second is used, since the first moves as far in the other direction
    steps : steps of the integral (midpoint rule); default 64, and up to 1,024 for examples whose attributions would not
        add up within 1 %. A note says if some still do not
    groups : mapping of names to columns, whose values are added up
    sample_weight : one weight for each example
    feature_names : names of the columns, if X has none or to replace them

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``; ``per_example`` has the magnitudes of each example, and
    intervals are about the population of rows, conditional on the baseline

    Examples
    --------
    Needs `torch`. This computes how far each of two columns moves a network, relative to a row of zeros:

    >>> import numpy as np
    >>> import torch
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> network = torch.nn.Linear(2, 1)
    >>> explanation = aggregated_saliency(network, X, baseline=[0.0, 0.0])
    >>> slopes = np.abs(network.weight.detach().numpy()[0])
    >>> np.allclose(explanation.values, slopes * np.abs(X).mean(axis=0), rtol=1e-4)
    True
    """
    opened = OpenedModel.of("aggregated saliency", model)
    gradients = gradients_of(opened.f)
    if gradients is None:
        measure = Call("cs.importance", '"mean absolute shap", ...')
        raise opened.refusal("a PyTorch module", ["cs.sage", Or(" or "), measure, ", which work with any model"])
    counts = _step_counts(steps)
    if background is not None and not isinstance(baseline, str):
        raise InputError("background", got="a background and values of a baseline", wanted="one of the two")
    table = opened.with_table(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    removal = Baseline(baseline, background, sample_weight if background is None else None)
    bound = removal.bound(opened.f, table.X)
    rows, row = bound.examples.codes, bound.background
    if not bound.schema.is_number.all() or not np.isfinite(rows).all() or not np.isfinite(row).all():
        raise InputError(
            "X", got="cells that are missing, infinite or not numbers", wanted="numbers, in X and the baseline"
        )
    selected, about_outputs = _selected_outputs(outputs, y, table.X, bound.predictor(row)[0], opened.f)
    attributed = _integrate_gradients(gradients, rows, row[0], counts, selected)
    sizes = np.abs(attributed.values).sum(axis=1)
    parts = table.by_player(sizes)
    return table.explanation(
        table.weights @ sizes,
        [NOTE, *about_outputs, *_about_gaps(attributed, table.weights)],
        per_example=parts,
        targets=_over_rows(parts, table.weights),
        model_rows=attributed.rows + 1,
        method="integrated gradients",
    )


def _step_counts(steps: int | None) -> tuple[int, ...]:
    if steps is None:
        return STEPS
    if not isinstance(steps, (int, np.integer)) or isinstance(steps, bool) or steps < 1:
        raise InputError(
            "steps", got=f"{steps!r}", wanted="a whole number of steps, 1 or more", hint=Set("steps", STEPS[0])
        )
    return (int(steps),)


def _selected_outputs(
    outputs: str, y: Any, X: Any, start: np.ndarray, f: Predictor
) -> tuple[np.ndarray | None, list[Note]]:
    """Returns the output to use for each example, (n,), None for all; ``start`` (k,) is the output at the baseline."""
    if outputs not in OUTPUTS:
        raise InputError("outputs", got=f"{outputs!r}", wanted=f"one of {', '.join(map(repr, OUTPUTS))}")
    response, width = None if y is None else read_target(y, X, len(X)), len(start)
    if outputs == "all" or (outputs == "auto" and (response is None or response.ndim > 1 or width == 1)):
        if width == 2 and outputs_of(start[None], f.task) == [1]:
            second = Note("The model has two classes: the probability of the second one was used.")
            return np.ones(len(X), dtype=np.int64), [second]
        return None, [Note(f"Magnitudes are summed over the {width} outputs.")] if width > 1 else []
    if response is None or response.ndim > 1:
        got = "no classes" if response is None else f"shape {response.shape}"
        raise InputError("y", got=got, wanted=["one class for each example, for ", Set("outputs", "own class")])
    if width == 1:
        raise InputError("outputs", got='"own class" for a module of one output', wanted='"all"')
    note = Note("For each example, the output of its true class was used.")
    return _outputs_of_classes(response, width, f.classes), [note]


def _outputs_of_classes(response: np.ndarray, width: int, classes: tuple[Any, ...] | None) -> np.ndarray:
    """Returns the output of each example's own class, (n,)."""
    labels = tuple(range(width)) if classes is None else classes
    output = {label: k for k, label in enumerate(labels)}
    unknown = [label for label in np.unique(response).tolist() if label not in output]
    if unknown or len(labels) != width:
        raise InputError(
            "y",
            got=f"{unknown[0]!r}" if unknown else f"{len(labels)} classes",
            wanted=f"classes of the {width} outputs: {', '.join(map(repr, labels[:8]))}",
            hint=[Set("outputs", "all"), Or(), Call("as_predictor", "module, classes=[...]")],
        )
    return np.array([output[label] for label in response.tolist()])


def _integrate_gradients(
    gradients: Gradients, rows: np.ndarray, baseline: np.ndarray, counts: Sequence[int], selected: np.ndarray | None
) -> Attributions:
    """Returns attributions of all rows, with more steps for those where they do not add up."""
    attributed = gradients.integrated(rows, baseline, counts[0], selected)
    for steps in counts[1:]:
        rough = np.flatnonzero(_has_gap(attributed))
        if not len(rough):
            break
        finer = gradients.integrated(rows[rough], baseline, steps, None if selected is None else selected[rough])
        attributed.values[rough] = finer.values
        attributed = Attributions(attributed.values, attributed.change, attributed.rows + finer.rows)
    return attributed


def _has_gap(attributed: Attributions) -> np.ndarray:
    """Returns whether the attributions of an example do not add up, (n,), relative to typical changes of the output."""
    scale = np.maximum(np.abs(attributed.change), np.abs(attributed.change).mean(axis=0))
    return np.asarray((attributed.gap > MAX_GAP * scale).any(axis=1))


def _about_gaps(attributed: Attributions, weights: np.ndarray) -> list[Note]:
    """Returns a warning if attributions do not add up."""
    change = float(weights @ np.abs(attributed.change).sum(axis=1))
    share = float(weights @ attributed.gap.sum(axis=1)) / change if change > 0 else 0.0
    if share <= MAX_GAP:
        return []
    text = (
        f"On average, the sum of the attributions misses the change of the output by {100 * share:.1f} % of it: the "
        "output of the module is not smooth enough for this number of steps of the integral."
    )
    remedy = (
        " takes more steps. If a module is discontinuous, or computes outside of PyTorch, no number of steps is enough."
    )
    return [Note(text, [Set("steps", 4 * STEPS[-1]), remedy])]


def _over_rows(parts: np.ndarray, weights: np.ndarray) -> dict[str, Target]:
    """Returns the estimate for the population of rows from parts (n, p); empty for a single row."""
    is_weighted = weights > 0
    shares = weights[is_weighted, None] * parts[is_weighted]
    rows = about_rows(shares.sum(axis=0), shares, weights[is_weighted])
    return {} if rows is None else {"rows": rows}
