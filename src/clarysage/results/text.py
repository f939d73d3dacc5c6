"""Text: formats of numbers, losses and names, and sentences that several kinds of results share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from clarysage._utils.display import shortened
from clarysage.catalogue import LOSSES

if TYPE_CHECKING:
    from clarysage.results.explanation import Explanation

# names of values, for measures whose values are not called by the name of the measure
LABELS = {"sage": "SAGE value"}
LONGEST = 60  # columns of a name in a table or a sentence; frames and files have the full name
NAMED = 3  # features that a sentence names


def loss_words(loss: str) -> str:
    """Returns the name of a loss for a sentence; a user's function may be called as another name of a loss.

    Examples
    --------
    >>> loss_words("zero one"), loss_words("cross entropy"), loss_words("accuracy")
    ('zero-one loss', 'cross entropy', 'accuracy')
    """
    row = LOSSES.get(loss)
    return row.label if row is not None and row.name == loss and row.label else loss


def values_words(explanation: Explanation) -> str:
    """Returns the name of the values for a sentence."""
    name = LABELS.get(explanation.measure)
    return f"values by the measure {explanation.measure!r}" if name is None else f"{name}s"


def is_gain(explanation: Explanation) -> bool:
    """Tells whether values are amounts of loss saved, so that features help or hurt; others have only size and sign."""
    return explanation.base is not None and explanation.values_are == "gain"


def total_words(explanation: Explanation) -> list[str]:
    """Returns sentences on the total of all features, and on the constant of the proxy where it is not zero."""
    show, total, alone = number_format(explanation), explanation.total, explanation.base
    if total is None or alone is None:
        return []
    if explanation.values_are == "variance":
        return [
            f"All features together: {show(total)}, the mean squared distance of outputs from their background mean."
        ]
    change = "reduce" if total >= 0 else "increase"
    sentences = [
        f"All features together {change} the mean {loss_words(explanation.loss)} by {show(abs(total))}: it is "
        f"{show(alone)} without features and {show(alone - total)} with them."
    ]
    if explanation.constant:
        constant = show(explanation.constant)
        sentences.append(f"The constant of this measure is {constant}: u(S) is the constant plus the values in S.")
    return sentences


def interval_words(explanation: Explanation, about: str) -> str:
    """Returns sentences on what intervals are about, and on the sampling error of the run."""
    if explanation.provenance.get("examples_of_class", explanation.provenance.get("examples")) == 1:
        return "The values are those of a single row: of other rows they say nothing."
    if explanation.draws == 0:
        data = explanation.meaning("data").partition(" (")[0]
        exact = f"The values are exact for {data}: they have no sampling error."
        others = f"Intervals are about {explanation.meaning(about)}: other data would give other values."
        return exact if about == "data" else f"{exact} {others}"
    if about == "data":
        return f"Intervals are about {explanation.meaning(about)}."
    error = number_format(explanation)(float(explanation.std_error.max()))
    meaning = explanation.meaning(about)
    sentence = f"Intervals are about {meaning}; the largest standard error from the sampling of this run is {error}."
    return " ".join(filter(None, (sentence, _outside(explanation, about))))


def cost_words(explanation: Explanation) -> str:
    """Returns a sentence on how the run ended and what it cost."""
    return f"{explanation.stopped.value} {explanation.model_rows:,} model rows, method {explanation.method!r}."


def _outside(explanation: Explanation, about: str) -> str:
    """Returns a sentence on values outside their intervals, which are centred on bias-corrected values."""
    low, high = explanation.interval(about=about)
    strays = int(((explanation.values < low) | (explanation.values > high)).sum())
    if not strays:
        return ""
    which = "One value is outside its interval" if strays == 1 else f"{strays} values are outside their intervals"
    return f"{which}, because a finite background biases values; more background rows reduce this bias."


def number_format(explanation: Explanation) -> Callable[[float], str]:
    """Returns a format for numbers: four digits of the largest value; powers of ten for very small or large values.

    If all values are zero, the digits are those of the loss without features.
    """
    largest = float(np.abs(explanation.values).max())
    if largest == 0 and explanation.base is not None and abs(explanation.base) >= 1e-6:
        largest = abs(explanation.base)
    if largest and not 1e-6 <= largest < 1e9:
        return lambda number: f"{number:.3e}"
    digits = 4 if largest == 0 else int(np.clip(3 - np.floor(np.log10(largest)), 0, 12))
    return lambda number: f"{0.0 if abs(number) < 0.5 * 10.0**-digits else number:,.{digits}f}"


def p_value_words(p: float) -> str:
    """Formats a p-value."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def names_in_sentence(names: list[str]) -> str:
    """Joins names for a sentence, the first three and the number of the others."""
    shown = [short_name(name) for name in names[:NAMED]]
    if len(names) > NAMED:
        return f"{', '.join(shown)} and {len(names) - NAMED:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def short_name(name: str, letters: int = LONGEST) -> str:
    """Returns a name on one line, cut where it is long.

    Examples
    --------
    >>> short_name("duration of the last\\ncall", 20)
    'duration of the las…'
    """
    return shortened(name, letters)
