"""Explanations made of an estimate: values in the user's order, notes on what they rest on, provenance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage.errors import Note, Set, as_note
from clarysage.estimators.draws import total
from clarysage.games import PredictivePower, UniversalPower
from clarysage.inference.estimate import Estimate, Target
from clarysage.players import Players
from clarysage.protocols import Loss
from clarysage.results.explanation import Explanation
from clarysage.results.text import loss_words

MOST_PARTS = 50_000_000  # numbers, above which what single examples contribute is not kept
HEAVY = 0.5  # of the variance, carried by one row in a hundred


def explained(
    v: PredictivePower | UniversalPower,
    result: Estimate,
    players: Players,
    order: Sequence[int],
    *,
    headline: str,
    notes: Sequence[Note | str],
    is_linear: bool = False,
    **facts: Any,
) -> list[Explanation]:
    """One explanation for each loss of a game, its players in the given order; ``facts`` go into each as they are.

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
            notes=tuple(
                as_note(note)
                for note in (
                    *notes,
                    *_about_losses(result, loss, float(whole[place]), is_linear),
                    *_about_tails(result, place, [(i, players.names[i]) for i in order]),
                )
            ),
            **facts,
        )
        for place, loss in enumerate(v.losses)
    ]


def _parts(v: PredictivePower | UniversalPower, result: Estimate, place: int, order: list[int]) -> dict[str, Any]:
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


def _about_tails(result: Estimate, place: int, players: Sequence[tuple[int, str]]) -> list[Note | str]:
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
        Note(
            f"{rows} {100 * shares[worst]:.0f} % of the variance of {name!r} over the rows{value}{others}: with tails "
            "so heavy, intervals about other rows may hold less often than they say.",
            advice="More rows help.",
            topic=f"tails of {name!r}",
        )
    ]


def with_rows_wanted(explanation: Explanation, tolerance: float | None) -> Explanation:
    """An explanation; where rows were drawn, and too few for its tolerance, with a note on how many would do.

    The variance that is due to the rows, what there is beyond that of the run, goes down as one over their number.
    """
    provenance, rows = explanation.provenance, explanation.targets.get("rows")
    if tolerance is None or rows is None or "rows_of_source" not in provenance:
        return explanation
    by_rows = np.sqrt(np.maximum(rows.std_error**2 - explanation.std_error**2, 0.0)).max()
    spread = float(explanation.values.max() - explanation.values.min())
    if not 0 < tolerance * spread < by_rows:
        return explanation
    wanted = provenance["examples"] * (by_rows / (tolerance * spread)) ** 2
    size = 10 ** (math.floor(math.log10(wanted)) - 1)  # two digits of it are known, if that
    wanted = int(math.ceil(wanted / size) * size)
    text = (
        f"Drawing other rows would change values by up to {100 * by_rows / spread:.2g} % of their range, one standard "
        f"error; for {100 * tolerance:.2g} % "
    )
    if wanted < provenance["rows_of_source"]:
        note = Note(
            f"{text}about {wanted:,} rows are needed.", advice=["Try ", Set("max_rows", wanted), "."], topic="rows"
        )
    else:
        note = Note(f"{text}all {provenance['rows_of_source']:,} rows are not enough.", topic="rows")
    return replace(explanation, notes=(*explanation.notes, note))


def _about_losses(result: Estimate, loss: Loss, whole: float, is_linear: bool) -> list[Note | str]:
    """Notes on what a loss does to an estimate."""
    notes: list[Note | str] = [*result.notes]
    if "population" in result.targets and not (is_linear or loss.debiasing.knows_bias):
        notes.append(
            f"No correction for the finite background is known for the loss {loss.name!r}: what is said of the "
            "population is off by what that adds, about one part in as many as there are background rows."
        )
    if result.clipped and np.isfinite(loss.ceiling):
        notes.append(
            Note(
                f"{result.clipped:,} losses were bounded at {loss.ceiling:.4g}: the true class had a probability of "
                "zero.",
                topic="bounded losses",
            )
        )
    if whole < 0:
        notes.append("The model predicts worse with its features than without them on these examples.")
    return notes


def with_constant(found: Sequence[Explanation]) -> list[Explanation]:
    """Explanations whose phi_0 is what values leave of the total, so that u(D) is v(D)."""
    return [replace(one, constant=one.total - float(one.values.sum())) for one in found if one.total is not None]
