"""Measures side by side: the same numbers as one by one, what is left out and why, a table, a file."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import clarysage as cs
from clarysage._measures import importances as room
from clarysage._measures.table import MEASURES, Measure
from clarysage.errors import FormatError, InputError, MissingLibraryError, Note
from clarysage.results import Explanation, Importances
from clarysage.results.importances import WIDTH

NAMES = ("a", "b", "c")


def explain(values: Any, measure: str = "made up", names: Any = NAMES, **changes: Any) -> Explanation:
    values = np.array(values, dtype=float)
    fields: dict[str, Any] = {
        "values": values,
        "std_error": np.zeros(len(values)),
        "covariance": None,
        "feature_names": tuple(names),
        "total": float(values.sum()),
        "base": 10.0,
        "model_rows": 1234,
        "draws": 0,
        "stopped": cs.StopReason.EXACT,
        "measure": measure,
        "loss": "squared error",
        "removal": "marginal",
        "method": "exact",
    }
    return Explanation(**{**fields, **changes})


def made_up(name: str, values: Any, *, heuristic: bool = False, marks: str = "++++~", **changes: Any) -> Measure:
    """A measure that always gives the same."""

    def call(model: Any, X: Any, y: Any = None, *, rng: Any = None) -> Explanation:
        own = {"constant": None, "total": None, "base": None, "loss": "", "model_rows": 0} if heuristic else {}
        return explain(values, name, **{**own, **changes})

    return Measure(
        name,
        name,
        marks,
        None if heuristic else "v_f",
        None if heuristic else "all subsets",
        None if heuristic else "0",
        call=call,
    )


def refusing(name: str, error: Exception, **fields: Any) -> Measure:
    def call(model: Any, X: Any, y: Any = None) -> Explanation:
        raise error

    return Measure(name, name, "++-~+", "v_f", call=call, **fields)


ROWS = (
    made_up("sage", [1.0, 3.0, -0.5]),
    made_up("other", [4.0, 0.5, 0.5], constant=-2.5),
    made_up("splits", [7, 2, 0], heuristic=True, marks="----+"),
)


def three(**changes: Any) -> Importances:
    return replace(cs.importances(None, None, [0], measures=ROWS, rng=0), **changes)


@pytest.fixture
def tables(seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    return (lambda X: 2 * X[:, 0] + X[:, 1]), X, 2 * X[:, 0] + X[:, 1] + rng.normal(size=80) / 4


def only(monkeypatch: pytest.MonkeyPatch, *rows: Measure) -> None:
    """Let the table hold these measures alone."""
    monkeypatch.setattr(room, "MEASURES", {row.name: row for row in rows})


# numbers


def test_each_measure_is_what_its_function_gives_by_itself(tables: Any) -> None:
    f, X, y = tables
    options = {"background": X[:20], "groups": {"both": [0, 1]}, "tolerance": 0.1, "rng": 3}
    found = cs.importances(
        f, X, y, measures=["shapley effects", "sage", "squared correlation"], loss="absolute error", **options
    )
    assert list(found) == ["sage", "shapley effects", "squared correlation"]
    alone = cs.sage(f, X, y, loss="absolute error", **options)
    np.testing.assert_array_equal(found["sage"].values, alone.values)
    np.testing.assert_array_equal(found["shapley effects"].values, cs.shapley_effects(f, X, **options).values)
    own = cs.squared_correlation(f, X, y, groups=options["groups"])
    np.testing.assert_array_equal(found["squared correlation"].values, own.values)
    assert found.feature_names == ("both", "x2")


def test_all_measures_have_the_seed_of_one_generator(tables: Any) -> None:
    f, X, y = tables
    one, other = (
        cs.importances(f, X, y, measures=["sage", "shapley effects"], rng=np.random.default_rng(5)) for _ in range(2)
    )
    assert one["sage"].provenance["seed"] == one["shapley effects"].provenance["seed"]
    for name in one:
        np.testing.assert_array_equal(one[name].values, other[name].values)


def test_options_that_the_user_did_not_set_are_left_to_the_measure() -> None:
    seen = {}

    def call(model: Any, X: Any, y: Any = None, *, removal: Any = "copula", loss: Any = "own", tolerance: Any = 9):
        seen.update(removal=removal, loss=loss, tolerance=tolerance)
        return explain([1, 2, 3])

    row = Measure("curious", "", "+++++", "v_f", call=call)
    cs.importances(None, None, [0], measures=[row], loss="brier")
    assert seen == {"removal": "copula", "loss": "brier", "tolerance": 9}


def test_removal_that_a_later_measure_cannot_have_is_its_own() -> None:
    seen = []

    def call(model: Any, X: Any, y: Any = None, *, removal: Any = "copula") -> Explanation:
        seen.append(removal)
        if removal == "baseline":
            raise InputError("removal", got="'baseline'", wanted="another")
        return explain([1, 2, 3])

    row = Measure("choosy", "", "+++++", "v_f", call=call)
    assert "choosy" in cs.importances(None, None, [0], measures=[ROWS[0], row], removal="baseline")
    assert seen == ["baseline", "copula"]
    with pytest.raises(InputError, match="removal: got 'baseline'"):
        cs.importances(None, None, [0], measures=[row], removal="baseline")


def test_ranks_and_shares_are_those_of_the_values() -> None:
    found = three()
    assert found.ranks().to_dict("list") == {"sage": [2, 1, 3], "other": [1, 2, 2], "splits": [1, 2, 3]}
    assert found.ranks().index.tolist() == list(NAMES)
    np.testing.assert_allclose(found.shares()["sage"], np.array([1.0, 3.0, -0.5]) / 4.5)
    np.testing.assert_allclose(found.shares().abs().sum(), 1.0)


def test_measure_of_zeros_has_shares_of_zero() -> None:
    found = cs.importances(None, None, [0], measures=[made_up("nothing", [0, 0, 0])])
    assert found.shares()["nothing"].tolist() == [0, 0, 0]
    assert "0%" in str(found)


def test_correlation_is_spearmans(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(2, 12))
    names = [f"x{i}" for i in range(12)]
    rows = [made_up(name, row, names=names) for name, row in zip("pq", values, strict=True)]
    found = cs.importances(None, None, [0], measures=rows)
    assert found.correlation().loc["p", "q"] == pytest.approx(spearmanr(*values).statistic)


def test_features_are_in_the_order_of_sage_or_else_of_the_mean_rank() -> None:
    assert three().order == ["b", "a", "c"]
    rows = [made_up("p", [3, 2, 1]), made_up("q", [1, 3, 2]), made_up("r", [1, 3, 2])]
    assert cs.importances(None, None, [0], measures=rows).order == ["b", "a", "c"]  # mean ranks 7/3, 4/3, 7/3


def test_explanations_are_matched_by_name_whatever_their_order() -> None:
    rows = [made_up("p", [3, 2, 1]), made_up("q", [10, 20, 30], names=("c", "b", "a"))]
    found = cs.importances(None, None, [0], measures=rows)
    assert found.to_frame()["q"].to_dict() == {"a": 30, "b": 20, "c": 10}


# what is left out


def test_everything_that_applies_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    only(
        monkeypatch,
        ROWS[0],
        refusing("weights", InputError("model", got="a forest", wanted="a network")),
        refusing("gradients", MissingLibraryError("torch", "torch", "Aggregated saliency")),
        replace(made_up("ablation", [1, 2, 3]), refits=True),
        ROWS[2],
    )
    found = cs.importances(None, None, [0])
    assert list(found) == ["sage", "splits"]
    assert list(found.left_out) == ["weights", "gradients", "ablation"]
    assert str(found.left_out["weights"]) == "Got a forest; wanted a network."
    assert "pip install 'clarysage[torch]'" in found.left_out["gradients"]
    assert "refits=True" in found.left_out["ablation"]
    assert "Left out: weights. Got a forest" in str(found)
    assert list(cs.importances(None, None, [0], refits=True)) == ["sage", "ablation", "splits"]


def test_what_the_first_measure_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch, tables: Any) -> None:
    f, X, y = tables
    only(monkeypatch, MEASURES["sage"], ROWS[1])
    with pytest.raises(InputError, match="tolerance: got -1"):
        cs.importances(f, X, y, tolerance=-1)
    with pytest.raises(InputError, match=r"removal: got 'margnal'.*'marginal'"):
        cs.importances(f, X, y, removal="margnal")


def test_measure_asked_for_by_name_that_cannot_be_computed_is_an_error() -> None:
    error = InputError("model", got="a forest", wanted="a network")
    with pytest.raises(InputError, match="got a forest"):
        cs.importances(None, None, [0], measures=[ROWS[0], refusing("weights", error)])
    missing = MissingLibraryError("torch", "torch", "Saliency")
    with pytest.raises(MissingLibraryError, match="needs torch"):
        cs.importances(None, None, [0], measures=[ROWS[0], refusing("gradients", missing)])


def test_measures_of_performance_need_y(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, *ROWS)
    found = cs.importances(None, None)
    assert list(found) == ["splits"]
    assert list(found.left_out) == ["sage", "other"]
    assert "Needs y" in found.left_out["sage"]
    with pytest.raises(InputError, match="y: got None"):
        cs.importances(None, None, measures=["sage"])


def test_wrong_learner_or_rows_to_fit_on_are_errors_though_only_refits_look_at_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def call(model: Any, X: Any, y: Any = None, *, learner: Any = None, train: Any = None) -> Explanation:
        raise InputError("train", got="5", wanted="rows")

    row = Measure("ablation", "", "+++++", "v", refits=True, call=call)
    only(monkeypatch, ROWS[0], row)
    assert "train: got 5" in cs.importances(None, None, [0], refits=True).left_out["ablation"]
    with pytest.raises(InputError, match="train: got 5"):
        cs.importances(None, None, [0], refits=True, train=5)
    with pytest.raises(InputError, match="learner: got"):
        cs.importances(None, None, [0], learner=5)


def test_interrupted_run_starts_no_further_measure() -> None:
    stopped = made_up("first", [1, 2, 3], stopped=cs.StopReason.INTERRUPTED, draws=5)
    found = cs.importances(None, None, [0], measures=[stopped, ROWS[1]])
    assert list(found) == ["first"]
    assert "interrupted" in found.left_out["other"]
    assert found.unfinished == ("first",)
    assert not found.converged
    assert "Not converged: first. Interrupted" in str(found)


def test_what_was_computed_before_an_interrupt_is_kept() -> None:
    def call(model: Any, X: Any, y: Any = None) -> Explanation:
        raise KeyboardInterrupt

    row = Measure("slow", "", "+++++", "v_f", call=call)
    found = cs.importances(None, None, [0], measures=[ROWS[0], row, ROWS[1]])
    assert list(found) == ["sage"] == [name for name in ("sage", "slow", "other") if name not in found.left_out]
    with pytest.raises(KeyboardInterrupt):
        cs.importances(None, None, [0], measures=[row])


def test_default_removal_is_left_to_the_measure_however_it_is_spelled_out(tables: Any) -> None:
    f, X, y = tables
    name = "conditional permutation importance"
    found = cs.importances(f, X, y, measures=[name], removal="".join(["marg", "inal"]), rng=0)
    np.testing.assert_array_equal(found[name].values, cs.conditional_permutation_importance(f, X, y, rng=0).values)


def test_learner_and_train_reach_the_refits_and_net_effects_keep_to_linear_models(tables: Any) -> None:
    from sklearn.linear_model import Ridge
    from sklearn.tree import DecisionTreeRegressor

    _, X, y = tables
    model, tree = Ridge().fit(X, y), DecisionTreeRegressor(max_depth=2, random_state=0)
    names = ["shapley net effects", "drop column importance", "univariate predictors"]
    found = cs.importances(model, X[40:], y[40:], measures=names, learner=tree, train=(X[:40], y[:40]), rng=0)
    alone = cs.drop_column_importance(model, X[40:], y[40:], learner=tree, train=(X[:40], y[:40]), rng=0)
    np.testing.assert_array_equal(found["drop column importance"].values, alone.values)
    assert found["univariate predictors"].provenance["learner"] == "DecisionTreeRegressor"
    linear = cs.shapley_net_effects(model, X[40:], y[40:], train=(X[:40], y[:40]), rng=0)
    np.testing.assert_array_equal(found["shapley net effects"].values, linear.values)
    assert "4 fits" in str(found)


@pytest.mark.parametrize("names", [["sagee"], "permutaton test"])
def test_unknown_measures_are_answered_with_the_nearest(names: Any) -> None:
    with pytest.raises(InputError, match=r"Try '(sage|permutation importance)'"):
        cs.importances(None, None, [0], measures=names)


def test_wrong_arguments_say_what_is_wanted() -> None:
    with pytest.raises(InputError, match="measures: got none"):
        cs.importances(None, None, [0], measures=[])
    with pytest.raises(InputError, match="loss: got 2 losses"):
        cs.importances(None, None, [0], loss=["brier", "zero one"])
    with pytest.raises(InputError, match="rng: got -1"):
        cs.importances(None, None, [0], rng=-1)


def test_importances_must_be_of_the_same_features() -> None:
    rows = [made_up("p", [1, 2, 3]), made_up("q", [1, 2], names=("a", "b"))]
    with pytest.raises(InputError, match="'q' with other features"):
        cs.importances(None, None, [0], measures=rows)


# a mapping


def test_importances_are_a_mapping_of_names_to_explanations() -> None:
    found = three(left_out={"gini": "No trees."})
    assert (len(found), "sage" in found, "gini" in found, found.get("gini")) == (3, True, False, None)
    assert [name for name, _ in found.items()] == ["sage", "other", "splits"]
    with pytest.raises(KeyError, match=r"'sgae'; wanted one of 'sage', 'other', 'splits'. Try 'sage'"):
        _ = found["sgae"]
    with pytest.raises(KeyError, match="'gini', which was left out: No trees; wanted"):
        _ = found["gini"]
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    with pytest.raises(TypeError):
        found.left_out["x"] = "y"  # type: ignore[index]


# tables


def cells_of(name: str, lines: list[str]) -> list[str]:
    """Words of the lines of a measure: both blocks of the table of measures."""
    return [word for line in lines if line.startswith(f"  {name}  ") for word in line.split()]


def test_table_has_values_shares_ranks_constants_and_costs() -> None:
    lines = str(three()).splitlines()
    row = next(line for line in lines if line.startswith("  b "))
    assert row.split() == ["b", "3.000", "67%", "(1)", "0.500", "10%", "(2)", "2", "22%", "(2)"]
    other, splits = " ".join(cells_of("other", lines)), " ".join(cells_of("splits*", lines))
    assert other == "other v_f all subsets -2.500 1,234 model rows yes other yes yes yes partly"
    assert splits == "splits* - - - - no splits* no no no yes"
    assert any("*: a heuristic" in line for line in lines)
    assert [line.split()[0] for line in lines if line.startswith(("  a ", "  b ", "  c "))] == ["b", "a", "c"]


def test_wide_tables_are_split_into_blocks_that_fit_a_page() -> None:
    names = ["hour of the day", "temperature", "wind"]
    rows = [made_up(f"measure number {i}", [1234.5 * i, 1, -1], names=names) for i in range(1, 14)]
    left_out = {"gini": "word " * 60}
    text = str(replace(cs.importances(None, None, [0], measures=rows), left_out=left_out))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert sum(line.startswith("  wind ") for line in text.splitlines()) > 1
    for i in range(1, 14):
        assert f" {1234.5 * i:,.0f} " in text


def test_names_are_escaped_in_notebooks() -> None:
    names = ("<script>alert(1)</script>", "b&c", 'd" onload="x')
    rows = [made_up("<b>bold</b>", [1, 2, 3], names=names)]
    found = replace(cs.importances(None, None, [0], measures=rows), left_out={"<i>": "<u>why</u>"})
    html = found._repr_html_()
    assert not any(tag in html for tag in ("<script>", "<b>bold", "<u>", "<i>"))
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;bold" in html


# files


def test_saving_and_loading_gives_everything_back(tmp_path: Any, tables: Any) -> None:
    f, X, y = tables
    found = cs.importances(f, X, y, measures=["sage", "shapley effects"], rng=0)
    found = replace(found, left_out={"gini": "No trees."})
    found.save(tmp_path / "all.json")
    again = cs.load(tmp_path / "all.json")
    assert isinstance(again, cs.Importances)
    assert again.to_dict() == found.to_dict()
    assert str(again) == str(found)
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())


def _sage(data: dict[str, Any]) -> dict[str, Any]:
    explanation: dict[str, Any] = data["explanations"]["sage"]
    return explanation


DAMAGES = {
    "version": lambda data: data.update(version=1),
    "explanations": lambda data: data.update(explanations={}),
    "explanations ": lambda data: data.update(explanations=[data["explanations"]["sage"]]),
    "explanations  ": lambda data: _sage(data).update(feature_names=["a", "b", "z"]),
    "traits": lambda data: data["traits"].pop("sage"),
    "traits ": lambda data: data.pop("traits"),
    "left_out: gini": lambda data: data.update(left_out={"gini": 5}),
    "left_out": lambda data: data.pop("left_out"),
    "traits: sage: constant": lambda data: data["traits"]["sage"].pop("constant"),
    "traits: sage: approximates": lambda data: data["traits"]["sage"].update(approximates=3),
    "traits: sage: properties": lambda data: data["traits"]["sage"].update(properties={"agnostic": "perhaps"}),
    "traits: sage: colour": lambda data: data["traits"]["sage"].update(colour="blue"),
    "explanations: sage: values": lambda data: _sage(data)["values"].__setitem__(0, None),
    "explanations: sage: values ": lambda data: _sage(data)["values"].pop(),
    "explanations: sage": lambda data: data["explanations"].update(sage=[]),
}


@pytest.mark.parametrize("field", DAMAGES)
def test_damaged_files_are_refused_by_the_field(tmp_path: Any, field: str) -> None:
    data = json.loads(json.dumps(three().to_dict()))
    DAMAGES[field](data)
    (tmp_path / "all.json").write_text(json.dumps(data))
    with pytest.raises(FormatError, match=f"all.json: {field.strip()}: got"):
        cs.load(tmp_path / "all.json")


@pytest.mark.parametrize("kind", ["clarysage importance", ["clarysage importances"], None])
def test_file_of_no_known_format_is_refused(tmp_path: Any, kind: Any) -> None:
    (tmp_path / "x.json").write_text(json.dumps({**three().to_dict(), "format": kind}))
    with pytest.raises(FormatError, match=r"x\.json: format: got"):
        cs.load(tmp_path / "x.json")


# what a trial of the whole showed


def test_mean_loss_shap_is_left_out_by_default_where_it_would_take_very_many_rows(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, X, y = tables

    def black_box(Z: np.ndarray) -> np.ndarray:
        return np.asarray(Z[:, 0] * Z[:, 1] + Z[:, 2])

    only(monkeypatch, MEASURES["sage"], MEASURES["mean loss shap"])
    options: dict[str, Any] = {"loss": "absolute error", "rng": 0}
    assert list(cs.importances(black_box, X, y, **options)) == ["sage", "mean loss shap"]
    monkeypatch.setattr(room, "COSTLY", 10)
    monkeypatch.setattr("clarysage._measures.mean_shap.PAIRS_WORTH_EXACT", 0)
    monkeypatch.setattr("clarysage.estimators.forecast.TYPICAL_PAIRS", 0)
    found = cs.importances(black_box, X, y, **options)
    assert list(found) == ["sage"]
    assert "ask for it by name" in found.left_out["mean loss shap"]
    assert list(cs.importances(black_box, X, y, measures=["mean loss shap"], **options)) == ["mean loss shap"]


def test_what_a_measure_warns_of_is_told_below_the_table_once() -> None:
    strange = Note("Rows are strange.", advice="Try others.")
    warned = made_up("one", [1.0, 2.0, 3.0], notes=(strange, "All else is well."))
    again = made_up("two", [1.0, 2.0, 3.0], notes=(strange,))
    text = str(cs.importances(None, [[0.0] * 3], [0.0], measures=[warned, again]))
    assert text.count("Rows are strange") == 1
    assert "Warning for one, two: Rows are strange. Try others." in text
    assert "All else is well" not in text


def test_what_cannot_be_had_by_name_is_refused_before_others_are_computed(tables: Any) -> None:
    _, X, y = tables

    def counted(model: Any, X: Any, y: Any = None) -> Explanation:
        raise AssertionError("was computed")

    early = Measure("early", "Early", "++++~", "v_f", call=counted)
    for name, argument in (("coefficient size", "model"), ("drop column importance", "learner")):
        with pytest.raises(InputError) as caught:
            cs.importances(lambda Z: Z[:, 0], X, y, measures=[early, name])
        assert caught.value.argument == argument
