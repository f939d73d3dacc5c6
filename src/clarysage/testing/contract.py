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
CERTAIN = 1 - 1e-6  # level of intervals that are taken at their word
ROUNDING = 1e-6  # of the size of losses: what sums in another order, and fits by other steps, may differ by
CHANCE = 25.0  # over the rows, of the loss: what a fit may gain by a column that tells nothing, five deviations squared


@dataclass(frozen=True)
class Again:
    """What a second run found, and what it changed of what it was handed, or of what belongs to all."""

    found: Explanation
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """A measure, a problem, and a loss, None for a measure without one or for the one it chooses.

    ``row`` says what is known of the measure, None where nothing is; ``pose`` makes the problem once it is needed.
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
    def found(self) -> Any:
        """The explanation, which every check of this trial looks at; a measure that has none breaks every promise.

        Values that are no numbers, or errors below zero, are refused when an explanation is made of them.
        """
        try:
            return self.run()
        except InputError as error:
            raise AssertionError(f"The measure raises an error where it should explain: {error}") from error

    @cached_property
    def again(self) -> Again:
        """A second run, on copies of everything that is handed in."""
        p = self.problem
        model, X, y, background = pickle.loads(pickle.dumps((p.model, p.X, p.y, p.background)))
        given = {"model": model, "X": X, "y": y, **({"background": background} if self.takes("background") else {})}
        before = _prints(given)
        found = self.run(**given)
        return Again(found, tuple(name for name, one in _prints(given).items() if one != before[name]))

    def run(self, **changes: Any) -> Any:
        """The measure on the problem, with its model, X, y or options changed."""
        p = self.problem
        given = {"background": p.background, "rng": SEED, **({} if self.loss is None else {"loss": self.loss})}
        options = {name: value for name, value in given.items() if self.takes(name)}
        options = {"model": p.model, "X": p.X, "y": p.y, **options, **self.options, **changes}
        return self.function(options.pop("model"), options.pop("X"), options.pop("y"), **options)

    def takes(self, option: str) -> bool:
        """Whether the measure has an option."""
        parameters = inspect.signature(self.function).parameters
        return option in parameters and parameters[option].kind is not inspect.Parameter.VAR_KEYWORD

    @property
    def approximates(self) -> str | None:
        return None if self.row is None else self.row.approximates

    @property
    def scale(self) -> float:
        """The size of what values are shares of."""
        found = self.found
        return float(
            max([1e-300, *(abs(end) for end in (found.base, found.total) if end is not None), *np.abs(found.values)])
        )

    @property
    def slack(self) -> float:
        """What the value of a column that tells nothing may be off zero by, beside sampling errors."""
        chance = CHANCE / len(self.problem.y) if self.approximates == "v" else 0.0
        return (chance + ROUNDING) * self.scale


def bits(found: Explanation) -> list[bytes]:
    """Everything an explanation says in numbers."""
    targets = [getattr(one, part) for one in found.targets.values() for part in ("values", "std_error")]
    covariance = None if found.covariance is None else np.tril(found.covariance)  # products may round halves apart
    arrays = [found.values, found.std_error, covariance, found.dof, found.per_example, *targets]
    ends = np.array([np.nan if end is None else end for end in (found.constant, found.total, found.base)])
    return [b"" if array is None else np.asarray(array).tobytes() for array in (*arrays, ends)]


def _prints(given: Mapping[str, Any]) -> dict[str, str]:
    """Fingerprints of arguments, and of the random states that belong to nobody."""
    from joblib import hash as hashed

    states = {"the random state of numpy": np.random.get_state(), "that of Python": random.getstate()}  # noqa: NPY002
    arguments = {f"its argument {name!r}": one for name, one in given.items()}
    return {name: str(hashed(one)) for name, one in {**arguments, **states}.items()}


def values_are_sound(trial: Trial) -> None:
    """An Explanation with one finite value a feature, in the order of X, and errors that are none or more."""
    found = trial.found
    _demand(isinstance(found, Explanation), f"returns {type(found).__name__}, and not an Explanation")
    names, wanted = found.feature_names, trial.problem.names
    _demand(names == wanted, f"names its features {names}, and those of X are {wanted}, in this order")
    _demand(found.values.shape == (len(names),), f"has values of shape {found.values.shape}, and not one a feature")
    _demand(np.isfinite(found.values).all(), f"has values that are not finite: {found.values}")
    error = found.std_error
    _demand(error.shape == found.values.shape, f"has standard errors of shape {error.shape}, and not one a value")
    _demand(np.isfinite(error).all() and (error >= 0).all(), f"has standard errors that are none: {error}")
    if trial.row is not None:
        named = found.measure
        _demand(named == trial.row.name, f"calls itself {named!r}, and the table {trial.row.name!r}")
        _demand(bool(found.headline), "says nothing above its table of values")
        role = found.values_are
        _demand(role == trial.row.values_are, f"has values_are={role!r}, and the table {trial.row.values_are!r}")


def intervals_hold_the_values(trial: Trial) -> None:
    """Intervals are ordered and hold the value they are about; of an exact value nothing else."""
    for about in ("data", *trial.found.targets):
        target, (low, high) = trial.found.target(about), trial.found.interval(about=about)
        held = np.isfinite([low, high]).all() and (low <= target.values).all() and (target.values <= high).all()
        _demand(held, f"has intervals about {about!r} that do not hold their values: {low} to {high}, {target.values}")
        exact = target.std_error == 0
        _demand((low[exact] == high[exact]).all(), f"has intervals about {about!r} around values without error")


def constant_fits_the_framework(trial: Trial) -> None:
    """phi_0 as in Table 3: a number exactly for a measure of the framework, with u(D) = v(D) where that is its rule."""
    found, row = trial.found, trial.row
    none = [end is None for end in (found.total, found.base)]
    _demand(none[0] == none[1], "has one of base and total, and not the other")
    if row is None:
        return
    wanted = "a heuristic, which has none" if row.is_heuristic else "of the framework, where it is a number"
    right = (found.constant is None) == row.is_heuristic
    _demand(right, f"has the constant {found.constant}, and is {wanted}")
    if row.constant == NOTHING:
        _demand(found.constant == 0, f"has the constant {found.constant}, which in the table is 0")
    if row.constant == THE_REST or row.subdomain == ALL_SUBSETS:
        _demand(found.total is not None, "does not say what all features bring together")
    if row.constant == THE_REST:
        power = found.power(found.feature_names)
        same = abs(power - found.total) <= ROUNDING * trial.scale
        _demand(same, f"has a constant that makes u of all features {power:.6g}, and their power is {found.total:.6g}")


def values_add_up(trial: Trial) -> None:
    """Shapley values add up to the power of all features, within the error of their sum."""
    if trial.row is None or trial.row.subdomain != ALL_SUBSETS:
        return
    found = trial.found
    error = found.std_error.sum() if found.covariance is None else np.sqrt(max(found.covariance.sum(), 0.0))
    together = found.values.sum()
    same = abs(together - found.total) <= SIGMAS * error + ROUNDING * trial.scale
    _demand(same, f"has values that add up to {together:.6g}, and all features bring {found.total:.6g}")


def ends_are_losses(trial: Trial) -> None:
    """``base - total`` of a measure of the model is the model's own mean loss; ``base`` that of the best constant,
    where the measure starts from all features.
    """
    found, p = trial.found, trial.problem
    if trial.row is None or trial.approximates != "v_f":
        return
    f, loss = as_predictor(p.model), as_loss(found.loss if trial.loss is None else trial.loss)
    outputs = f(p.X)
    target = loss.encode(p.y, f.classes, outputs)
    own, said = float(loss(outputs, target).mean()), found.base - found.total
    _demand(abs(said - own) <= ROUNDING * trial.scale, f"says that the model's loss is {said:.6g}, and it is {own:.6g}")
    if trial.row.constant == THE_REST:
        best = loss.best_constant(target, np.full(len(p.y), 1 / len(p.y)), outputs.shape[1])
        least = float(loss(np.tile(best, (len(p.y), 1)), target).mean())
        same = abs(found.base - least) <= ROUNDING * trial.scale
        _demand(same, f"says that the best constant has a loss of {found.base:.6g}, and it has {least:.6g}")


def nothing_gets_nothing(trial: Trial) -> None:
    """A column that model and data know nothing of, and one that never changes, have no value in the framework."""
    if trial.row is None or trial.row.is_heuristic:
        return
    found = trial.found
    low, high = found.interval(CERTAIN, about="data")
    for name, what in ((trial.problem.ignored, "tells nothing"), (trial.problem.still, "never changes")):
        place = found.feature_names.index(name)
        holds = low[place] - trial.slack <= 0 <= high[place] + trial.slack
        _demand(holds, f"gives {name!r}, which {what}, the value {found.values[place]:.6g}")


def examples_add_up(trial: Trial) -> None:
    """Values of single examples are one a row and feature; in the framework the values are their means."""
    found = trial.found
    if found.per_example is None:
        return
    shape = (len(trial.problem.y), len(found.values))
    _demand(found.per_example.shape == shape, f"has values of examples of shape {found.per_example.shape}, not {shape}")
    if trial.row is None or trial.row.is_heuristic:
        return
    gap = np.abs(found.per_example.mean(axis=0) - found.values)
    same = (gap <= SIGMAS * found.std_error + ROUNDING * trial.scale).all()
    _demand(same, f"has values of examples whose mean is off its values by {gap}")


def cost_is_counted(trial: Trial) -> None:
    """Model rows and fits are counted by measures that take some."""
    found, row = trial.found, trial.row
    _demand(found.model_rows >= 0 and found.draws >= 0, "counts less than no rows or draws")
    if row is None:
        return
    _demand((found.fits > 0) == row.refits, f"counts {found.fits} fits, and it {'' if row.refits else 'never '}refits")
    if row.approximates in ("v_f", "w_f"):
        _demand(found.model_rows > 0, "asks the model, and counts no rows")


def file_keeps_everything(trial: Trial) -> None:
    """An explanation that is saved and loaded is the same."""
    with tempfile.TemporaryDirectory() as folder:
        trial.found.save(Path(folder) / "explanation.json")
        again = load(Path(folder) / "explanation.json")
    same = json.dumps(again.to_dict()) == json.dumps(trial.found.to_dict())
    _demand(same and bits(again) == bits(trial.found), "is not the same when it was saved and loaded")


def shows_itself(trial: Trial) -> None:
    """Text, HTML and the frame name every feature."""
    found = trial.found
    text, html, frame = str(found), found._repr_html_(), found.to_frame()
    for name in found.feature_names:
        _demand(name in text and escape(name) in html, f"does not name {name!r} in its text or its HTML")
    same = list(frame["feature"]) == list(found.feature_names) and (frame["value"] == found.values).all()
    _demand(same, "has a frame that does not hold its features and values in their order")


def same_seed_same_bits(trial: Trial) -> None:
    """The same call gives the same bits again."""
    same = bits(trial.again.found) == bits(trial.found)
    _demand(same, "gives other numbers when called again with the same seed")


def jobs_change_nothing(trial: Trial) -> None:
    """Two workers give the bits of one."""
    if trial.takes("n_jobs"):
        _demand(bits(trial.run(n_jobs=2)) == bits(trial.found), "gives other numbers with n_jobs=2")


def inputs_stay_as_they_are(trial: Trial) -> None:
    """Neither model nor rows are changed, nor the random numbers of others."""
    for name in trial.again.changed:
        _demand(False, f"changes {name}")


def order_of_columns_is_free(trial: Trial) -> None:
    """A frame with its columns in another order has the same values by name, named in that order."""
    p = trial.problem
    if p.table == "array":
        return
    turned = list(reversed(p.names))
    more = {"background": p.background[turned]} if trial.takes("background") else {}
    found = trial.run(X=p.X[turned], **more)
    _demand(list(found.feature_names) == turned, f"names the columns {turned} as {list(found.feature_names)}")
    _demand_close(trial, found.values[::-1], found.std_error[::-1], "when the columns of X are in another order")


def groups_play_as_one(trial: Trial) -> None:
    """Groups of columns are named, know their members, and bring together what their columns bring."""
    if not trial.takes("groups"):
        return
    first, one, other, *rest = trial.problem.names
    found = trial.run(groups={"pair": [one, other]})
    wanted = (first, "pair", *rest)
    _demand(found.feature_names == wanted, f"names players {found.feature_names}, and with a group they are {wanted}")
    _demand((found.groups or {}).get("pair") == [one, other], f"does not say who is in a group: {found.groups}")
    _demand(np.isfinite(found.values).all(), f"has values of groups that are not finite: {found.values}")
    whole = trial.found.total
    if whole is not None:
        same = abs(found.total - whole) <= ROUNDING * trial.scale
        _demand(same, f"says that all features bring {found.total:.6g} in groups, {whole:.6g} without")


def names_can_be_given(trial: Trial) -> None:
    """``feature_names`` are the names."""
    if trial.problem.table == "array" and trial.takes("feature_names"):
        given = [f"column {place}" for place in range(len(trial.problem.names))]
        found = trial.run(feature_names=given)
        _demand(list(found.feature_names) == given, f"does not take the names it is given: {found.feature_names}")
        _demand_close(trial, found.values, found.std_error, "under other names")


def weights_count(trial: Trial) -> None:
    """Equal weights are none; unequal ones change something, if not of a heuristic, for which rows may not matter."""
    if not trial.takes("sample_weight"):
        return
    n = len(trial.problem.y)
    found = trial.run(sample_weight=np.ones(n))
    _demand_close(trial, found.values, found.std_error, "with equal weights")
    if trial.row is None or trial.row.is_heuristic:
        return
    uneven = trial.run(sample_weight=np.where(np.arange(n) < n // 2, 3.0, 0.5))
    _demand((uneven.values != trial.found.values).any(), "has the same values whatever the weights")


def losses_go_together(trial: Trial) -> None:
    """A list of losses gives a list of explanations, one each, with the values of runs of their own."""
    if not trial.takes("loss"):
        return
    other = next(loss for loss in losses_of(trial.problem.task, trial.problem.table) if loss != trial.loss)
    found = trial.run(loss=[other, trial.loss])
    is_list = isinstance(found, list) and len(found) == 2
    _demand(is_list, f"returns {type(found).__name__} for a list of two losses, and not a list of two explanations")
    names, wanted = [one.loss for one in found], [as_loss(other).name, trial.found.loss]
    _demand(names == wanted, f"has explanations of the losses {names} for {wanted}")
    _demand_close(trial, found[1].values, found[1].std_error, "in a list of losses")


def missing_labels_are_said(trial: Trial) -> None:
    """Without y it works, or says that it wants y."""
    try:
        found = replace(trial, loss=None).run(y=None)
    except InputError as error:
        _demand(error.argument == "y", f"names {error.argument!r} where y is missing: {error}")
    else:
        _demand(isinstance(found, Explanation), f"returns {type(found).__name__} without y, and not an Explanation")


def rows_are_demanded(trial: Trial) -> None:
    """An X without rows is an error that names X."""
    _demand_error(trial, "X", X=trial.problem.X[:0], y=trial.problem.y[:0])


def lengths_are_compared(trial: Trial) -> None:
    """A y of another length than X is an error that names y, or y is not looked at."""
    try:
        found = trial.run(y=trial.problem.y[:-1])
    except InputError as error:
        _demand(error.argument == "y", f"names {error.argument!r} where y is too short: {error}")
    else:
        _demand(bits(found) == bits(trial.found), "takes a y that is shorter than X")


Check = Callable[[Trial], None]

# of every loss
OF_A_RUN: dict[str, Check] = {
    "values": values_are_sound,
    "intervals": intervals_hold_the_values,
    "constant": constant_fits_the_framework,
    "sum": values_add_up,
    "ends": ends_are_losses,
    "nothing": nothing_gets_nothing,
    "examples": examples_add_up,
    "cost": cost_is_counted,
    "file": file_keeps_everything,
    "text": shows_itself,
}

# of the first loss of every problem, since each takes runs of its own
OF_RUNS: dict[str, Check] = {
    "seed": same_seed_same_bits,
    "inputs": inputs_stay_as_they_are,
    "losses": losses_go_together,
    "labels": missing_labels_are_said,
    "lengths": lengths_are_compared,
}

# of the first task, too: what becomes of columns, of rows and of workers has little to do with responses
OF_A_TASK: dict[str, Check] = {
    "jobs": jobs_change_nothing,
    "order": order_of_columns_is_free,
    "groups": groups_play_as_one,
    "names": names_can_be_given,
    "weights": weights_count,
    "rows": rows_are_demanded,
}


def _demand(holds: Any, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"The measure {sentence}.")


def _demand_close(trial: Trial, values: Any, error: Any, when: str) -> None:
    first = trial.found
    allowed = SIGMAS * np.hypot(error, first.std_error) + ROUNDING * trial.scale
    _demand((np.abs(values - first.values) <= allowed).all(), f"has other values {when}: {values}, {first.values}")


def _demand_error(trial: Trial, argument: str, **changes: Any) -> None:
    try:
        trial.run(**changes)
    except InputError as error:
        _demand(error.argument == argument, f"names {error.argument!r}, and not {argument!r}: {error}")
    else:
        _demand(False, f"takes an {argument} without rows")
