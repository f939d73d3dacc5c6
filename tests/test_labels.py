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
