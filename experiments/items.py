"""The items of the paper, its tables and figures, each with the folder that reproduces it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from experiments.outcome import Outcome, save_figures, versions
from experiments.scale import Scale

ITEMS = {
    "figure1": "Figure 1: explanations of MNIST and BRCA",
    "table2": "Table 2: correlation between total importance and the loss of retrained models",
    "figure2": "Figure 2: feature selection with MNIST",
    "figure3": "Figure 3: identifying corrupted features",
    "figures4to6": "Figures 4 to 6: explanations of bank, bike and credit by all methods",
    "figure7": "Figure 7: convergence of SAGE and of averaged SHAP values",
}


BY_METHODS = ("figure1", "table2", "figure2", "figures4to6")  # items that depend on the settings of methods


def run(item: str, scale: Scale) -> Outcome:
    """Runs an item, with cached results where possible, and writes its results, figures and page.

    The folder of an item has a module ``run``, whose function ``outcome(scale)`` returns the outcome and its figures.
    """
    begun = time.monotonic()
    outcome: Callable = import_module(f"experiments.{item}.run").outcome
    result, figures = outcome(scale)
    folder = scale.folder(item)
    result = replace(
        result,
        item=item,
        title=ITEMS[item],
        scale=scale.name,
        settings=_settings(item, scale),
        figures=save_figures(figures, folder),
        seconds=round(time.monotonic() - begun, 1),
        versions=versions(),
    )
    result.write(folder)
    return result


def _settings(item: str, scale: Scale) -> dict[str, Any]:
    return {**scale.settings(item), **({"methods": scale.settings("methods")} if item in BY_METHODS else {})}
