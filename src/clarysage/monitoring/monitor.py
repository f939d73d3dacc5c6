"""monitor: a model on current rows against the same model on reference rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from clarysage._measures.examples import check_size
from clarysage._measures.options import SEVERAL_RUNS, Run, RunOptions, with_shared_options
from clarysage._measures.problem import drawn_background
from clarysage._measures.sage import sage
from clarysage._utils.display import shortened
from clarysage.drift import shifts_of_each
from clarysage.errors import InputError, Set, as_note
from clarysage.execution.seeds import entropy_of
from clarysage.inference.estimate import StopReason
from clarysage.models import as_predictor
from clarysage.monitoring.blame import blaming
from clarysage.monitoring.chosen import Chosen
from clarysage.monitoring.series import explained_slices
from clarysage.monitoring.sides import LONGEST, Layout, Side, features_taken, with_columns_of
from clarysage.monitoring.slices import Slices, sliced
from clarysage.protocols import GroupsLike, LossLike, MethodLike, ModelLike, RemovalLike, Seed, TableLike
from clarysage.removal import default_rows
from clarysage.results import Explanation, Monitoring, Shift, compare
from clarysage.results.compare import check_comparison_options
from clarysage.tables import as_table, labels_of, rows_of


@with_shared_options(
    unused={"feature_names": "features are called as the columns of the tables"}, refused={"checkpoint": SEVERAL_RUNS}
)
def monitor(
    model: ModelLike,
    reference: TableLike | tuple[Any, ...],
    current: TableLike | tuple[Any, ...],
    *,
    target: str | None = None,
    by: str | Iterable[Any] | None = None,
    every: str | int | None = None,
    background: TableLike | None = None,
    background_rows: int | None = None,
    removal: RemovalLike = "marginal",
    loss: LossLike = "auto",
    method: MethodLike = "auto",
    groups: GroupsLike | None = None,
    sample_weight: str | None = None,
    paired: bool | None = None,
    adjust: str | None = "holm",
    level: float = 0.95,
    rng: Seed = None,
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> Monitoring:
    """Which features no longer contribute what they did, and whether their columns shifted.

    Explains the model on both tables with the same background, tests which contributions changed
    (:func:`~clarysage.compare`) and, apart from that, which columns are distributed otherwise than before.

    Parameters
    ----------
    model : as in :func:`~clarysage.sage`
    reference, current : tables with the features and the target, such as the rows that the model was tested on, and
        those of last week; or pairs ``(X, y)``, or ``(X, y, weights)``. If the model knows its columns, these are used
    target : the column that the model predicts. None, where responses are not known yet: what features contribute to
        the variance of the model's output is compared then (Shapley effects), and nothing is said of losses
    by : a column of current, or an entry a row of it, with dates or batches: a series of slices is compared with the
        reference. Where the column is a feature, its own shift is not tested. A slice that cannot be explained is left
        out, with a warning and the reason in ``left_out``
    every : how long slices are, for dates: "hour", "day", "week", "month", "quarter" or "year"; or a number: slices of
        so many rows in the order of ``by``, or of the table. Default: each entry a slice, in the order of categories,
        of numbers, or of text; or for dates what makes at most 30 slices, most of 100 rows or more. Slices of fewer
        than 20 rows are left out
    background : rows that stand in for withheld features, the same for all. Default: rows drawn from the reference
    background_rows : how many of them. Default 512, or 4,096 for a removal that learns from them
    sample_weight : a column with the weight of each row; inputs are compared without weights
    paired : whether current has the very rows of reference, in their order, as with a trial of what a fault would do
    adjust, level : of p-values, as in :func:`~clarysage.compare`: over all features and slices, for contributions and
        for inputs apart. With Holm's method the chance of any flag is at most 1 - level where nothing changed
    removal, loss, method, groups, rng : as in :func:`~clarysage.sage`
    tolerance, budget, deadline : of each explanation: stop when the largest standard error is below this share of the
        range of the values, at this many model rows, or after this many seconds

    Returns
    -------
    Monitoring

    Notes
    -----
    A contribution that changed does not say which column broke, since contributions depend on each other; a column that
    shifted need not matter. A feature is flagged where both are known of it; or where its contribution changed, and no
    feature has both. Rows are taken to be drawn independently: a season, or rows of the same customers, can change
    contributions without any fault.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> def rows(n):
    ...     frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    ...     return frame.assign(y=2 * frame["a"] + frame["b"] + rng.normal(size=n))
    >>> reference, current = rows(500), rows(500).assign(b=lambda frame: 60 * frame["b"])
    >>> f = lambda X: 2 * X["a"] + X["b"]
    >>> found = monitor(f, reference, current, target="y", loss="squared error", rng=0)
    >>> found.flagged
    ['b']
    """
    check_comparison_options(paired, adjust, level)
    _check_loss(loss)
    _check_background_rows(background_rows, removal)
    f, entropy = as_predictor(model), entropy_of(rng)
    before, after = Layout(target, sample_weight, by).sides(reference, current, f)
    whole = Slices(("current",), (np.arange(len(after.X)),))
    slices = whole if by is None and every is None else sliced(after.slices, every, len(after.X))
    _check_paired(paired, len(before.X), slices)
    columns = None if labels_of(before.X) is None else [str(label) for label in labels_of(before.X) or ()]
    moved = shifts_of_each(before.X, [rows_of(after.X, places) for places in slices.places], columns)
    moved, of_slicing = _apart_from(by, moved)
    shared: dict[str, Any] = {
        "background": _background(background, background_rows, removal, before.X, entropy),
        "method": method,
        "groups": groups,
        "rng": entropy,
        "run": run,
        **options,
    }
    chosen = Chosen(model, loss, removal)
    with blaming("reference", before, before.X, ()):
        first = _explained(chosen, shared, before)
    if first.stopped is StopReason.INTERRUPTED:
        raise KeyboardInterrupt  # there is nothing to compare
    series = explained_slices(partial(_explained, chosen.as_in(first, before), shared), after, slices, before.X, moved)
    names = ("reference", *(slices.names[k] for k in series.found))
    comparison = compare([first, *series.found.values()], names=names, paired=paired, adjust=adjust, level=level)
    notes = (*map(as_note, (*features_taken(before.X, f), *of_slicing, *slices.notes)), *series.notes)
    return Monitoring(comparison, tuple(moved[k] for k in series.found), notes, series.left_out, slices.is_in_order)


def _explained(chosen: Chosen, shared: dict[str, Any], side: Side) -> Explanation:
    explanation: Explanation = sage(
        chosen.model, side.X, side.y, sample_weight=side.weights, loss=chosen.loss, removal=chosen.removal, **shared
    )
    return explanation


def _apart_from(by: Any, moved: tuple[tuple[Shift, ...], ...]) -> tuple[Any, list[str]]:
    """Shifts without that of the column that slices are cut by, which the cutting makes; and a note that says so."""
    name = by if isinstance(by, str) else getattr(by, "name", None)
    if not isinstance(name, str) or not any(one.column == name for one in moved[0]):
        return moved, []
    found = tuple(
        tuple(replace(one, p_value=1.0, hints=()) if one.column == name else one for one in columns)
        for columns in moved
    )
    return found, [
        f"Slices are cut by {shortened(name, LONGEST)!r}, a feature: whether its inputs shifted is not tested."
    ]


def _check_loss(loss: Any) -> None:
    if isinstance(loss, (list, tuple)):
        raise InputError(
            "loss", got=f"a list of {len(loss)}", wanted="one loss to watch", hint=Set("loss", "cross entropy")
        )


def _check_background_rows(rows: Any, removal: RemovalLike) -> None:
    check_size(rows, "background_rows", "rows", Set("background_rows", 512))
    if rows is not None and not isinstance(removal, str):
        raise InputError(
            "background_rows",
            got=f"{rows:,} beside a removal object",
            wanted="one of the two",
            hint=["leaving out ", Set("background_rows"), ", since the object has rows of its own"],
        )


def _check_paired(paired: bool | None, rows: int, slices: Slices) -> None:
    """An error, before anything is explained, where rows cannot be the very ones of the reference."""
    for name, places in zip(slices.names, slices.places, strict=True):
        if paired and len(places) != rows:
            raise InputError(
                "paired",
                got=f"True, with {rows:,} rows of reference and {len(places):,} of {name!r}",
                wanted="the very rows of reference",
                hint=[Set("paired", False), " for other rows"],
            )


def _background(given: Any, rows: int | None, removal: Any, X: Any, entropy: int) -> Any:
    """The rows that stand in for withheld features, of all explanations alike."""
    if not isinstance(removal, str):
        return given  # which such an object has none of, or an error says so
    wanted = default_rows(removal) if rows is None else rows
    source = X if given is None else with_columns_of(X, as_table(given, "background"))
    if given is not None and rows is None:
        return source
    return drawn_background(source, wanted, entropy)[0]
