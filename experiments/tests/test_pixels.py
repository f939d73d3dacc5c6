"""Figures 1 and 2 whole, on made-up images in which twenty pixels of the centre tell the class."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.figure1.maps import is_central
from experiments.items import run
from experiments.learners import Network
from experiments.methods.importance import Importance
from experiments.parts import Part, Parts
from experiments.scale import Scale
from experiments.tasks import Task

pytestmark = pytest.mark.needs("torch")

TELLING = np.flatnonzero(is_central(14))[::9][:20]
METHODS = {
    "feature ablation": "noise",
    "permutation test": "rough",
    "mean importance": "rough",
    "sage": "telling",
    "univariate predictors": "telling",
    "conditional sage": "telling",
}
GENES = ["BRCA1", "BRCA2", "LFNG", *(f"G{number}" for number in range(20))]


def _task() -> Task:
    rng = np.random.default_rng(0)

    def part(rows: int) -> Part:
        y = np.arange(rows) % 4
        X = np.zeros((rows, 784), dtype=np.float32)
        X[:, TELLING] = (y[:, None] == np.arange(20) % 4) + rng.normal(0, 0.3, size=(rows, 20))
        return Part(pd.DataFrame(X, columns=[f"p{pixel}" for pixel in range(784)]), y)

    parts = Parts(part(400), part(100), part(400))
    return Task("mnist", "MNIST", parts, Network(width=32, epochs=40), "cross entropy", parts.train.X[:8])


def _values(kind: str, rng: np.random.Generator) -> np.ndarray:
    noise, telling = rng.normal(size=784), np.zeros(784)
    telling[TELLING] = 1 + rng.random(20)
    if kind == "noise":
        return noise
    spread = sum(np.roll(telling, by) for by in (-29, -28, -27, -1, 0, 1, 27, 28, 29)) / 9
    return spread + telling if kind == "telling" else spread + noise * is_central(14)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importances as if methods had run, a task of few rows, and few sizes."""
    from experiments.figure1 import run as figure1
    from experiments.figure2 import retrained
    from experiments.figure2 import run as figure2

    rng, task = np.random.default_rng(0), _task()
    by_method = {
        method: Importance(method, list(_values(kind, rng)), [0.01] * 784, "rows", 1.0, 1.0)
        for method, kind in METHODS.items()
    }
    genes = Importance("sage", list(np.linspace(1, 0, len(GENES))), [0.001] * len(GENES), "rows", 1.0, 1.0)
    brca = SimpleNamespace(features=GENES, caveat="A near copy.", test=range(9))

    def importances(name: str, scale: Scale, methods: Any) -> dict[str, Importance]:
        return {"sage": genes} if name == "brca" else {method: by_method[method] for method in methods}

    def task_of(name: str) -> Any:
        return task if name == "mnist" else brca

    settings = Scale.settings

    def smaller(scale: Scale, item: str) -> dict[str, Any]:
        return {**settings(scale, item), **({"sizes": [5, 20], "seeds": 2, "rows": 400} if item == "figure2" else {})}

    for module in (figure1, figure2):
        monkeypatch.setattr(module, "importances", importances)
    for module in (figure1, figure2, retrained):
        monkeypatch.setattr(module, "task_of", task_of)
    monkeypatch.setattr(Scale, "settings", smaller)


@pytest.mark.usefixtures("made_up")
def test_figure_1_finds_what_was_put_into_the_maps_and_genes(tmp_path: Path) -> None:
    run("figure1", Scale("small", tmp_path))
    folder = tmp_path / "small" / "figure1"
    results = json.loads((folder / "results.json").read_text())
    assert (folder / "figure1.png").stat().st_size > 20_000
    verdicts = [entry["verdict"] for entry in results["findings"]]
    assert verdicts == ["confirmed"] * 6 + ["open"] * 2
    ours = {entry["what"]: entry["ours"] for entry in results["numbers"]}
    assert ours["SAGE: share of negative pixels in the centre"] == 0
    assert 0.2 < ours["Permutation Test: share of negative pixels in the centre"] < 0.8
    assert abs(ours["Feature Ablation: correlation with the SAGE map"]) < 0.2
    assert [ours[f"BRCA: rank of {gene}"] for gene in GENES[:3]] == [1, 2, 3]


@pytest.mark.usefixtures("made_up")
def test_figure_2_judges_by_accuracies_and_finds_its_networks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("figure2", Scale("small", tmp_path))
    folder = tmp_path / "small" / "figure2"
    assert (folder / "figure2.png").stat().st_size > 20_000
    assert np.mean(first.data["sage, best"]) > 0.9
    assert np.mean(first.data["sage, worst"]) < 0.3
    assert np.mean(first.data["feature ablation, best"]) < 0.6
    ours = {number.what: number.ours for number in first.numbers}
    assert ours["SAGE: area under the accuracy of the best pixels"] == pytest.approx(
        np.mean(first.data["sage, best"]), abs=1e-4
    )
    monkeypatch.setattr("experiments.figure2.retrained.accuracy", lambda *_: pytest.fail("fitted again"))
    again = run("figure2", Scale("small", tmp_path))
    assert again.numbers == first.numbers
    assert again.findings == first.findings
