"""The page of importances: one model by several measures, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.names import shortened, visible
from clarysage.render.facts import shared_facts
from clarysage.render.frame import Page
from clarysage.render.grid import Grid, grid
from clarysage.render.importances_findings import importances_findings
from clarysage.render.listing import Listing, list_data, listing, numbers
from clarysage.render.remarks import Remark, remarks_of_runs, warnings_first
from clarysage.results import Importances
from clarysage.results.importances_text import (
    headline,
    measure_title,
    property_words,
    standing_heads,
    standings,
)
from clarysage.results.text import number_format

ABOVE_COLUMNS, HEADING_COLUMNS = 28, 18  # letters of the name of a measure above the grid, and above its column
LONGEST_REASON = 400


def importances_page(importances: Importances, *, level: float, about: str | None) -> Page:
    """The page of several measures; values alone, whose intervals are on the page of each measure."""
    if about is not None:
        raise InputError("about", got=f"{about!r}", wanted="None for Importances", hint='importances["sage"].report()')
    features = by_share(importances)
    shared, differing = shared_facts(importances.values())
    names = [shortened(measure_title(importances, name), ABOVE_COLUMNS) for name in importances]
    contents = {
        "names": names,
        "headings": [shortened(name, HEADING_COLUMNS) for name in names],
        "headline": headline(importances),
        "findings": importances_findings(importances, features),
        "features": features,
        "cells": _cells(importances),
        "grid": share_grid(importances, features, names),
        "standing_heads": standing_heads(importances),
        "standings": [[visible(cell) for cell in row] for row in standings(importances)],
        "property_words": property_words(importances),
        "remarks": warnings_first([*remarks_of_runs(list(importances.values()), names), *_left_out(importances)]),
        "shared": shared,
        "differing": differing,
    }
    return Page("importances.html", _title(importances), contents, lists={"features": _data(importances, features)})


def by_share(importances: Importances) -> Listing:
    """Features, the most important first, of which those with the largest mean shares are shown."""
    place = {name: i for i, name in enumerate(importances.feature_names)}
    shares = importances.shares().abs().mean(axis=1).to_numpy()
    return listing(importances.feature_names, [place[name] for name in importances.order], shares)


def share_grid(importances: Importances, features: Listing, names: list[str]) -> Grid:
    """Shares of the features that are shown at first, one column a measure."""
    shown = features.shown
    shares, ranks = (frame.to_numpy()[shown] for frame in (importances.shares(), importances.ranks()))
    texts = [[f"{share:.0%}".replace("-0%", "0%") for share in row] for row in shares]
    said = [
        [f"{features.labels[i]}, {name}: {texts[r][c]}, rank {ranks[r, c]}" for c, name in enumerate(names)]
        for r, i in enumerate(shown)
    ]
    return grid(
        shares, texts, said, [features.labels[i] for i in shown], names, title="Shares of features by measures",
        words="Features by measures: each value as a share of the sum of sizes of its measure. The table has every "
        "number.",
    )  # fmt: skip


def _cells(importances: Importances) -> list[list[str]]:
    """Value and rank of each feature, in the order in which they came, by each measure."""
    values, ranks = importances.to_frame().to_numpy(), importances.ranks().to_numpy()
    shows = [number_format(one) for one in importances.values()]
    return [
        [f"{show(value)} ({rank})" for show, value, rank in zip(shows, *row, strict=True)]
        for row in zip(values, ranks, strict=True)
    ]


def _data(importances: Importances, features: Listing) -> dict[str, Any]:
    """What the page sorts and searches by, in the order of its rows."""
    values = importances.to_frame().to_numpy()[np.array(features.order)]
    columns = {f"measure {k}": numbers(column) for k, column in enumerate(values.T)}
    return list_data(importances.feature_names, features, columns=columns)


def _left_out(importances: Importances) -> list[Remark]:
    reasons: dict[str, list[str]] = {}
    for name, why in importances.left_out.items():
        reasons.setdefault(why, []).append(name)
    return [Remark(shortened(f"Left out: {', '.join(names)}. {why}", LONGEST_REASON)) for why, names in reasons.items()]


def _title(importances: Importances) -> str:
    model = next((str(one.provenance["model"]) for one in importances.values() if one.provenance.get("model")), None)
    measures = f"{len(importances)} measure{'' if len(importances) == 1 else 's'} of importance"
    return measures if model is None else f"{measures} of {shortened(model, ABOVE_COLUMNS)}"
