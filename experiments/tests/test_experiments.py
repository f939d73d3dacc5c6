"""The paper's experiments: their shared parts, and Table 2 whole, on made-up tasks."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import clarysage as cs
from experiments import __main__ as command
from experiments import methods, tasks
from experiments.data import MissingDataError, PaperTable
from experiments.learners import STRENGTHS, SparseLogistic
from experiments.methods.refits import REFITS, refitted
from experiments.outcome import Finding, Number, Outcome
from experiments.page import as_page
from experiments.parts import Part, Parts, by_groups, by_rows
from experiments.result_cache import ResultCache
from experiments.results import write_results
from experiments.scale import HERE, SCALES, Scale
from experiments.table2.correlation import Correlations, correlation, within_sizes
from experiments.table2.run import Judged
from experiments.table2.splits import in_split
from experiments.table2.subsets import drawn, members, named
from experiments.table2.words import about_ablation, about_sage, difference
from experiments.tasks import TASKS, Task, task_of

SLOPES = np.array([3.0, 2.0, 1.0, 0.0])


@dataclass(frozen=True)
class LeastSquares:
    """A learner that needs no library beside scikit-learn."""

    def fit(self, parts: Parts) -> Any:
        return LinearRegression().fit(parts.train.X, parts.train.y)


def toy(seed: int = 0) -> Task:
    """Independent features of known slopes, the last of which tells nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(600, 4)), columns=list("abcd"))
    table = Part(X, X.to_numpy() @ SLOPES + rng.normal(size=600))
    parts = by_rows(table, share=0.25, random_state=0)
    return Task("toy", "Toy", parts, LeastSquares(), "squared error", parts.train.X[:64])  # type: ignore[arg-type]


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tasks of the paper in toy form."""
    for name in TASKS:
        monkeypatch.setitem(TASKS, name, lambda random_state=0: toy(random_state))
    task_of.cache_clear()
    yield
    task_of.cache_clear()


@pytest.mark.parametrize(
    ("rows", "share", "sizes"),
    [
        (45_211, 0.1, (36_169, 4_521, 4_521)),
        (10_886, 0.1, (8_710, 1_088, 1_088)),
        (1_000, 0.1, (800, 100, 100)),
        (556, 0.2, (334, 111, 111)),
    ],
)
def test_splits_have_the_sizes_that_the_paper_prints(rows: int, share: float, sizes: tuple[int, int, int]) -> None:
    table = Part(pd.DataFrame({"row": np.arange(rows)}), np.arange(rows))
    parts = by_rows(table, share=share, random_state=0)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == sizes
    held = np.concatenate([part.y for part in (parts.train, parts.validation, parts.test)])
    assert sorted(held) == list(range(rows))
    assert all((part.X["row"] == part.y).all() for part in (parts.train, parts.validation, parts.test))


def test_no_group_is_in_two_parts(seed: int) -> None:
    groups = np.random.default_rng(seed).integers(60, size=150)
    table = Part(pd.DataFrame({"row": np.arange(150)}), groups)
    parts = by_groups(table, groups, share=0.2, random_state=0)
    held = [set(part.y) for part in (parts.train, parts.validation, parts.test)]
    assert sum(map(len, held)) == len(set(groups)) == len(set.union(*held))
    assert len(held[0]) > len(held[1]) > 0
    assert len(held[2]) > 0


def test_sizes_of_subsets_are_uniform_and_members_too() -> None:
    subsets = drawn(9, 4000, seed=3)
    counts = np.bincount(subsets.sum(axis=1), minlength=10)
    assert np.abs(counts - 400).max() < 5 * np.sqrt(400 * 0.9)
    assert np.abs(subsets.mean(axis=0) - 0.5).max() < 5 * np.sqrt(0.25 / 4000)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_a_subset_is_found_again_by_its_name(chosen: list[bool]) -> None:
    subset = np.array(chosen)
    assert members(named(subset), len(subset)).tolist() == np.flatnonzero(subset).tolist()


def test_what_was_kept_is_not_made_again_even_after_a_run_that_failed(tmp_path: Path) -> None:
    made = []

    def make(name: str) -> int:
        if name == "c" and "c" not in made:
            made.append("c")
            raise RuntimeError("cut short")
        made.append(name)
        return len(name)

    with pytest.raises(RuntimeError, match="cut short"):
        ResultCache.open(tmp_path / "kept.json", seed=0).compute(["a", "bb", "c", "d"], make, title="")
    assert ResultCache.open(tmp_path / "kept.json", seed=0).compute(["a", "bb", "c", "d", "a"], make, title="") == [
        1,
        2,
        1,
        1,
        1,
    ]
    assert made.count("a") == made.count("bb") == 1
    with pytest.raises(ValueError, match="has results of"):
        ResultCache.open(tmp_path / "kept.json", seed=1)


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("method", REFITS)
def test_refits_one_by_one_are_those_of_the_library(method: str, tmp_path: Path) -> None:
    task = task_of("bike")
    importance = refitted(method, "bike", Scale("small", tmp_path))
    train, test = task.parts.train, task.test
    theirs = cs.importance(
        method, LinearRegression(), test.X, test.y, train=(train.X, train.y), loss="squared error", rng=0
    )
    np.testing.assert_allclose(importance.values, theirs.values, rtol=1e-6, atol=1e-6)
    assert importance.std_errors is not None
    assert importance.std_errors[0] > 0


@pytest.mark.usefixtures("toys")
def test_all_methods_rank_features_by_their_slopes_and_are_found_again(tmp_path: Path) -> None:
    scale = Scale("small", tmp_path)
    first = methods.importances("bike", scale)
    assert list(first) == list(methods.METHODS)
    for method, importance in first.items():
        assert np.argsort(-importance.scores)[:3].tolist() == [0, 1, 2], method
        low, high = importance.interval() or (None, None)
        assert low[3] < 0.3, method
        assert (high[:2] > low[:2]).all(), method
    again = methods.importances("bike", scale)
    assert {name: entry.values for name, entry in again.items()} == {
        name: entry.values for name, entry in first.items()
    }


def test_strength_of_the_penalty_is_the_one_with_the_least_validation_loss() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 5)))
    y = np.array(["no", "yes"])[(X[0] + rng.normal(size=300) > 0).to_numpy(int)]
    parts = by_rows(Part(X, y), share=0.3, random_state=0)
    task = Task("t", "T", parts, SparseLogistic(), "cross entropy", parts.train.X)
    only_train = replace(parts, validation=parts.train.rows(slice(0, 0)))
    losses = [task.mean_loss(SparseLogistic(C).fit(only_train), parts.validation) for C in STRENGTHS]
    assert SparseLogistic().strength(parts) == STRENGTHS[int(np.argmin(losses))]


def test_losses_of_a_task_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import log_loss, mean_squared_error

    task = toy()
    assert task.mean_loss(task.model, task.test) == pytest.approx(
        mean_squared_error(task.test.y, task.model.predict(task.test.X))
    )
    rng = np.random.default_rng(1)
    X, y = pd.DataFrame(rng.normal(size=(200, 2))), rng.choice(["a", "b", "c"], size=200)
    parts = by_rows(Part(X, y), share=0.3, random_state=0)
    classes = Task("t", "T", parts, SparseLogistic(0.5), "cross entropy", parts.train.X)
    probabilities = classes.model.predict_proba(parts.test.X)
    assert classes.mean_loss(classes.model, parts.test) == pytest.approx(log_loss(parts.test.y, probabilities))
    shares = [np.mean(parts.train.y == label) for label in ("a", "b", "c")]
    assert classes.retrained([]) == pytest.approx(log_loss(parts.test.y, np.tile(shares, (len(parts.test), 1))))


def test_correlation_is_pearsons_and_its_error_that_of_the_normal_law() -> None:
    rng = np.random.default_rng(0)
    subsets = rng.random((2000, 6)) < 0.5
    phi = rng.normal(size=6)
    losses = -(subsets @ phi) + rng.normal(size=2000)
    correlations = Correlations.of({"sage": phi, "none": np.zeros(6)}, subsets, losses, resamples=400)
    r = np.corrcoef(subsets @ phi, -losses)[0, 1]
    assert correlations.values["sage"] == pytest.approx(r)
    assert correlations.values["none"] == 0.0
    assert correlations.std_error("sage") == pytest.approx((1 - r**2) / np.sqrt(2000), rel=0.2)
    low, high = correlations.interval("sage")
    assert low < r < high
    assert correlation(np.arange(5.0), -np.arange(5.0)) == pytest.approx(-1)


def test_a_sum_that_only_counts_features_tells_nothing_among_subsets_of_one_size() -> None:
    subsets = drawn(8, 3000, seed=1)
    sizes = subsets.sum(axis=1)
    phi = np.arange(8.0)
    assert within_sizes(sizes, subsets @ phi, sizes) == 0.0
    assert within_sizes(subsets @ phi + 100 * sizes, subsets @ phi - 7 * sizes, sizes) == pytest.approx(1)


@pytest.mark.usefixtures("toys")
def test_other_splits_have_values_of_their_own_and_stay_near_the_first() -> None:
    first, second = (in_split("credit", 60, 0.05, state) for state in ("1", "2"))
    assert first != second
    for by_method in (first, second):  # features are independent and their model additive: sums tell all but noise
        assert by_method["sage"] > 0.95
        assert by_method["feature ablation"] > 0.95


def judged(values: dict[str, float], *, spread: float = 0.001, name: str = "bike", splits: Any = None) -> Judged:
    """A dataset's part of the table with made-up correlations."""
    rng = np.random.default_rng(0)
    resampled = {method: value + spread * rng.normal(size=500) for method, value in values.items()}
    correlations = Correlations(values, resampled, values)
    blank = np.zeros(5000)
    return Judged(name, name, correlations, np.zeros((5000, 2), dtype=bool), blank, blank, splits or {})


def test_a_small_difference_agrees_and_a_large_one_is_compared_with_other_splits() -> None:
    dataset = judged({"sage": 0.98}, splits={"sage": [0.970, 0.990]})
    assert difference(dataset, "sage", 0.981, 5000).startswith("Agrees")
    remark = difference(dataset, "sage", 0.975, 5000)
    assert remark.startswith("Above by 0.0050")
    assert "0.9700 to 0.9900" in remark
    assert "holds the paper's" in remark
    assert "does not hold" in difference(dataset, "sage", 0.9, 5000)
    assert difference(dataset, "conditional sage", None, 5000) == ""
    control = difference(judged({"sage": 0.98, "number of features": 0.58}), "number of features", None, 5000)
    assert control.startswith("A control. SAGE is +0.4000 from it (+0.39")


@pytest.mark.parametrize(
    ("sage", "best", "verdict"),
    [(0.99, 0.95, "confirmed"), (0.95, 0.955, "confirmed"), (0.90, 0.99, "refuted"), (0.95, 0.9607, "open")],
)
def test_being_nearly_best_is_judged_by_the_papers_own_margin(sage: float, best: float, verdict: str) -> None:
    dataset = judged({"sage": sage, "permutation test": best, "mean importance": 1.0, "univariate predictors": 0.5})
    printed = {
        "permutation test": {"bike": 1},
        "mean importance": {},
        "feature ablation": {},
        "univariate predictors": {},
    }
    assert about_sage(dataset, printed).verdict == verdict  # what the paper leaves out does not count


@pytest.mark.parametrize(("ablation", "verdict"), [(-0.3, "confirmed"), (0.8, "refuted"), (0.45, "open")])
def test_ablation_fails_where_it_has_less_than_half_of_sages_correlation(ablation: float, verdict: str) -> None:
    dataset = judged({"sage": 0.9, "feature ablation": ablation, "number of features": 0.4})
    assert about_ablation(dataset).verdict == verdict


def test_where_splits_disagree_on_ablation_the_question_is_open() -> None:
    values = {"sage": 0.9, "feature ablation": 0.8, "number of features": 0.4}
    for other, verdict, times in ((0.7, "refuted", 0), (0.1, "open", 1)):
        dataset = judged(values, splits={"sage": [0.9, 0.8], "feature ablation": [0.9, other]})
        finding = about_ablation(dataset)
        assert finding.verdict == verdict
        assert f"In 2 other splits it fails {times} times." in finding.said


def test_an_outcome_is_read_as_it_was_written_and_its_page_has_every_number(tmp_path: Path) -> None:
    numbers = [
        Number("this", 0.5, 0.25, 0.2, 0.3, "Halved."),
        Number("that", None, 12345.6),
        Number("word", "yes", None),
    ]
    outcome = Outcome("table2", "Table 2", "small", {"a": 1}, numbers, [Finding("It works.", "open", "Or not.")])
    outcome.write(tmp_path)
    again = Outcome.read(tmp_path)
    assert (again.numbers, again.findings, again.settings) == (numbers, list(outcome.findings), {"a": 1})
    page = as_page(outcome)
    for piece in ("0.5000 | 0.2500 | 0.2000 to 0.3000 | Halved.", "12,346", "| yes |", "**Open**: It works. Or not."):
        assert piece in page


def test_every_item_has_a_configuration_at_every_scale_and_the_papers_numbers() -> None:
    from experiments.items import ITEMS

    for item in ITEMS:
        assert (HERE / item / "paper.toml").exists(), item
        for name in SCALES:
            assert Scale(name, Path()).settings(item), (item, name)


def test_where_nothing_could_be_run_the_page_says_so(tmp_path: Path) -> None:
    page = write_results(Scale("small", tmp_path / "new"))
    assert page.read_text().count("Not run at this scale yet.") == 6


@pytest.mark.usefixtures("toys")
def test_table_2_runs_whole_from_the_command_and_again_from_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["experiments", "table2", "--out", str(tmp_path), "--jobs", "1"])
    command.main()
    written = Path(capsys.readouterr().out.strip())
    first = json.loads((tmp_path / "small" / "table2" / "results.json").read_text())
    assert len(first["numbers"]) == 5 * 7
    assert (tmp_path / "small" / "table2" / "table2.png").stat().st_size > 10_000
    by_name = {number["what"]: number["ours"] for number in first["numbers"]}
    assert by_name["Toy, SAGE"] > by_name["Toy, number of features"] > 0.3  # totals of an additive model
    assert "Toy, SAGE" in written.read_text()

    def refuse(*_: Any) -> None:
        raise AssertionError("fitted again")

    monkeypatch.setattr(tasks.Task, "retrained", refuse)
    command.main()
    again = json.loads((tmp_path / "small" / "table2" / "results.json").read_text())
    assert again["numbers"] == first["numbers"]
    assert again["findings"] == first["findings"]


def test_an_unknown_item_is_refused_with_the_names_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["experiments", "figure9"])
    with pytest.raises(SystemExit):
        command.main()
    assert "unknown item 'figure9': wanted one of figure1, table2" in capsys.readouterr().err


def test_an_item_that_fails_says_why_and_leaves_the_others_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(item: str, scale: Scale) -> Outcome:
        if item == "table2":
            raise MissingDataError("bank is neither here nor there")
        return Outcome(item, item, scale.name, {})

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(sys, "argv", ["experiments", "table2", "figure3", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="Failed: table2"):
        command.main()
    output = capsys.readouterr()
    assert "MissingDataError: bank is neither here nor there" in output.err
    assert "figure3/README.md" in output.err
    assert Path(output.out.strip()).exists()


def test_brca_is_the_published_table_where_the_nearer_copy_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["A", "B", "C"])
    y = pd.Series(np.where(X["A"] > 0, "LumA", "Basal"), name="subtype")
    tables = {"brca": PaperTable(X, y, pd.DataFrame({"patient": np.arange(120)}))}

    def load(name: str) -> PaperTable:
        if name not in tables:
            raise MissingDataError("not published")
        return tables[name]

    monkeypatch.setattr(tasks, "load", load)
    task = TASKS["brca"]()
    assert task.caveat == tasks.OTHER_GENES
    assert task.features == ["A", "B", "C"]
    tables["brca50"] = tables["brca"]
    assert TASKS["brca"]().caveat == tasks.NOT_THE_PAPERS
