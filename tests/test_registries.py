"""Registries: what is added by one row is found everywhere by its name, in any spelling, and works."""

from __future__ import annotations

import importlib.metadata
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import clarysage as cs
from clarysage import catalogue
from clarysage._measures.table import MEASURES, Measure
from clarysage.catalogue import (
    ABOUT,
    ADJUSTMENTS,
    BACKENDS,
    LOSSES,
    METHODS,
    REMOVALS,
    AboutRow,
    AdjustmentRow,
    BackendRow,
    LossRow,
    MethodRow,
    RemovalRow,
)
from clarysage.cli.completion import REGISTRIES, completion_of, registry
from clarysage.errors import InputError
from clarysage.execution.n_jobs import workers_of
from clarysage.inference.intervals import adjusted
from clarysage.losses import as_loss
from clarysage.losses.debiasing import Debiasing, PlugIn
from clarysage.losses.regression import SquaredError
from clarysage.protocols import LossTask
from clarysage.registry import Registry, Special, Word, normalised
from clarysage.removal import Surrogate, default_rows, name_of, singly
from tests.cli_harness import run
from tests.registered import with_rows
from tests.tables_of_docs import MEASURES_PAGE, TABLES, with_tables

X = np.random.default_rng(0).normal(size=(60, 3))


def linear(X: np.ndarray) -> np.ndarray:
    return np.asarray(2 * X[:, 0] + X[:, 1])


# dummies: one file each, if they came with the package


@dataclass(frozen=True)
class PinballLoss:
    """Errors above count a tenth of those below."""

    name: str = "pinball dummy"
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "regression"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = PlugIn(is_adjusted=True)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return SquaredError().encode(y, classes, outputs)

    def check(self, outputs: np.ndarray) -> None:
        """Any finite number is a valid prediction."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        off = target - prediction
        return np.asarray(np.maximum(0.9 * off, -0.1 * off).sum(axis=-1))

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        return np.quantile(target, 0.9, axis=0)


@dataclass(frozen=True)
class FarRows:
    """The marginal removal of the rows farthest from the mean."""

    background: Any
    weights: Any = None
    rng: Any = 0
    name: str = "far rows"

    def restrict(self, predictor: Any, X: Any) -> Any:
        rows = np.asarray(self.background)
        far = np.argsort(-np.abs(rows - rows.mean(axis=0)).sum(axis=1), kind="stable")[:10]
        return cs.Marginal(rows[far]).restrict(predictor, X)


class ManyOrders(cs.Permutation):
    """Permutations by another name."""


PINBALL = LossRow("pinball dummy", "errors above count less", PinballLoss, aliases=("tilted",), label="pinball loss")
FAR_ROWS = RemovalRow("far rows", "the rows farthest from the mean", FarRows, aliases=("remote",), default_rows=17)
MANY_ORDERS = MethodRow("many orders", "permutations by another name", ManyOrders, aliases=("orders",))
DUMMIES: dict[str, tuple[Registry[Any], Any]] = {
    "loss": (LOSSES, PINBALL),
    "removal": (REMOVALS, FAR_ROWS),
    "method": (METHODS, MANY_ORDERS),
}
each_dummy = pytest.mark.parametrize("argument", DUMMIES)


@pytest.fixture
def dummies(monkeypatch: pytest.MonkeyPatch) -> None:
    for table, row in DUMMIES.values():
        with_rows(monkeypatch, table, row)


def spellings(row: Any) -> list[str]:
    return [row.name.upper(), row.name.replace(" ", "_"), row.name.replace(" ", "-"), *row.aliases]


@pytest.mark.usefixtures("dummies")
@each_dummy
def test_a_dummy_is_found_by_its_name_in_any_spelling(argument: str) -> None:
    row = DUMMIES[argument][1]
    found = [
        cs.sage(linear, X, linear(X), rng=0, budget=20_000, **{argument: name}) for name in [row.name, *spellings(row)]
    ]
    for one in found:
        assert getattr(one, argument) in (row.name, "permutation")  # which its class calls itself
        np.testing.assert_array_equal(one.values, found[0].values)


@pytest.mark.usefixtures("dummies")
def test_dummies_compute_what_their_classes_do() -> None:
    by_name = cs.sage(linear, X, linear(X), loss="tilted", removal="remote", method="orders", rng=0, budget=20_000)
    by_object = cs.sage(
        linear, X, linear(X), loss=PinballLoss(), removal=FarRows(X), method=ManyOrders(), rng=0, budget=20_000
    )
    assert by_name.draws == by_object.draws
    assert by_name.provenance["background_rows"] == 10
    assert "pinball loss" in str(by_name)
    assert cs.sage(linear, X, linear(X), removal=FarRows(X), rng=0).removal == "far rows"
    whole = cs.sage(linear, X, linear(X), loss=PinballLoss(), removal=FarRows(X), method="exact", rng=0)
    assert by_object.total == whole.total
    assert np.all(np.abs(by_object.values - whole.values) < 6 * by_object.std_error + 1e-9)


@pytest.mark.usefixtures("dummies")
@each_dummy
def test_errors_name_a_dummy_and_suggest_it(argument: str) -> None:
    row = DUMMIES[argument][1]
    with pytest.raises(InputError, match=f"Try '{row.name}'") as caught:
        cs.sage(linear, X, linear(X), **{argument: f"{row.name}x"})
    assert caught.value.argument == argument
    assert repr(row.name) in str(caught.value).split("wanted")[1]


@pytest.mark.usefixtures("dummies")
@each_dummy
def test_the_command_line_completes_a_dummy(argument: str) -> None:
    row = DUMMIES[argument][1]
    assert row.name.replace(" ", "-") in completion_of(argument)(row.name[:3])


@pytest.mark.usefixtures("dummies")
@each_dummy
def test_the_command_line_knows_a_dummy_and_suggests_it(argument: str) -> None:
    row = DUMMIES[argument][1]
    wrong = run("explain", "m:f", "t.csv", "--target", "y", f"--{argument}", f"{row.name}x")
    assert wrong.exit_code == 2
    assert f"Try '{row.name}'" in wrong.stderr
    right = run("explain", "m:f", "t.csv", "--target", "y", f"--{argument}", row.name)
    assert f"--{argument}" not in right.stderr  # but the file that is not there
    assert "t.csv" in right.stderr


@pytest.mark.subprocess
def test_the_help_of_the_command_line_tells_of_rows_that_were_added() -> None:
    script = """
import sys
from clarysage import catalogue
from clarysage._measures.table import MEASURES, Measure
catalogue.LOSSES.register(catalogue.LossRow("pinball dummy", "", "nowhere:Loss"))
catalogue.REMOVALS.register(catalogue.RemovalRow("far rows", "", "nowhere:Removal", is_conditional=True))
catalogue.METHODS.register(catalogue.MethodRow("many orders", "", "nowhere:Method"))
sys.argv = ["clarysage", "explain", "--help"]
from clarysage.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert '"pinball dummy", or "auto"' in shown
    assert '"far rows", or "auto conditional"' in shown  # at the end of those that look at the kept features
    assert '"many orders", or "auto"' in shown


def test_docstrings_name_all_rows() -> None:
    doc = " ".join((cs.sage.__doc__ or "").split())
    for table in (LOSSES, REMOVALS, METHODS):
        assert all(f'"{name}"' in doc for name in table.names)
    assert "{" not in doc.split("Returns")[0]


def test_the_conditional_permutation_importance_names_the_removals_that_draw_given_the_others() -> None:
    doc = (cs.conditional_permutation_importance.__doc__ or "").split("removal :")[1].split(" :")[0]
    for row in REMOVALS.values():
        assert (f'"{row.name}"' in doc) == (row.is_conditional and row.can_draw), row.name


def test_single_draws_of_a_removal_that_only_predicts_are_refused_with_those_that_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_rows(monkeypatch, REMOVALS, replace(FAR_ROWS, is_conditional=True))
    with pytest.raises(InputError) as caught:
        singly(Surrogate(X, rng=0).restrict(cs.as_predictor(linear), X))
    assert 'Try removal="copula", "gaussian", "neighbours", "trees" or "far rows"' in str(caught.value)


@pytest.mark.usefixtures("dummies")
def test_tables_of_the_docs_have_a_line_for_a_dummy() -> None:
    pages = "".join(map(with_tables, TABLES))
    for _, row in DUMMIES.values():
        assert f"| `{row.name}` | {row.summary} |" in pages


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_tables_of_the_docs_are_those_of_the_registries(path: Path) -> None:
    """Else: ``python -m tests.tables_of_docs``."""
    assert with_tables(path) == path.read_text()


def test_the_table_of_measures_has_a_line_for_a_dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    with_rows(monkeypatch, MEASURES, Measure("dummy measure", "Dummy measure", "++--+"))
    assert "\n| dummy measure* | – | – | – | yes | yes | no | no | yes |\n" in with_tables(MEASURES_PAGE)


# what rows say of losses and removals


@pytest.mark.usefixtures("dummies")
def test_a_dummy_removal_has_the_rows_and_the_abilities_that_its_row_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_rows("Far rows") == 17
    found = cs.sage(linear, X, linear(X), removal="far rows", rng=0)
    assert "Background: 17 of the 60 rows of X" in " ".join(map(str, found.notes))
    assert name_of(FarRows(X)) == name_of("remote") == "far rows"
    with pytest.raises(InputError, match="ignores the other features"):
        cs.conditional_permutation_importance(linear, X, linear(X), removal="far rows")
    with pytest.raises(InputError, match="ignores the other features"):
        cs.conditional_permutation_importance(linear, X, linear(X), removal=FarRows(X))
    with_rows(monkeypatch, REMOVALS, replace(FAR_ROWS, is_conditional=True, can_draw=False))
    with pytest.raises(InputError, match="draws no values"):
        cs.conditional_permutation_importance(linear, X, linear(X), removal=FarRows(X))
    with_rows(monkeypatch, REMOVALS, replace(FAR_ROWS, is_conditional=True))
    drawn = cs.conditional_permutation_importance(linear, X, linear(X), removal="far rows", repeats=2, rng=0)
    assert "as fitted" in drawn.meaning("rows")
    note = next(
        str(note)
        for note in cs.sage(linear, X, linear(X), removal="auto conditional", rng=0).notes
        if "was chosen: mean" in str(note)
    )
    assert "far rows" in note
    with_rows(monkeypatch, REMOVALS, replace(FAR_ROWS, is_conditional=True, max_players=2))
    notes = cs.sage(linear, X, linear(X), removal="auto conditional", rng=0).notes
    assert any("far rows not tried with so many features" in str(note) for note in notes)


@pytest.mark.usefixtures("dummies")
def test_a_dummy_removal_is_judged_with_all_others() -> None:
    assert "far rows" in cs.removal_quality("all", linear, X, rng=0).names


@pytest.mark.parametrize("row", LOSSES.bundled, ids=lambda row: row.name)
def test_losses_say_what_they_judge(row: LossRow) -> None:
    """By what they do: of degree 2 is the sum of squares; a loss of classes refuses numbers that are none."""
    loss, prediction = as_loss(row.name), np.array([[0.3], [7.0]])
    if loss.task == "classification":
        if row.needs != "margins":  # which may be any number
            with pytest.raises(InputError):
                loss.check(prediction)
        with pytest.raises(InputError):
            loss.encode(np.array([1.5, 2.5]), (1, 2), prediction)
    else:
        loss.check(prediction)
        target = np.array([[1.0], [2.0]])
        squares = ((prediction - target) ** 2).sum(axis=1)
        assert (loss.degree == 2) == np.array_equal(loss(prediction, target), squares)
    assert loss.name == row.name


def test_a_loss_of_degree_two_that_was_added_needs_no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    with_rows(monkeypatch, LOSSES, LossRow("squares", "squares by another name", SquaredError), PINBALL)
    assert cs.sage(linear, X, loss="squares", rng=0).measure == "shapley effects"
    right, wrong = (run("explain", "m:f", "t.csv", "--loss", loss) for loss in ("squares", "pinball dummy"))
    assert "--loss" not in right.stderr  # but the file that is not there
    assert "t.csv" in right.stderr
    assert "--loss: got 'pinball dummy' without --target" in wrong.stderr


def bonferroni(p: np.ndarray) -> np.ndarray:
    return np.minimum(p * len(p), 1.0)


def test_a_way_to_adjust_that_was_added_is_used_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    promise = "the chance of a false one is at most {chance}"
    row = AdjustmentRow("bonferroni", "the chance of any false mark", bonferroni, label="Bonferroni", promise=promise)
    with_rows(monkeypatch, ADJUSTMENTS, row)
    p = np.array([0.01, 0.04, 0.03])
    np.testing.assert_array_equal(adjusted(p, "Bonferroni"), bonferroni(p))
    here, there = (cs.sage(linear, X, y, rng=0) for y in (linear(X), linear(X) + X[:, 2]))
    comparison = cs.compare(here, there, adjust="bonferroni")
    np.testing.assert_array_equal(comparison.p_values(), bonferroni(comparison.p_values(None)))
    assert "adjusted (Bonferroni) so that the chance of a false one is at most 5 %" in comparison.table()


def test_workers_that_were_added_are_those_of_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    with_rows(
        monkeypatch,
        BACKENDS,
        BackendRow("spark", "workers of Spark", lambda address: ("spark", address), is_cluster=True),
        BackendRow("fibres", "fibres of this process", lambda n_jobs: ("fibres", n_jobs)),
    )
    assert workers_of(1, "Spark", "host:1") == ("spark", "host:1")
    assert workers_of(2, "fibres") == ("fibres", 2)
    with pytest.raises(InputError, match='"dask", "ray" or "spark" as backend'):
        workers_of(2, "fibres", "host:1")
    with pytest.raises(InputError, match="n_jobs: got 2 with a cluster"):
        workers_of(2, "spark", "host:1")


def test_a_loss_that_lacks_members_is_told_which() -> None:
    class Half:
        name, ceiling = "half", math.inf

        def encode(self, y: Any, classes: Any, outputs: Any) -> Any:
            return y

        def __call__(self, prediction: Any, target: Any) -> Any:
            return prediction[:, 0]

    with pytest.raises(InputError, match="without task, degree, debiasing, check, best_constant"):
        cs.sage(linear, X, linear(X), loss=Half())


@pytest.mark.parametrize("row", REMOVALS.bundled, ids=lambda row: row.name)
def test_removals_can_do_what_their_rows_say(row: RemovalRow) -> None:
    removal = row(X, None, np.random.default_rng(0))
    assert (removal.name, REMOVALS.row_of(removal)) == (row.name, row)
    assert removal.limited(1e6).memory_limit == 1e6
    restricted = removal.restrict(cs.as_predictor(linear), X)
    assert hasattr(restricted, "single") == row.can_draw
    kept = np.array([[False, True, True]])
    near, far = (restricted.predict(np.array([[0.0, 0.0, z]]), kept, np.random.default_rng(0)) for z in (-2.0, 2.0))
    assert row.is_conditional or np.array_equal(near, far)  # of a column that the model ignores


# registries themselves


def test_what_statistics_are_made_for_takes_no_further_rows() -> None:
    with pytest.raises(InputError, match="about: got a new row, 'future'"):
        ABOUT.register(AboutRow("future", "next year", "next year", "next year", {}))
    assert "future" not in ABOUT


def test_a_name_cannot_be_taken_twice_in_any_spelling() -> None:
    words = Registry("word", (Word("red gold", "", aliases=("alloy",)),), special=Special("auto", ""))
    for row in (Word("Red-Gold", ""), Word("ALLOY", ""), Word("other", "", aliases=("red_gold",)), Word("auto", "")):
        with pytest.raises(InputError, match="a different name"):
            words.register(row)
    assert [*words] == ["red gold"]
    words.register(Word("silver", ""))
    words.unregister("red gold")
    assert words.names == ("silver", "auto")
    assert "alloy" not in words


def test_help_joins_names_as_a_sentence_does() -> None:
    assert Registry("word", (Word("one", ""), Word("two", ""), Word("three", ""))).help() == '"one", "two" or "three"'


def test_packages_add_rows_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("far rows", "tests.test_registries:FAR_ROWS", "clarysage.removals")

    def entry_points(group: str) -> list[importlib.metadata.EntryPoint]:
        assert group == "clarysage.removals"
        return [point]

    monkeypatch.setattr("clarysage.registry.entry_points", entry_points)
    added = Registry("removal", REMOVALS.bundled, entry_points="clarysage.removals")
    assert added.get_row("Far_rows").summary == FAR_ROWS.summary
    assert [*added] == [*(row.name for row in REMOVALS.bundled), "far rows"]


@pytest.mark.parametrize("table", [value for value in vars(catalogue).values() if isinstance(value, Registry)])
def test_rows_have_names_as_they_are_looked_up_and_say_what_they_are(table: Registry[Any]) -> None:
    for row in table.values():
        assert row.name == normalised(row.name)
        assert row.summary
        assert not row.summary.endswith(".")


@pytest.mark.subprocess
def test_names_are_known_in_no_time() -> None:
    """Of the catalogue and the table of measures alone: no room with what they name, nor numpy."""
    words = """
import sys
from clarysage.cli.completion import REGISTRIES, completion_of
offered = {what: completion_of(what)("") for what in REGISTRIES}
assert all(offered.values()), offered
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("clarysage.")}
assert rooms <= {"cli", "catalogue", "registry", "errors", "_measures", "names"}, rooms
assert "numpy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {*REGISTRIES} >= {"loss", "removal", "method", "measure"}
    assert all(registry(what).argument for what in REGISTRIES)
