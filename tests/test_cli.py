"""The command line: the same numbers as in Python, one line for every error, and stdout for data alone."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from clarysage.catalogue import ABOUT
from clarysage.cli.data_files import _csv
from clarysage.execution.seeds import BACKGROUND, stream
from tests.cli_harness import enter, error_of, printed_json, run, run_process

FEATURES = ["heat", "wind", "hour", "noise"]
QUICK = ["--method", "permutation", "--tolerance", "0.2"]
SETTINGS: dict[str, Any] = {"method": "permutation", "tolerance": 0.2, "rng": 0}


def make_table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 4)).round(6), columns=FEATURES)  # few digits: every reader has the same
    table["label"] = np.where(table["heat"] + rng.normal(size=n) / 4 > 0, "yes", "no")
    table["load"] = 2 * table["heat"] + table["wind"] * table["hour"] + rng.normal(size=n) / 4
    return table.round({"load": 6})


TRAIN, TEST = make_table(120, 1), make_table(50, 2)
X, Y = TRAIN[FEATURES], TRAIN["load"]

MODULE = """
import os

calls = []

def heat(rows):
    calls.append(len(rows))
    return 2 * rows["heat"]

def by_place(rows):
    return rows.iloc[:, 0] + rows.iloc[:, -1]

def noisy(rows):
    print("chatter of the model")
    os.write(1, b"chatter of a library")
    return 2 * rows["heat"]

def failing(rows):
    raise RuntimeError("out of\\nmemory")

def interrupted(rows):
    calls.append(len(rows))
    if len(calls) > interrupted.after:
        raise KeyboardInterrupt
    return 2 * rows["heat"] + rows["wind"]

interrupted.after = 40

def logits(rows):
    return 3 * rows["heat"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, groups and a module, which is the current one."""
    TRAIN.to_csv(tmp_path / "train.csv", index=False)
    TEST.to_csv(tmp_path / "test.csv", index=False)
    (tmp_path / "plain.py").write_text(MODULE)
    (tmp_path / "groups.json").write_text('{"weather": ["heat", "wind"]}')
    enter(tmp_path, monkeypatch)
    return tmp_path


def explain(*arguments: str, code: int = 0) -> dict[str, Any]:
    """The explanation of a run, from the JSON on its stdout."""
    return printed_json("explain", *arguments, code=code)


def save_xgboost(path: Path) -> Any:
    import xgboost

    booster = xgboost.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(X, Y), 8)
    booster.save_model(path)
    return booster


def save_lightgbm(path: Path) -> Any:
    import lightgbm

    booster = lightgbm.train({"verbose": -1, "min_data_in_leaf": 5, "num_threads": 1}, lightgbm.Dataset(X, Y), 8)
    booster.save_model(path)
    return booster


def save_catboost(path: Path) -> Any:
    import catboost

    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostRegressor(iterations=8, depth=3, **quiet).fit(X, Y)
    model.save_model(str(path))
    return model


def save_onnx(path: Path) -> Any:
    import onnxruntime
    import skl2onnx

    model = skl2onnx.to_onnx(forest(), X.to_numpy(np.float32)[:1])
    path.write_bytes(model.SerializeToString())
    return onnxruntime.InferenceSession(str(path))


def save_skops(path: Path) -> Any:
    import skops.io

    model = forest()
    skops.io.dump(model, path)
    return model


def save_joblib(path: Path) -> Any:
    import joblib

    model = forest()
    joblib.dump(model, path)
    return model


def save_pickle(path: Path) -> Any:
    model = forest()
    path.write_bytes(pickle.dumps(model))
    return model


def forest() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, Y)


FORMATS = [
    pytest.param("m.json", save_xgboost, marks=pytest.mark.needs("xgboost")),
    pytest.param("m.ubj", save_xgboost, marks=pytest.mark.needs("xgboost")),
    pytest.param("m.txt", save_lightgbm, marks=pytest.mark.needs("lightgbm")),
    pytest.param("m.cbm", save_catboost, marks=pytest.mark.needs("catboost")),
    pytest.param("m.onnx", save_onnx, marks=pytest.mark.needs("onnxruntime", "skl2onnx")),
    pytest.param("m.skops", save_skops, marks=pytest.mark.needs("skops")),
    pytest.param("m.joblib", save_joblib),
    pytest.param("m.pkl", save_pickle),
    pytest.param("m.pickle", save_pickle),
]


@pytest.mark.parametrize(("name", "save"), FORMATS)
def test_model_file_gives_the_values_of_the_model_in_python(
    folder: Path, name: str, save: Callable[[Path], Any]
) -> None:
    model = save(folder / name)
    trust = ["--allow-pickle"] if name in ("m.joblib", "m.pkl", "m.pickle") else []
    found = explain(
        name, "test.csv", "--target", "load", "--background", "train.csv", "--drop", "label", *QUICK, *trust
    )
    expected = cs.sage(model, TEST[FEATURES], TEST["load"], background=X, **SETTINGS)
    assert found["feature_names"] == FEATURES
    np.testing.assert_array_equal(found["values"], expected.values)
    np.testing.assert_array_equal(found["std_error"], expected.std_error)


def test_function_of_a_module_gives_the_values_of_the_function_in_python(folder: Path) -> None:
    found = explain("plain:heat", "test.csv", "--target", "load", "--drop", "label", *QUICK)
    expected = cs.sage(lambda rows: 2 * rows["heat"], TEST[FEATURES], TEST["load"], **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)


def test_model_in_a_module_is_found_as_an_attribute(folder: Path) -> None:
    (folder / "plain.py").write_text("class Zoo:\n    def cat(rows):\n        return rows['heat']\n")
    assert explain("plain:Zoo.cat", "test.csv", "--target", "load", "--drop", "label")["total"] > 0


TABLES: dict[str, Callable[[Path], object]] = {
    "t.csv": lambda path: TEST.to_csv(path, index=False),
    "t.CSV": lambda path: TEST.to_csv(path, index=False, encoding="utf-8-sig"),
    "semicolons.csv": lambda path: TEST.to_csv(path, index=False, sep=";"),
    "t.tsv": lambda path: TEST.to_csv(path, index=False, sep="\t"),
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(TEST.to_csv(index=False).encode())),
    "t.parquet": lambda path: TEST.to_parquet(path),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs("pyarrow")) if name == "t.parquet" else name for name in TABLES]
)
def test_every_kind_of_table_gives_the_same_values(folder: Path, name: str) -> None:
    TABLES[name](folder / name)
    found = explain("plain:heat", name, "--target", "load", "--drop", "label", *QUICK)
    expected = cs.sage(lambda rows: 2 * rows["heat"], TEST[FEATURES], TEST["load"], **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)


def test_numbers_in_text_are_read_to_the_last_bit(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=2000) * np.logspace(-12, 12, 2000)
    pd.DataFrame({"number": numbers}).to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_array_equal(_csv(tmp_path / "t.csv")["number"].to_numpy(), numbers)


def colours(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"size": rng.normal(size=n).round(6), "colour": rng.choice(["red", "green", "blue"], n)})
    table["zone"] = rng.choice([10, 20, 30], n)
    table["price"] = table["size"] + 2.0 * (table["colour"] == "red") + 3.0 * (table["zone"] == 20)
    return table.round({"price": 6})


def categorical(table: pd.DataFrame) -> pd.DataFrame:
    return table[["size", "colour", "zone"]].astype({"colour": "category", "zone": "category"})


def fit_lightgbm(table: pd.DataFrame, path: str) -> Any:
    import lightgbm

    data = lightgbm.Dataset(categorical(table), table["price"])
    settings = {"verbose": -1, "min_data_in_leaf": 5, "min_data_per_group": 5, "num_threads": 1}
    booster = lightgbm.train(settings, data, 20)
    booster.save_model(path)
    return booster


def fit_xgboost(table: pd.DataFrame, path: str) -> Any:
    import xgboost

    data = xgboost.DMatrix(categorical(table), table["price"], enable_categorical=True)
    booster = xgboost.train({"nthread": 1}, data, 20)
    booster.save_model(path)
    return booster


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        pytest.param("c.txt", fit_lightgbm, marks=pytest.mark.needs("lightgbm")),
        pytest.param("c.json", fit_xgboost, marks=pytest.mark.needs("xgboost")),
    ],
)
def test_text_and_numbers_become_the_categories_that_a_booster_was_fitted_on(
    folder: Path, name: str, fit: Callable[[pd.DataFrame, str], Any]
) -> None:
    booster, test = fit(colours(300, 1), name), colours(60, 2)
    test = test[test["colour"] != "blue"].reset_index(drop=True)  # so that codes of its own would be other ones
    test.to_csv("c.csv", index=False)
    found = explain(name, "c.csv", "--target", "price", *QUICK)
    expected = cs.sage(booster, categorical(test), test["price"], **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)
    assert found["values"][1] > 0.5
    assert found["values"][2] > 0.5


@pytest.mark.needs("xgboost")
def test_text_for_a_booster_that_knows_only_codes_is_refused(folder: Path) -> None:
    import xgboost

    table = colours(100, 1)
    coded = categorical(table).assign(colour=lambda t: t["colour"].cat.codes, zone=lambda t: t["zone"].cat.codes)
    data = xgboost.DMatrix(coded, table["price"], feature_types=["float", "c", "c"], enable_categorical=True)
    xgboost.train({"nthread": 1}, data, 5).save_model("codes.json")
    table.to_csv("c.csv", index=False)
    assert "text in the column 'colour'" in error_of("explain", "codes.json", "c.csv", "--target", "price")
    coded.assign(price=table["price"]).to_csv("coded.csv", index=False)
    assert explain("codes.json", "coded.csv", "--target", "price", *QUICK)["values"][1] > 0.5


def test_text_goes_to_a_pipeline_as_text(folder: Path) -> None:
    import joblib
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    table = colours(100, 1)
    encode = make_column_transformer((OneHotEncoder(), ["colour", "zone"]), remainder="passthrough")
    model = make_pipeline(encode, Ridge()).fit(table[["size", "colour", "zone"]], table["price"])
    joblib.dump(model, "pipe.joblib")
    table.to_csv("c.csv", index=False)
    found = explain("pipe.joblib", "c.csv", "--target", "price", "--allow-pickle", *QUICK)
    expected = cs.sage(model, table[["size", "colour", "zone"]], table["price"], **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)


@pytest.mark.needs("skops")
def test_columns_that_the_model_does_not_know_are_ignored_aloud(folder: Path) -> None:
    save_skops(folder / "m.skops")
    TEST[["label", "noise", "hour", "load", "heat", "wind"]].to_csv("mixed.csv", index=False)
    result = run("explain", "m.skops", "mixed.csv", "--target", "load", *QUICK, "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["feature_names"] == FEATURES
    assert "note: columns of mixed.csv that the model does not know are ignored: 'label'." in result.stderr


@pytest.mark.needs("lightgbm")
def test_names_that_lightgbm_spelled_with_underscores_are_found(folder: Path) -> None:
    import lightgbm

    table = X.rename(columns={"heat": "outer heat"})
    lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(table, Y), 3).save_model("m.txt")
    TEST.rename(columns={"heat": "outer heat"}).to_csv("t.csv", index=False)
    assert explain("m.txt", "t.csv", "--target", "load", *QUICK)["feature_names"][0] == "outer heat"


def test_model_without_names_gets_all_columns_but_target_weights_and_dropped_ones(folder: Path) -> None:
    TEST.assign(w=1.0).to_csv("t.csv", index=False)
    arguments = ["--target", "load", "--drop", "label", "--drop", "noise", "--sample-weight", "w"]
    assert explain("plain:by_place", "t.csv", *arguments)["feature_names"] == ["heat", "wind", "hour"]


def test_weights_count_as_in_python(folder: Path) -> None:
    weights = np.arange(len(TEST)) % 3
    TEST.assign(w=weights).to_csv("t.csv", index=False)
    found = explain("plain:heat", "t.csv", "--target", "load", "--drop", "label", "--sample-weight", "w", *QUICK)
    model = lambda rows: 2 * rows["heat"]  # noqa: E731
    expected = cs.sage(model, TEST[FEATURES], TEST["load"], sample_weight=weights, **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)


def test_groups_play_as_one(folder: Path) -> None:
    found = explain("plain:heat", "test.csv", "--target", "load", "--drop", "label", "--groups", "groups.json")
    assert found["feature_names"] == ["weather", "hour", "noise"]
    assert found["groups"]["weather"] == ["heat", "wind"]


def test_without_target_the_values_share_out_the_variance_of_the_output(folder: Path) -> None:
    found = explain("plain:heat", "test.csv", "--drop", "label", "--drop", "load", "--method", "exact")
    assert found["measure"] == "shapley effects"
    assert found["total"] == pytest.approx(np.var(2 * TEST["heat"]))
    assert "no --target was given" in run("explain", "plain:heat", "test.csv", "--drop", "label").stderr


def test_a_loss_may_have_the_value_of_a_parameter(folder: Path) -> None:
    found = explain("plain:heat", *DATA, "--loss", "Quantile(0.9)", *QUICK)
    assert found["loss"] == "pinball(0.9)"
    expected = cs.sage(lambda rows: 2 * rows["heat"], TEST[FEATURES], TEST["load"], loss=cs.Pinball(0.9), **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)


@pytest.mark.needs("lightgbm")
def test_the_loss_is_the_one_that_the_model_in_a_file_was_fitted_with(folder: Path) -> None:
    import lightgbm

    for objective, loss in (("quantile", "pinball(0.8)"), ("mape", "absolute error")):
        settings = {"objective": objective, "alpha": 0.8, "verbose": -1, "min_data_in_leaf": 5, "num_threads": 1}
        lightgbm.train(settings, lightgbm.Dataset(X, Y), 8).save_model("m.txt")
        assert explain("m.txt", "test.csv", "--target", "load", *QUICK)["loss"] == loss
    shown = " ".join(run("explain", "m.txt", "test.csv", "--target", "load", *QUICK).stdout.split())
    assert "its objective mape, whose errors are relative to y. Choose another one with --loss." in shown


def test_loss_removal_and_output_reach_the_library(folder: Path) -> None:
    arguments = ["plain:logits", "test.csv", "--target", "label", "--drop", "load", "--output", "sigmoid"]
    found = explain(*arguments, "--loss", "zero-one", "--removal", "Product_of_Marginals", *QUICK)
    assert (found["loss"], found["removal"]) == ("zero one", "product of marginals")
    f = cs.as_predictor(lambda rows: 3 * rows["heat"], output="sigmoid")
    y = TEST["label"]
    expected = cs.sage(f, TEST[FEATURES], y, loss="zero one", removal="product of marginals", **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)


@pytest.mark.needs("xgboost")
def test_classes_name_the_labels_of_a_booster_that_knows_only_numbers(folder: Path) -> None:
    import xgboost

    data = xgboost.DMatrix(X, TRAIN["label"] == "yes")
    xgboost.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, data, 5).save_model("m.json")
    assert (
        "Try --classes no,yes if 'yes' means 1"
        in run("explain", "m.json", "test.csv", "--target", "label", "-q").stderr
    )
    found = explain("m.json", "test.csv", "--target", "label", "--classes", "no, yes", *QUICK)
    assert found["values"][0] == max(found["values"]) > 0.1


def test_large_background_is_thinned_aloud_and_by_the_seed(folder: Path) -> None:
    arguments = ["plain:heat", "test.csv", "--target", "load", "--drop", "label", "--background", "train.csv"]
    first, again, other = (
        explain(*arguments, "--background-rows", "10", *QUICK, "--seed", seed) for seed in ("0", "0", "1")
    )
    assert first == again
    assert first["provenance"]["background_rows"] == 10
    assert first["provenance"]["fingerprints"]["background"] != other["provenance"]["fingerprints"]["background"]
    for removal in ("marginal", "baseline"):
        said = run("explain", *arguments, "--background-rows", "10", "--removal", removal, *QUICK).stderr
        assert "note: background: 10 of the 120 rows, drawn at random" in said


@pytest.mark.parametrize("command", ["explain", "measures"])
def test_rows_to_draw_from_no_background_are_refused(folder: Path, command: str) -> None:
    done = run(command, "plain:heat", "test.csv", "--target", "load", "--background-rows", "5")
    assert done.exit_code == 2
    assert "--background-rows: got 5 without --background" in done.stderr
    assert "--background train.csv --background-rows 5" in done.stderr


def test_table_is_that_of_the_explanation(folder: Path) -> None:
    result = run("explain", "plain:heat", "test.csv", "--target", "load", "--drop", "label", *QUICK)
    model = cs.as_predictor(lambda rows: 2 * rows["heat"])
    assert result.exit_code == 0
    assert result.stdout == f"{cs.sage(model, TEST[FEATURES], TEST['load'], **SETTINGS)}\n"


def test_files_are_written_and_load_again(folder: Path) -> None:
    arguments = ["plain:heat", "test.csv", "--target", "load", "--drop", "label", *QUICK]
    result = run("explain", *arguments, "--json", "sage.json", "--plot", "sage.PNG")
    assert result.exit_code == 0
    assert cs.load("sage.json").to_dict() == explain(*arguments)
    assert (folder / "sage.PNG").read_bytes().startswith(b"\x89PNG")
    assert "note: wrote sage.json" in result.stderr


def test_quiet_says_nothing(folder: Path) -> None:
    result = run("explain", "plain:heat", "test.csv", "--drop", "label", "--quiet", *QUICK)
    assert result.stderr == ""
    assert result.stdout.startswith("Shapley effects")


def test_run_that_does_not_converge_prints_writes_and_exits_with_3(folder: Path) -> None:
    stop = ["--method", "permutation", "--tolerance", "0.001", "--budget", "2e4", "--json", "sage.json"]
    result = run("explain", "plain:heat", "test.csv", "--target", "load", "--drop", "label", *stop)
    assert result.exit_code == 3
    assert "Stopped at the budget" in result.stdout
    assert "note: not converged. Stopped at the budget" in result.stderr
    assert not cs.load("sage.json").converged


def test_interrupt_gives_the_estimate_so_far_and_exit_code_3(folder: Path) -> None:
    result = run(
        "explain",
        "plain:interrupted",
        "test.csv",
        "--target",
        "load",
        "--drop",
        "label",
        "--tolerance",
        "0.0001",
        "--method",
        "permutation",
    )
    assert result.exit_code == 3
    assert "Interrupted; this is the estimate so far." in result.stdout


def test_interrupted_run_goes_on_from_its_checkpoint_to_the_same_json(folder: Path) -> None:
    (folder / "plain.py").write_text(MODULE + "\ncalls.clear()\ninterrupted.after = 30\n")
    options = [
        "explain",
        "plain:interrupted",
        "test.csv",
        "--target",
        "load",
        "--drop",
        "label",
        "--tolerance",
        "0.007",
        "--method",
        "permutation",
    ]
    assert run(*options, "--checkpoint", "run.checkpoint", "-q").exit_code == 3
    sys.modules["plain"].interrupted.after = 10**9
    result = run(*options, "--checkpoint", "run.checkpoint", "--json", "resumed.json")
    assert result.exit_code == 0
    assert "note: continuing the run in run.checkpoint." in result.stderr
    assert run(*options, "--json", "whole.json", "-q").exit_code == 0
    assert Path("resumed.json").read_bytes() == Path("whole.json").read_bytes()
    said = error_of(*options, "--checkpoint", "run.checkpoint", "--seed", "1", "-q")
    assert said.startswith("error: --checkpoint: got ")
    assert "seed: 0 in the file, 1 in this call" in said


def test_interrupt_before_any_estimate_is_one_line(folder: Path) -> None:
    (folder / "plain.py").write_text(MODULE + "\ninterrupted.after = 0\n")
    assert "interrupted" in error_of("explain", "plain:interrupted", "test.csv", "--drop", "label", "-q")


@pytest.mark.subprocess
def test_chatter_of_models_does_not_reach_stdout(folder: Path) -> None:
    result = run_process(folder, "explain", "plain:noisy", *DATA, "--json", "-")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["total"] > 0
    assert "chatter of the model" in result.stderr
    assert "chatter of a library" in result.stderr


class Malice:
    """Leaves a file behind where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


@pytest.mark.parametrize("name", ["m.pkl", "m.pickle", "m.joblib"])
def test_pickle_is_not_read_unless_allowed(folder: Path, name: str) -> None:
    (folder / name).write_bytes(pickle.dumps(Malice()))
    said = error_of("explain", name, "test.csv", "--target", "load")
    assert "can run any code" in said
    assert "--allow-pickle" in said
    assert not (folder / "harm").exists()
    run("explain", name, "test.csv", "--target", "load", "--allow-pickle")
    assert (folder / "harm").exists()  # so the file would have done harm


@pytest.mark.needs("skops")
def test_skops_file_with_a_strange_type_is_refused_before_anything_is_made(folder: Path) -> None:
    import skops.io
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    skops.io.dump(make_pipeline(FunctionTransformer(os.mkdir), forest()), "m.skops")
    said = error_of("explain", "m.skops", "test.csv", "--target", "load")
    assert "posix.mkdir" in said or "nt.mkdir" in said
    assert "Try --trust" in said
    other = error_of("explain", "m.skops", "test.csv", "--target", "load", "--trust", "os.mkdirs")
    assert "does not trust" in other


@pytest.mark.needs("skops")
def test_skops_file_that_calls_a_function_while_it_is_read_is_refused(folder: Path) -> None:
    import skops.io

    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(("harm",)))) as harmless:
        arguments = json.loads(harmless.read("schema.json"))
    call = {"__class__": "mkdir", "__module__": "os", "__loader__": "ConstructorFromReduceNode", "content": arguments}
    with zipfile.ZipFile("m.skops", "w") as forged:
        forged.writestr("schema.json", json.dumps({**call, "protocol": arguments["protocol"]}))
    assert "does not trust: os.mkdir" in error_of("explain", "m.skops", "test.csv", "--target", "load")
    assert not (folder / "harm").exists()
    run("explain", "m.skops", "test.csv", "--target", "load", "--trust", "os.mkdir")
    assert (folder / "harm").exists()  # so the file would have done harm


@pytest.mark.needs("skops")
def test_type_that_the_user_trusts_is_read(folder: Path) -> None:
    import skops.io
    from sklearn.neighbors import KNeighborsRegressor

    model = KNeighborsRegressor(3, algorithm="kd_tree").fit(X, Y)
    skops.io.dump(model, "m.skops")
    types = skops.io.get_untrusted_types(file="m.skops")
    assert types[0] in error_of("explain", "m.skops", "test.csv", "--target", "load")
    trust = [flag for name in types for flag in ("--trust", name)]
    found = explain("m.skops", "test.csv", "--target", "load", *QUICK, *trust)
    expected = cs.sage(model, TEST[FEATURES], TEST["load"], **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)


def boosted(name: str) -> Any:
    import sklearn.ensemble

    size = "max_iter" if name == "HistGradientBoostingRegressor" else "n_estimators"
    return getattr(sklearn.ensemble, name)(max_leaf_nodes=4, random_state=0, **{size: 4}).fit(X[:60], Y[:60])


@pytest.mark.needs("skops")
@pytest.mark.parametrize("name", ["GradientBoostingRegressor", "HistGradientBoostingRegressor", "ExtraTreesRegressor"])
def test_tree_models_in_skops_files_are_read(folder: Path, name: str) -> None:
    import skops.io

    model = boosted(name)
    skops.io.dump(model, "m.skops")
    found = explain("m.skops", "test.csv", "--target", "load", "--budget", "1e5", "--tolerance", "0.3")
    expected = cs.sage(model, TEST[FEATURES], TEST["load"], budget=1e5, tolerance=0.3, rng=0)
    np.testing.assert_array_equal(found["values"], expected.values)


@pytest.mark.needs("skops")
def test_pipeline_of_scikit_learn_in_a_skops_file_needs_no_trust(folder: Path) -> None:
    import skops.io
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    skops.io.dump(make_pipeline(SimpleImputer(), StandardScaler(), Ridge()).fit(X[:60], Y[:60]), "m.skops")
    assert "numpy.dtype" in skops.io.get_untrusted_types(file="m.skops")
    assert explain("m.skops", "test.csv", "--target", "load")["converged"]


def forge_children(model: Any) -> None:
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"]["left_child"][0] = 10**6
    tree.__setstate__(state)


def forge_circle(model: Any) -> None:
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"]["right_child"][0] = 0
    tree.__setstate__(state)


def forge_feature(model: Any) -> None:
    tree = model.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"]["feature"][0] = 4
    tree.__setstate__(state)


def forge_width(model: Any) -> None:
    model.estimators_[0].n_features_in_ = 400


def forge_boosted_width(model: Any) -> None:
    model.n_features_in_ = 2


def forge_histogram(model: Any) -> None:
    model._predictors[0][0].nodes["left"][0] = 10**6


@pytest.mark.needs("skops")
@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("ExtraTreesRegressor", forge_children),
        ("ExtraTreesRegressor", forge_circle),
        ("ExtraTreesRegressor", forge_feature),
        ("ExtraTreesRegressor", forge_width),
        ("GradientBoostingRegressor", forge_boosted_width),
        ("HistGradientBoostingRegressor", forge_histogram),
    ],
)
def test_skops_file_whose_trees_point_outside_themselves_is_refused(
    folder: Path, name: str, forge: Callable[[Any], None]
) -> None:
    import skops.io

    model = boosted(name)
    forge(model)
    skops.io.dump(model, "m.skops")
    assert "nodes point outside it" in error_of("explain", "m.skops", "test.csv", "--target", "load")


DATA = ["test.csv", "--target", "load", "--drop", "label"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plain:heat", "test.csv", "--target", "laod"], "--target: got 'laod', which is not a column of test.csv"),
        (["plain:heat", "test.csv", "--target", "laod"], "Try 'load'."),
        (["plain:heat", *DATA, "--sample-weight", "Wind_"], "Try 'wind'."),
        (["plain:heat", *DATA, "--drop", "nope"], "--drop: got 'nope', which is not a column of test.csv"),
        (["plain:heat", "tset.csv"], "DATA: got tset.csv, which does not exist; wanted a file. Try 'test.csv'"),
        (["plain:heat", *DATA, "--background", "trian.csv"], "--background: got trian.csv, which does not exist"),
        (["missing.json", *DATA], "MODEL: got missing.json, which does not exist"),
        (["plain.py", *DATA], "MODEL: got 'plain.py'; wanted a file that ends in .json"),
        (["plain:heat", "plain.py"], "DATA: got 'plain.py'; wanted a file that ends in .csv.gz, .csv"),
        (["plain:haet", *DATA], "no 'haet' in plain; wanted a function or model of the module. Try 'heat'."),
        (["nowhere:heat", *DATA], "No module named 'nowhere'"),
        (["plain:calls", *DATA], "neither callable nor"),
        (["plain:failing", *DATA], "RuntimeError from failing: out of memory"),
        (["plain:heat", *DATA, "--output", "predict_prob"], "--output: got 'predict_prob'"),
        (["plain:heat", *DATA, "--groups", "nope.json"], "--groups: got nope.json, which does not exist"),
        (["plain:heat", *DATA, "--groups", "plain.py"], "--groups: got plain.py, which is not JSON"),
        (["plain:heat", *DATA, "--json", "nowhere/a.json"], "--json: got nowhere/a.json, in a folder that does not"),
        (["plain:heat", *DATA, "--json", "."], "which is a folder"),
        (["plain:heat", *DATA, "--json", "test.csv"], "--json: got test.csv, which is an input of the run"),
        (["plain:heat", *DATA, "--plot", "nowhere/a.png"], "--plot: got nowhere/a.png, in a folder that does not"),
        (["plain:heat", *DATA, "--plot", "a.doc"], "Try a.png."),
    ],
)
def test_error_is_one_line(folder: Path, arguments: list[str], said: str) -> None:
    assert said in error_of("explain", *arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain"], "Missing argument 'MODEL'"),
        (["explian"], "No such command 'explian'. Did you mean 'explain'? Try clarysage --help."),
        (["explain", "plain:heat", "test.csv", "--nope"], "No such option: --nope"),
        (["explain", "plain:heat", "test.csv", "--random-state", "1"], "--random-state (did you mean --seed?)"),
        (["explain", "plain:heat", "test.csv", "--scoring", "mse"], "--scoring (did you mean --loss?)"),
        (["explain", "plain:heat", "test.csv", "--targt", "load"], "No such option: --targt (did you mean --target"),
        (["explain", "plain:heat", *DATA, "--tolerance", "much"], "--tolerance"),
        (["explain", "plain:heat", *DATA, "--tolerance", "0"], "--tolerance: got 0.0"),
        (["explain", "plain:heat", *DATA, "--tolerance", "nan"], "--tolerance: got nan"),
        (["explain", "plain:heat", *DATA, "--budget", "-3"], "--budget: got -3;"),
        (["explain", "plain:heat", *DATA, "--deadline", "0"], "--deadline: got 0.0"),
        (["explain", "plain:heat", *DATA, "--n-jobs", "0"], "--n-jobs: got 0"),
        (["explain", "plain:heat", *DATA, "--seed", "-1"], "--seed"),
        (["explain", "plain:heat", *DATA, "--loss", "cross entrpy"], "Try 'cross entropy'."),
        (["explain", "plain:heat", *DATA, "--method", "magic"], "--method: got 'magic'; wanted one of 'exact', '"),
        (["explain", "plain:heat", *DATA, "--removal", "magic"], "--removal: got 'magic'"),
        (["explain", "plain:heat", *DATA, "--loss", "pinball(2)"], "--loss: got 'pinball(2)', with alpha 2; wanted a"),
        (["explain", "plain:heat", "test.csv", "--loss", "brier"], "--loss: got 'brier' without --target"),
    ],
)
def test_wrong_option_is_one_line_and_exit_code_2(folder: Path, arguments: list[str], said: str) -> None:
    assert said in error_of(*arguments, code=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "does not map names to lists"),
        ('{"a": "heat"}', "does not map names to lists"),
        ('{"a": ["haet"]}', "--groups: got 'haet' in the group 'a'; wanted features of the model. Try 'heat'."),
        ('{"a": ["heat"], "b": ["heat"]}', "--groups: got 'heat' in both 'a' and 'b'"),
        ('{"a": []}', "--groups: got []"),
    ],
)
def test_bad_groups_are_one_line(folder: Path, text: str, said: str) -> None:
    (folder / "bad.json").write_text(text)
    assert said in error_of("explain", "plain:heat", *DATA, "--groups", "bad.json")


def test_no_column_is_suggested_that_is_in_a_group(folder: Path) -> None:
    (folder / "bad.json").write_text('{"a": ["wind", "wnid"]}')
    said = error_of("explain", "plain:heat", *DATA, "--groups", "bad.json")
    assert said.endswith("got 'wnid' in the group 'a'; wanted features of the model.")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b""),
        ("t.csv", b"heat,load\n"),
        ("t.csv", b"heat,heat,load\n1,2,3\n"),
        ("t.csv", b"heat,load\n1,2\n1,2,3,4\n"),
        ("t.csv", b"heat,load\n\xff\xfe\x00,1\n"),
        ("t.csv.gz", b"not gzip"),
        pytest.param("t.parquet", b"not parquet", marks=pytest.mark.needs("pyarrow")),
    ],
)
def test_damaged_table_is_one_line(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    assert f"DATA: got {name}, which" in error_of("explain", "plain:heat", name, "--target", "load")


@pytest.mark.parametrize("content", [b"", b"hello\n" * 9, b'{"a": 1}', "half"])
@pytest.mark.parametrize(("name", "save"), FORMATS)
def test_damaged_model_is_one_line(folder: Path, name: str, save: Callable[[Path], Any], content: bytes | str) -> None:
    if isinstance(content, str):
        save(folder / name)
        whole = (folder / name).read_bytes()
        content = whole[: len(whole) // 2]
    (folder / name).write_bytes(content)
    said = error_of("explain", name, "test.csv", "--target", "load", "--allow-pickle")
    assert said.startswith(f"error: MODEL: got {name}, which")


@pytest.mark.needs("skops")
@pytest.mark.parametrize("option", ["--target", "--drop"])
def test_feature_of_the_model_is_no_target_and_is_not_dropped(folder: Path, option: str) -> None:
    save_skops(folder / "m.skops")
    assert f"{option}: got 'heat', which is a feature of the model" in error_of(
        "explain", "m.skops", "test.csv", option, "heat"
    )


@pytest.mark.needs("skops")
def test_missing_feature_is_one_line(folder: Path) -> None:
    save_skops(folder / "m.skops")
    TEST.rename(columns={"heat": "Heat"}).to_csv("t.csv", index=False)
    said = error_of("explain", "m.skops", "t.csv", "--target", "load")
    assert "t.csv without the column 'heat', which the model was fitted on" in said
    assert "Try 'Heat'." in said
    TRAIN.drop(columns="wind").to_csv("b.csv", index=False)
    said = error_of("explain", "m.skops", "test.csv", "--target", "load", "--background", "b.csv", "-q")
    assert "--background: got b.csv without the column 'wind'" in said


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("m.json", "xgboost", "xgboost"),
        ("m.txt", "lightgbm", "lightgbm"),
        ("m.cbm", "catboost", "catboost"),
        ("m.onnx", "onnxruntime", "onnx"),
        ("m.skops", "skops", "skops"),
    ],
)
def test_missing_library_is_named_with_its_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"{library}.io", raising=False)
    (folder / name).write_bytes(b"whatever")
    said = error_of("explain", name, "test.csv", "--target", "load")
    assert f"needs {library}, which is not installed. Try pip install 'clarysage[{extra}]'." in said


def test_missing_pyarrow_is_named_with_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (folder / "t.parquet").write_bytes(b"whatever")
    assert "'clarysage[arrow]'" in error_of("explain", "plain:heat", "t.parquet", "--target", "load")


def test_outputs_are_checked_before_the_model_is_called(folder: Path) -> None:
    (folder / "plain.py").write_text(MODULE.replace("calls = []", "open('imported', 'w').close()\ncalls = []"))
    error_of("explain", "plain:heat", *DATA, "--plot", "nowhere/a.png")
    assert not (folder / "imported").exists()
    error_of("explain", "plain:failing", *DATA, "--json", "a.json", "--plot", "a.png")
    assert (folder / "imported").exists()
    assert not list(folder.glob("a.*"))


def test_debug_shows_the_traceback(folder: Path) -> None:
    result = run("explain", "plain:failing", *DATA, "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: MODEL: got RuntimeError")


def test_commands_have_the_exit_codes_they_promise(folder: Path) -> None:
    done = run("explain", "plain:heat", *DATA, *QUICK)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("SAGE values")
    error_of("explain", "plain:heat", "test.csv", "--target", "laod", code=1)
    error_of("explain", "plain:heat", *DATA, "--nope", code=2)
    budget = run("explain", "plain:heat", *DATA, *QUICK[:2], "--tolerance", "0.001", "--budget", "20000")
    assert budget.exit_code == 3
    assert "Stopped at the budget" in budget.stdout


@pytest.mark.parametrize("backend", [["--backend", "threads"], pytest.param([], marks=pytest.mark.cluster)])
def test_number_of_jobs_does_not_change_the_values(folder: Path, backend: list[str]) -> None:
    arguments = ["plain:heat", *DATA, *QUICK]
    assert explain(*arguments, "--n-jobs", "2", *backend) == explain(*arguments, "--n-jobs", "1")


def test_no_command_shows_the_help() -> None:
    result = run()
    assert "explain" in result.output
    assert "demo" in result.output


def test_demo_prints_a_converged_table_and_writes_its_files(folder: Path) -> None:
    result = run("demo", "--folder", "shown/here")
    assert result.exit_code == 0, result.stderr
    explanation = cs.load(folder / "shown" / "here" / "sage.json")
    assert explanation.converged
    assert set(explanation.top(2)) == {"body mass index", "log triglycerides"}
    assert result.stdout == f"{explanation}\n".replace('removal="auto conditional"', '--removal "auto conditional"')
    assert (folder / "shown" / "here" / "sage.png").read_bytes().startswith(b"\x89PNG")
    assert "note: wrote shown/here/sage.png" in result.stderr


def test_demo_that_cannot_write_is_one_line(folder: Path) -> None:
    assert "--folder: got test.csv" in error_of("demo", "--folder", "test.csv")


@pytest.mark.parametrize("about", ["data", "rows", "population"])
def test_the_table_is_about_what_is_asked_for_and_has_tests_on_request(folder: Path, about: str) -> None:
    done = run("explain", "plain:heat", *DATA, "--about", about, "--tests", "--method", "paired walks")
    assert done.exit_code == 0
    assert f"Intervals are about {ABOUT[about].summary}" in done.stdout
    assert "p helps" in done.stdout


def test_the_default_table_is_about_the_population(folder: Path) -> None:
    done = run("explain", "plain:heat", *DATA, "--method", "paired walks")
    assert f"Intervals are about {ABOUT['population'].summary}" in done.stdout
    assert "p helps" not in done.stdout


def test_what_is_not_known_is_said_and_the_rest_is_shown(folder: Path) -> None:
    done = run("explain", "plain:heat", *DATA, "--about", "population", "--removal", "baseline")
    assert "--about population: not known" in done.stderr
    assert f"Intervals are about {ABOUT['rows'].summary}" in done.stdout


def test_intervals_about_something_else_are_refused_before_the_work(folder: Path) -> None:
    done = run("explain", "plain:heat", *DATA, "--about", "world")
    assert done.exit_code == 2
    assert "--about: got 'world'" in done.stderr


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("name", ["t.parquet", "parts"])
def test_a_large_parquet_table_is_sampled_as_the_library_does(folder: Path, name: str) -> None:
    whole = make_table(400, 3).assign(weight=np.arange(400) + 1.0)
    if name == "parts":
        (folder / "parts").mkdir()
        for part in range(4):
            whole.iloc[100 * part : 100 * part + 100].to_parquet(folder / "parts" / f"{part}.parquet", index=False)
    else:
        whole.to_parquet(folder / name, row_group_size=60)
    TRAIN.to_parquet(folder / "train.parquet", row_group_size=50)
    columns = ["--target", "load", "--drop", "label", "--sample-weight", "weight"]
    options = ["--background", "train.parquet", "--background-rows", "40", "--max-rows", "70"]
    found = explain("plain:heat", name, *columns, *options, "--batch-size", "64", "--memory-limit", "1e8", *QUICK)
    chosen = np.sort(stream(0, BACKGROUND, 0).choice(120, 40, replace=False))
    expected = cs.sage(
        lambda rows: 2 * rows["heat"],
        whole[[*FEATURES, "load", "weight"]],
        "load",
        sample_weight="weight",
        background=TRAIN[FEATURES].iloc[chosen],
        max_rows=70,
        batch_size=64,
        **SETTINGS,
    )
    assert found["feature_names"] == FEATURES
    np.testing.assert_array_equal(found["values"], expected.values)
    assert found["provenance"]["rows_of_source"] == 400
    assert found["provenance"]["fingerprints"] == expected.provenance["fingerprints"]


def test_a_text_file_is_thinned_too(folder: Path) -> None:
    found = explain("plain:heat", *DATA, "--max-rows", "20", *QUICK)
    expected = cs.sage(lambda rows: 2 * rows["heat"], TEST[FEATURES], TEST["load"], max_rows=20, **SETTINGS)
    np.testing.assert_array_equal(found["values"], expected.values)
    assert found["provenance"]["examples"] == 20


@pytest.mark.needs("pyarrow", "lightgbm")
def test_a_large_parquet_table_has_categories_where_the_model_wants_them(folder: Path) -> None:
    table = colours(300, 0)
    booster = fit_lightgbm(table, "model.txt")
    table.to_parquet(folder / "t.parquet", row_group_size=50)
    found = explain("model.txt", "t.parquet", "--target", "price", "--max-rows", "100", *QUICK)
    whole = categorical(table).assign(price=table["price"])
    expected = cs.sage(booster, whole, "price", max_rows=100, **SETTINGS)
    np.testing.assert_allclose(found["values"], expected.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--memory-limit", "0", "--memory-limit: got 0.0; wanted a positive number of bytes. Try --memory-limit 1e9"),
        ("--max-rows", "0", "--max-rows"),
        ("--batch-size", "0", "--batch-size"),
    ],
)
def test_limits_of_nothing_are_refused(folder: Path, option: str, value: str, said: str) -> None:
    result = run("explain", "plain:heat", *DATA, option, value)
    assert result.exit_code == 2
    assert said in result.stderr
