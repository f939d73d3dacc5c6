"""The result: what it tells, its table, its file."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from clarysage import StopReason
from clarysage._measures.provenance import fingerprint_of_rows
from clarysage.errors import FormatError, UnavailableError
from clarysage.tables import schema_of


@pytest.fixture(scope="module")
def explanation() -> cs.Explanation:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = 2 * X[:, 0] + X[:, 1] - X[:, 3] + rng.normal(size=80)
    return cs.sage(
        lambda Z: 2 * Z[:, 0] + Z[:, 1] + Z[:, 3], X, y, method="permutation", feature_names=["a", "b", "c", "d"], rng=0
    )


def test_an_explanation_is_frozen_and_so_are_its_arrays(explanation):
    with pytest.raises(FrozenInstanceError):
        explanation.total = 3.0
    with pytest.raises(ValueError, match="read-only"):
        explanation.values[0] = 3.0


def test_the_values_nearly_add_up_to_what_all_features_bring(explanation):
    error = np.sqrt(explanation.covariance.sum())
    assert abs(explanation.values.sum() - explanation.total) <= 6 * error
    assert explanation.constant == 0.0


def test_power_is_the_sum_of_the_values_of_a_subset(explanation):
    assert explanation.power([]) == 0.0
    assert explanation.power(["a", "b"]) == pytest.approx(explanation.values[:2].sum())
    assert explanation.power([0, 1]) == explanation.power(["a", "b"])
    assert replace(explanation, constant=0.5).power("a") == pytest.approx(0.5 + explanation.values[0])
    with pytest.raises(cs.InputError, match="features: got 'z'"):
        explanation.power(["z"])
    with pytest.raises(cs.InputError, match="more than once"):
        explanation.power(["a", 0])


def test_top_names_the_largest_values(explanation):
    assert explanation.top(2) == ["a", "b"]
    assert explanation.top(99)[-1] == "d"
    with pytest.raises(cs.InputError, match="k: got -1"):
        explanation.top(-1)


def test_intervals_widen_with_the_level_and_when_joint(explanation):
    low, high = explanation.interval(0.95)
    wider = explanation.interval(0.99)
    joint = explanation.interval(0.95, joint=True)
    assert np.all(wider[0] <= low)
    assert np.all(high <= wider[1])
    assert np.all(joint[1] - joint[0] >= high - low)
    assert np.allclose((low + high) / 2, explanation.values)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, "0.95", float("nan")])
def test_a_level_that_is_no_probability_is_refused(explanation, level):
    with pytest.raises(cs.InputError, match="level: got"):
        explanation.interval(level)


@pytest.mark.parametrize("about", ["rows", "population"])
def test_intervals_about_other_rows_are_refused_clearly(explanation, about):
    assert explanation.shown == "data"
    with pytest.raises(UnavailableError, match="paired walks"):
        explanation.interval(about=about)
    with pytest.raises(cs.InputError, match="about: got 'world'"):
        explanation.interval(about="world")


def test_the_frame_holds_values_errors_and_intervals(explanation):
    frame = explanation.to_frame()
    assert frame.columns.tolist() == ["feature", "value", "std_error", "low", "high"]
    assert frame["feature"].tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(frame["low"], explanation.interval()[0])


def test_the_text_says_what_it_shows(explanation):
    text = str(explanation)
    assert text.splitlines()[0] == "SAGE values: how much each feature reduces the model's squared error"
    rows = [line.split()[0] for line in text.splitlines()[2:6]]
    assert rows == explanation.top(4)
    assert "about this data and this background (only the sampling error of the run)" in text
    assert "Converged" in text
    assert f"{explanation.model_rows:,} model rows" in text
    assert "Loss 'squared error' was chosen for this model." in text
    assert repr(explanation) == text


def test_the_html_table_escapes_names(explanation):
    named = replace(explanation, feature_names=("<script>alert(1)</script>", 'b" onload="x', "c&d", "d"))
    html = named._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "c&amp;d" in html
    assert html.count("<tr>") == 5


def test_saving_and_loading_gives_every_field_back(explanation, tmp_path):
    path = tmp_path / "sage.json"
    explanation.save(path)
    again = cs.load(path)
    for name in ("values", "std_error", "covariance"):
        assert np.array_equal(getattr(again, name), getattr(explanation, name))
    for name in (
        "feature_names",
        "total",
        "base",
        "model_rows",
        "draws",
        "stopped",
        "converged",
        "measure",
        "loss",
        "removal",
        "method",
        "constant",
        "groups",
        "notes",
        "provenance",
    ):
        assert getattr(again, name) == getattr(explanation, name)
    assert json.loads(path.read_text())["version"] == 2
    assert os.listdir(tmp_path) == ["sage.json"]


def test_a_covariance_whose_halves_differ_by_rounding_survives_the_file(explanation, tmp_path):
    uneven = explanation.covariance.copy()
    uneven[0, 1] *= 1 + 1e-15
    replace(explanation, covariance=uneven).save(tmp_path / "sage.json")
    again = cs.load(tmp_path / "sage.json")
    assert np.array_equal(again.covariance, replace(explanation, covariance=uneven).covariance)
    assert np.array_equal(again.covariance, again.covariance.T)


def test_names_with_halves_of_characters_survive_the_file(explanation, tmp_path):
    names = ("a\ud800", "\udcff b", *explanation.feature_names[2:])
    replace(explanation, feature_names=names).save(tmp_path / "x.json")
    assert "a\\ud800" in (tmp_path / "x.json").read_text(encoding="utf-8")
    assert cs.load(tmp_path / "x.json").feature_names == names


def test_groups_and_odd_names_survive_the_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = cs.sage(lambda Z: Z[:, 0], X, X[:, 0], groups={"wéather \u2603 </script>": [0, 1]}, rng=0)
    found.save(tmp_path / "x.json")
    again = cs.load(str(tmp_path / "x.json"))
    assert again.groups == found.groups == {"wéather \u2603 </script>": ["x0", "x1"], "x2": ["x2"]}


BROKEN = {
    "format": "something else",
    "version": 3,
    "values": [1.0, 2.0, 3.0],
    "std_error": [0.1, 0.1, 0.1, -0.1],
    "covariance": [[1.0], [1.0, 2.0]],
    "feature_names": ["a", "a", "c", "d"],
    "total": "0.3",
    "base": None,
    "model_rows": -1,
    "draws": 1.5,
    "stopped": "BORED",
    "converged": False,
    "groups": {"a": "b"},
    "notes": "none",
    "provenance": [],
    "measure": 3,
    "loss": None,
    "removal": ["x"],
    "method": {},
}


@pytest.mark.parametrize("field", sorted(BROKEN))
def test_a_file_with_a_broken_field_is_refused_by_name(explanation, tmp_path, field):
    path = tmp_path / "sage.json"
    for change in ("wrong", "missing"):
        data = explanation.to_dict()
        if change == "wrong":
            data[field] = BROKEN[field]
        else:
            del data[field]
        path.write_text(json.dumps(data))
        with pytest.raises(FormatError, match=f"sage.json: {field}(: a)?: got"):
            cs.load(path)


@pytest.mark.parametrize("value", [[], ["CONVERGED"], {}, None, 1])
def test_a_reason_for_stopping_that_is_no_word_is_refused(explanation, tmp_path, value):
    path = tmp_path / "sage.json"
    path.write_text(json.dumps({**explanation.to_dict(), "stopped": value}))
    with pytest.raises(FormatError, match=r"sage\.json: stopped: got"):
        cs.load(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": NaN}', "[" * 100_000, "\x00\x01", '{"format": "clarysage explanation"}']
)
def test_a_file_that_is_no_explanation_is_refused(tmp_path, text):
    path = tmp_path / "sage.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"sage\.json|path"):
        cs.load(path)


def test_a_file_with_infinite_or_missing_numbers_is_refused(explanation, tmp_path):
    path = tmp_path / "sage.json"
    for value in ("Infinity", "NaN", "1e999", "true", "null", '"1"'):
        data = explanation.to_dict()
        data["values"] = ["REPLACE", *data["values"][1:]]
        path.write_text(json.dumps(data).replace('"REPLACE"', value))
        with pytest.raises(FormatError, match=r"values|not JSON"):
            cs.load(path)


def test_loading_a_pickle_runs_nothing(tmp_path):
    import pickle

    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    path = tmp_path / "sage.json"
    path.write_bytes(pickle.dumps(Payload()))
    with pytest.raises(FormatError):
        cs.load(path)
    assert not (tmp_path / "executed").exists()


def test_a_missing_file_is_named():
    with pytest.raises(FormatError, match=r"nowhere\.json"):
        cs.load("nowhere.json")


def test_saving_to_a_folder_that_is_not_there_leaves_nothing_behind(explanation, tmp_path):
    for path in (tmp_path / "missing" / "sage.json", tmp_path):
        with pytest.raises(cs.InputError, match=r"path: got .*; wanted a file in a folder that exists"):
            explanation.save(path)
    assert os.listdir(tmp_path) == []


def test_every_reason_to_stop_says_whether_it_is_convergence():
    converged = {reason for reason in StopReason if reason.is_converged}
    assert converged == {StopReason.EXACT, StopReason.CONVERGED, StopReason.EQUAL, StopReason.NO_EFFECT}
    assert all(len(reason.value) > 20 for reason in StopReason)


def test_provenance_tells_versions_seed_sizes_and_fingerprints(explanation):
    told = explanation.provenance
    assert told["clarysage"] == cs.__version__
    assert told["seed"] == 0
    assert (told["examples"], told["columns"], told["background_rows"]) == (80, 4, 80)
    assert len(set(told["fingerprints"].values())) >= 3


def test_a_model_worse_than_no_features_is_pointed_out():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = cs.sage(lambda Z: -Z[:, 0], X, X[:, 0])
    assert found.total < 0
    assert any("worse with its features" in note for note in found.notes)


def test_probabilities_of_zero_are_bounded_counted_and_told():
    X = np.array([[0.0], [1.0], [1.0], [0.0]])
    found = cs.sage(lambda Z: np.column_stack([1 - Z[:, 0], Z[:, 0]]), X, [0, 1, 0, 1], loss="cross entropy")
    assert np.isfinite(found.values).all()
    assert found.base - found.total == pytest.approx(-np.log(1e-12) / 2)
    (note,) = (note for note in found.notes if "bounded" in note)
    assert "the true class of 2 of 4 rows a probability of zero: their losses were bounded at 27.63" in note
    assert "100 % of the mean loss" in note
    assert note.level == "warning"


def test_values_without_error_have_no_interval_of_no_width(explanation):
    sure = replace(explanation, draws=0, std_error=np.zeros(4), targets={})
    assert "interval" not in str(sure).splitlines()[1]
    assert "[" not in str(sure).splitlines()[2]
    assert "interval" in str(explanation).splitlines()[1]


def test_nothing_in_names_reaches_the_terminal_that_it_would_obey():
    """Colours, titles of windows and turned text, as from the header of a file; tables cut what is long."""
    names = ["\x1b[31mred\x1b]0;owned\x07", "turned\u202etxt.exe", "x" * 5000]
    X = np.random.default_rng(0).normal(size=(60, 3))
    one = cs.sage(lambda X: X[:, 0], X, X[:, 0], feature_names=names, loss="squared error", rng=0)
    said = [one.table(), cs.compare(one, one, names=["\x1b[2J", "b"]).table()]
    found = cs.monitor(
        lambda X: X["a\x1b[1m"],
        *[pd.DataFrame(X[:, :2], columns=["a\x1b[1m", "b\u202e"])] * 2,
        rng=0,
        by=["\x1b[3m"] * 60,
    )
    for text in [*said, found.table()]:
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
        assert "x" * 100 not in text
    assert "\\u001b[31mred" in said[0]
    assert one.feature_names == tuple(names)


def test_fingerprints_of_rows_do_not_depend_on_the_order_of_columns():
    frame = pd.DataFrame({"b": [1.0, 2.0, 3.0], "a": ["x", "y", "x"], "c": [0.5, 0.1, 0.2]})
    codes = {}
    for names in (["b", "a", "c"], ["a", "c", "b"]):
        schema = schema_of(frame[names])
        codes[tuple(names)] = fingerprint_of_rows(schema.encode(frame[names], "X"), schema)
    assert len(set(codes.values())) == 1
    schema = schema_of(frame)
    swapped = frame.assign(b=frame["c"], c=frame["b"])
    assert fingerprint_of_rows(schema.encode(swapped, "X"), schema) not in codes.values()


def test_an_explanation_is_a_mapping_of_names_to_values(explanation):
    assert len(explanation) == 4
    assert list(explanation) == ["a", "b", "c", "d"]
    assert "a" in explanation
    assert "z" not in explanation
    assert dict(explanation) == dict(zip("abcd", explanation.values.tolist(), strict=True))
    assert max(explanation, key=explanation.__getitem__) == explanation.top(1)[0]
    np.testing.assert_array_equal(np.asarray(explanation), explanation.values)


def test_a_value_by_its_name_has_its_uncertainty(explanation):
    value = explanation["b"]
    assert value == explanation.values[1]
    assert (value.name, value.std_error) == ("b", explanation.std_error[1])
    for options in ({}, {"level": 0.5}, {"about": "data", "joint": True}):
        low, high = explanation.interval(**options)
        assert value.interval(**options) == (low[1], high[1])
    assert value.p_value() == explanation.p_values()[1]
    assert value.p_value("hurts", adjust="holm") == explanation.p_values("hurts", adjust="holm")[1]
    assert f"{value:.2f}" == f"{explanation.values[1]:.2f}"
    assert json.loads(json.dumps(dict(explanation)))["b"] == value
    again = pickle.loads(pickle.dumps(value))
    assert (again, again.name, again.interval()) == (value, "b", value.interval())


@pytest.mark.parametrize(
    ("name", "hint"),
    [("B", "Try 'b'"), ("importances_mean", "Try explanation.importances_mean"), (1, r"Try explanation.values\[0\]")],
)
def test_an_unknown_name_is_a_key_error_that_helps(explanation, name, hint):
    with pytest.raises(KeyError, match=f"name: got {name!r}; wanted the name of a feature. {hint}"):
        explanation[name]


def test_words_of_scikit_learn_for_values(explanation):
    for values in (explanation.importances_mean, explanation.feature_importances_):
        np.testing.assert_array_equal(values, explanation.values)
    np.testing.assert_array_equal(explanation.importances_std, explanation.std_error)  # nothing else is known
    X = np.random.default_rng(0).normal(size=(60, 3))
    sampled = cs.sage(lambda Z: Z[:, 0], X, X[:, 0], background=X, rng=0)
    assert sampled.shown == "population"
    np.testing.assert_array_equal(sampled.importances_std, sampled.target("population").std_error)
    assert sampled.importances_std[0] > sampled.std_error[0]


def test_values_of_groups_are_no_values_of_columns():
    X = np.random.default_rng(0).normal(size=(60, 3))
    grouped = cs.sage(lambda Z: Z[:, 0], X, X[:, 0], groups={"both": ["x0", "x1"]}, rng=0)
    assert not hasattr(grouped, "feature_importances_")
    with pytest.raises(AttributeError, match="feature_importances_; use values, one for each of feature_names"):
        _ = grouped.feature_importances_


@pytest.mark.parametrize(("name", "ours"), [("shap_values", "values"), ("std", "std_error"), ("importances", "values")])
def test_an_attribute_of_another_library_is_named_as_here(explanation, name, ours):
    with pytest.raises(AttributeError, match=f"No Explanation attribute {name}; use {ours}"):
        getattr(explanation, name)
    with pytest.raises(AttributeError, match="'Explanation' object has no attribute 'nothing'"):
        _ = explanation.nothing
