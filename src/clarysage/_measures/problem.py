"""A model and data at the door: checked, put in order, given a background; and explanations made of an estimate."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage import __version__
from clarysage._measures.examples import MEMORY_LIMIT, Examples, background_from, check_memory, check_size, narrowed
from clarysage._measures.fingerprints import fingerprint, fingerprint_of_rows
from clarysage._measures.lineup import Lineup, column_names
from clarysage._measures.removal_choice import choose_removal
from clarysage._measures.table import MEASURES
from clarysage.catalogue import REMOVALS
from clarysage.errors import InputError
from clarysage.estimators.draws import total
from clarysage.execution.seeds import BACKGROUND, REMOVAL, ROWS, entropy_of, stream
from clarysage.games import PredictivePower, UniversalPower, sensitivity
from clarysage.inference.estimate import Estimate, Target
from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto
from clarysage.models import Predictor, as_predictor
from clarysage.players import Players
from clarysage.protocols import Loss, Removal
from clarysage.removal import (
    as_removal,
    default_rows,
    is_auto_conditional,
    is_conditional,
    knowing_examples,
    limited,
    name_of,
    seed_in,
)
from clarysage.results.explanation import Explanation, HeldFixed
from clarysage.results.text import loss_words
from clarysage.tables import as_table, is_stored, labels_of, rows_of

LARGE_BACKGROUND = 4096
FEW_TO_LEARN_FROM = 50
MOST_PARTS = 50_000_000  # numbers, above which what single examples contribute is not kept
HEAVY = 0.5  # of the variance, carried by one row in a hundred


@dataclass(frozen=True)
class Setting:
    """What every measure starts from.

    X is in the order of the model's own columns, so that the order in which the user has them changes no bit; ``order``
    leads from the players so numbered to the players in the user's order. y and sample_weight are those of the rows
    of X, whatever the user gave them as; ``source_rows`` is how many rows these were drawn from.
    """

    f: Predictor
    X: Any
    removal: Removal
    players: Players
    order: tuple[int, ...]
    members: dict[str, list[str]] | None
    entropy: int
    notes: tuple[str, ...]
    rows_spent: int = 0  # model rows that choosing a removal took
    y: Any = None
    sample_weight: Any = None
    source_rows: int | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        background: Any,
        removal: Any,
        groups: Mapping[str, Sequence[Any]] | None,
        feature_names: Sequence[str] | None,
        rng: Any,
        among: Sequence[str] | None = None,
        rows_to_draw: int | None = None,
        max_rows: int | None = None,
        memory_limit: float | None = None,
        batch_size: int | None = None,
    ) -> Setting:
        """The door.

        ``among`` are the removals that "auto conditional" chooses from, all by default; ``rows_to_draw`` is how many
        rows of X the background has at most, where none is given and its rows are drawn one by one, not averaged over.
        """
        check_size(max_rows, "max_rows", "rows", "max_rows=100_000")
        check_memory(memory_limit)
        f, entropy = as_predictor(model, batch_size=batch_size), entropy_of(rng)
        examples = Examples.of(
            f, X, y, sample_weight, max_rows=max_rows, memory_limit=memory_limit, rng=stream(entropy, ROWS, 0)
        )
        X = examples.X
        rows, source, notes = _background(
            narrowed(background, X, examples.apart), removal, f, X, stream(entropy, BACKGROUND, 0), rows_to_draw,
            MEMORY_LIMIT if memory_limit is None else memory_limit,
        )  # fmt: skip
        names = column_names(X, feature_names, f.feature_names, labels_of(rows))
        arranged = f.arrange(X)
        lineup = Lineup.of(names, X, arranged, groups)
        players = lineup.players
        chosen = (
            choose_removal(f, arranged, rows, players, entropy, source=source, among=among)
            if is_auto_conditional(removal)
            else None
        )
        q: Removal = as_removal(removal, rows, None, stream(entropy, REMOVAL, 0)) if chosen is None else chosen.removal
        q = knowing_examples(q, source)
        q = q if memory_limit is None else limited(q, memory_limit, is_named=isinstance(removal, str))
        chose, spent = ((), 0) if chosen is None else ((chosen.note,), chosen.model_rows)
        return cls(
            f, arranged, q, players, lineup.order, lineup.members, entropy, (*examples.notes, *notes, *chose), spent,
            examples.y, examples.sample_weight, examples.source_rows,
        )  # fmt: skip

    def game(self, loss: Any) -> tuple[PredictivePower, list[str]]:
        """The game of the model, and what to say about the loss that was chosen for it; y=None: of its own outputs."""
        f_S, y = self.removal.restrict(self.f, self.X), self.y
        options: dict[str, Any] = {"players": self.players, "sample_weight": self.sample_weight}
        if y is not None:
            v = PredictivePower.of(f_S, loss, self.X, y, **options)
        elif is_auto(loss) or (not isinstance(loss, (list, tuple)) and as_loss(loss).name == "squared error"):
            v = sensitivity(f_S, self.X, **options)
        else:
            raise InputError("loss", got=f"{loss!r} with y=None", wanted='"squared error", which makes Shapley effects')
        said = [f"Loss {v.losses[0].name!r} was chosen."] if is_auto(loss) and y is not None else []
        return replace(v, rows_in_vain=self.rows_spent) if self.rows_spent else v, said

    @property
    def removal_name(self) -> str:
        return name_of(self.removal)

    @property
    def held_fixed(self) -> HeldFixed:
        """What is taken as it is when intervals are about other rows."""
        name = self.removal_name
        return "removal" if name in REMOVALS and REMOVALS[name].is_conditional else "background"

    def explanations(
        self, v: PredictivePower, result: Estimate, *, measure: str, method: str, notes: Sequence[str] = (), **told: Any
    ) -> list[Explanation]:
        """One explanation for each loss of the game."""
        return explained(
            v, result, self.players, self.order, groups=self.members, measure=measure, removal=self.removal_name,
            method=method,
            notes=(*self.notes, *notes), provenance=provenance_of(self, v), headline=MEASURES[measure].headline,
            values_are=MEASURES[measure].values_are, held_fixed=self.held_fixed, **told,
        )  # fmt: skip


def explained(
    v: PredictivePower | UniversalPower,
    result: Estimate,
    players: Players,
    order: Sequence[int],
    *,
    headline: str,
    notes: Sequence[str],
    is_linear: bool = False,
    **told: Any,
) -> list[Explanation]:
    """One explanation for each loss of a game, its players in the given order; ``told`` goes into each as it is.

    ``{loss}`` in the headline stands for the loss; ``is_linear`` says that values are means over background rows, to
    which a finite background adds nothing.
    """
    assert result.stopped is not None
    order = list(order)
    whole = total(v)
    full = result.covariance.ndim == 3
    return [
        Explanation(
            values=result.values[place][order],
            std_error=result.std_error[place][order],
            dof=result.dof[place][order],
            targets={
                about: Target(*(getattr(found, part)[place][order] for part in ("values", "std_error", "dof", "skew")))
                for about, found in result.targets.items()
            },
            **_parts(v, result, place, order),
            looks=result.interim.count,
            confidence=result.interim.confidence,
            covariance=result.covariance[place][np.ix_(order, order)] if full else None,
            feature_names=tuple(players.names[i] for i in order),
            total=float(whole[place]),
            base=-float(v.weights @ v.ends[0][:, place]),
            model_rows=result.model_rows,
            draws=result.draws,
            stopped=result.stopped,
            trace=None if result.trace is None else result.trace[:, place],
            loss=loss.name,
            headline=headline.format(loss=loss_words(loss.name)),
            notes=(
                *notes,
                *_remarks(result, loss, float(whole[place]), is_linear),
                *_tails(result, place, [(i, players.names[i]) for i in order]),
            ),
            **told,
        )
        for place, loss in enumerate(v.losses)
    ]


def _parts(v: Any, result: Estimate, place: int, order: list[int]) -> dict[str, Any]:
    """What examples contribute to the values of one loss, where each was visited and they are not too many."""
    components = result.components
    if components is None or components.contributions is None:
        return {}
    if len(components.contributions) * len(order) > MOST_PARTS:
        return {}
    found, weights = np.take(components.contributions[:, place], order, axis=1), v.weights[v.weights > 0]
    found += np.outer(weights, result.values[place][order] - found.sum(axis=0))  # what was added beside them, evenly
    found.setflags(write=False)
    residual = components.residual[place][order]  # below zero where rows were shared out among examples, a gain
    return {"parts": found, "parts_weight": weights, "parts_error": np.sqrt(np.maximum(residual, 0.0))}


def _tails(result: Estimate, place: int, players: Sequence[tuple[int, str]]) -> list[str]:
    """A warning where few examples carry most of what a value's interval rests on."""
    contributions = None if result.components is None else result.components.contributions
    if result.tails is None or contributions is None:
        return []
    shares, of_value = result.tails[:, place]
    heavy = [(i, name) for i, name in players if shares[i] > HEAVY]
    if not heavy:
        return []
    worst, name = max(heavy, key=lambda player: shares[player[0]])
    few = max(1, len(contributions) // 100)
    rows = "One row carries" if few == 1 else f"The heaviest 1 % of the rows, {few:,} in number, carry"
    value = f", and {100 * of_value[worst]:.0f} % of its value" if 0 < of_value[worst] <= 1 else ""
    more = len(heavy) - 1
    others = f" ({more:,} more feature{'s have' if more > 1 else ' has'} such tails)" if more else ""
    return [
        f"{rows} {100 * shares[worst]:.0f} % of the variance of {name!r} over the rows"
        f"{value}{others}: with tails so heavy, intervals about other rows may hold less often than they say. "
        "More rows help."
    ]


def _background(
    given: Any, removal: Any, f: Predictor, X: Any, rng: np.random.Generator, rows_to_draw: int | None, limit: float
) -> tuple[Any, np.ndarray | None, tuple[str, ...]]:
    """The rows of which the removal is made, their numbers where they are rows of X, and what to say about them."""
    if not isinstance(removal, str):
        if given is not None:
            raise InputError("background", got="a background beside a removal object", wanted="one of the two",
                             hint=f"removal={type(removal).__name__}(background), or leaving out background=, since "
                                  "the object has rows of its own")  # fmt: skip
        return None, None, ()
    if given is not None and is_stored(given):
        rows, of = background_from(given, f, X, rows_to_draw or default_rows(removal), limit, rng)
        note = f"Background: {len(rows):,} of {of:,} rows, drawn at random." if len(rows) < of else ""
        return rows, None, (*((note,) if note else ()), *(() if rows_to_draw else _about_size(len(rows), removal)))
    if given is not None:
        rows = as_table(given, "background")
        return rows, None, () if rows_to_draw else _about_size(len(rows), removal)
    X, n = f.arrange(X), len(X)
    few = _about_size(n, removal) if n < FEW_TO_LEARN_FROM else ()
    size = rows_to_draw or default_rows(removal)
    if n <= size:
        return X, np.arange(n), (f"Background: all rows of X, {n:,} in number, since none was given.", *few)
    chosen = np.sort(rng.choice(n, int(size), replace=False))
    note = f"Background: {size:,} of the {n:,} rows of X, drawn at random, since none was given."
    return rows_of(X, chosen), chosen, (note,)


def _about_size(size: int, removal: str) -> tuple[str, ...]:
    if is_conditional(removal):
        if size < 2:
            raise InputError("background", got="one row", wanted="several hundred rows for a removal to learn from",
                             hint='removal="baseline" for one row that stands in')  # fmt: skip
        little = f"Background: {size:,} rows are little to learn from; several hundred are wanted."
        return (little,) if size < FEW_TO_LEARN_FROM else ()
    if size <= LARGE_BACKGROUND or np.isinf(default_rows(removal)):  # a baseline is the mean of any number
        return ()
    return (
        f"Background: {size:,} rows; each prediction with features withheld averages over all of them. "
        f"About {default_rows(removal):,} rows commonly do as well.",
    )


def _remarks(result: Estimate, loss: Loss, whole: float, is_linear: bool) -> list[str]:
    remarks = [str(note) for note in result.notes]
    if "population" in result.targets and not (is_linear or loss.debiasing.knows_excess):
        remarks.append(
            f"No correction for the finite background is known for the loss {loss.name!r}: what is said of the "
            "population is off by what that adds, about one part in as many as there are background rows."
        )
    if result.clipped and np.isfinite(loss.ceiling):
        remarks.append(
            f"{result.clipped:,} losses were bounded at {loss.ceiling:.4g}: the true class had a probability of zero."
        )
    if whole < 0:
        remarks.append("The model predicts worse with its features than without them on these examples.")
    return remarks


def versions() -> dict[str, str]:
    """Of what numbers depend on."""
    return {"clarysage": __version__, "numpy": np.__version__, "python": platform.python_version()}


def provenance_of(setting: Setting, v: PredictivePower) -> dict[str, Any]:
    seed = seed_in(setting.removal)
    return {
        **versions(),
        "seed": setting.entropy,
        "model": setting.f.name,
        "examples": len(v.X),
        **({} if setting.source_rows is None else {"rows_of_source": setting.source_rows}),
        "columns": int(v.X.shape[1]),
        "background_rows": len(getattr(v.restricted, "background", range(v.rows_per_payoff))),
        **({} if seed is None else {"removal_seed": seed}),
        "fingerprints": {
            "X": fingerprint_of_rows(v.X, v.restricted.schema),
            "y": fingerprint(v.targets[0]),
            "weights": fingerprint(v.weights),
            "background": _of_background(v.restricted),
        },
    }


def _of_background(restricted: Any) -> str:
    rows = getattr(restricted, "background", None)
    return fingerprint(np.empty(0)) if rows is None else fingerprint_of_rows(rows, restricted.schema)
