"""Measures, libraries of models and datasets that are registered at run time are found wherever they should be."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from clarysage._measures.table import ALL_OR_ALL_BUT_ONE, MEASURES, THE_REST, Measure
from clarysage.cli.checks import measure_names
from clarysage.cli.commands import doctor
from clarysage.cli.model_files import Trust, endings, load_model
from clarysage.datasets import DATASETS, Dataset, DatasetRow
from clarysage.errors import InputError
from clarysage.models import LIBRARIES, ModelFile, ModelLibrary, Predictor
from clarysage.models.learners import learner_for_refits, takes_pandas_alone
from clarysage.protocols import Objective
from clarysage.structure.intrinsic_numbers import Gains
from clarysage.testing import check_measure
from tests.cli_harness import printed_json, run

X = pd.DataFrame(np.random.default_rng(3).normal(size=(80, 3)), columns=["a", "b", "c"])


def linear(X: Any) -> np.ndarray:
    return np.asarray(X)[:, 0] * 3 + np.asarray(X)[:, 1]


# ------------------------------------------------------------------------------------------------------------ a measure


def dummy_measure(
    model: Any, X: Any, y: Any = None, *, background: Any = None, loss: Any = "auto", feature_names: Any = None
) -> Any:
    """Mean importance by another name."""
    result = cs.mean_importance(model, X, y, background=background, loss=loss, feature_names=feature_names)
    renamed = [
        replace(explanation, measure="dummy measure", headline="Dummy measure: what a feature is worth")
        for explanation in (result if isinstance(result, list) else [result])
    ]
    return renamed if isinstance(result, list) else renamed[0]


@pytest.fixture
def measure() -> Iterator[Measure]:
    """A measure that is in the table for a test."""
    row = Measure(
        "dummy measure",
        "Dummy measure: what a feature is worth",
        "++--+",
        "v_f",
        ALL_OR_ALL_BUT_ONE,
        THE_REST,
        call=dummy_measure,
        aliases=("stand-in",),
    )
    yield MEASURES.register(row)
    MEASURES.unregister(row.name)


def test_a_registered_measure_is_asked_for_by_its_names(measure: Measure) -> None:
    expected = cs.mean_importance(linear, X, linear(X))
    for name in ("dummy measure", "Dummy_Measure", "stand-in", measure):
        explanation = cs.importance(name, linear, X, linear(X))
        np.testing.assert_array_equal(explanation.values, expected.values)
        assert explanation.measure == "dummy measure"


def test_a_registered_measure_is_in_the_table_and_beside_the_others(measure: Measure) -> None:
    assert cs.measures().loc["dummy measure", ["approximates", "heuristic"]].tolist() == ["v_f", "no"]
    assert "dummy measure" in cs.importances(linear, X, linear(X), rng=0)
    named = cs.importances(linear, X, linear(X), measures=["dummy measure", "mean importance"], rng=0)
    np.testing.assert_array_equal(named["dummy measure"].values, named["mean importance"].values)


def test_a_registered_measure_is_in_hints_and_on_the_command_line(measure: Measure) -> None:
    with pytest.raises(InputError, match=r"'dummy measure'.*Try 'dummy measure'"):
        cs.importance("dumy measure", linear, X, linear(X))
    assert measure_names("sage,dummy-measure") == ["sage", "dummy measure"]
    assert "dummy measure" in run("measures", "--list").stdout
    words = "clarysage measures m.json t.csv --only dum"
    offered = run(
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
        _TYPER_COMPLETE_ARGS=words,
        _CLARYSAGE_COMPLETE="complete_bash",
    )
    assert offered.output.split() == ["dummy-measure"]


def test_a_registered_measure_is_checked_by_its_name(measure: Measure) -> None:
    check_measure("dummy measure", tasks=["regression"], tables=["array"], losses=["squared error"])


def test_a_measure_that_says_other_than_its_row_what_its_values_are_is_found_out(measure: Measure) -> None:
    def heuristic(model: Any, X: Any, y: Any = None) -> cs.Explanation:
        return replace(dummy_measure(model, X, y), values_are="heuristic")

    with pytest.raises(AssertionError, match="has values_are='heuristic'; the table has 'gain'"):
        check_measure(replace(measure, call=heuristic), tasks=["regression"], tables=["array"])


# -------------------------------------------------------------------------------------------------- a library of models


class Stump:
    """A model of a library that nobody knows: one split on one column."""

    def __init__(self, column: int = 1, width: int = 3, categories: Any = None) -> None:
        self.column, self.width, self.categories = column, width, categories
        self.seen: Any = None

    def ask(self, rows: Any) -> np.ndarray:
        return np.asarray(np.asarray(rows)[:, self.column] > 0, dtype=np.float64)

    def fit(self, X: Any, y: Any) -> Stump:
        self.seen = self.categories or ["c"]
        return self

    def predict(self, rows: Any) -> np.ndarray:
        return self.ask(rows)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"column": self.column, "width": self.width, "categories": self.categories}

    def set_params(self, **options: Any) -> Stump:
        self.__dict__ |= options
        return self


Stump.__module__ = "dummylib.trees"


@dataclass(frozen=True)
class StumpAdapter:
    """All that the library of stumps is known for."""

    model: Stump

    def predictor(self, output: str | None) -> Predictor:
        return Predictor(self.model.ask, f"a stump ({output})", task="regression", origin=self.model)

    def gains(self) -> Gains:
        return Gains(2.0 * self.split_counts(), "Of dummylib it is made up.")

    def split_counts(self) -> np.ndarray:
        return np.eye(self.model.width)[self.model.column]

    def coefficients(self) -> np.ndarray:
        return -self.split_counts()[:, None]

    def category_columns(self, frame: Any) -> list[int]:
        return [2]

    def fit_options(self) -> dict[str, Any]:
        return {"categories": self.model.seen}

    def objective(self) -> Objective:
        return Objective("stumps of medians", "absolute error", "which clips errors")


def load_stump(path: Path) -> Stump:
    return Stump(**json.loads(path.read_text()))


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelLibrary]:
    """A library of models that is in the table for a test, and can be imported."""
    (tmp_path / "dummylib.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    row = ModelLibrary(
        "dummylib",
        "stumps of dummylib",
        {"Stump": StumpAdapter},
        file=ModelFile("a dummylib model", (".stump",), load_stump),
        takes_pandas_alone=True,
    )
    yield LIBRARIES.register(row)
    LIBRARIES.unregister(row.name)
    sys.modules.pop("dummylib", None)


@pytest.mark.usefixtures("library")
def test_models_of_a_registered_library_become_predictors() -> None:
    class Grown(Stump):
        pass

    for model in (Stump(), Grown()):
        f = cs.as_predictor(model, output="loud")
        assert (f.name, f.task) == ("a stump (loud)", "regression")
        np.testing.assert_array_equal(f(X)[:, 0], X["b"] > 0)
    explanation = cs.sage(Stump(), X, linear(X), rng=0)
    assert (explanation.top(1), explanation.loss) == (["b"], "absolute error")
    assert "as the nearest to its objective stumps of medians, which clips errors." in " ".join(
        map(str, explanation.notes)
    )


@pytest.mark.usefixtures("library")
def test_what_is_read_off_a_model_of_a_registered_library_is_what_its_adapter_says() -> None:
    assert cs.number_of_splits(Stump(), X).values.tolist() == [0, 1, 0]
    gini = cs.gini_importance(Stump(), X)
    assert (gini.values.tolist(), str(gini.notes[-1])) == ([0, 1, 0], "Of dummylib it is made up.")
    assert cs.coefficient_size(Stump(0), X).values.tolist() == [1, 0, 0]
    with pytest.raises(InputError, match="which has no network weights"):
        cs.network_weights(Stump(), X)


@pytest.mark.usefixtures("library")
def test_errors_name_a_registered_library_whose_models_have_what_is_wanted() -> None:
    for measure in (cs.gini_importance, cs.number_of_splits):
        with pytest.raises(InputError, match="boosted trees of XGBoost, LightGBM, CatBoost, scikit-learn or dummylib"):
            measure(linear, X)


@pytest.mark.usefixtures("library")
def test_learners_of_a_registered_library_are_copied_as_they_were_fitted() -> None:
    assert takes_pandas_alone(Stump())
    assert learner_for_refits(Stump().fit(X, linear(X))).categories == ["c"]


def test_models_of_an_unknown_library_are_read_by_their_methods_alone() -> None:
    assert cs.as_predictor(Stump()).name == "Stump"
    assert not takes_pandas_alone(Stump())
    with pytest.raises(InputError, match="which has no number of splits"):
        cs.number_of_splits(Stump(), X)


@pytest.mark.usefixtures("library")
def test_files_of_a_registered_library_are_read_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.stump").write_text('{"column": 2}')
    X.assign(y=linear(X)).to_csv("test.csv", index=False)
    assert load_model("model.stump", Trust()).column == 2
    assert "dummylib .stump" in endings()
    with pytest.raises(InputError, match=r"wanted a file that ends in .*\.stump"):
        load_model("model.xyz", Trust())
    data = printed_json("measures", "model.stump", "test.csv", "--target", "y", "--only", "number-of-splits")
    assert data["explanations"]["number of splits"]["values"] == [0, 0, 1]


@pytest.mark.usefixtures("library")
def test_the_doctor_tells_of_a_registered_library() -> None:
    (part,) = (part for part in doctor.optional_libraries() if part.module == "dummylib")
    assert (part.purpose, part.install) == ("stumps of dummylib", "pip install dummylib")
    (told,) = (one for one in printed_json("doctor")["optional"] if one["name"] == "dummylib")
    assert (told["is_installed"], told["version"]) == (True, None)
    assert re.search(r"dummylib +installed, version not known, for stumps of dummylib", run("doctor").stdout)


def test_the_doctor_finds_the_version_of_a_library_whose_distribution_has_another_name(
    library: ModelLibrary, tmp_path: Path
) -> None:
    folder = tmp_path / "dummy_stumps-1.2.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: dummy-stumps\nVersion: 1.2\n")
    LIBRARIES.unregister(library.name)
    LIBRARIES.register(replace(library, distribution="dummy-stumps"))
    (part,) = (part for part in doctor.optional_libraries() if part.module == "dummylib")
    assert (part.library.version, part.install) == ("1.2", "pip install dummy-stumps")


@pytest.mark.parametrize("kind", ["a forest of barkwood", "stumps"])
def test_files_of_a_library_are_named_by_the_library_whatever_is_in_them(kind: str, library: ModelLibrary) -> None:
    file = ModelFile(kind, (".bark", ".wood"), load_stump)
    LIBRARIES.unregister(library.name)
    LIBRARIES.register(replace(library, file=file, label="Barkwood"))
    assert "Barkwood .bark or .wood" in endings()


@pytest.mark.parametrize(
    ("module", "is_there"), [("dummylib", True), ("dummylib.parts", False), ("no_lib.parts", False)]
)
@pytest.mark.usefixtures("library")
def test_the_doctor_looks_for_modules_in_packages_without_importing_these(module: str, is_there: bool) -> None:
    assert doctor.OptionalLibrary(module, module, "nothing").library.is_installed == is_there
    assert "dummylib" not in sys.modules


# ------------------------------------------------------------------------------------------------------------ a dataset


@pytest.fixture
def dataset() -> Iterator[DatasetRow]:
    """A dataset that is in the table for a test."""
    row = DatasetRow(
        name="dummy_rows",
        about="rows that are made up: how large is their sum?",
        task="regression",
        loader=lambda: Dataset("dummy_rows", X, X.sum(axis=1), source="nowhere", licence="none", citation="nobody"),
    )
    yield DATASETS.register(row)
    DATASETS.unregister(row.name)


def test_a_registered_dataset_is_loaded_listed_and_hinted_at(dataset: DatasetRow) -> None:
    table, y = cs.datasets.load("Dummy rows")
    np.testing.assert_array_equal(y, table.sum(axis=1))
    assert cs.datasets.listed().loc["dummy_rows", "about"] == dataset.about
    with pytest.raises(InputError, match=r"'dummy_rows'.*Try 'dummy_rows'"):
        cs.datasets.load("dumy_rows")


def test_every_dataset_is_in_the_docs() -> None:
    page = (Path(__file__).parents[1] / "docs" / "datasets.md").read_text()
    assert all(f"`{name}()`" in page for name in DATASETS)
