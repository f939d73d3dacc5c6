"""Options that measures share: every measure takes all of them, and says what it does with those it has no use for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import clarysage as cs
from clarysage._measures.options import DATA_OPTIONS, DEFAULTS, RUN_OPTIONS, RunOptions, options_of
from clarysage._measures.table import MEASURES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = 2 * X[:, 0] + X[:, 1]
LEARNER = LinearRegression()
BARE = ("Any", "Any | None")
OF_ANY_KIND = "load(return: Any)"  # a result of the kind that was saved, which no type checker can know
OF_ALL = [row.name for row in MEASURES.values() if not row.is_heuristic]


def f(Z: np.ndarray) -> np.ndarray:
    return 2 * Z[:, 0] + Z[:, 1]


EXPLANATION = cs.sage(f, X, Y, rng=0)


@pytest.mark.parametrize("name", OF_ALL)
def test_a_loop_over_names_with_the_same_options_works_for_every_measure(name: str) -> None:
    found = cs.importance(
        name,
        LinearRegression().fit(X, Y),
        X,
        Y,
        background=X[:30],
        removal="copula",
        loss="squared error",
        groups={"both": ["x0", "x1"]},
        sample_weight=np.ones(len(X)),
        feature_names=["x0", "x1", "x2"],
        tolerance=0.3,
        budget=2_000_000,
        n_jobs=1,
        check_manifold=False,
        rng=0,
    )
    assert isinstance(found, cs.Explanation)
    assert found.feature_names == ("both", "x2")
    used = options_of(MEASURES[name].function)
    for option in ("background", "removal", "loss", "tolerance", "budget"):
        said = any(f"{option}= was not used: " in str(note) for note in found.notes)
        assert said == (option not in used), option


@pytest.mark.parametrize("removal", ["marginal", "baseline"])
def test_a_removal_that_is_not_for_a_measure_with_one_of_its_own_is_replaced_and_said(removal: str) -> None:
    name = "conditional permutation importance"
    found = cs.importance(name, f, X, Y, removal=removal, rng=0)
    assert found.removal == "copula"
    assert any(
        f"removal= was not used: {removal!r}, which ignores the other features" in str(note) for note in found.notes
    )
    assert (found.values == cs.importance(name, f, X, Y, rng=0).values).all()
    with pytest.raises(cs.InputError, match=r"removal: got 'margnal'.*Try 'marginal'"):
        cs.importance(name, f, X, Y, removal="margnal", rng=0)


def test_heuristics_take_them_too() -> None:
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, Y)
    found = cs.gini_importance(tree, X, Y, background=X[:10], tolerance=0.5, n_jobs=1, rng=0)  # type: ignore[call-arg]
    said = [str(note) for note in found.notes if "was not used" in str(note)]
    assert said == [
        "background= was not used: values are read off the model.",
        "tolerance= was not used: values are read off the model.",
    ]


def test_an_option_that_is_left_as_it_is_is_not_spoken_of() -> None:
    found = cs.mean_importance(f, X, Y, removal="marginal", tolerance=0.025, rng=0)
    assert not any("was not used" in str(note) for note in found.notes)


@pytest.mark.parametrize("name", [row.name for row in MEASURES.values()])
def test_an_unknown_option_is_a_type_error_that_names_the_near_miss(name: str) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'tolerence'; did you mean tolerance"):
        MEASURES[name].function(f, X, Y, tolerence=0.1)


@pytest.mark.parametrize(
    ("call", "ours"),
    [
        (lambda: cs.permutation_importance(f, X, Y, n_repeats=5), "repeats"),  # type: ignore[call-overload]
        (lambda: cs.permutation_importance(f, X, Y, max_samples=0.5), "max_rows"),  # type: ignore[call-overload]
        (lambda: cs.permutation_importance(estimator=f, X=X, y=Y), "model"),  # type: ignore[call-overload]
        (lambda: cs.sage(f, X, Y, n_permutations=100), "tolerance"),  # type: ignore[call-overload]
        (lambda: cs.sage(f, X, Y, masker=X), "background"),  # type: ignore[call-overload]
        (lambda: cs.drop_column_importance(f, X, Y, cv=3), "folds"),  # type: ignore[call-overload]
        (lambda: cs.off_manifold(X, X_background=X), "background"),  # type: ignore[call-arg]
    ],
)
def test_an_error_has_our_name_of_an_option_of_another_library(call: Callable[[], object], ours: str) -> None:
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '\w+'; did you mean {ours}\?$"):
        call()


SAMPLED = {"method": "permutation", "tolerance": 0.3}
CALLS: dict[str, Callable[..., Any]] = {  # each returns what depends on the seed
    "sage": lambda **rng: cs.sage(f, X, Y, **SAMPLED, **rng).values,
    "game": lambda **rng: cs.game(f, X, Y, max_rows=20, **rng).X,
    "importance": lambda **rng: cs.importance("permutation importance", f, X, Y, **rng).values,
    "importances": lambda **rng: cs.importances(f, X, Y, measures=["permutation importance"], **rng).to_frame(),
    "universal power": lambda **rng: cs.universal_power(LEARNER, X, Y, tolerance=0.5, **rng).values,
    "drop column": lambda **rng: cs.drop_column_importance(LEARNER, X, Y, folds=2, **rng).values,
    "interactions": lambda **rng: cs.interactions(f, X, Y, max_rows=20, **rng).values,
    "monitor": lambda **rng: cs.monitor(f, X, X[::-1], background_rows=20, **rng).comparison.explanations[0].values,
    "removal quality": lambda **rng: cs.removal_quality(["marginal"], f, X, **rng).scores,
    "off manifold": lambda **rng: cs.off_manifold(np.hstack([X, X**2]), **rng).auc,
    "agreement": lambda **rng: EXPLANATION.agreement(cs.game(f, X, Y, rng=0), n=3, **rng).u,
    "removal": lambda **rng: cs.Copula(X, **rng).rng,
}


@pytest.mark.parametrize("name", CALLS)
def test_random_state_and_seed_are_rng(name: str) -> None:
    """The same number gives the same bits by any name, and so does the same state of numpy's older generator."""
    call = CALLS[name]
    ours = call(rng=7)
    assert not np.array_equal(ours, call(rng=8))  # or nothing is random
    for option in ("random_state", "seed"):
        np.testing.assert_array_equal(call(**{option: 7}), ours)
    states = [call(random_state=np.random.RandomState(seed)) for seed in (7, 7, 8)]
    np.testing.assert_array_equal(states[0], states[1])
    assert not np.array_equal(states[0], states[2])
    with pytest.raises(cs.InputError, match=r"random_state: got rng= and random_state=, which are the same; .*rng="):
        call(rng=7, random_state=7)


def test_scoring_is_loss_and_none_leaves_the_choice() -> None:
    ours = cs.sage(f, X, Y, loss="absolute error", rng=0)
    for scoring in ("neg_mean_absolute_error", "mae"):
        theirs = cs.sage(f, X, Y, scoring=scoring, random_state=0)  # type: ignore[call-overload]
        np.testing.assert_array_equal(theirs.values, ours.values)
    assert cs.permutation_importance(f, X, Y, scoring=None, rng=0).loss == "squared error"  # type: ignore[call-overload]
    with pytest.raises(cs.InputError, match=r"scoring: got loss= and scoring=, which are the same"):
        cs.sage(f, X, Y, loss="mse", scoring="mae")  # type: ignore[call-overload]
    with pytest.raises(cs.InputError, match=r"loss: got 'r2', .*Try loss=\"squared error\""):
        cs.permutation_importance(f, X, Y, scoring="r2")  # type: ignore[call-overload]


def test_a_run_may_have_the_seed_of_calls_without_one() -> None:
    values = cs.sage(f, X, Y, method="permutation", tolerance=0.3, rng=7).values
    for run in (cs.Run(rng=7, tolerance=0.3), cs.Run(random_state=7, tolerance=0.3)):  # type: ignore[call-arg]
        np.testing.assert_array_equal(cs.sage(f, X, Y, method="permutation", run=run).values, values)
        shared = cs.importances(f, X, Y, measures=["sage"], run=run)["sage"].provenance["seed"]
        assert shared == 7
        assert cs.sage(f, X, Y, run=run, rng=8).provenance["seed"] == 8
    with pytest.raises(TypeError, match=r"Run\(\) got an unexpected keyword argument 'n_repeats'; did you mean"):
        cs.Run(n_repeats=3)  # type: ignore[call-arg]


def test_a_run_is_shared_by_calls_and_options_of_a_call_go_before_it() -> None:
    run = cs.Run(tolerance=0.2, n_jobs=1)
    found = cs.sage(f, X, Y, method="permutation", run=run, rng=0)
    same = cs.sage(f, X, Y, method="permutation", tolerance=0.2, rng=0)
    np.testing.assert_array_equal(found.values, same.values)
    finer = cs.sage(f, X, Y, method="permutation", run=run, tolerance=0.05, rng=0)
    assert finer.draws > found.draws
    with pytest.raises(cs.InputError, match="run: got dict; wanted a Run"):
        cs.sage(f, X, Y, run={"tolerance": 0.2})  # type: ignore[call-overload]
    with pytest.raises(AttributeError):
        run.tolerance = 0.1  # type: ignore[misc]


def test_several_runs_refuse_a_checkpoint() -> None:
    for call in (cs.importances, cs.interactions):
        with pytest.raises(cs.InputError, match="checkpoint: got 'run'; wanted None"):
            call(f, X, Y, checkpoint="run")


def test_signatures_and_help_name_all_options() -> None:
    parameters = inspect.signature(cs.sage).parameters
    assert [name for name in (*DATA_OPTIONS, *RUN_OPTIONS, "run") if name not in parameters] == []
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    assert {name: parameters[name].default for name in RunOptions.__annotations__} == {
        name: DEFAULTS[name] for name in RunOptions.__annotations__
    }
    for name in ("background", "tolerance, budget, deadline", "checkpoint", "batch_size", "run"):
        assert f"\n    {name} : " in (cs.sage.__doc__ or ""), name
    assert "removal" not in inspect.signature(cs.mean_importance).parameters
    assert inspect.signature(cs.conditional_permutation_importance).parameters["removal"].default == "copula"


def test_the_look_at_the_manifold_can_be_switched_off() -> None:
    x = np.random.default_rng(1).normal(size=(200, 1))
    Z = np.hstack([x, x, x])
    found = [cs.sage(f, Z, f(Z), check_manifold=check, rng=0) for check in (True, False)]
    assert [any("look unlike real ones" in str(note) for note in one.notes) for one in found] == [True, False]
    np.testing.assert_array_equal(found[0].values, found[1].values)


def test_public_functions_have_no_bare_any() -> None:
    bare = []
    for name in cs.__all__:
        thing = getattr(cs, name)
        if not inspect.isfunction(thing):
            continue
        hints = inspect.get_annotations(thing)
        bare += [f"{name}({argument}: {hint})" for argument, hint in hints.items() if hint in BARE]
    assert bare == [OF_ANY_KIND]
