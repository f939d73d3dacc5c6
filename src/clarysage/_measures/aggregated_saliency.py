"""Aggregated saliency: integrated gradients of a network, in magnitude, averaged over examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clarysage._measures.intrinsic import Reading
from clarysage.errors import InputError
from clarysage.games.pointwise import outputs_of
from clarysage.inference.estimate import Target
from clarysage.inference.population import about_rows
from clarysage.models import Predictor
from clarysage.models.torch_gradients import Attributed, Gradients
from clarysage.removal import Baseline
from clarysage.tables import read_target

NOTE = (
    "A heuristic, outside the framework of additive importance measures: it tells how far a feature moves the output "
    "on the way from the baseline, not whether that makes predictions better; and what stands in for a feature that is "
    "not known is one baseline, which may be a row unlike any other."
)
STEPS = (64, 256, 1024)  # the later for examples whose attributions do not add up
COMPLETE = 0.01  # of the change of the output, by which attributions may fail to add up
OUTPUTS = ("auto", "all", "own class")


def aggregated_saliency(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    background: Any = None,
    baseline: Any = "mean",
    outputs: str = "auto",
    steps: int | None = None,
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Any:
    r"""Aggregated saliency: the mean magnitude of integrated gradients (Table 1), a heuristic for PyTorch modules.

    .. math:: \phi_i = E \Big[ \sum_k \Big| (x_i - b_i) \int_0^1 \partial_i f_k\big(b + t (x - b)\big) dt \Big| \Big]

    with a baseline b and outputs k (Sundararajan, Taly and Yan 2017). The integrals of one output add up, over
    features, to f_k(x) - f_k(b).

    Parameters
    ----------
    model : a PyTorch module that takes rows of numbers; with ``as_predictor(module, output="softmax")``, or "sigmoid",
        probabilities are looked at instead of logits
    X : examples
    y : their classes, for ``outputs``
    background : rows of which the baseline is made; default X
    baseline : "mean", "median" or "mode" of the background, or the values themselves, as for
        :class:`~clarysage.Baseline`
    outputs : "own class" for the output of each example's class in y; "all" for the sum over outputs; "auto" for the
        first where y has classes and the module several outputs, else the second. Of the probabilities of two classes
        the second is looked at alone, since the first moves as far the other way
    steps : of the integral, by midpoints; default 64, and up to 1,024 for examples where that is too few for
        attributions to add up within 1 %. A note says if some do not
    groups : mapping of names to columns, whose values are added up
    sample_weight : one weight an example
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``; ``per_example`` has the magnitudes of each example, and
    intervals are about the population of rows, with the baseline as it is

    Examples
    --------
    How far each of two columns moves a network, seen from a row of zeros::

        network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        aggregated_saliency(network, X, baseline=[0.0, 0.0])
    """
    reading = Reading.of("aggregated saliency", model)
    gradients = Gradients.of(reading.f)
    if gradients is None:
        raise reading.refused("a PyTorch module", 'cs.sage or cs.importance("mean absolute shap", ...), which work '
                              "with any model")  # fmt: skip
    counts = _steps(steps)
    if background is not None and not isinstance(baseline, str):
        raise InputError("background", got="a background beside values of a baseline", wanted="one of the two")
    beside = reading.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    removal = Baseline(baseline, background, sample_weight if background is None else None)
    schema, bound, row = removal.bound(reading.f, beside.X)
    rows = schema.encode(beside.X, "X")
    if not schema.is_number.all() or not np.isfinite(rows).all() or not np.isfinite(row).all():
        raise InputError("X", got="cells that are missing, infinite or no numbers", wanted="numbers, in X and baseline")
    wanted, which = _wanted(outputs, y, beside.X, bound(row)[0], reading.f)
    found = _attributed(gradients, rows, row[0], counts, wanted)
    sizes = np.abs(found.values).sum(axis=1)
    parts = beside.by_player(sizes)
    return beside.explanation(
        beside.mass @ sizes,
        [NOTE, *filter(None, [which]), *_about_gaps(found, beside.mass)],
        per_example=parts,
        targets=_over_rows(parts, beside.mass),
        model_rows=found.rows + 1,
        method="integrated gradients",
    )


def _steps(given: Any) -> tuple[int, ...]:
    if given is None:
        return STEPS
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < 1:
        raise InputError("steps", got=f"{given!r}", wanted="a whole number of steps, 1 or more", hint="steps=64")
    return (int(given),)


def _wanted(outputs: Any, y: Any, X: Any, start: np.ndarray, f: Predictor) -> tuple[np.ndarray | None, str]:
    """The output to look at in each example, (n,), None for all of them, and in words; ``start`` (k,) are f's at b."""
    if outputs not in OUTPUTS:
        raise InputError("outputs", got=f"{outputs!r}", wanted=f"one of {', '.join(map(repr, OUTPUTS))}")
    response, width = None if y is None else read_target(y, X, len(X)), len(start)
    if outputs == "all" or (outputs == "auto" and (response is None or response.ndim > 1 or width == 1)):
        if width == 2 and outputs_of(start[None], f.task) == [1]:
            return np.ones(len(X), dtype=np.int64), "Of two classes the probability of the second was looked at."
        return None, f"Magnitudes are summed over the {width} outputs." if width > 1 else ""
    if response is None or response.ndim > 1:
        got = "no classes" if response is None else f"shape {response.shape}"
        raise InputError("y", got=got, wanted='one class an example, for outputs="own class"')
    if width == 1:
        raise InputError("outputs", got='"own class" for a module of one output', wanted='"all"')
    return _own(response, width, f.classes), "Of the outputs that of each example's own class was looked at."


def _own(response: np.ndarray, width: int, classes: tuple[Any, ...] | None) -> np.ndarray:
    """The output of each example's own class, (n,)."""
    known = tuple(range(width)) if classes is None else classes
    place = {label: k for k, label in enumerate(known)}
    strange = [label for label in np.unique(response).tolist() if label not in place]
    if strange or len(known) != width:
        raise InputError("y", got=f"{strange[0]!r}" if strange else f"{len(known)} classes",
                         wanted=f"classes of the {width} outputs: {', '.join(map(repr, known[:8]))}",
                         hint='outputs="all", or as_predictor(module, classes=[...])')  # fmt: skip
    return np.array([place[label] for label in response.tolist()])


def _attributed(
    gradients: Gradients, rows: np.ndarray, baseline: np.ndarray, counts: Sequence[int], wanted: np.ndarray | None
) -> Attributed:
    """Attributions of all rows, with more steps for those where they do not add up."""
    found = gradients.integrated(rows, baseline, counts[0], wanted)
    for steps in counts[1:]:
        again = np.flatnonzero(_is_open(found))
        if not len(again):
            break
        finer = gradients.integrated(rows[again], baseline, steps, None if wanted is None else wanted[again])
        found.values[again] = finer.values
        found = Attributed(found.values, found.change, found.rows + finer.rows)
    return found


def _is_open(found: Attributed) -> np.ndarray:
    """Whether attributions to an example fail to add up, (n,), by the size of changes of the output as a whole."""
    scale = np.maximum(np.abs(found.change), np.abs(found.change).mean(axis=0))
    return np.asarray((found.gap > COMPLETE * scale).any(axis=1))


def _about_gaps(found: Attributed, mass: np.ndarray) -> list[str]:
    """A warning where attributions do not add up."""
    change = float(mass @ np.abs(found.change).sum(axis=1))
    share = float(mass @ found.gap.sum(axis=1)) / change if change > 0 else 0.0
    if share <= COMPLETE:
        return []
    return [
        f"Attributions fail to add up to the change of the output by {100 * share:.1f} % of it, on average: the module "
        f"is rougher than the steps of the integral. steps={4 * STEPS[-1]} takes more of them; a module that jumps, or "
        "that hides some of its work from PyTorch, has no gradients that would add up."
    ]


def _over_rows(parts: np.ndarray, mass: np.ndarray) -> dict[str, Target]:
    """What the mean of parts (n, p) tells of the population of rows; nothing where there is one row alone."""
    there = mass > 0
    shares = mass[there, None] * parts[there]
    rows = about_rows(shares.sum(axis=0), shares, mass[there])
    return {} if rows is None else {"rows": rows}
