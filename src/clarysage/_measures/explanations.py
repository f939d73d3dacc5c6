"""Explanations from estimates: values in the order of the user's features, with notes and provenance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from clarysage.errors import Note, Or, Set, Words, as_note
from clarysage.estimators.draws import total
from clarysage.games import PredictivePower, UniversalPower
from clarysage.inference.estimate import Estimate
from clarysage.losses.custom import CustomLoss
from clarysage.losses.terms import LossTerm
from clarysage.players import Players
from clarysage.protocols import Loss
from clarysage.results.explanation import Explanation
from clarysage.results.text import loss_words

MAX_PARTS = 50_000_000  # numbers: larger arrays of per-example contributions are not stored
BOUNDED = 0.1  # share of the result that is due to rows with bounded losses, from which it is a warning
HEAVY = 0.5  # share of the variance that is due to 1 % of the rows


def explanations_of(
    v: PredictivePower | UniversalPower,
    result: Estimate,
    players: Players,
    order: Sequence[int],
    *,
    headline: str,
    notes: Sequence[Note | str],
    is_linear: bool = False,
    **fields: Any,
) -> list[Explanation]:
    """Returns one explanation for each loss of a game, with its players in the given order.

    ``{loss}`` in the headline stands for the loss. ``is_linear`` says that values are means over background rows, so
    that a finite background causes no bias. ``fields`` are further fields of every explanation. Intervals about rows
    need two rows of a class, where a loss is that of a single class.
    """
    assert result.stopped is not None
    order, provenance = list(order), fields.pop("provenance")
    totals, weights = total(v), _weights_by_loss(v)
    full = result.covariance.ndim == 3
    return [
        Explanation(
            values=result.values[loss_index][order],
            std_error=result.std_error[loss_index][order],
            dof=result.dof[loss_index][order],
            targets={
                about: target.map(itemgetter(loss_index)).map(itemgetter(order))
                for about, target in result.targets.items()
                if np.count_nonzero(weights[:, loss_index]) > 1
            },
            **_parts(result, weights[:, loss_index], loss_index, order),
            looks=result.interim.count,
            confidence=result.interim.confidence,
            covariance=result.covariance[loss_index][np.ix_(order, order)] if full else None,
            feature_names=tuple(players.names[i] for i in order),
            total=float(totals[loss_index]),
            base=-float(v.weights @ v.ends[0][:, loss_index]),
            model_rows=result.model_rows,
            draws=result.draws,
            stopped=result.stopped,
            trace=None if result.trace is None else result.trace[:, loss_index],
            loss=loss.name,
            headline=headline.format(loss=loss_words(loss.name)),
            notes=tuple(
                as_note(note)
                for note in (
                    *notes,
                    *_about_losses(v, result, loss_index, float(totals[loss_index]), is_linear),
                    *_about_tails(result, weights[:, loss_index], loss_index, [(i, players.names[i]) for i in order]),
                )
            ),
            provenance={**provenance, **_subject(loss, weights[:, loss_index])},
            **fields,
        )
        for loss_index, loss in enumerate(v.losses)
    ]


def _weights_by_loss(v: PredictivePower | UniversalPower) -> np.ndarray:
    """Returns the weights (N, L) of examples of positive weight in the mean of each loss."""
    weights = v.loss_weights[v.weights > 0]
    return np.repeat(weights[:, None], len(v.losses), axis=1) if weights.ndim == 1 else weights


def _subject(loss: Loss, weights: np.ndarray) -> dict[str, Any]:
    """Returns the class or the target that a loss is of, for the provenance."""
    if not isinstance(loss, LossTerm):
        return {}
    kind, subject = loss.subject
    return {kind: subject, **({"examples_of_class": int(np.count_nonzero(weights))} if kind == "class" else {})}


def _parts(result: Estimate, weights: np.ndarray, loss_index: int, order: list[int]) -> dict[str, Any]:
    """Returns the contributions of examples to the values of one loss, if every example was visited and they fit."""
    components = result.components
    if components is None or components.contributions is None:
        return {}
    if len(components.contributions) * len(order) > MAX_PARTS:
        return {}
    parts = np.take(components.contributions[:, loss_index], order, axis=1)
    corrections = result.values[loss_index][order] - parts.sum(axis=0)
    parts += np.outer(weights, corrections)  # spread evenly over examples
    parts.setflags(write=False)
    residual = components.residual[loss_index][order]  # negative if stratification reduced it
    return {"parts": parts, "parts_weight": weights, "parts_error": np.sqrt(np.maximum(residual, 0.0))}


def _about_tails(
    result: Estimate, weights: np.ndarray, loss_index: int, players: Sequence[tuple[int, str]]
) -> list[Note | str]:
    """Returns a warning if few examples cause most of the variance of a value (heavy tails)."""
    contributions = None if result.components is None else result.components.contributions
    if result.tails is None or contributions is None:
        return []
    shares, of_value = result.tails[:, loss_index]
    heavy = [(i, name) for i, name in players if shares[i] > HEAVY]
    if not heavy:
        return []
    worst, name = max(heavy, key=lambda player: shares[player[0]])
    few = max(1, np.count_nonzero(weights) // 100)
    rows = "One row accounts" if few == 1 else f"Only {few:,} rows (1 %) account"
    value = f", and for {100 * of_value[worst]:.0f} % of its value" if 0 < of_value[worst] <= 1 else ""
    more = len(heavy) - 1
    others = f" ({more:,} more feature{'s have' if more > 1 else ' has'} heavy tails)" if more else ""
    return [
        Note(
            f"{rows} for {100 * shares[worst]:.0f} % of the variance of {name!r} over the rows{value}{others}. With "
            "such heavy tails, intervals about other rows may cover the true value less often than their level says.",
            advice="More rows help.",
            topic=f"tails of {name!r}",
        )
    ]


def with_sample_size_note(explanation: Explanation, tolerance: float | None) -> Explanation:
    """Returns the explanation, with a note on the sample size if too few rows were sampled for the tolerance.

    The variance due to the sampling of rows, the part that is not due to the run, is inversely proportional to their
    number.
    """
    provenance, rows = explanation.provenance, explanation.targets.get("rows")
    if tolerance is None or rows is None or "rows_of_source" not in provenance:
        return explanation
    by_rows = np.sqrt(np.maximum(rows.std_error**2 - explanation.std_error**2, 0.0)).max()
    spread = float(explanation.values.max() - explanation.values.min())
    if not 0 < tolerance * spread < by_rows:
        return explanation
    rows_needed = provenance["examples"] * (by_rows / (tolerance * spread)) ** 2
    size = 10 ** (math.floor(math.log10(rows_needed)) - 1)  # it is hardly known to two digits
    rows_needed = int(math.ceil(rows_needed / size) * size)
    text = (
        f"The sampling of rows adds a standard error of up to {100 * by_rows / spread:.2g} % of the range of the "
        f"values; for {100 * tolerance:.2g} % "
    )
    if rows_needed < provenance["rows_of_source"]:
        note = Note(
            f"{text}about {rows_needed:,} rows are needed.",
            advice=["Try ", Set("max_rows", rows_needed), "."],
            topic="rows",
        )
    else:
        note = Note(f"{text}all {provenance['rows_of_source']:,} rows are not enough.", topic="rows")
    return replace(explanation, notes=(*explanation.notes, note))


def _about_losses(
    v: PredictivePower | UniversalPower, result: Estimate, loss_index: int, loss_total: float, is_linear: bool
) -> list[Note | str]:
    """Returns notes on the effects of a loss on an estimate."""
    notes: list[Note | str] = [*result.notes]
    loss = v.losses[loss_index]
    if "population" in result.targets and not (is_linear or loss.debiasing.knows_bias):
        notes.append(
            f"No correction for the finite background is known for the loss {loss.name!r}: intervals about the "
            "population ignore its bias, which is of the order of one over the number of background rows."
        )
    if result.clipped and np.isfinite(loss.ceiling):
        notes.append(_about_bounded_losses(v, result, loss_index))
    if loss_total < 0:
        notes.append(_about_worse_predictions(v, loss_index))
    return notes


def _about_worse_predictions(v: PredictivePower | UniversalPower, loss_index: int) -> Note:
    """Returns a note on a model that predicts worse than a constant; a warning if the loss seems to be a score."""
    text = "The model predicts worse with its features than without them on these examples."
    loss, losses = v.losses[loss_index], -np.stack(v.ends)[:, v.weights > 0, loss_index]
    loss = loss.loss if isinstance(loss, LossTerm) else loss
    if not isinstance(loss, CustomLoss) or (losses > 0).any():
        return Note(text)
    advice = f"A loss must be smaller for better predictions: is larger better in {loss.name}? Then pass its negative."
    return Note(f"{text} No value of the loss {loss.name} is positive.", advice)


def _about_bounded_losses(v: PredictivePower | UniversalPower, result: Estimate, loss_index: int) -> Note:
    """Returns a note on losses at the ceiling; a warning if the rows with such a loss make up much of the result."""
    loss, weights = v.losses[loss_index], _weights_by_loss(v)[:, loss_index]
    is_row, share = weights > 0, loss.share if isinstance(loss, LossTerm) else 1.0
    weights, losses = weights[is_row], -share * v.ends[1][v.weights > 0, loss_index][is_row]
    ceiling = share * loss.ceiling
    floor = math.exp(-ceiling)
    is_bounded = losses >= ceiling
    if not is_bounded.any():
        text = f"{result.clipped:,} losses of coalitions were bounded at {ceiling:.4g}, by a floor of probabilities of"
        return Note(f"{text} {floor:.2g}.", topic="bounded losses")
    shares = [(weights * losses)[is_bounded].sum() / (weights @ losses)]
    words = [f"{100 * shares[0]:.3g} % of the mean loss"]
    if result.components is not None and result.components.contributions is not None:
        sizes = np.abs(result.components.contributions[is_row, loss_index]).sum(axis=1)
        shares.append(sizes[is_bounded].sum() / sizes.sum() if sizes.any() else 0.0)
        words.append(f"{100 * shares[1]:.3g} % of the sizes of all contributions to the values")
    count = int(is_bounded.sum())
    text = (
        f"The model gives the true class of {count:,} of {len(losses):,} rows a probability of zero: their losses were "
        f"bounded at {ceiling:.4g}, by a floor of {floor:.2g}. "
        f"{'These rows account' if count > 1 else 'This row accounts'} for {' and for '.join(words)}."
    )
    if max(shares) < BOUNDED:
        return Note(text, topic="bounded losses")
    advice: Words = [
        "Try ",
        Set("loss", "brier"),
        ", a calibrated model",
        Or(),
        Set("loss", "cross entropy(0.01)"),
        ", with a floor of your own.",
    ]
    return Note(text, advice, topic="bounded losses")


def with_constant(explanations: Sequence[Explanation]) -> list[Explanation]:
    """Returns explanations with phi_0 = v(D) minus the sum of values (Table 3), so that u(D) is v(D)."""
    return [
        replace(explanation, constant=explanation.total - float(explanation.values.sum()))
        for explanation in explanations
        if explanation.total is not None
    ]
