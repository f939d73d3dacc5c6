"""What a plot says of its numbers: their unit, what the intervals are about, whether the run converged."""

from __future__ import annotations

from clarysage.results import Explanation
from clarysage.results.text import LABELS, loss_words


def value_label(explanation: Explanation) -> str:
    """The name of the value and its unit, the loss."""
    if explanation.values_are == "variance":
        return "Shapley effect (variance of the output)"
    if explanation.measure in LABELS:
        return f"{LABELS[explanation.measure]} ({loss_words(explanation.loss)} saved)"
    name = explanation.measure[:1].upper() + explanation.measure[1:]
    is_loss = explanation.base is not None and explanation.loss
    return f"{name} (in units of {explanation.loss})" if is_loss else name


def interval_note(explanation: Explanation, level: float, joint: bool, about: str) -> list[str]:
    """What the intervals are about, or that there is nothing to be unsure of."""
    if explanation.draws == 0 and about == "data":
        return ["No sampling error."]
    reach = "all holding at once" if joint else "each on its own"
    return [f"{100 * level:.6g}% intervals, {reach}, about {explanation.meaning(about)}."]


def convergence_note(explanation: Explanation) -> list[str]:
    """A warning, if the run ended before it converged."""
    return [] if explanation.stopped.is_wanted else [f"NOT CONVERGED: {explanation.stopped.value}"]
