"""Sentences on Table 2: how ours and the paper's numbers differ, and what becomes of its conclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.outcome import Finding

NEARLY = 0.0107  # how far SAGE is below the best in the paper's own table, at most (BRCA)
SIZE = "number of features"  # a control that knows nothing: each feature counts as one
PAIR = ("feature ablation", "sage")
OTHERS = ("permutation test", "mean importance", "feature ablation", "univariate predictors")


def said(judged: Any, method: str, theirs: float | None, subsets: int) -> str:
    """Whether our correlation is within the interval of the paper's, and what was measured where it is not."""
    if method == SIZE:
        value, low, high = judged.correlations.shortfall(SIZE, ["sage"])
        return f"A control. SAGE is {value:+.4f} from it ({low:+.4f} to {high:+.4f})."
    if theirs is None:
        return "" if method not in OTHERS else "Left out in the paper; here categories are set to the commonest."
    ours = judged.correlations.values[method]
    spread = judged.correlations.std_error(method)
    error = np.hypot(spread * np.sqrt(len(judged.losses) / subsets), spread)
    reach = 1.96 * error
    if abs(ours - theirs) <= reach:
        return f"Agrees: other draws of subsets alone move the difference by {reach:.4f}."
    side = "Above" if ours > theirs else "Below"
    words = f"{side} by {abs(ours - theirs):.4f}, where draws of subsets explain {reach:.4f}."
    if judged.name == "brca":
        words += " Other genes than the paper's."
    if method in judged.splits:
        words += f" {about_splits(judged.splits[method], theirs)}"
    return words


def about_splits(found: Sequence[float], theirs: float) -> str:
    """What correlations are when rows are split otherwise, and whether the paper's is among them."""
    low, high = min(found), max(found)
    held = "which holds the paper's" if low <= theirs <= high else "which does not hold the paper's"
    return f"{len(found)} other splits give {low:.4f} to {high:.4f} (std {np.std(found, ddof=1):.4f}), {held}."


def about_sage(judged: Any, printed: Mapping[str, Any]) -> Finding:
    """Is SAGE best or nearly best? Nearly means: no further below the best than anywhere in the paper's table."""
    others = [method for method in OTHERS if judged.name in printed[method]]
    value, low, high = judged.correlations.shortfall("sage", others)
    verdict = "confirmed" if high <= NEARLY else "refuted" if low > NEARLY else "open"
    place = "best" if value <= 0 else "not best"
    return Finding(
        f"SAGE is best or nearly best ({judged.title}).",
        verdict,
        f"It is {place}: {abs(value):.4f} {'above' if value <= 0 else 'below'} the best other method of the paper "
        f"(interval {-high:+.4f} to {-low:+.4f}); nearly best means at most {NEARLY} below.",
    )


def about_ablation(judged: Any) -> Finding:
    """Does feature ablation fail? With less than half of the correlation of SAGE it does; open if splits disagree."""
    found = judged.correlations
    value = found.values["feature ablation"]
    gap = found.resampled["feature ablation"] - found.resampled["sage"] / 2
    low, high = np.quantile(gap, [0.025, 0.975])
    verdict = "confirmed" if high < 0 else "refuted" if low > 0 else "open"
    moved = [theirs < ours / 2 for theirs, ours in zip(*(judged.splits.get(one, []) for one in PAIR), strict=True)]
    if any(moved) and not all(moved):
        verdict = "open"
    elsewhere = f" In {len(moved)} other splits it fails {sum(moved)} times." if moved else ""
    return Finding(
        f"Feature ablation fails ({judged.title}).",
        verdict,
        f"Its correlation is {value:.4f} where SAGE has {found.values['sage']:.4f} and the mere number of features "
        f"{found.values[SIZE]:.4f}; among subsets of one size {found.within['feature ablation']:.4f} "
        f"where SAGE has {found.within['sage']:.4f}.{elsewhere}",
    )
