"""Every measure of the table keeps what all promise; the table is the paper's; and the checks of it can fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
import pytest

import clarysage as cs
from clarysage._measures.options import options_of
from clarysage._measures.table import MEASURES, THE_REST
from clarysage.errors import InputError
from clarysage.testing import check_measure, measure_checks, measure_problem
from clarysage.testing.checks import family_of
from clarysage.testing.contract import OF_A_RUN, OF_A_TASK, OF_RUNS
from clarysage.testing.problems import TABLES, TASKS, losses_of

# how a measure is tried where that is not for any model, table or task
FEW_FITS, FEW_REPEATS = {"options": {"folds": 2}}, {"options": {"repeats": 3}}
OF_MODULES = {"tables": ("array", "numbers")}  # PyTorch has no other columns
TRIED: dict[str, dict[str, Any]] = {
    "drop column importance": FEW_FITS,
    "univariate predictors": FEW_FITS,
    "shapley net effects": FEW_FITS,
    "permutation importance": FEW_REPEATS,
    "conditional permutation importance": FEW_REPEATS,
    "aggregated saliency": OF_MODULES,
}
FAMILY = {
    "coefficient size": "linear",
    "gini importance": "trees",
    "number of splits": "trees",
    "network weights": "network",
    "aggregated saliency": "torch",
}
NEEDS = {name: [pytest.mark.needs("torch")] if family == "torch" else [] for name, family in FAMILY.items()}

# how measures are tried once more, where all subsets would be looked at
SAMPLED = {
    "sage": {"method": "permutation", "tolerance": 0.1},
    "mean loss shap": {"method": "paired walks", "tolerance": 0.1},
    "shapley effects": {"method": "kernel", "tolerance": 0.1},
    "shapley net effects": {"method": "paired walks", "tolerance": 0.1, "folds": 2},
    "mean absolute shap": {"method": "paired walks", "tolerance": 0.1},
}
SEED = int(os.environ.get("CLARYSAGE_TEST_SEED", "0"))

# Table 1 of the paper: agnostic, performance, interactions, missingness, tractable. Shapley effects are not in it.
YES, PARTLY, NO = "yes", "partly", "no"
TABLE_1 = {
    "coefficient size": (NO, NO, NO, NO, YES),
    "gini importance": (NO, NO, NO, NO, YES),
    "number of splits": (NO, NO, NO, NO, YES),
    "network weights": (NO, NO, NO, NO, YES),
    "aggregated saliency": (NO, NO, NO, NO, YES),
    "mean absolute shap": (YES, NO, YES, PARTLY, NO),
    "drop column importance": (YES, YES, NO, YES, PARTLY),
    "permutation importance": (YES, YES, NO, PARTLY, YES),
    "conditional permutation importance": (YES, YES, NO, YES, YES),
    "mean importance": (YES, YES, NO, NO, YES),
    "univariate predictors": (NO, YES, NO, YES, YES),
    "squared correlation": (NO, YES, NO, YES, YES),
    "shapley net effects": (NO, YES, YES, YES, NO),
    "mean loss shap": (YES, YES, YES, PARTLY, NO),
    "sage": (YES, YES, YES, PARTLY, PARTLY),
}

# Table 3: approximates, subdomain, phi_0
ALL_BUT_ONE = ("all features, all but one", "v(D) - sum of values")
ONE, ALL = ("no feature, one feature", "0"), ("all subsets", "0")
TABLE_3 = {
    "drop column importance": ("v", *ALL_BUT_ONE),
    "permutation importance": ("v_f", *ALL_BUT_ONE),
    "conditional permutation importance": ("v_f", *ALL_BUT_ONE),
    "mean importance": ("v_f", *ALL_BUT_ONE),
    "univariate predictors": ("v", *ONE),
    "squared correlation": ("v", *ONE),
    "shapley net effects": ("v", *ALL),
    "mean loss shap": ("v_f", *ALL),
    "sage": ("v_f", *ALL),
    "shapley effects": ("w_f", *ALL),
}
HEURISTICS = [name for name in TABLE_1 if name not in TABLE_3]


def trials(measure: Any, **options: Any) -> dict[str, dict[str, Callable[[], None]]]:
    """The checks of a measure by trial (a task, a table and a loss), and within it by promise.

    All checks of a trial share its runs, so a trial is one test: its runs are made once, on one worker.
    """
    grouped: dict[str, dict[str, Callable[[], None]]] = {}
    for words, check in measure_checks(measure, seed=SEED, **options):
        trial, _, promise = words.rpartition(": ")
        grouped.setdefault(trial, {})[promise] = check
    return grouped


TRIALS = {words: checks for name in MEASURES for words, checks in trials(name, **TRIED.get(name, {})).items()}
OF_DRAWS = {
    words: checks
    for name, options in SAMPLED.items()
    for words, checks in trials(name, tasks=["binary"], losses=["brier"], options=options).items()
}


def broken_promises(checks: Mapping[str, Callable[[], None]]) -> list[str]:
    """What fails of a trial, each with its promise."""
    failures = []
    for promise, check in checks.items():
        try:
            check()
        except Exception as error:
            failures.append(f"{promise}: {error!r}")
    return failures


@pytest.mark.parametrize("name", [pytest.param(name, marks=NEEDS.get(name.split(",")[0], [])) for name in TRIALS])
def test_every_measure_keeps_what_all_promise(name):
    assert broken_promises(TRIALS[name]) == []


@pytest.mark.parametrize("name", OF_DRAWS)
def test_measures_that_draw_keep_what_all_promise(name):
    assert broken_promises(OF_DRAWS[name]) == []


def test_a_single_promise_that_is_broken_is_an_error(monkeypatch):
    def broken():
        raise AssertionError("the sum is off")

    checks = {"mine: names": lambda: None, "mine: sum": broken}
    module = sys.modules[check_measure.__module__]  # which has the name of a function beside it
    monkeypatch.setattr(module, "measure_checks", lambda measure: checks.items())
    with pytest.raises(AssertionError, match="mine: sum: the sum is off"):
        check_measure("sage")


def test_a_trial_lists_every_promise_that_it_breaks():
    options = {"tasks": ["regression"], "tables": ["array"], "losses": ["squared error"]}
    (checks,) = trials(BROKEN["values turned around"][0], **options).values()
    failures = broken_promises(checks)
    assert [line for line in failures if line.startswith("nothing: AssertionError")]
    assert len(failures) < len(checks)


@pytest.mark.parametrize("name", [pytest.param(name, marks=NEEDS.get(name, [])) for name in MEASURES])
def test_measures_are_tried_on_the_models_that_they_are_for(name):
    row = MEASURES[name]
    assert family_of(row.function, row, {}, SEED) == FAMILY.get(name, "linear")


def test_every_measure_of_the_table_is_tried_on_every_task_and_loss():
    for name in MEASURES:
        its = [words.split(", ") for words in TRIALS if words.split(", ")[0] == name]
        assert {words[1] for words in its} == set(TRIED.get(name, {}).get("tasks", TASKS))
        assert {words[2] for words in its} == set(TRIED.get(name, {}).get("tables", ("array", "mixed")))
        if "loss" in options_of(MEASURES[name].function) and "losses" not in TRIED.get(name, {}):
            for task in {words[1] for words in its}:
                assert {words[3] for words in its if words[1] == task} > set(losses_of(task, "array")[:-1])


def test_the_table_has_the_names_of_the_paper_and_shapley_effects():
    assert set(MEASURES) >= {*TABLE_1, "shapley effects"}


@pytest.mark.parametrize("name", TABLE_1)
def test_properties_are_those_of_table_1(name):
    assert tuple(MEASURES[name].properties.values()) == TABLE_1[name]
    assert list(MEASURES[name].properties) == ["agnostic", "performance", "interactions", "missingness", "tractable"]


def test_shapley_effects_have_the_properties_of_sage_but_performance():
    assert MEASURES["shapley effects"].properties == {**MEASURES["sage"].properties, "performance": "no"}


@pytest.mark.parametrize("name", [*TABLE_1, "shapley effects"])
def test_rows_are_those_of_table_3(name):
    row = MEASURES[name]
    assert (row.approximates, row.subdomain, row.constant) == TABLE_3.get(name, (None, None, None))
    assert row.is_heuristic == (name in HEURISTICS)
    assert row.refits == (name in ("drop column importance", "univariate predictors", "shapley net effects"))


def test_the_list_of_measures_is_the_table():
    frame = cs.measures()
    assert list(frame.index) == list(MEASURES)
    assert frame.index.name == "measure"
    for name, marks in TABLE_1.items():
        assert tuple(frame.loc[name, "agnostic":"tractable"]) == marks
        assert frame.loc[name, "heuristic"] == ("yes" if name in HEURISTICS else "no")
    for name, row in TABLE_3.items():
        assert tuple(frame.loc[name, ["approximates", "subdomain", "constant"]]) == row
    assert (frame.loc[HEURISTICS, ["approximates", "subdomain", "constant"]] == "-").all(axis=None)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_public_under_its_name(name):
    underscored = name.replace(" ", "_")
    assert getattr(cs, underscored) is MEASURES[name].function
    assert underscored in cs.__all__
    assert underscored in dir(cs)
    assert MEASURES[name].function.__doc__


@pytest.mark.parametrize("spelled", ["shapley effects", "Shapley Effects", "SHAPLEY_EFFECTS", " shapley-effects "])
def test_a_measure_is_found_however_it_is_spelled(spelled):
    p = measure_problem("regression", "array")
    found = cs.importance(spelled, p.model, p.X, p.y, rng=0)
    assert found.measure == "shapley effects"
    assert (found.values == cs.shapley_effects(p.model, p.X, rng=0).values).all()


def test_an_unknown_measure_is_answered_with_one_like_it():
    with pytest.raises(InputError, match=r"name: got 'sagee'.*Try 'sage'"):
        cs.importance("sagee", None, None)
    with pytest.raises(InputError, match="name: got 3"):
        cs.importance(3, None, None)


def test_an_unknown_option_is_answered_with_one_like_it():
    with pytest.raises(InputError, match=r"looss: got an option that 'sage' does not have.*Try 'loss'") as caught:
        cs.importance("sage", None, None, looss="brier")
    assert caught.value.argument == "looss"


def sage_row(function: Callable[..., Any]) -> cs.Measure:
    return replace(MEASURES["sage"], call=function)


def spoilt(spoil: Callable[[cs.Explanation], Any]) -> cs.Measure:
    """SAGE with what it returns spoilt, as a row."""

    @wraps(cs.sage)
    def measure(model, X, y=None, **options):
        found = cs.sage(model, X, y, **options)
        return [spoil(one) for one in found] if isinstance(found, list) else spoil(found)

    return sage_row(measure)


def misled(change: Callable[..., tuple[Any, Any, Any]], *dropped: str) -> cs.Measure:
    """SAGE of model, X and y that were changed first, and without some of the options, as a row."""

    @wraps(cs.sage)
    def measure(model, X, y=None, **options):
        kept = {name: value for name, value in options.items() if name not in dropped}
        return cs.sage(*change(model, X, y), **kept)

    return sage_row(measure)


def unchanged(model, X, y):
    return model, X, y


def scribble(model, X, y):
    np.asarray(X)[0, 0] += 1
    return model, X, y


def refit(model, X, y):
    return model.fit(X, y), X, y


def shuffle(model, X, y):
    np.random.shuffle(np.arange(3))  # noqa: NPY002
    return model, X, y


def pad(model, X, y):
    return (model, X, y) if len(X) else (model, np.zeros((5, X.shape[1])), np.zeros(5))


def stretch(model, X, y):
    return model, X, None if y is None else np.resize(y, len(X))


NO_PARTS: dict[str, Any] = {"parts": None, "parts_weight": None, "parts_error": None}  # which add up to the values


def with_values(change: Callable[[np.ndarray], np.ndarray]) -> cs.Measure:
    return spoilt(lambda found: replace(found, values=change(found.values), **NO_PARTS))


def first_gets_a_part_of_the_second(values: np.ndarray) -> np.ndarray:
    part = 0.1 * values[1]
    return values + np.array([part, -part, *np.zeros(len(values) - 2)])


@wraps(cs.sage)
def other_with_two_workers(model, X, y=None, **options):
    found = cs.sage(model, X, y, **options)
    return replace(found, values=found.values * (1 + 1e-12)) if options.get("n_jobs") == 2 else found


@wraps(cs.sage)
def never_the_same(model, X, y=None, **options):
    drawn = np.random.default_rng().normal()
    found = cs.sage(model, X, y, **options)
    return replace(found, values=found.values + 1e-12 * drawn)


@wraps(cs.sage)
def in_alphabetical_order(model, X, y=None, **options):
    found = cs.sage(model, X, y, **options)
    return replace(found, feature_names=tuple(sorted(found.feature_names)))


@wraps(cs.sage)
def one_loss_of_a_list(model, X, y=None, **options):
    found = cs.sage(model, X, y, **options)
    return found[0] if isinstance(found, list) else found


@wraps(cs.sage)
def without_labels_another_error(model, X, y=None, **options):
    if y is None:
        raise InputError("X", got="no labels", wanted="labels")
    return cs.sage(model, X, y, **options)


class Forgetful(cs.Explanation):
    """An explanation that saves others than its values."""

    def save(self, path):
        super(Forgetful, replace(self, values=self.values + 1, **NO_PARTS)).save(path)


class Silent(cs.Explanation):
    """An explanation that says nothing."""

    def __str__(self):
        return ""


def turned_into(kind: type[cs.Explanation]) -> cs.Measure:
    return spoilt(lambda found: kind(**{name: getattr(found, name) for name in found.__dataclass_fields__}))


# what is wrong -> the measure, and the check that has to say so
BROKEN = {
    "values turned around": (with_values(lambda values: values[::-1]), "nothing"),
    "no explanation": (spoilt(lambda found: found.values), "values"),
    "NaN": (with_values(lambda values: values * np.nan), "values"),
    "negative errors": (spoilt(lambda found: replace(found, std_error=found.std_error - 1)), "values"),
    "another name": (spoilt(lambda found: replace(found, measure="saga")), "values"),
    "an error without end": (
        spoilt(lambda found: replace(found, std_error=np.full(len(found.values), 1e-3), dof=found.dof * np.nan)),
        "intervals",
    ),
    "no constant": (spoilt(lambda found: replace(found, constant=None)), "constant"),
    "wrong constant": (spoilt(lambda found: replace(found, constant=0.1)), "constant"),
    "no total": (spoilt(lambda found: replace(found, total=None, base=None)), "constant"),
    "sum too large": (with_values(lambda values: 1.01 * values), "sum"),
    "wrong base": (spoilt(lambda found: replace(found, base=1.01 * found.base)), "ends"),
    "something for nothing": (with_values(first_gets_a_part_of_the_second), "nothing"),
    "wrong examples": (spoilt(lambda found: replace(found, per_example=np.ones((60, len(found.values))))), "examples"),
    "no cost": (spoilt(lambda found: replace(found, model_rows=0)), "cost"),
    "fits from nowhere": (spoilt(lambda found: replace(found, provenance={"fits": 3})), "cost"),
    "another file": (turned_into(Forgetful), "file"),
    "no text": (turned_into(Silent), "text"),
    "no seed": (sage_row(never_the_same), "seed"),
    "depends on jobs": (sage_row(other_with_two_workers), "jobs"),
    "changes X": (misled(scribble), "inputs"),
    "changes the model": (misled(refit), "inputs"),
    "draws from the global state": (misled(shuffle), "inputs"),
    "names sorted": (sage_row(in_alphabetical_order), "order"),
    "no groups": (misled(unchanged, "groups"), "groups"),
    "no names": (misled(unchanged, "feature_names"), "names"),
    "no weights": (misled(unchanged, "sample_weight"), "weights"),
    "no list of losses": (sage_row(one_loss_of_a_list), "losses"),
    "another error": (sage_row(without_labels_another_error), "labels"),
    "takes no rows": (misled(pad), "rows"),
    "takes any y": (misled(stretch), "lengths"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_measure_is_caught_by_the_check_that_is_meant_for_it(fault, seed):
    measure, promise = BROKEN[fault]
    table = "numbers" if promise == "order" else "array"
    options = {"tasks": ["regression"], "tables": [table], "losses": ["squared error"], "seed": seed}
    words = f"sage, regression, {table}, squared error: {promise}"
    dict(measure_checks("sage", **options))[words]()
    with pytest.raises(AssertionError, match=r"^The measure .*\.$"):
        dict(measure_checks(measure, **options))[words]()


def test_every_check_has_a_measure_that_fails_it():
    assert {promise for _, promise in BROKEN.values()} == {*OF_A_RUN, *OF_RUNS, *OF_A_TASK}


def test_a_constant_that_does_not_make_up_the_rest_is_caught():
    row = replace(MEASURES["sage"], constant=THE_REST, call=BROKEN["wrong constant"][0].call)
    checks = dict(measure_checks(row, tasks=["regression"], tables=["array"], losses=["squared error"]))
    with pytest.raises(AssertionError, match="u of all features"):
        checks["sage, regression, array, squared error: constant"]()


def test_a_base_that_is_not_the_loss_of_the_best_constant_is_caught():
    @wraps(cs.mean_importance)
    def measure(model, X, y=None, **options):
        found = cs.mean_importance(model, X, y, **options)
        return replace(found, base=found.base + 1, total=found.total + 1, constant=found.constant + 1)

    row = replace(MEASURES["mean importance"], call=measure)
    checks = dict(measure_checks(row, tasks=["regression"], tables=["array"], losses=["squared error"]))
    checks["mean importance, regression, array, squared error: constant"]()
    with pytest.raises(AssertionError, match="best constant"):
        checks["mean importance, regression, array, squared error: ends"]()


def test_all_that_a_measure_of_others_gets_wrong_is_said_at_once():
    with pytest.raises(AssertionError, match=r"(?s)squared error: values.*absolute error: values"):
        check_measure(BROKEN["NaN"][0], tasks=["regression"], tables=["array"])


def test_a_measure_can_be_a_plain_function(seed):
    def spread(model, X, y=None):
        """How much predictions scatter, as everybody's value."""
        found = cs.sage(model, X, y, rng=0)
        return replace(found, values=np.full(len(found.values), np.std(model.predict(X))), measure="spread", **NO_PARTS)

    check_measure(spread, tasks=["regression"], seed=seed)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("task", TASKS)
def test_models_ignore_the_column_that_they_are_said_to_ignore(task, table, seed):
    p = measure_problem(task, table, seed=seed)
    changed = p.X.copy()
    place = p.names.index(p.ignored)
    if table == "array":
        changed[:, place] += 1
    else:
        changed[p.ignored] += 1
    assert (p.model.predict(changed) == p.model.predict(p.X)).all()
    column = p.X[:, p.names.index(p.still)] if table == "array" else p.X[p.still]
    assert len(np.unique(column)) == 1


@pytest.mark.parametrize(
    ("options", "argument"),
    [({"tasks": ["ranking"]}, "tasks"), ({"tables": ["cube"]}, "tables"), ({"model": "oracle"}, "model")],
)
def test_unknown_problems_are_named(options, argument):
    with pytest.raises(InputError) as caught:
        list(measure_checks("sage", **options))
    assert caught.value.argument == argument


@pytest.mark.subprocess
def test_checks_need_no_pytest():
    script = "import sys; sys.modules['pytest'] = None; from clarysage.testing import check_measure, measure_checks"
    subprocess.run([sys.executable, "-c", script], check=True)
