"""Numbers of Figure 2, and verdicts on the paper's conclusions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.figure2.curves import AccuracyCurve
from experiments.outcome import Finding, Number
from experiments.style import TITLES

Curves = Mapping[tuple[str, str], AccuracyCurve]  # by method and end
PAPERS = ("sage", "feature ablation", "permutation test", "mean importance", "univariate predictors")
DIRECTIONS = {"best": "higher is better", "worst": "lower is better"}


def numbers(curves: Curves) -> list[Number]:
    """Returns the area under each curve."""
    return [_number(curves[method, end]) for end in DIRECTIONS for method in _methods(curves)]


def _number(curve: AccuracyCurve) -> Number:
    value, reach = curve.area, curve.area_reach()
    what = f"{TITLES[curve.method]}: area under the accuracy of the {curve.end} pixels"
    last = f"{curve.means[-1]:.1%} with {curve.sizes[-1]} pixels; {DIRECTIONS[curve.end]}."
    return Number(what, None, round(value, 4), round(value - reach, 4), round(value + reach, 4), last)


def about_best(curves: Curves, method: str, end: str, claim: str) -> Finding:
    """Confirmed if the method has significantly the best area of the paper's methods."""
    sign = 1 if end == "best" else -1
    curve = curves[method, end]
    others = [curves[other, end] for other in _methods(curves) if other != method and other in PAPERS]
    ahead = [
        (sign * (curve.area - rival.area), np.hypot(curve.area_reach(), rival.area_reach()), rival) for rival in others
    ]
    is_so, is_not = all(gap > reach for gap, reach, _ in ahead), any(gap < -reach for gap, reach, _ in ahead)
    gap, reach, rival = min(ahead, key=lambda comparison: comparison[0])
    verdict = "confirmed" if is_so else "refuted" if is_not else "open"
    side = "better" if gap > 0 else "worse"
    return Finding(
        claim,
        verdict,
        f"Its area is {curve.area:.3f}, {abs(gap):.3f} ± {reach:.3f} {side} than that of {TITLES[rival.method]}, the "
        "best of the others.",
    )


def about_baselines(curves: Curves, claim: str, base: float, margin: float) -> Finding:
    """Confirmed if for most baselines networks with the worst pixels are significantly better than guessing."""
    baselines = [curves[method, "worst"] for method in _methods(curves) if method in PAPERS and method != "sage"]
    fails = [curve for curve in baselines if curve.area - curve.area_reach() > base + margin]
    finds = [curve for curve in baselines if curve.area + curve.area_reach() <= base + margin]
    half = len(baselines) / 2
    verdict = "confirmed" if len(fails) > half else "refuted" if len(finds) >= half else "open"
    each = ", ".join(f"{TITLES[curve.method]} {curve.area:.3f}" for curve in baselines)
    return Finding(
        claim,
        verdict,
        f"{len(fails)} of {len(baselines)} fail: the mean accuracy of their worst pixels is surely more than "
        f"{margin:.0%} above {base:.1%}, that of the commonest digit ({each}).",
    )


def about_both(curves: Curves, claim: str) -> Finding:
    """Confirmed if at most one of the paper's other methods is significantly better at either task."""
    others = [method for method in _methods(curves) if method in PAPERS and method != "sage"]
    better, perhaps = {}, {}
    for end, sign in (("best", 1), ("worst", -1)):
        curve = curves["sage", end]
        gaps = {other: sign * (curves[other, end].area - curve.area) for other in others}
        reach = {other: np.hypot(curve.area_reach(), curves[other, end].area_reach()) for other in others}
        better[end] = [other for other in others if gaps[other] > reach[other]]
        perhaps[end] = [other for other in others if gaps[other] > -reach[other]]
    is_so, is_not = (all(len(by_end[end]) <= 1 for end in DIRECTIONS) for by_end in (perhaps, better))
    verdict = "confirmed" if is_so else "open" if is_not else "refuted"
    each = "; ".join(
        f"with the {end} pixels {', '.join(TITLES[other] for other in better[end]) or 'none'}" for end in DIRECTIONS
    )
    return Finding(claim, verdict, f"Taken to mean that at most one other method does better. Surely better: {each}.")


def _methods(curves: Curves) -> list[str]:
    return list(dict.fromkeys(method for method, _ in curves))
