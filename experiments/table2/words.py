"""Remarks on the numbers of Table 2, and verdicts on the paper's conclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.outcome import Finding

NEARLY = 0.0107  # the largest gap between SAGE and the best method in the paper's own table (BRCA)
SIZE = "number of features"  # a control without information: each feature counts as one
PAIR = ("feature ablation", "sage")
OTHERS = ("permutation test", "mean importance", "feature ablation", "univariate predictors")


def difference(judged: Any, method: str, theirs: float | None, subsets: int) -> str:
    """Tells whether our correlation agrees with the paper's within the error of random subsets, and else why not."""
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


def about_splits(correlations: Sequence[float], theirs: float) -> str:
    """Describes the correlations in other splits, and whether their range contains the paper's."""
    low, high = min(correlations), max(correlations)
    held = "which holds the paper's" if low <= theirs <= high else "which does not hold the paper's"
    spread = np.std(correlations, ddof=1)
    return f"{len(correlations)} other splits give {low:.4f} to {high:.4f} (std {spread:.4f}), {held}."


def about_sage(judged: Any, printed: Mapping[str, Any]) -> Finding:
    """Confirmed if SAGE is best or nearly best: not further below the best than anywhere in the paper's table."""
    others = [method for method in OTHERS if judged.name in printed[method]]
    value, low, high = judged.correlations.shortfall("sage", others)
    verdict = "confirmed" if high <= NEARLY else "refuted" if low > NEARLY else "open"
    rank = "best" if value <= 0 else "not best"
    return Finding(
        f"SAGE is best or nearly best ({judged.title}).",
        verdict,
        f"It is {rank}: {abs(value):.4f} {'above' if value <= 0 else 'below'} the best other method of the paper "
        f"(interval {-high:+.4f} to {-low:+.4f}); nearly best means at most {NEARLY} below.",
    )


def about_ablation(judged: Any) -> Finding:
    """Confirmed if feature ablation has less than half of the correlation of SAGE; open if splits disagree."""
    correlations = judged.correlations
    value = correlations.values["feature ablation"]
    gap = correlations.resampled["feature ablation"] - correlations.resampled["sage"] / 2
    low, high = np.quantile(gap, [0.025, 0.975])
    verdict = "confirmed" if high < 0 else "refuted" if low > 0 else "open"
    moved = [
        theirs < ours / 2 for theirs, ours in zip(*(judged.splits.get(method, []) for method in PAIR), strict=True)
    ]
    if any(moved) and not all(moved):
        verdict = "open"
    elsewhere = f" In {len(moved)} other splits it fails {sum(moved)} times." if moved else ""
    return Finding(
        f"Feature ablation fails ({judged.title}).",
        verdict,
        f"Its correlation is {value:.4f} where SAGE has {correlations.values['sage']:.4f} and the mere number of "
        f"features {correlations.values[SIZE]:.4f}; among subsets of one size "
        f"{correlations.within['feature ablation']:.4f} where SAGE has {correlations.within['sage']:.4f}.{elsewhere}",
    )
