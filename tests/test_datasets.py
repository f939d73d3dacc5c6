"""Datasets of the library: those of scikit-learn, and the table of them."""

from __future__ import annotations

import pytest
from sklearn import datasets as scikit_learn

import clarysage as cs
from clarysage.datasets import DATASETS
from clarysage.errors import InputError


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "wine", "digits"])
def test_tables_are_scikit_learn_s(name):
    options = {"scaled": False} if name == "diabetes" else {}
    X, y = getattr(scikit_learn, f"load_{name}")(return_X_y=True, **options)
    dataset = getattr(cs.datasets, name)()
    assert (dataset.X.to_numpy() == X).all()
    assert (dataset.y.to_numpy() == y).all()
    assert dataset.y.name != "target"


def test_diabetes_has_names_of_measurements():
    assert "s1" not in cs.datasets.diabetes().X
    assert list(cs.datasets.diabetes().X)[-2:] == ["log triglycerides", "blood sugar"]


def test_a_dataset_unpacks_into_features_and_target():
    dataset = cs.datasets.wine()
    X, y = dataset
    assert X is dataset.X
    assert y is dataset.y
    assert repr(dataset).startswith("wine: 178 rows, 13 features, target 'cultivar'; UCI")


@pytest.mark.parametrize("row", DATASETS.values(), ids=lambda row: row.name)
def test_every_row_has_a_public_function_of_its_name(row):
    assert row.name in cs.datasets.__all__
    assert getattr(cs.datasets, row.name) is row.loader
    assert cs.datasets.load(row.name).name == row.name


def test_listed_has_a_line_for_each():
    listed = cs.datasets.listed()
    assert list(listed.index) == ["diabetes", "breast_cancer", "wine", "digits"]
    assert set(listed["task"]) == {"regression", "classification"}


def test_a_name_may_be_spelled_with_blanks():
    assert cs.datasets.load("Breast cancer").name == "breast_cancer"


@pytest.mark.parametrize("name", ["bnak", 3, None])
def test_an_unknown_name_is_refused_with_those_there_are(name):
    with pytest.raises(InputError, match="wanted one of 'diabetes', 'breast_cancer'"):
        cs.datasets.load(name)


def test_a_misspelled_name_is_answered_with_the_right_one():
    with pytest.raises(InputError, match="Try 'digits'"):
        cs.datasets.load("digist")
