"""Labels that are other names of a model's classes: the error says how to map them, and what it says works."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import clarysage as cs
from clarysage.cli.messages import error_in_shell

X = np.random.default_rng(0).normal(size=(60, 2))
HALVES = (X[:, 0] > 0).astype(int)
THIRDS = np.digitize(X[:, 0], [-0.4, 0.4])
CASES = {  # classes of the model, other names in their order
    "numbers for words": (["no", "yes"], [0, 1]),
    "fractions for words": (["no", "yes"], [0.0, 1.0]),
    "booleans for words": (["no", "yes"], [False, True]),
    "signs for words": (["no", "yes"], [-1, 1]),
    "words for numbers": ([0, 1], ["no", "yes"]),
    "words for signs": ([-1, 1], ["no", "yes"]),
    "numbers for signs": ([-1, 1], [0, 1]),
    "another spelling": (["no", "yes"], ["No", "Yes"]),
    "numbers for three words": (["a", "b", "c"], [0, 1, 2]),
    "fractions for three words": (["a", "b", "c"], [0.0, 1.0, 2.0]),
    "words for three numbers": ([0, 1, 2], ["x", "y", "z"]),
    "numbers from zero for numbers from one": ([1, 2, 3], [0, 1, 2]),
}


def error_about(classes, names):
    numbers = HALVES if len(classes) == 2 else THIRDS
    model, y = LogisticRegression().fit(X, np.array(classes)[numbers]), np.array(names)[numbers]
    with pytest.raises(cs.InputError, match="y: got the label") as caught:
        cs.sage(model, X, y, rng=0)
    return caught.value, model, y, cs.sage(model, X, np.array(classes)[numbers], rng=0).values


@pytest.mark.parametrize("case", CASES)
def test_labels_are_mapped_as_the_error_says(case):
    error, model, y, values = error_about(*CASES[case])
    classes, names = CASES[case]
    advice = re.search(
        r"Try (?:y = (?P<mapped>.*), or )?(?P<renamed>as_predictor\(.*\)) if (?P<meaning>.*)\.$", str(error)
    )
    assert advice is not None, error
    assert repr(classes[-1]) in advice["meaning"]
    renamed = eval(advice["renamed"], {"as_predictor": cs.as_predictor, "model": model})
    np.testing.assert_array_equal(cs.sage(renamed, X, y, rng=0).values, values)
    is_by_position = len(classes) == 2 or not isinstance(names[0], str)
    assert (advice["mapped"] is not None) == is_by_position
    if is_by_position:
        mapped = eval(advice["mapped"], {"np": np, "y": y})
        np.testing.assert_array_equal(cs.sage(model, X, mapped, rng=0).values, values)


def test_the_command_line_is_told_the_option_alone():
    error, *_ = error_about(["no", "yes"], [0, 1])
    assert error_in_shell(error).endswith("Try --classes 0,1 if 1 means 'yes'.")


@pytest.mark.parametrize(
    ("classes", "names"), [(["no", "yes"], ["no", "maybe"]), (["a", "b", "c"], [1, 2, 3]), (["no", "yes"], [0, 7])]
)
def test_labels_that_are_no_names_of_the_classes_are_not_mapped(classes, names):
    error, *_ = error_about(classes, names)
    assert "for a model that does not know the names of its classes" in str(error)


@pytest.mark.parametrize("are_refuted", [False, True])
def test_the_advice_to_name_classes_has_as_many_names_as_the_model_has_outputs(are_refuted):
    """Labels 1, 2 and 3 against three columns: the classes that the error or the note names are those to pass."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = rng.integers(1, 3, size=40)  # no 3, so that nothing but the missing 0 tells of another first label
    if are_refuted:
        X[np.arange(40), y - 1] += 9

    def model(X):
        return np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)

    advice = re.escape('as_predictor(model, classes=["1", "2", "3"]) if labels are numbered from 1')
    if are_refuted:
        with pytest.raises(cs.ModelError, match=advice):
            cs.sage(model, X, y, rng=0)
    else:
        assert any(re.search(advice, str(note)) for note in cs.sage(model, X, y, rng=0, budget=20_000).notes)
    f = cs.as_predictor(model, classes=["1", "2", "3"])
    numbered = cs.as_predictor(model, classes=[1, 2, 3])
    found, expected = (cs.sage(each, X, y, rng=0, method="exact", check_manifold=False) for each in (f, numbered))
    assert np.array_equal(found.values, expected.values)


def test_the_advice_to_name_classes_without_numbers_has_a_letter_for_each_output():
    shares = np.full((30, 4), [0.5, 0.25, 0.25, 0.0])
    with pytest.raises(cs.ModelError, match=re.escape('as_predictor(model, classes=["a", "b", "c", "d"])')):
        cs.sage(lambda X: shares[: len(X)], np.zeros((30, 2)), np.repeat([0, 3], 15), background=np.zeros((2, 2)))
