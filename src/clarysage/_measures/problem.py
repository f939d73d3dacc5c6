"""The problem that a measure solves: model, data, players, removal and seed, checked and in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage._measures.examples import (
    MEMORY_LIMIT,
    Examples,
    about_empty_columns,
    background_from,
    check_memory,
    check_size,
    known_columns,
    without_targets,
)
from clarysage._measures.explanations import explanations_of
from clarysage._measures.options import Run
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.provenance import fingerprints_of, provenance_of
from clarysage._measures.removal_choice import choose_removal
from clarysage._measures.seen_rows import about_seen_rows
from clarysage._measures.table import MEASURES
from clarysage._measures.wide_tables import check_width, is_wide
from clarysage.catalogue import REMOVALS
from clarysage.errors import Call, Either, InputError, Note, Or, Set, as_note
from clarysage.execution.observers import follow
from clarysage.execution.seeds import BACKGROUND, REMOVAL, ROWS, entropy_of, stream
from clarysage.games import PredictivePower, sensitivity
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.losses.choice import is_auto, makes_shapley_effects, note_on_choice
from clarysage.losses.terms import PerClass, PerTarget
from clarysage.models import Predictor, as_predictor
from clarysage.players import Players
from clarysage.protocols import FromBackground, GroupsLike, Removal, RemovalLike, RestrictedModel, TableLike, ability
from clarysage.removal import (
    as_removal,
    default_rows,
    is_auto_conditional,
    is_by_rows,
    is_conditional,
    limited,
    name_of,
    with_self_matches,
)
from clarysage.removal.background import codes_of
from clarysage.results.explanation import Explanation, HeldFixed
from clarysage.tables import as_table, is_on_disk, labels_of, rows_of
from clarysage.tables.sparse import SparseTable

LARGE_BACKGROUND = 4096
FEW_TO_LEARN_FROM = 50


@dataclass(frozen=True)
class Problem:
    """A model and data, checked once, with a removal made from the background.

    The columns of X are in the order of the model, so that the results do not depend on the user's order.

    Attributes
    ----------
    predictor : the model as a function of tables
    X, y, sample_weight : the sampled rows, their responses and their weights
    removal : how features are withheld; it makes the restricted model
    players : features or groups, numbered by the columns of X; ``order`` has their numbers in the user's order, and
        ``members`` the names of their columns if the user made groups
    seed : the seed of all random streams
    notes : on the rows, the background and the removal
    is_background_of_x : whether the background is X or a sample of it, since none was given
    removal_rows : the model rows that choosing a removal took
    source_rows : the number of rows that X was sampled from, None if all were taken
    """

    predictor: Predictor
    X: Any
    y: Any
    sample_weight: Any
    removal: Removal
    players: Players
    order: tuple[int, ...]
    members: dict[str, list[str]] | None
    seed: int
    notes: tuple[Note | str, ...]
    is_background_of_x: bool = False
    removal_rows: int = 0
    source_rows: int | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        background: TableLike | None = None,
        removal: RemovalLike = "marginal",
        groups: GroupsLike | None = None,
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        rng: Any = None,
        run: Run | None = None,
        candidates: Sequence[str] | None = None,
        rows_to_draw: int | None = None,
        combine: bool = True,
    ) -> Problem:
        """Makes a problem from the arguments of a measure.

        ``candidates`` are the removals that "auto conditional" chooses from, by default all. ``rows_to_draw`` is the
        largest size of a background sampled from X for measures that draw single rows and do not average over them.
        With ``combine`` the columns of each group in a wide sparse X are encoded together, if the removal allows it.
        """
        run = run or Run()
        check_size(run.max_rows, "max_rows", "rows", Set("max_rows", 100_000))
        check_memory(run.memory_limit)
        pace = run.pace()
        f, seed = replace(as_predictor(model, batch_size=run.batch_size), pace=pace), entropy_of(rng)
        follow(pace)
        examples = Examples.of(
            f,
            X,
            y,
            sample_weight,
            max_rows=run.max_rows,
            memory_limit=run.memory_limit,
            rng=stream(seed, ROWS, 0),
        )
        check_width(removal, examples.X)
        background = without_targets(background, examples.X, examples.target_columns)
        background, about_columns = known_columns(f, background, "background")
        limit = MEMORY_LIMIT if run.memory_limit is None else run.memory_limit
        arranged = f.arrange(examples.X)
        rows, source, about_background = _background(background, removal, f, arranged, seed, rows_to_draw, limit)
        names = column_names(examples.X, feature_names, f.feature_names, labels_of(rows))
        player_order = PlayerOrder.of(names, examples.X, arranged, groups)
        q: Removal
        about_removal: tuple[Note | str, ...]
        if is_auto_conditional(removal):
            choice = choose_removal(f, arranged, rows, player_order.players, seed, source=source, candidates=candidates)
            q, about_removal, removal_rows = choice.removal, (choice.note,), choice.model_rows
        else:
            q, about_removal, removal_rows = as_removal(removal, rows, None, stream(seed, REMOVAL, 0)), (), 0
        q, players = with_self_matches(q, source), player_order.players
        if isinstance(arranged, SparseTable) and is_wide(arranged) and combine and is_by_rows(q):
            arranged, players = arranged.combined(players.sets_of_columns, players.names), players.as_columns
        if run.memory_limit is not None:
            q = limited(q, run.memory_limit, is_named=isinstance(removal, str))
        return cls(
            predictor=f,
            X=arranged,
            y=examples.y,
            sample_weight=examples.sample_weight,
            removal=q,
            players=players,
            order=player_order.order,
            members=player_order.members,
            seed=seed,
            notes=(*examples.notes, *about_columns, *about_background, *about_removal),
            is_background_of_x=source is not None,
            removal_rows=removal_rows,
            source_rows=examples.source_rows,
        )

    @cached_property
    def restricted(self) -> RestrictedModel:
        """The restricted model f_S."""
        return self.removal.restrict(self.predictor, self.X)

    @cached_property
    def codes(self) -> np.ndarray:
        """X as codes, (N, d), which the removal made when it restricted the model."""
        return codes_of(self.restricted, self.X)

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprints of examples and background; of large tables they take seconds."""
        return fingerprints_of(self.codes, self.restricted)

    def game(self, loss: Any) -> tuple[PredictivePower, list[Note | str]]:
        """Returns the game v_f (without y, w_f of the model's own outputs), and a note if the loss was chosen."""
        players, weight, codes = self.players, self.sample_weight, self.codes
        notes: list[Note | str] = []
        if self.y is not None:
            v = PredictivePower.of(
                self.restricted, loss, self.X, self.y, players=players, sample_weight=weight, codes=codes
            )
            notes = about_loss(loss, v)
        elif makes_shapley_effects(loss):
            v = sensitivity(self.restricted, self.X, players=players, loss=loss, sample_weight=weight, codes=codes)
            notes = about_loss(loss, v) if len(v.losses) > 1 or v.losses[0].name != "squared error" else []
        else:
            raise InputError(
                "loss",
                got=[f"{loss!r} ", Either("with y=None", "without --target")],
                wanted='"squared error", which gives Shapley effects',
            )
        return replace(v, rows_before=self.removal_rows) if self.removal_rows else v, notes

    @cached_property
    def removal_name(self) -> str:
        """The name of the removal."""
        return name_of(self.removal)

    @property
    def held_fixed(self) -> HeldFixed:
        """The condition of intervals about other rows: a fixed removal, if it learns, or a fixed background."""
        name = self.removal_name
        return "removal" if name in REMOVALS and REMOVALS[name].is_conditional else "background"

    def notes_on(self, v: PredictivePower) -> tuple[Note | str, ...]:
        """Returns the notes of the problem, with warnings of columns without values and of rows that were seen."""
        made = None if self.is_background_of_x else ability(self.restricted, FromBackground)
        tables = {"X" if self.source_rows is None else "the rows drawn from X": self.codes}
        tables |= {} if made is None else {"the background": made.background}
        names = self.restricted.schema.names if self.members else self.players.names
        return (*self.notes, *about_empty_columns(names, tables), *about_seen_rows(self, v))

    def explanations(
        self,
        v: PredictivePower,
        result: Estimate,
        *,
        measure: str,
        method: str,
        notes: Sequence[Note | str] = (),
        is_linear: bool = False,
    ) -> list[Explanation]:
        """Returns one explanation for each loss of the game, by a measure of the table.

        Whether hybrid rows look like real ones is left out where no feature changed the loss of any example.
        """
        if result.stopped is StopReason.NO_EFFECT:
            notes = [note for note in notes if as_note(note).topic != "manifold"]
        return explanations_of(
            v,
            result,
            self.players,
            self.order,
            groups=self.members,
            measure=measure,
            removal=self.removal_name,
            method=result.method or method,
            notes=(*self.notes_on(v), *notes),
            provenance=provenance_of(self, v),
            headline=MEASURES[measure].headline,
            values_are=MEASURES[measure].values_are,
            held_fixed=self.held_fixed,
            is_linear=is_linear,
        )


def about_loss(loss: Any, v: PredictivePower) -> list[Note | str]:
    """Returns a note on the loss of a game if it was chosen."""
    loss = loss.loss if isinstance(loss, (PerClass, PerTarget)) else loss
    return [note_on_choice(v.losses[0], v.restricted.facts)] if is_auto(loss) else []


def sampled_background(rows: Any, size: float, seed: int) -> tuple[Any, np.ndarray]:
    """Samples background rows from a table in memory, and returns them with their row numbers.

    Measures, monitoring and the command line all use this function, so that the same seed gives the same rows.
    """
    n = len(rows)
    numbers = background_row_numbers(n, size, seed)
    return (rows, numbers) if n <= size else (rows_of(rows, numbers), numbers)


def background_row_numbers(rows: int, size: float, seed: int) -> np.ndarray:
    """Returns the row numbers of a sampled background, ascending; all rows if there are at most ``size``."""
    if rows <= size:
        return np.arange(rows)
    return np.sort(stream(seed, BACKGROUND, 0).choice(rows, int(size), replace=False))


def _background(
    given: Any, removal: Any, f: Predictor, X: Any, seed: int, rows_to_draw: int | None, limit: float
) -> tuple[Any, np.ndarray | None, tuple[Note | str, ...]]:
    """Returns the background rows, their row numbers if they are rows of X, and notes on them.

    There are no rows (None) for a removal object, which has rows of its own.
    """
    if not isinstance(removal, str):
        if given is not None:
            raise InputError(
                "background",
                got="a background and a removal object",
                wanted="one of the two",
                hint=[
                    Set("removal"),
                    Call(type(removal).__name__, "background"),
                    Or(),
                    "leaving out ",
                    Set("background"),
                    ", since the object has its own rows",
                ],
            )
        return None, None, ()
    size = rows_to_draw or default_rows(removal)
    if given is not None and is_on_disk(given):
        rows, of = background_from(given, f, X, size, limit, stream(seed, BACKGROUND, 0))
        note = (f"Background: {len(rows):,} of {of:,} rows, drawn at random.",) if len(rows) < of else ()
        return rows, None, (*note, *(() if rows_to_draw else _about_size(len(rows), removal)))
    if given is not None:
        rows = as_table(given, "background")
        return rows, None, () if rows_to_draw else _about_size(len(rows), removal)
    n = len(X)
    few = _about_size(n, removal) if n < FEW_TO_LEARN_FROM else ()
    rows, numbers = sampled_background(X, size, seed)
    if len(rows) == n:
        all_rows = "the only row" if n == 1 else f"all {n:,} rows"
        return rows, numbers, (f"Background: {all_rows} of X, since none was given.", *few)
    note = (f"Background: {size:,} of the {n:,} rows of X, drawn at random, since none was given.",)
    return rows, numbers, note


def _about_size(size: int, removal: str) -> tuple[Note | str, ...]:
    """Returns a note on a background that is very small or very large for a removal; an error for one row."""
    if is_conditional(removal):
        if size < 2:
            raise InputError(
                "background",
                got="one row",
                wanted="several hundred rows for a removal to learn from",
                hint=[Set("removal", "baseline"), " for a single background row"],
            )
        if size >= FEW_TO_LEARN_FROM:
            return ()
        return (f"Background: {size:,} rows are few to learn from; several hundred are better.",)
    if np.isinf(default_rows(removal)):  # a baseline averages any number of rows
        return ()
    if size == 1:
        text = "Background: one row, whose values replace all withheld features: other rows would give other values."
        return (Note(text, "Several hundred rows show more."),)
    if size <= LARGE_BACKGROUND:
        return ()
    return (
        f"Background: {size:,} rows. About {default_rows(removal):,} rows are usually enough: more of them cost memory "
        "and time, and make intervals about the population a little narrower.",
    )
