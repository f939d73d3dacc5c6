"""Whether marginal removal leaves the data's manifold: asked by itself, and for a run of cs.sage."""

from __future__ import annotations

import numpy as np

from clarysage._measures.options import Run
from clarysage._measures.problem import Problem
from clarysage.catalogue import REMOVALS
from clarysage.errors import InputError, Note, Set
from clarysage.execution.seeds import MANIFOLD, entropy_of, stream
from clarysage.games import PredictivePower
from clarysage.players import Players
from clarysage.protocols import GroupsLike, HybridRows, MadeOfRows, Removal, Seed, TableLike, ability
from clarysage.removal.background import match_by_cells
from clarysage.removal.off_manifold import FEWEST, OffManifold, Pairs, look, some_columns
from clarysage.tables import as_table, schema_of


def off_manifold(
    X: TableLike, background: TableLike | None = None, *, groups: GroupsLike | None = None, rng: Seed = None
) -> OffManifold:
    """How many of the rows that marginal removal makes look unlike real ones.

    A hybrid row has the columns of a random coalition, sizes alike, from a row of X and the others from a background
    row. A classifier of extremely randomised trees, shown the columns and how far each is from what the others predict,
    tries to tell such rows from real ones, of X and background; it is judged on rows it has not seen. Where features
    are independent it cannot, and its AUC is 0.5.

    Parameters
    ----------
    X, background : tables of rows; default background: X itself. At most 512 rows are looked at, and 1024 columns
    groups : mapping of names to columns that are withheld together
    rng : seed or Generator

    Returns
    -------
    OffManifold

    Notes
    -----
    A high share says that the model is asked about rows unlike those it knows; it does not say that its answers there
    matter, which :func:`~clarysage.removal_quality` tells. A low one says that this classifier found nothing: what few
    columns among many do to each other, in ways that are not monotone, escapes it.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> off_manifold(np.hstack([x, x]), rng=0).is_high
    True
    """
    generator = stream(entropy_of(rng), MANIFOLD, 0)
    rows = as_table(X, "X")
    others = rows if background is None else as_table(background, "background")
    schema = schema_of(rows, others)
    players = Players.of(schema.names, groups)
    x, b = schema.encode(rows, "X"), schema.encode(others, "background")
    if len(players) < 2:
        raise InputError("X", got="one player", wanted="two or more, to be taken from different rows")
    own = np.arange(len(x)) if background is None else match_by_cells(x, b)
    even = np.full(len(x), 1.0), np.full(len(b), 1.0)
    found = _looked(x, b, own, *even, players, schema.is_number, generator, is_apart=False)
    if found is None:
        raise InputError(
            "X",
            got=f"{len(x):,} rows beside {len(b):,} of background",
            wanted=f"enough for {FEWEST} pairs of a row of X and another one of background",
        )
    return found


def about_manifold(v: PredictivePower, problem: Problem, run: Run) -> list[Note | str]:
    """A warning where many of the rows that the removal of a run makes are unlike real ones."""
    row, f_S = REMOVALS.row_of(problem.removal), ability(v.restricted, HybridRows)
    if not run.check_manifold or row is None or row.mixes is None or f_S is None:
        return []
    name = problem.removal_name
    try:
        found = _of_run(v, f_S, problem.removal, stream(problem.seed, MANIFOLD, 0), is_apart=row.mixes == "columns")
    except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:  # of a classifier on strange data
        reason = " ".join(str(error).split())[:200]
        return [f"Rows made by {name} removal could not be compared with real ones ({reason})."]
    if found is None or not found.is_high:
        return []
    text = (
        f"At least {100 * found.share:.0f} % of the rows made by {name} removal look unlike real ones (a "
        f"classifier tells them apart with an AUC of {found.auc:.2f} ± {found.std_error:.2f}), since features "
        "depend on each other: there the model is asked about what it does not know."
    )
    advice = ("Try ", Set("removal", "auto conditional"), ", or groups of correlated features.")
    return [Note(text, advice, topic="manifold")]


def _of_run(
    v: PredictivePower, f_S: HybridRows, removal: Removal, rng: np.random.Generator, *, is_apart: bool
) -> OffManifold | None:
    background, mass, own = f_S.background, f_S.background_weights, v.self_match
    made_of = ability(removal, MadeOfRows)
    if is_apart and made_of is not None:  # rows of f_S are mixtures already
        background = f_S.schema.encode(made_of.background, "background")
        mass, own = np.ones(len(background)), match_by_cells(v.X, background)
    return _looked(v.X, background, own, v.weights, mass, v.players, f_S.schema.is_number, rng, is_apart=is_apart)


def _looked(
    X: np.ndarray,
    background: np.ndarray,
    own: np.ndarray | None,
    weights: np.ndarray,
    mass: np.ndarray,
    players: Players,
    is_number: np.ndarray,
    rng: np.random.Generator,
    *,
    is_apart: bool,
) -> OffManifold | None:
    columns, players = some_columns(players, rng)
    pairs = Pairs.draw(X, background, own, weights, mass, rng)
    pairs = Pairs(pairs.x[:, columns], pairs.b[:, columns])
    return look(pairs, players, is_number[columns], rng, is_apart=is_apart)
