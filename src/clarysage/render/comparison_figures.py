"""Figures of a comparison: the losses of its explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clarysage.results import Comparison
from clarysage.results.comparison import signed
from clarysage.results.text import is_gain, loss_words


def comparison_figures(
    comparison: Comparison, names: Sequence[str], show: Callable[[float], str]
) -> list[tuple[str, str]]:
    """The mean loss with all features in each, where they are known, and how far it is from the reference's."""
    if not all(is_gain(one) and one.total is not None for one in comparison.explanations):
        return []
    first, *others = ((one.base or 0.0) - (one.total or 0.0) for one in comparison.explanations)
    loss = loss_words(comparison.reference.loss)
    words = [show(first), *(f"{show(other)} ({signed(show(other - first))})" for other in others)]
    return [(f"Mean {loss} in {name}", said) for name, said in zip(names, words, strict=True)]
