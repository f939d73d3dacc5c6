"""Numbers of Figure 1, and verdicts on the paper's conclusions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from experiments.figure1.facts import MapFacts
from experiments.figure1.genes import Genes
from experiments.figure1.maps import Measured
from experiments.outcome import Finding, Number
from experiments.style import TITLES

NOISY, PLAUSIBLE = ("permutation test", "mean importance"), ("sage", "univariate predictors")


def of_maps(facts: Mapping[str, MapFacts]) -> list[Number]:
    """Returns the measurements of each map, property by property."""
    rows = []
    for fact in facts.values():
        surely = f"{fact.surely_negative:.0%} have an interval below zero."
        rows.append(_number(f"{_title(fact)}: share of negative pixels in the centre", fact.negative, surely))
    rows += [_number(f"{_title(fact)}: correlation of neighbouring pixels", fact.smooth) for fact in facts.values()]
    rows += [
        _number(f"{_title(fact)}: correlation with the SAGE map", fact.like_sage)
        for fact in facts.values()
        if fact.method != "sage"
    ]
    for fact in facts.values():
        blank = f"Pixels that never vary have values of {fact.blank:.0%} of the size of the centre's."
        rows.append(_number(f"{_title(fact)}: share of pixels whose interval holds zero", fact.unclear, blank))
    return rows


def _title(fact: MapFacts) -> str:
    return TITLES[fact.method]


def _number(what: str, measured: Measured, remark: str = "") -> Number:
    return Number(what, None, round(measured.value, 4), round(measured.low, 4), round(measured.high, 4), remark)


def of_genes(genes: Genes) -> list[Number]:
    """Returns the mean rank of the known genes, and the rank of each gene of the paper."""
    value, low, high = genes.mean_rank()
    middle = (len(genes.names) + 1) / 2
    rows = [
        Number(
            f"BRCA: mean rank of the {genes.is_known.sum()} known genes of {len(genes.names)}",
            None,
            round(value, 2),
            round(low, 2),
            round(high, 2),
            f"{middle:g} by chance; so high or higher has p = {genes.chance():.2g}.",
        )
    ]
    for i in sorted((i for i in range(len(genes.names)) if genes.is_papers[i]), key=lambda i: genes.ranks[i]):
        first, last = genes.rank_interval(genes.names[i])
        remark = "known to matter" if genes.is_known[i] else "drawn at random in the paper"
        paper = 1 if genes.names[i] == "BCL11A" else None
        rows.append(Number(f"BRCA: rank of {genes.names[i]}", paper, int(genes.ranks[i]), first, last, remark))
    return rows


def about_centre(facts: Mapping[str, MapFacts], claim: str, settings: Mapping[str, Any]) -> Finding:
    """Confirmed if for most methods the centre has a larger share of the best pixels than of the image."""
    area = (settings["centre"] / 28) ** 2
    there = [fact for fact in facts.values() if fact.central.low > area]
    sure = len(there) + sum(fact.central.high < area for fact in facts.values()) == len(facts)
    verdict = "confirmed" if 2 * len(there) > len(facts) else "refuted" if sure else "open"
    each = _listed((_title(fact), f"{fact.central.value:.0%}") for fact in facts.values())
    return Finding(
        claim, verdict, f"Of the {settings['top']} best pixels these are in the central quarter of the image: {each}."
    )


def about_noise(facts: Mapping[str, MapFacts], claim: str) -> Finding:
    """Confirmed if both methods are noisier and more often negative than SAGE and univariate predictors."""
    pairs = [(facts[noisy], facts[good]) for noisy in NOISY for good in PLAUSIBLE]
    is_so = all(a.negative.low > b.negative.high and a.smooth.value < b.smooth.value for a, b in pairs)
    is_not = any(a.negative.high < b.negative.low or a.smooth.low > b.smooth.high for a, b in pairs)
    chosen = [facts[name] for name in (*NOISY, *PLAUSIBLE)]
    each = _listed((_title(fact), f"{fact.negative.value:.0%} and {fact.smooth.value:.2f}") for fact in chosen)
    return Finding(
        claim,
        "confirmed" if is_so else "refuted" if is_not else "open",
        f"Share of negative pixels in the central quarter, and correlation of neighbours: {each}.",
    )


def about_ablation(facts: Mapping[str, MapFacts], claim: str, settings: Mapping[str, Any]) -> Finding:
    """Confirmed if the map is unlike SAGE's, and values of constant pixels, which no model can use, are as large."""
    fact, bound, size = facts["feature ablation"], settings["unlike"], settings["alike"]
    is_so = fact.like_sage.high < bound and fact.blank > size
    is_not = fact.like_sage.low > bound and fact.blank < size
    return Finding(
        claim,
        "confirmed" if is_so else "refuted" if is_not else "open",
        f"Its map correlates with SAGE's by {_shown(fact.like_sage)} (below {bound} is taken for unlike), and pixels "
        f"that never vary have values of {fact.blank:.0%} of the size of the centre's (above {size:.0%} is taken for "
        f"as large). Neighbours correlate by {_shown(fact.smooth)}.",
    )


def about_plausible(facts: Mapping[str, MapFacts], claim: str) -> Finding:
    """Confirmed if neighbouring pixels are more alike than in all other maps."""
    best = [facts[name] for name in PLAUSIBLE]
    others = [fact for fact in facts.values() if fact.method not in PLAUSIBLE]
    is_so = min(fact.smooth.low for fact in best) > max(fact.smooth.value for fact in others)
    is_not = any(fact.smooth.high < other.smooth.low for fact in best for other in others)
    each = _listed((_title(fact), f"{fact.smooth.value:.2f}") for fact in facts.values())
    verdict = "confirmed" if is_so else "refuted" if is_not else "open"
    return Finding(claim, verdict, f"Taken to mean that neighbouring pixels are most alike: {each}.")


def about_known(genes: Genes, claim: str) -> Finding:
    p, associated = genes.chance(), [name for name, so in zip(genes.names, genes.is_known, strict=True) if so]
    verdict = "confirmed" if p < 0.05 else "refuted" if p > 0.95 else "open"
    each = _listed((name, str(genes.ranks[genes.names.index(name)])) for name in associated)
    return Finding(
        claim,
        verdict,
        f"Taken to mean that they rank higher than others (Mann and Whitney, p = {p:.2g}). Ranks of "
        f"{len(genes.names)}: {each}. The others are not those of the paper.",
    )


def about_named(genes: Genes, claim: str, high: float) -> Finding:
    last_high = int(high * len(genes.names))
    ends = {name: genes.rank_interval(name) for name in ("BRCA1", "BRCA2")}
    is_so = all(last <= last_high for _, last in ends.values())
    is_not = any(first > last_high for first, _ in ends.values())
    each = _listed(
        (name, f"{genes.ranks[genes.names.index(name)]} ({first} to {last})") for name, (first, last) in ends.items()
    )
    verdict = "confirmed" if is_so else "refuted" if is_not else "open"
    return Finding(claim, verdict, f"Ranks with intervals: {each}; high means among the first {last_high}.")


def about_absent(gene: str, genes: Genes, claim: str, *, associated: bool) -> Finding:
    """Returns the finding on a gene that the table does not have."""
    best = genes.names[int(np.where(genes.is_known == associated, genes.values, -np.inf).argmax())]
    those = "those known to be associated" if associated else "the others"
    return Finding(claim, "open", f"{gene} is not in our table, where {best} is first among {those}.")


def _shown(measured: Measured) -> str:
    value, low, high = (
        round(number, 2) + 0.0 for number in (measured.value, measured.low, measured.high)
    )  # no minus before nought
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def _listed(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in pairs)
