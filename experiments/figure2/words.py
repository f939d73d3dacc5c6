"""Figure 2 in numbers, and what becomes of the paper's conclusions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.figure2.curves import Curve
from experiments.outcome import Finding, Number
from experiments.style import TITLES

Curves = Mapping[tuple[str, str], Curve]  # by method and end
PAPERS = ("sage", "feature ablation", "permutation test", "mean importance", "univariate predictors")
SAID = {"best": "higher is better", "worst": "lower is better"}


def numbers(curves: Curves) -> list[Number]:
    """The area under each curve."""
    return [_number(curves[method, end]) for end in SAID for method in _methods(curves)]


def _number(curve: Curve) -> Number:
    value, reach = curve.area, curve.area_reach()
    what = f"{TITLES[curve.method]}: area under the accuracy of the {curve.end} pixels"
    last = f"{curve.means[-1]:.1%} with {curve.sizes[-1]} pixels; {SAID[curve.end]}."
    return Number(what, None, round(value, 4), round(value - reach, 4), round(value + reach, 4), last)


def about_best(curves: Curves, method: str, end: str, claim: str) -> Finding:
    """Whether a method has the best area of the paper's methods, beyond errors."""
    sign = 1 if end == "best" else -1
    own = curves[method, end]
    others = [curves[other, end] for other in _methods(curves) if other != method and other in PAPERS]
    ahead = [(sign * (own.area - one.area), np.hypot(own.area_reach(), one.area_reach()), one) for one in others]
    is_so, is_not = all(gap > reach for gap, reach, _ in ahead), any(gap < -reach for gap, reach, _ in ahead)
    gap, reach, rival = min(ahead, key=lambda one: one[0])
    verdict = "confirmed" if is_so else "refuted" if is_not else "open"
    side = "better" if gap > 0 else "worse"
    return Finding(
        claim,
        verdict,
        f"Its area is {own.area:.3f}, {abs(gap):.3f} ± {reach:.3f} {side} than that of {TITLES[rival.method]}, the "
        "best of the others.",
    )


def about_baselines(curves: Curves, claim: str, base: float, margin: float) -> Finding:
    """A baseline fails whose worst pixels are surely worth more than nothing; most are more than half."""
    baselines = [curves[method, "worst"] for method in _methods(curves) if method in PAPERS and method != "sage"]
    fails = [one for one in baselines if one.area - one.area_reach() > base + margin]
    finds = [one for one in baselines if one.area + one.area_reach() <= base + margin]
    half = len(baselines) / 2
    verdict = "confirmed" if len(fails) > half else "refuted" if len(finds) >= half else "open"
    each = ", ".join(f"{TITLES[one.method]} {one.area:.3f}" for one in baselines)
    return Finding(
        claim,
        verdict,
        f"{len(fails)} of {len(baselines)} fail: the mean accuracy of their worst pixels is surely more than "
        f"{margin:.0%} above {base:.1%}, that of the commonest digit ({each}).",
    )


def about_both(curves: Curves, claim: str) -> Finding:
    """Well at both: none, or but one, of the paper's other methods surely does better at either."""
    others = [method for method in _methods(curves) if method in PAPERS and method != "sage"]
    better, perhaps = {}, {}
    for end, sign in (("best", 1), ("worst", -1)):
        own = curves["sage", end]
        gaps = {other: sign * (curves[other, end].area - own.area) for other in others}
        reach = {other: np.hypot(own.area_reach(), curves[other, end].area_reach()) for other in others}
        better[end] = [other for other in others if gaps[other] > reach[other]]
        perhaps[end] = [other for other in others if gaps[other] > -reach[other]]
    is_so, is_not = (all(len(found[end]) <= 1 for end in SAID) for found in (perhaps, better))
    verdict = "confirmed" if is_so else "open" if is_not else "refuted"
    each = "; ".join(
        f"with the {end} pixels {', '.join(TITLES[other] for other in better[end]) or 'none'}" for end in SAID
    )
    return Finding(claim, verdict, f"Taken to mean that at most one other method does better. Surely better: {each}.")


def _methods(curves: Curves) -> list[str]:
    return list(dict.fromkeys(method for method, _ in curves))
