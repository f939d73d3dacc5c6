"""The problem that measures of a model start from: model, data, players, removal and seed, checked and put in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage._measures.examples import MEMORY_LIMIT, Examples, background_from, check_memory, check_size, narrowed
from clarysage._measures.explain import explained
from clarysage._measures.options import Run
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.provenance import provenance_of
from clarysage._measures.removal_choice import choose_removal
from clarysage._measures.table import MEASURES
from clarysage.catalogue import REMOVALS
from clarysage.errors import Call, Either, InputError, Note, Or, Set
from clarysage.execution.seeds import BACKGROUND, REMOVAL, ROWS, entropy_of, stream
from clarysage.games import PredictivePower, sensitivity
from clarysage.inference.estimate import Estimate
from clarysage.losses.choice import is_auto, makes_shapley_effects
from clarysage.models import Predictor, as_predictor
from clarysage.players import Players
from clarysage.protocols import GroupsLike, Removal, RemovalLike, RestrictedModel, TableLike
from clarysage.removal import (
    as_removal,
    default_rows,
    is_auto_conditional,
    is_conditional,
    knowing_examples,
    limited,
    name_of,
)
from clarysage.removal.background import codes_of
from clarysage.results.explanation import Explanation, HeldFixed
from clarysage.tables import as_table, is_stored, labels_of, rows_of

LARGE_BACKGROUND = 4096
FEW_TO_LEARN_FROM = 50


@dataclass(frozen=True)
class Problem:
    """A model and data, checked once, with a removal made of the background.

    X is in the order of the model's own columns, so that the order in which the user has them changes no bit.

    Attributes
    ----------
    predictor : the model as a function of tables
    X, y, sample_weight : the rows that were taken, and what belongs to them, whatever the user gave
    removal : of which the restricted model is made
    players : features or groups, numbered by the columns of X; ``order`` leads from these to the user's order, and
        ``members`` are the names of the columns of each, where the user made groups
    seed : behind every random stream
    notes : on the rows, the background and the removal
    codes : X as codes, (N, d), encoded once
    removal_rows : model rows that choosing a removal took
    source_rows : how many rows X was drawn from, where not all were taken
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
        among: Sequence[str] | None = None,
        rows_to_draw: int | None = None,
    ) -> Problem:
        """The problem that the arguments of a measure state.

        ``among`` are the removals that "auto conditional" chooses from, all by default; ``rows_to_draw`` is how many
        rows of X the background has at most, where none is given and its rows are drawn one by one, not averaged over.
        """
        run = run or Run()
        check_size(run.max_rows, "max_rows", "rows", Set("max_rows", 100_000))
        check_memory(run.memory_limit)
        f, seed = as_predictor(model, batch_size=run.batch_size), entropy_of(rng)
        examples = Examples.of(
            f,
            X,
            y,
            sample_weight,
            max_rows=run.max_rows,
            memory_limit=run.memory_limit,
            rng=stream(seed, ROWS, 0),
        )
        background = narrowed(background, examples.X, examples.apart)
        limit = MEMORY_LIMIT if run.memory_limit is None else run.memory_limit
        arranged = f.arrange(examples.X)
        rows, source, about_background = _background(background, removal, f, arranged, seed, rows_to_draw, limit)
        names = column_names(examples.X, feature_names, f.feature_names, labels_of(rows))
        player_order = PlayerOrder.of(names, examples.X, arranged, groups)
        q: Removal
        about_removal: tuple[Note | str, ...]
        if is_auto_conditional(removal):
            choice = choose_removal(f, arranged, rows, player_order.players, seed, source=source, among=among)
            q, about_removal, removal_rows = choice.removal, (choice.note,), choice.model_rows
        else:
            q, about_removal, removal_rows = as_removal(removal, rows, None, stream(seed, REMOVAL, 0)), (), 0
        q = knowing_examples(q, source)
        if run.memory_limit is not None:
            q = limited(q, run.memory_limit, is_named=isinstance(removal, str))
        return cls(
            predictor=f,
            X=arranged,
            y=examples.y,
            sample_weight=examples.sample_weight,
            removal=q,
            players=player_order.players,
            order=player_order.order,
            members=player_order.members,
            seed=seed,
            notes=(*examples.notes, *about_background, *about_removal),
            removal_rows=removal_rows,
            source_rows=examples.source_rows,
        )

    @cached_property
    def restricted(self) -> RestrictedModel:
        """f_S, the model restricted by the removal."""
        return self.removal.restrict(self.predictor, self.X)

    @cached_property
    def codes(self) -> np.ndarray:
        """X as codes, (N, d), which the removal has made when it restricted the model."""
        return codes_of(self.restricted, self.X)

    def game(self, loss: Any) -> tuple[PredictivePower, list[Note | str]]:
        """The game v_f of the model, without y that of its own outputs; and a note on a loss that was chosen."""
        players, weight, codes = self.players, self.sample_weight, self.codes
        notes: list[Note | str] = []
        if self.y is not None:
            v = PredictivePower.of(
                self.restricted, loss, self.X, self.y, players=players, sample_weight=weight, codes=codes
            )
            notes = about_loss(loss, v)
        elif makes_shapley_effects(loss):
            v = sensitivity(self.restricted, self.X, players=players, sample_weight=weight, codes=codes)
        else:
            raise InputError(
                "loss",
                got=[f"{loss!r} ", Either("with y=None", "without --target")],
                wanted='"squared error", which makes Shapley effects',
            )
        return replace(v, rows_before=self.removal_rows) if self.removal_rows else v, notes

    @property
    def removal_name(self) -> str:
        return name_of(self.removal)

    @property
    def held_fixed(self) -> HeldFixed:
        """What is taken as it is when intervals are about other rows."""
        name = self.removal_name
        return "removal" if name in REMOVALS and REMOVALS[name].is_conditional else "background"

    def explained(
        self,
        v: PredictivePower,
        result: Estimate,
        *,
        measure: str,
        method: str,
        notes: Sequence[Note | str] = (),
        is_linear: bool = False,
    ) -> list[Explanation]:
        """One explanation by a measure of the table for each loss of the game."""
        return explained(
            v,
            result,
            self.players,
            self.order,
            groups=self.members,
            measure=measure,
            removal=self.removal_name,
            method=method,
            notes=(*self.notes, *notes),
            provenance=provenance_of(self, v),
            headline=MEASURES[measure].headline,
            values_are=MEASURES[measure].values_are,
            held_fixed=self.held_fixed,
            is_linear=is_linear,
        )


def about_loss(loss: Any, v: PredictivePower) -> list[Note | str]:
    """A note on the loss of a game, where it was chosen."""
    return [f"Loss {v.losses[0].name!r} was chosen."] if is_auto(loss) else []


def drawn_background(rows: Any, size: float, seed: int) -> tuple[Any, np.ndarray]:
    """Rows of a table to stand in for withheld features, so many at most, and their places in it.

    Every background that is drawn from a table in memory is drawn here, so that the same seed draws the same rows for
    measures, for monitoring and for the command line.
    """
    n = len(rows)
    places = background_places(n, size, seed)
    return (rows, places) if n <= size else (rows_of(rows, places), places)


def background_places(rows: int, size: float, seed: int) -> np.ndarray:
    """Places of the rows of a table that stand in for withheld features, so many at most, ascending."""
    if rows <= size:
        return np.arange(rows)
    return np.sort(stream(seed, BACKGROUND, 0).choice(rows, int(size), replace=False))


def _background(
    given: Any, removal: Any, f: Predictor, X: Any, seed: int, rows_to_draw: int | None, limit: float
) -> tuple[Any, np.ndarray | None, tuple[Note | str, ...]]:
    """Rows of which the removal is made, their places where they are rows of X, and notes on them."""
    if not isinstance(removal, str):
        if given is not None:
            raise InputError(
                "background",
                got="a background beside a removal object",
                wanted="one of the two",
                hint=[
                    Set("removal"),
                    Call(type(removal).__name__, "background"),
                    Or(),
                    "leaving out ",
                    Set("background"),
                    ", since the object has rows of its own",
                ],
            )
        return None, None, ()
    size = rows_to_draw or default_rows(removal)
    if given is not None and is_stored(given):
        rows, of = background_from(given, f, X, size, limit, stream(seed, BACKGROUND, 0))
        note = (f"Background: {len(rows):,} of {of:,} rows, drawn at random.",) if len(rows) < of else ()
        return rows, None, (*note, *(() if rows_to_draw else _about_size(len(rows), removal)))
    if given is not None:
        rows = as_table(given, "background")
        return rows, None, () if rows_to_draw else _about_size(len(rows), removal)
    n = len(X)
    few = _about_size(n, removal) if n < FEW_TO_LEARN_FROM else ()
    rows, places = drawn_background(X, size, seed)
    if len(rows) == n:
        return rows, places, (f"Background: all rows of X, {n:,} in number, since none was given.", *few)
    note = (f"Background: {size:,} of the {n:,} rows of X, drawn at random, since none was given.",)
    return rows, places, note


def _about_size(size: int, removal: str) -> tuple[Note | str, ...]:
    """A note on a background that is small or large for a removal."""
    if is_conditional(removal):
        if size < 2:
            raise InputError(
                "background",
                got="one row",
                wanted="several hundred rows for a removal to learn from",
                hint=[Set("removal", "baseline"), " for one row that stands in"],
            )
        if size >= FEW_TO_LEARN_FROM:
            return ()
        return (f"Background: {size:,} rows are little to learn from; several hundred are wanted.",)
    if size <= LARGE_BACKGROUND or np.isinf(default_rows(removal)):  # a baseline is the mean of any number
        return ()
    return (
        f"Background: {size:,} rows; each prediction with features withheld averages over all of them. "
        f"About {default_rows(removal):,} rows commonly do as well.",
    )
