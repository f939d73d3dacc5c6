"""Results in runs of MLflow: what was logged is read back and is what the result says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot

import clarysage as cs
from clarysage.errors import InputError, MissingLibraryError
from clarysage.integrations.mlflow import _with_keys, allowed, metric_names, metrics
from clarysage.results.files import KINDS
from clarysage.results.removal_quality import RemovalQuality
from clarysage.results.result import Result
from clarysage.results.summary import Summary
from made_up import HOSTILE, made_up, pairs, several

mpl.use("Agg")

log = cs.integrations.mlflow.log
NAMES = ("age", "petal length (cm)", "שלום/עולם", "a/b", "a_b", "A_B", "..", "", "=1+1", '"quoted",', "x" * 10_000)
IS_METRIC = re.compile(r"[/\w.\- ]{1,250}")  # MLflow's rule, as its documentation of log_metric has it


class Logged:
    """What a run holds, read back by a client."""

    def __init__(self, mlflow: Any, run: Any) -> None:
        self.client, self.run_id = mlflow.MlflowClient(), run.info.run_id
        self.metrics = self.client.get_run(self.run_id).data.metrics
        self.tags = self.client.get_run(self.run_id).data.tags

    def files(self, folder: str) -> list[str]:
        return [Path(one.path).name for one in self.client.list_artifacts(self.run_id, folder)]

    def file(self, path: str) -> Path:
        return Path(self.client.download_artifacts(self.run_id, path))


def logged(mlflow: Any, result: Any, **options: Any) -> Logged:
    """A new run with one result."""
    with mlflow.start_run() as run:
        log(result, **{"plot": False, "report": False, **options})
    return Logged(mlflow, run)


def names_of(metrics: Any) -> set[str]:
    return {name for name, _, _ in metrics}


# numbers


@pytest.mark.needs("mlflow")
@pytest.mark.parametrize("about", [None, "data", "rows"])
def test_metrics_are_the_numbers_of_the_table(mlflow, about):
    explanation = made_up(["age", "hour", "noise"])
    found = logged(mlflow, explanation, about=about).metrics
    low, high = explanation.interval(about=about)
    expected = {"sage/total": explanation.total, "sage/base": 12.5, "sage/model_rows": 4321, "sage/draws": 120}
    for i, name in enumerate(explanation.feature_names):
        expected[f"sage/value/{name}"] = explanation.values[i]
        expected[f"sage/std_error/{name}"] = explanation.std_error[i]
        expected[f"sage/low/{name}"], expected[f"sage/high/{name}"] = low[i], high[i]
    assert found == expected


@pytest.mark.needs("mlflow")
def test_what_is_not_known_is_not_logged_as_a_number(mlflow):
    explanation = made_up(2, measure="gini importance", total=None, base=None, constant=None)
    found = logged(mlflow, explanation).metrics
    assert "gini_importance/total" not in found
    assert "gini_importance/base" not in found
    assert len(found) == 2 + 4 * 2


def test_numbers_that_are_none_are_left_out_one_by_one():
    record = made_up(["a", "b", "c"]).summary().record
    table = record.frame().assign(key=["a", "b", "c"], value=[1.0, np.nan, np.inf], low=[-np.inf, 0.0, 0.0])
    numbers = {"total": (None,), "base": (np.nan,), "draws": (3,)}
    kept = names_of(metrics(replace(record, numbers=numbers), table))
    assert {name for name in kept if name.startswith(("value", "low"))} == {"value/a", "low/b", "low/c"}
    assert {name for name in kept if "/" not in name} == {"draws"}


@pytest.mark.needs("mlflow")
def test_as_many_features_as_pixels_go_in_batches_that_mlflow_takes(mlflow, monkeypatch):
    sizes, send = [], mlflow.MlflowClient.log_batch

    def counted(self, run_id, metrics=(), params=(), tags=(), **more):
        sizes.append((len(metrics), len(params) + len(tags)))
        return send(self, run_id, metrics=metrics, params=params, tags=tags, **more)

    monkeypatch.setattr(mlflow.MlflowClient, "log_batch", counted)
    explanation = made_up(784)
    found = logged(mlflow, explanation, plot=True)
    assert [found.metrics[f"sage/value/feature {i}"] for i in range(784)] == explanation.values.tolist()
    assert len(found.metrics) == 4 * 784 + 4
    assert sum(metrics for metrics, _ in sizes) == len(found.metrics)
    assert max(metrics for metrics, _ in sizes) <= 1000
    assert max(others for _, others in sizes) <= 100


@pytest.mark.needs("mlflow")
def test_steps_make_a_history(mlflow):
    with mlflow.start_run() as run:
        for step in range(3):
            log(made_up(["age"], seed=step), step=step, plot=False, report=False)
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "sage/value/age")
    assert [(one.step, one.value) for one in history] == [(k, made_up(["age"], seed=k).values[0]) for k in range(3)]


# names


@pytest.mark.needs("mlflow")
def test_names_that_mlflow_refuses_are_changed_and_found_by_the_table(mlflow):
    explanation = made_up([*NAMES, *HOSTILE[:-1]])
    found = logged(mlflow, explanation, plot=True, report=True)
    table = pd.read_csv(found.file("sage/table.csv"), keep_default_na=False)
    assert len(table) == len(set(table["key"])) == len(explanation.values)
    assert [found.metrics[f"sage/value/{key}"] for key in table["key"]] == explanation.values.tolist()
    assert table["feature"][: len(NAMES)].tolist() == list(NAMES)
    assert cs.load(found.file("sage/explanation.json")).feature_names == explanation.feature_names


def test_names_that_may_stay_do_and_others_can_be_read():
    found = metric_names(NAMES)
    assert found["age"] == "age"
    assert found["petal length (cm)"] == "petal length_cm"
    assert found["a_b"] != found["A_B"] != found["a/b"]
    assert found["a/b"].startswith("a_b-")
    assert found["שלום/עולם"] == "שלום_עולם"
    assert found["x" * 10_000].startswith("x" * 80)


def test_names_that_begin_alike_and_are_cut_stay_apart():
    found = metric_names(["x" * length for length in range(90, 400)])
    assert len(set(found.values())) == 310


def test_names_that_look_like_changed_names_stay_apart():
    names = ["a/b", "a_b"]
    for _ in range(5):  # each time the name that the first had is another's
        names.append(metric_names(names)["a/b"])
    found = metric_names(names)
    assert [found[name] for name in names[1:]] == names[1:]
    assert len(set(found.values())) == len(set(names)) == 7


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=120) | st.text("aA_/:. ", max_size=6), unique=True), st.randoms())
def test_any_names_become_distinct_names_that_mlflow_takes(names, random):
    found = metric_names(names)
    assert list(found) == names
    assert len({name.casefold() for name in found.values()}) == len(names)
    for name in found.values():
        assert IS_METRIC.fullmatch(name)
        assert "/" not in name
        assert os.path.normpath(f"sage/value/{name}") == f"sage/value/{name}"
        assert len(name.encode()) <= 100
    assert metric_names(random.sample(names, len(names))) == found  # whatever their order
    assert all(allowed(name) == name for name in found.values())


def test_the_longest_metric_is_not_too_long():
    long = ["é" * 300, "日" * 300]
    explanations = [made_up(long, seed=k) for k in range(3)]
    record = cs.compare(explanations, names=["w" * 300, "v" * 300, "u" * 300]).summary().record
    table = _with_keys(record.frame())
    assert max(len(f"{'p' * 80}/{name}") for name in names_of(metrics(record, table))) <= 250


# words and files


@pytest.mark.needs("mlflow")
def test_tags_say_how_it_was_found(mlflow):
    explanation = made_up(3, stopped=cs.StopReason.BUDGET)
    told = logged(mlflow, explanation).tags
    expected = {
        "measure": "sage",
        "loss": "squared error",
        "removal": "marginal",
        "method": "paired walks",
        "seed": "7",
        "model": "Forest",
        "examples": "99",
        "background_rows": "64",
        "converged": "false",
        "version": "0.1.0",
        "stopped": "Stopped at the budget before convergence.",
        "about": "population",
        "intervals": "95% intervals about the population of rows and of background",
    }
    assert {name: told.get(f"sage.{name}") for name in expected} == expected
    assert logged(mlflow, made_up(3), about="data").tags["sage.about"] == "data"


@pytest.mark.needs("mlflow")
def test_artifacts_are_what_the_result_makes_of_itself(mlflow):
    explanation = made_up(["age", "hour"])
    found = logged(mlflow, explanation, plot=True, report=True)
    assert sorted(found.files("sage")) == ["explanation.json", "plot.png", "report.html", "table.csv"]
    assert cs.load(found.file("sage/explanation.json")).to_dict() == explanation.to_dict()
    assert found.file("sage/plot.png").read_bytes().startswith(b"\x89PNG")
    assert found.file("sage/report.html").read_text(encoding="utf-8") == explanation.report()
    table = pd.read_csv(found.file("sage/table.csv"))
    pd.testing.assert_frame_equal(table.drop(columns="key"), explanation.to_frame(), check_exact=True)


@pytest.mark.needs("mlflow")
def test_plot_and_report_can_be_left_out(mlflow):
    assert sorted(logged(mlflow, made_up(2)).files("sage")) == ["explanation.json", "table.csv"]


@pytest.mark.needs("mlflow")
def test_artifacts_go_to_the_folder_that_is_asked_for(mlflow):
    found = logged(mlflow, made_up(2), prefix="test data/sage", artifact_path="why/it works")
    assert sorted(found.files("why/it works")) == ["explanation.json", "table.csv"]
    assert "test data/sage/value/feature 0" in found.metrics
    assert found.tags["test data/sage.measure"] == "sage"


@pytest.mark.needs("mlflow")
def test_no_figure_stays_open(mlflow):
    before = pyplot.get_fignums()
    logged(mlflow, made_up(2), plot=True)
    assert pyplot.get_fignums() == before


@pytest.mark.needs("mlflow")
def test_nothing_is_logged_where_something_cannot_be_made(mlflow, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no paper")

    monkeypatch.setattr(cs.Explanation, "report", broken)
    with mlflow.start_run() as run, pytest.raises(RuntimeError, match="no paper"):
        log(made_up(2))
    found = Logged(mlflow, run)
    assert found.metrics == {}
    assert found.files("") == []
    assert not any(name.startswith("sage") for name in found.tags)


# several results


@pytest.mark.needs("mlflow")
def test_two_results_under_two_prefixes_keep_apart(mlflow):
    one, other = made_up(["age"], seed=1), made_up(["age"], seed=2, loss="absolute error")
    with mlflow.start_run() as run:
        log(one, prefix="before", plot=False, report=False)
        log(other, prefix="after", plot=False, report=False)
    found = Logged(mlflow, run)
    assert (found.metrics["before/value/age"], found.metrics["after/value/age"]) == (one.values[0], other.values[0])
    assert (found.tags["before.loss"], found.tags["after.loss"]) == ("squared error", "absolute error")
    assert cs.load(found.file("after/explanation.json")).loss == "absolute error"
    assert cs.load(found.file("before/explanation.json")).loss == "squared error"


@pytest.mark.needs("mlflow")
def test_the_same_prefix_again_replaces_and_keeps_the_history_of_metrics(mlflow):
    one, other = made_up(["age"], seed=1), made_up(["age"], seed=2, loss="absolute error")
    with mlflow.start_run() as run:
        for result in (one, other):
            log(result, plot=False, report=False)
    found = Logged(mlflow, run)
    assert found.tags["sage.loss"] == "absolute error"
    assert cs.load(found.file("sage/explanation.json")).loss == "absolute error"
    history = found.client.get_metric_history(run.info.run_id, "sage/value/age")
    assert [metric.value for metric in history] == [one.values[0], other.values[0]]


@pytest.mark.needs("mlflow")
def test_measures_have_prefixes_of_their_own(mlflow):
    with mlflow.start_run() as run:
        log(made_up(1), plot=False, report=False)
        log(made_up(1, measure="permutation importance"), plot=False, report=False)
    sections = {name.split("/")[0] for name in Logged(mlflow, run).metrics}
    assert sections == {"sage", "permutation_importance"}


# comparisons


def compared(*seeds: int, **options: Any) -> cs.Comparison:
    return cs.compare([made_up(["age", "a/b"], seed=seed) for seed in seeds], **options)


@pytest.mark.needs("mlflow")
def test_a_comparison_is_logged_with_its_tests(mlflow):
    comparison = compared(0, 1, names=["march", "april"])
    found = logged(mlflow, comparison, plot=True, report=True)
    low, high = comparison.interval()
    columns = {
        "difference": comparison.values,
        "std_error": comparison.std_error,
        "low": low,
        "high": high,
        "p": comparison.p_values(None),
        "p_adjusted": comparison.p_values(),
        "changed": comparison.flags,
    }
    expected = {
        f"comparison/{column}/{name}": float(numbers[i])
        for column, numbers in columns.items()
        for i, name in enumerate(["age", "a_b"])
    }
    assert found.metrics == {**expected, "comparison/changed_features": len(comparison.changed)}
    assert comparison.changed  # so that the following says something
    assert found.tags["comparison.changed"] == ", ".join(comparison.changed)
    assert found.tags["comparison.names"] == "march, april"
    assert found.tags["comparison.adjust"] == "holm"
    assert sorted(found.files("comparison")) == ["comparison.json", "plot.png", "report.html", "table.csv"]
    assert cs.load(found.file("comparison/comparison.json")).to_dict() == comparison.to_dict()


@pytest.mark.needs("mlflow")
def test_nothing_changed_is_logged_too(mlflow):
    found = logged(mlflow, compared(1, 1))
    assert found.metrics["comparison/changed_features"] == 0
    assert found.metrics["comparison/changed/age"] == 0
    assert found.tags["comparison.changed"] == ""


@pytest.mark.needs("mlflow")
def test_several_comparisons_with_one_reference_have_sections_of_their_own(mlflow):
    comparison = compared(0, 1, 2, names=["march", "april/1", "april:1"])
    found = logged(mlflow, comparison).metrics
    assert found["comparison/difference/april_1/age"] == comparison.values[0, 0]
    (other,) = {name.split("/")[2] for name in found if name.startswith("comparison/p/")} - {"april_1"}
    assert found[f"comparison/difference/{other}/age"] == comparison.values[1, 0]


@pytest.mark.needs("mlflow")
def test_more_explanations_than_a_plot_can_hold_are_logged_without_one(mlflow):
    found = logged(mlflow, compared(*range(8)), plot=True)
    assert "plot.png" not in found.files("comparison")
    assert sum(name.startswith("comparison/difference") for name in found.metrics) == 14


# monitoring


def monitored(slices: int | None = None) -> cs.Monitoring:
    """A model of which one column is 60 times as large as it was."""
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 60.0])
    X, Z = (pd.DataFrame(rng.normal(size=(200, 2)), columns=["age", "a/b"]) for _ in range(2))
    y, z = X.sum(axis=1), Z.sum(axis=1)
    by = None if slices is None else np.arange(200) * slices // 200
    return cs.monitor(lambda X: np.asarray(X).sum(axis=1), (X, y), (Z * scale, z), by=by, loss="squared error", rng=0)


@pytest.mark.needs("mlflow")
def test_monitoring_is_logged_with_what_it_flags(mlflow):
    monitoring = monitored()
    found = logged(mlflow, monitoring, plot=True, report=True)
    (before, after), frame = monitoring.losses, monitoring.to_frame()
    assert monitoring.flagged == ["a/b"]
    assert found.tags["monitoring.flagged"] == "a/b"
    assert (found.metrics["monitoring/flagged/a_b"], found.metrics["monitoring/flagged/age"]) == (1, 0)
    assert (found.metrics["monitoring/reference_loss"], found.metrics["monitoring/loss"]) == (before, after)
    for i, key in enumerate(["age", "a_b"]):
        for column in ("difference", "low", "high", "p_adjusted", "inputs_distance"):
            assert found.metrics[f"monitoring/{column}/{key}"] == frame[column][i]
    assert sorted(found.files("monitoring")) == ["monitoring.json", "plot.png", "report.html", "table.csv"]
    assert cs.load(found.file("monitoring/monitoring.json")).to_dict() == monitoring.to_dict()


@pytest.mark.needs("mlflow")
def test_slices_are_steps(mlflow):
    monitoring = monitored(slices=3)
    found = logged(mlflow, monitoring, step=10)
    for name, values in [("difference/a_b", monitoring.comparison.values[:, 1]), ("loss", monitoring.losses[1:])]:
        history = found.client.get_metric_history(found.run_id, f"monitoring/{name}")
        assert [(one.step, one.value) for one in history] == list(zip([10, 11, 12], values, strict=True))


# other kinds of results


def judged() -> RemovalQuality:
    """Two removals judged, and one that could not be."""
    return RemovalQuality(
        names=("mean", "tree conditional: 2"),
        scores=np.array([2.0, 1.0]),
        covariance=np.eye(2) / 100,
        variance=4.0,
        seconds=np.array([0.1, 0.2]),
        model_rows=np.array([10.0, 20.0]),
        rows=5,
        coalitions=2,
        left_out={"copula": "Too few rows."},
    )


def agreeing(names: tuple[str, ...] = ("age", "hour", "a/b")) -> cs.Agreement:
    powers = np.random.default_rng(0).normal(size=2 ** len(names))
    return made_up(names).agreement(cs.TabularGame(powers), 2 ** len(names))


@pytest.mark.needs("mlflow")
def test_the_quality_of_removals_is_logged_removal_by_removal(mlflow):
    quality = judged()
    found = logged(mlflow, quality, plot=True, report=True)
    for i, key in enumerate(["mean", "tree conditional_2"]):
        assert found.metrics[f"removal_quality/error/{key}"] == quality.scores[i]
        assert found.metrics[f"removal_quality/std_error/{key}"] == quality.std_error[i]
        assert found.metrics[f"removal_quality/unexplained/{key}"] == quality.unexplained[i]
        assert found.metrics[f"removal_quality/model_rows/{key}"] == quality.model_rows[i]
    assert found.metrics["removal_quality/variance"] == 4.0
    assert found.tags["removal_quality.best"] == "tree conditional: 2"
    assert found.tags["removal_quality.left_out"] == "copula"
    files = sorted(found.files("removal_quality"))
    assert files == ["plot.png", "removal_quality.json", "report.html", "table.csv"]
    assert cs.load(found.file("removal_quality/removal_quality.json")).to_dict() == quality.to_dict()


@pytest.mark.needs("mlflow")
def test_measures_side_by_side_are_sections_of_one_result(mlflow):
    importances = several(["age", "a/b", "noise"])
    found = logged(mlflow, importances)
    shares, ranks = importances.shares(), importances.ranks()
    for name, section in zip(
        importances, ("sage", "shapley effects", "permutation importance", "gini importance"), strict=True
    ):
        for key, feature in [("age", "age"), ("a_b", "a/b"), ("noise", "noise")]:
            place = importances[name].feature_names.index(feature)
            assert found.metrics[f"importances/value/{section}/{key}"] == importances[name].values[place]
            assert found.metrics[f"importances/share/{section}/{key}"] == shares.loc[feature, name]
            assert found.metrics[f"importances/rank/{section}/{key}"] == ranks.loc[feature, name]
    assert found.tags["importances.measures"] == ", ".join(importances)
    assert found.tags["importances.left_out"] == "network weights"


@pytest.mark.needs("mlflow")
def test_an_agreement_is_logged_with_its_intervals(mlflow):
    agreement = agreeing()
    found = logged(mlflow, agreement)
    (low, high), table = agreement.interval()["r2"], pd.read_csv(found.file("agreement/table.csv"))
    assert found.metrics["agreement/correlation"] == agreement.correlation
    assert [found.metrics[f"agreement/r2{end}"] for end in ("", "_low", "_high")] == [agreement.r2, low, high]
    assert found.metrics["agreement/subsets"] == len(table) == 8
    assert table["v"].tolist() == pytest.approx(agreement.v.tolist())
    assert found.tags["agreement.measure"] == "sage"


@pytest.mark.needs("mlflow")
def test_every_kind_of_result_can_be_logged(mlflow):
    results = [made_up(3), compared(0, 1), monitored(), several(3), pairs(3), judged(), agreeing()]
    assert {type(result) for result in results} == {kind.result for kind in KINDS.values()}
    for result in results:
        found = logged(mlflow, result, prefix="it", plot=True, report=True)
        kind = result.summary().kind.replace(" ", "_")
        assert sorted(found.files("it")) == sorted([f"{kind}.json", "plot.png", "report.html", "table.csv"])
        assert found.metrics
        assert found.tags["it.version"]


# runs


@pytest.mark.needs("mlflow")
def test_without_a_run_nothing_is_started_and_the_error_says_what_to_do(mlflow):
    with pytest.raises(InputError, match=r"no run of MLflow is active.*Try with mlflow\.start_run\(\)"):
        log(made_up(2))
    assert mlflow.active_run() is None
    assert mlflow.MlflowClient().search_runs(["0"]) == []


@pytest.mark.needs("mlflow")
def test_the_innermost_run_is_meant(mlflow):
    with mlflow.start_run() as outer, mlflow.start_run(nested=True) as inner:
        log(made_up(2), plot=False, report=False)
    assert Logged(mlflow, outer).metrics == {}
    assert "sage/total" in Logged(mlflow, inner).metrics


@pytest.mark.needs("mlflow")
def test_a_run_can_be_given_by_its_id_while_another_is_active_and_after_it_ended(mlflow):
    with mlflow.start_run() as ended:
        pass
    with mlflow.start_run() as active:
        log(made_up(2), run_id=ended.info.run_id, plot=False, report=False)
    assert "sage/total" in Logged(mlflow, ended).metrics
    assert Logged(mlflow, active).metrics == {}
    assert Logged(mlflow, ended).client.get_run(ended.info.run_id).info.status == "FINISHED"


@pytest.mark.needs("mlflow")
def test_the_run_that_a_project_was_started_with_is_meant(mlflow, monkeypatch):
    with mlflow.start_run() as run:
        pass
    monkeypatch.setenv("MLFLOW_RUN_ID", run.info.run_id)
    log(made_up(2), plot=False, report=False)
    assert "sage/total" in Logged(mlflow, run).metrics


@pytest.mark.needs("mlflow")
def test_a_client_of_another_store_logs_there(mlflow, tmp_path):
    client = mlflow.MlflowClient((tmp_path / "elsewhere").as_uri())
    run = client.create_run("0")
    log(made_up(2), client=client, run_id=run.info.run_id, plot=False, report=False)
    assert "sage/total" in client.get_run(run.info.run_id).data.metrics


# what cannot be


@pytest.mark.needs("mlflow")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"run_id": "0" * 32}, r"run_id: got '0{32}'; wanted the id of a run that the tracking server knows"),
        ({"run_id": "no such thing"}, "run_id: got 'no such thing'"),
        ({"run_id": 3}, r"run_id: got int; wanted a text. Try run_id=run\.info\.run_id"),
        ({"prefix": "../up"}, "prefix: got '../up'; wanted letters, digits"),
        ({"prefix": ""}, "prefix: got ''"),
        ({"prefix": "a//b"}, "prefix: got 'a//b'"),
        ({"prefix": "a:b"}, "prefix: got 'a:b'"),
        ({"prefix": "a" * 81}, "prefix: got .*at most 80 bytes"),
        ({"prefix": 3}, "prefix: got 3; wanted a text"),
        ({"artifact_path": "/etc"}, "artifact_path: got '/etc'"),
        ({"step": 1.5}, "step: got 1.5; wanted a whole number"),
        ({"about": "everything"}, "about: got 'everything'"),
    ],
)
def test_options_that_cannot_be_understood_are_named(mlflow, options, told):
    with mlflow.start_run() as run, pytest.raises(InputError, match=told):
        log(made_up(2), **options)
    assert Logged(mlflow, run).metrics == {}


@pytest.mark.needs("mlflow")
@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, r"result: got NoneType; wanted a result such as those of cs\.sage, cs\.compare and cs\.monitor"),
        ([made_up(2)], "result: got list; .*Try one entry at a time"),
    ],
)
def test_only_results_are_logged(mlflow, result, told):
    with mlflow.start_run(), pytest.raises(InputError, match=told):
        log(result)


@pytest.mark.needs("mlflow")
def test_a_kind_of_result_without_a_record_is_refused_with_the_true_reason(mlflow):
    class Bare(Result):
        def summary(self, level=0.95, *, about=None):
            return Summary(kind="bare", title="Bare", headline="Bare", tables=())

    with (
        mlflow.start_run(),
        pytest.raises(InputError, match=r"got Bare, whose summary has no record; wanted .* Record"),
    ):
        log(Bare())


@pytest.mark.needs("mlflow")
def test_a_comparison_says_itself_what_it_is_about(mlflow):
    with mlflow.start_run(), pytest.raises(InputError, match="about: got 'data'; wanted None for a Comparison"):
        log(compared(0, 1), about="data")


def test_without_mlflow_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingLibraryError, match=re.escape("Try pip install 'clarysage[mlflow]'.")):
        log(made_up(2))


@pytest.mark.subprocess
def test_mlflow_is_not_imported_before_something_is_logged():
    script = "import sys, json, clarysage as cs; cs.integrations.mlflow.log; print(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert not {"mlflow", "matplotlib", "jinja2"} & set(json.loads(shown.stdout))
