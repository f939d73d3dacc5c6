"""The contract of measures: a trial of a measure on a problem, and what every measure promises, a check each.

The tables of checks are at the end.
"""

from __future__ import annotations

import inspect
import json
import pickle
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from clarysage._measures.table import ALL_SUBSETS, NOTHING, THE_REST, Measure
from clarysage.errors import InputError
from clarysage.losses import as_loss
from clarysage.models import as_predictor
from clarysage.results import Explanation, load
from clarysage.testing.problems import MeasureProblem, losses_of

SEED = 5
SIGMAS = 5.0  # standard errors by which sums of estimates may be off
CERTAIN = 1 - 1e-6  # level of intervals that must include the true value
ROUNDING = 1e-6  # differences, relative to losses, that other orders of sums and other steps of fits may cause
CHANCE = 25.0  # divided by the number of rows: the share of the loss that an irrelevant column may gain (five sigmas)


@dataclass(frozen=True)
class SecondRun:
    """The result of a second run, and the names of the arguments and global states that it changed."""

    result: Explanation
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """A measure on a problem, with a loss.

    Attributes
    ----------
    function, row : the measure, and its row in the table of measures; None for a measure that is not in the table
    pose : makes the problem when it is first needed
    loss : None for a measure without a loss, or for the loss that the measure chooses
    options : further options of the measure
    """

    function: Callable[..., Any]
    row: Measure | None
    pose: Callable[[], MeasureProblem]
    loss: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def problem(self) -> MeasureProblem:
        return self.pose()

    @cached_property
    def result(self) -> Any:
        """The explanation, which every check of this trial examines; without one every check fails.

        Values that are not numbers, and negative standard errors, are refused by the explanation itself.
        """
        try:
            return self.run()
        except InputError as error:
            raise AssertionError(f"The measure raises an error on a valid problem: {error}") from error

    @cached_property
    def second_run(self) -> SecondRun:
        """A second run, on copies of all arguments."""
        p = self.problem
        model, X, y, background = pickle.loads(pickle.dumps((p.model, p.X, p.y, p.background)))
        given = {"model": model, "X": X, "y": y, **({"background": background} if self.takes("background") else {})}
        before = _fingerprints(given)
        result = self.run(**given)
        after = _fingerprints(given)
        return SecondRun(result, tuple(name for name in after if after[name] != before[name]))

    def run(self, **changes: Any) -> Any:
        """Calls the measure on the problem, with its model, X, y or options changed."""
        p = self.problem
        given = {"background": p.background, "rng": SEED, **({} if self.loss is None else {"loss": self.loss})}
        options = {name: value for name, value in given.items() if self.takes(name)}
        options = {"model": p.model, "X": p.X, "y": p.y, **options, **self.options, **changes}
        return self.function(options.pop("model"), options.pop("X"), options.pop("y"), **options)

    def takes(self, option: str) -> bool:
        """Tells whether the measure has an option."""
        parameters = inspect.signature(self.function).parameters
        return option in parameters and parameters[option].kind is not inspect.Parameter.VAR_KEYWORD

    @property
    def approximates(self) -> str | None:
        return None if self.row is None else self.row.approximates

    @property
    def scale(self) -> float:
        """The scale of the values: the largest of their sizes and of the losses that they are parts of."""
        result = self.result
        return float(
            max([1e-300, *(abs(end) for end in (result.base, result.total) if end is not None), *np.abs(result.values)])
        )

    @property
    def slack(self) -> float:
        """The value that an irrelevant column may have in addition to sampling errors."""
        chance = CHANCE / len(self.problem.y) if self.approximates == "v" else 0.0
        return (chance + ROUNDING) * self.scale


def numbers_as_bytes(result: Explanation) -> list[bytes]:
    """Returns all numbers of an explanation as bytes."""
    targets = [getattr(target, part) for target in result.targets.values() for part in ("values", "std_error")]
    # one triangle of the covariance, since matrix products may be asymmetric by rounding
    covariance = None if result.covariance is None else np.tril(result.covariance)
    arrays = [result.values, result.std_error, covariance, result.dof, result.per_example, *targets]
    ends = np.array([np.nan if end is None else end for end in (result.constant, result.total, result.base)])
    return [b"" if array is None else np.asarray(array).tobytes() for array in (*arrays, ends)]


def _fingerprints(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns fingerprints of arguments, and of the global random states."""
    from joblib import hash as fingerprint

    states = {
        "the random state of numpy": np.random.get_state(),  # noqa: NPY002
        "the random state of Python": random.getstate(),
    }
    arguments = {f"its argument {name!r}": value for name, value in given.items()}
    return {name: str(fingerprint(value)) for name, value in {**arguments, **states}.items()}


def values_are_sound(trial: Trial) -> None:
    """The result is an Explanation with one finite value for each feature, in the order of X, and standard errors."""
    result = trial.result
    _require(isinstance(result, Explanation), f"returns {type(result).__name__}, and not an Explanation")
    names, expected = result.feature_names, trial.problem.names
    _require(names == expected, f"names its features {names}, and those of X are {expected}, in this order")
    shape = result.values.shape
    _require(shape == (len(names),), f"has values of shape {shape}, not one for each feature")
    _require(np.isfinite(result.values).all(), f"has values that are not finite: {result.values}")
    error = result.std_error
    _require(error.shape == shape, f"has standard errors of shape {error.shape}, not one for each value")
    _require(
        np.isfinite(error).all() and (error >= 0).all(), f"has standard errors that are negative or not finite: {error}"
    )
    if trial.row is not None:
        name = result.measure
        _require(name == trial.row.name, f"returns the measure {name!r}; its name in the table is {trial.row.name!r}")
        _require(bool(result.headline), "has no headline")
        role = result.values_are
        _require(role == trial.row.values_are, f"has values_are={role!r}; the table has {trial.row.values_are!r}")


def intervals_hold_the_values(trial: Trial) -> None:
    """Intervals contain their value, and are that value alone if it is exact."""
    for about in ("data", *trial.result.targets):
        target, (low, high) = trial.result.target(about), trial.result.interval(about=about)
        contains = np.isfinite([low, high]).all() and (low <= target.values).all() and (target.values <= high).all()
        ends = f"{low} to {high}, {target.values}"
        _require(contains, f"has intervals about {about!r} that do not contain their values: {ends}")
        exact = target.std_error == 0
        _require((low[exact] == high[exact]).all(), f"has intervals about {about!r} of positive width for exact values")


def constant_fits_the_framework(trial: Trial) -> None:
    """The constant phi_0 is as in Table 3: a number for measures of the framework, with u(D) = v(D) if required."""
    result, row = trial.result, trial.row
    _require((result.total is None) == (result.base is None), "has one of base and total, and not the other")
    if row is None:
        return
    kind = "a heuristic, which has none" if row.is_heuristic else "of the framework, where it is a number"
    fits = (result.constant is None) == row.is_heuristic
    _require(fits, f"has the constant {result.constant}, and is {kind}")
    if row.constant == NOTHING:
        _require(result.constant == 0, f"has the constant {result.constant}, which in the table is 0")
    if row.constant == THE_REST or row.subdomain == ALL_SUBSETS:
        _require(result.total is not None, "has no total, the power of all features")
    if row.constant == THE_REST:
        power = result.power(result.feature_names)
        same = abs(power - result.total) <= ROUNDING * trial.scale
        _require(same, f"has a constant that makes u of all features {power:.6g}; their power is {result.total:.6g}")


def values_add_up(trial: Trial) -> None:
    """Shapley values add up to the power of all features, within the standard error of their sum (efficiency)."""
    if trial.row is None or trial.row.subdomain != ALL_SUBSETS:
        return
    result = trial.result
    error = result.std_error.sum() if result.covariance is None else np.sqrt(max(result.covariance.sum(), 0.0))
    together = result.values.sum()
    same = abs(together - result.total) <= SIGMAS * error + ROUNDING * trial.scale
    _require(same, f"has values that add up to {together:.6g}; the power of all features is {result.total:.6g}")


def ends_are_losses(trial: Trial) -> None:
    """For measures of a model, ``base - total`` is the mean loss of the model.

    Where the measure starts from all features, ``base`` is the mean loss of the best constant prediction.
    """
    result, p = trial.result, trial.problem
    if trial.row is None or trial.approximates != "v_f":
        return
    f, loss = as_predictor(p.model), as_loss(result.loss if trial.loss is None else trial.loss)
    outputs = f(p.X)
    target = loss.encode(p.y, f.classes, outputs)
    actual, stated = float(loss(outputs, target).mean()), result.base - result.total
    same = abs(stated - actual) <= ROUNDING * trial.scale
    _require(same, f"states that the model's loss is {stated:.6g}; it is {actual:.6g}")
    if trial.row.constant == THE_REST:
        best = loss.best_constant(target, np.full(len(p.y), 1 / len(p.y)), outputs.shape[1])
        least = float(loss(np.tile(best, (len(p.y), 1)), target).mean())
        same = abs(result.base - least) <= ROUNDING * trial.scale
        _require(same, f"states that the best constant has a loss of {result.base:.6g}; it has {least:.6g}")


def irrelevant_columns_have_no_value(trial: Trial) -> None:
    """In the framework, a column that is irrelevant to model and data, and a constant column, have the value zero."""
    if trial.row is None or trial.row.is_heuristic:
        return
    result = trial.result
    low, high = result.interval(CERTAIN, about="data")
    for name, kind in ((trial.problem.ignored, "irrelevant"), (trial.problem.still, "constant")):
        index = result.feature_names.index(name)
        holds = low[index] - trial.slack <= 0 <= high[index] + trial.slack
        _require(holds, f"gives {name!r}, which is {kind}, the value {result.values[index]:.6g}")


def examples_add_up(trial: Trial) -> None:
    """There is one local value for each row and feature; in the framework, their means are the values."""
    result = trial.result
    if result.per_example is None:
        return
    shape = (len(trial.problem.y), len(result.values))
    _require(
        result.per_example.shape == shape, f"has values of examples of shape {result.per_example.shape}, not {shape}"
    )
    if trial.row is None or trial.row.is_heuristic:
        return
    gap = np.abs(result.per_example.mean(axis=0) - result.values)
    same = (gap <= SIGMAS * result.std_error + ROUNDING * trial.scale).all()
    _require(same, f"has values of examples whose mean is off its values by {gap}")


def cost_is_counted(trial: Trial) -> None:
    """Measures that call the model or fit learners count the model rows and the fits."""
    result, row = trial.result, trial.row
    _require(result.model_rows >= 0 and result.draws >= 0, "counts a negative number of rows or draws")
    if row is None:
        return
    _require(
        (result.fits > 0) == row.refits, f"counts {result.fits} fits, and it {'' if row.refits else 'never '}refits"
    )
    if row.approximates in ("v_f", "w_f"):
        _require(result.model_rows > 0, "calls the model, and counts no rows")


def file_is_complete(trial: Trial) -> None:
    """An explanation that is saved and loaded does not change."""
    with tempfile.TemporaryDirectory() as folder:
        trial.result.save(Path(folder) / "explanation.json")
        loaded = load(Path(folder) / "explanation.json")
    same = json.dumps(loaded.to_dict()) == json.dumps(trial.result.to_dict())
    _require(same and numbers_as_bytes(loaded) == numbers_as_bytes(trial.result), "changes when it is saved and loaded")


def text_and_tables_name_features(trial: Trial) -> None:
    """The text, the HTML and the data frame name every feature."""
    result = trial.result
    text, html, frame = str(result), result._repr_html_(), result.to_frame()
    for name in result.feature_names:
        _require(name in text and escape(name) in html, f"does not name {name!r} in its text or its HTML")
    same = list(frame["feature"]) == list(result.feature_names) and (frame["value"] == result.values).all()
    _require(same, "has a frame without its features and values in their order")


def same_seed_same_bits(trial: Trial) -> None:
    """A second call with the same seed gives the same bits."""
    same = numbers_as_bytes(trial.second_run.result) == numbers_as_bytes(trial.result)
    _require(same, "gives other numbers in a second call with the same seed")


def jobs_change_nothing(trial: Trial) -> None:
    """Two workers give the same bits as one."""
    if trial.takes("n_jobs"):
        _require(
            numbers_as_bytes(trial.run(n_jobs=2)) == numbers_as_bytes(trial.result), "gives other numbers with n_jobs=2"
        )


def inputs_are_not_changed(trial: Trial) -> None:
    """Neither model nor rows nor global random states are changed."""
    for name in trial.second_run.changed:
        _require(False, f"changes {name}")


def order_of_columns_does_not_matter(trial: Trial) -> None:
    """With the columns of a frame in another order, the values are the same and are in that order."""
    p = trial.problem
    if p.table == "array":
        return
    reverse = list(reversed(p.names))
    more = {"background": p.background[reverse]} if trial.takes("background") else {}
    result = trial.run(X=p.X[reverse], **more)
    _require(list(result.feature_names) == reverse, f"names the columns {reverse} as {list(result.feature_names)}")
    _require_close(trial, result.values[::-1], result.std_error[::-1], "when the columns of X are in another order")


def groups_are_players(trial: Trial) -> None:
    """Groups of columns are named players with known members, and the power of all players is the same."""
    if not trial.takes("groups"):
        return
    first, second, third, *others = trial.problem.names
    result = trial.run(groups={"pair": [second, third]})
    names, expected = result.feature_names, (first, "pair", *others)
    _require(names == expected, f"names players {names}; with a group they are {expected}")
    members = (result.groups or {}).get("pair")
    _require(members == [second, third], f"does not list the members of a group: {result.groups}")
    _require(np.isfinite(result.values).all(), f"has values of groups that are not finite: {result.values}")
    total = trial.result.total
    if total is not None:
        same = abs(result.total - total) <= ROUNDING * trial.scale
        _require(same, f"has the total {result.total:.6g} with groups, and {total:.6g} without")


def names_can_be_given(trial: Trial) -> None:
    """The option ``feature_names`` names the features."""
    if trial.problem.table == "array" and trial.takes("feature_names"):
        given = [f"column {number}" for number in range(len(trial.problem.names))]
        result = trial.run(feature_names=given)
        _require(list(result.feature_names) == given, f"does not use the given names: {result.feature_names}")
        _require_close(trial, result.values, result.std_error, "under other names")


def weights_have_an_effect(trial: Trial) -> None:
    """Equal weights change nothing; unequal weights change values, except of heuristics, which may not use rows."""
    if not trial.takes("sample_weight"):
        return
    n = len(trial.problem.y)
    result = trial.run(sample_weight=np.ones(n))
    _require_close(trial, result.values, result.std_error, "with equal weights")
    if trial.row is None or trial.row.is_heuristic:
        return
    uneven = trial.run(sample_weight=np.where(np.arange(n) < n // 2, 3.0, 0.5))
    _require((uneven.values != trial.result.values).any(), "has the same values with any weights")


def losses_can_be_a_list(trial: Trial) -> None:
    """A list of losses gives a list of explanations, with the values of separate runs."""
    if not trial.takes("loss"):
        return
    other = next(loss for loss in losses_of(trial.problem.task, trial.problem.table) if loss != trial.loss)
    result = trial.run(loss=[other, trial.loss])
    is_list = isinstance(result, list) and len(result) == 2
    _require(is_list, f"returns {type(result).__name__} for two losses, and not a list of two explanations")
    names, expected = [explanation.loss for explanation in result], [as_loss(other).name, trial.result.loss]
    _require(names == expected, f"has explanations of the losses {names} for {expected}")
    _require_close(trial, result[1].values, result[1].std_error, "in a list of losses")


def missing_y_is_reported(trial: Trial) -> None:
    """Without y, the measure works or raises an error that names y."""
    try:
        result = replace(trial, loss=None).run(y=None)
    except InputError as error:
        _require(error.argument == "y", f"names {error.argument!r} where y is missing: {error}")
    else:
        _require(isinstance(result, Explanation), f"returns {type(result).__name__} without y, and not an Explanation")


def empty_table_is_an_error(trial: Trial) -> None:
    """An X without rows raises an error that names X."""
    _require_error(trial, "X", X=trial.problem.X[:0], y=trial.problem.y[:0])


def wrong_length_of_y_is_an_error(trial: Trial) -> None:
    """A y of another length than X raises an error that names y, or y is not used."""
    try:
        result = trial.run(y=trial.problem.y[:-1])
    except InputError as error:
        _require(error.argument == "y", f"names {error.argument!r} where y is too short: {error}")
    else:
        _require(numbers_as_bytes(result) == numbers_as_bytes(trial.result), "accepts a y that is shorter than X")


Check = Callable[[Trial], None]

# for every loss
OF_A_RUN: dict[str, Check] = {
    "values": values_are_sound,
    "intervals": intervals_hold_the_values,
    "constant": constant_fits_the_framework,
    "sum": values_add_up,
    "ends": ends_are_losses,
    "nothing": irrelevant_columns_have_no_value,
    "examples": examples_add_up,
    "cost": cost_is_counted,
    "file": file_is_complete,
    "text": text_and_tables_name_features,
}

# for the first loss of every problem, since each needs further runs
OF_RUNS: dict[str, Check] = {
    "seed": same_seed_same_bits,
    "inputs": inputs_are_not_changed,
    "losses": losses_can_be_a_list,
    "labels": missing_y_is_reported,
    "lengths": wrong_length_of_y_is_an_error,
}

# for the first loss of the first task: columns, rows and workers are handled alike for all tasks
OF_A_TASK: dict[str, Check] = {
    "jobs": jobs_change_nothing,
    "order": order_of_columns_does_not_matter,
    "groups": groups_are_players,
    "names": names_can_be_given,
    "weights": weights_have_an_effect,
    "rows": empty_table_is_an_error,
}


def _require(holds: Any, predicate: str) -> None:
    if not holds:
        raise AssertionError(f"The measure {predicate}.")


def _require_close(trial: Trial, values: Any, error: Any, when: str) -> None:
    first = trial.result
    allowed = SIGMAS * np.hypot(error, first.std_error) + ROUNDING * trial.scale
    _require((np.abs(values - first.values) <= allowed).all(), f"has other values {when}: {values}, {first.values}")


def _require_error(trial: Trial, argument: str, **changes: Any) -> None:
    try:
        trial.run(**changes)
    except InputError as error:
        _require(
            error.argument == argument, f"raises an error that names {error.argument!r}, not {argument!r}: {error}"
        )
    else:
        _require(False, f"accepts an {argument} without rows")
