"""The common checks of measures: every loss that a measure admits, every task, arrays and frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

from clarysage._measures.options import options_of
from clarysage._measures.table import Measure, as_measure
from clarysage.errors import InputError
from clarysage.testing.contract import OF_A_RUN, OF_A_TASK, OF_RUNS, Check, Trial
from clarysage.testing.problems import FAMILIES, TASKS, MeasureProblem, check_names, losses_of, measure_problem


def measure_checks(
    measure: Any,
    *,
    model: Any = None,
    tasks: Sequence[str] = TASKS,
    tables: Sequence[str] = ("array", "mixed"),
    losses: Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Checks that a measure keeps what all measures promise: pairs of a name and a function that raises AssertionError.

    Parameters
    ----------
    measure : a name of the table, a row of one's own as a :class:`~clarysage.Measure`, or a function
        ``(model, X, y, *, ...)`` that returns an Explanation, of which less is known, and less checked. What options
        it has is read off its signature
    model : what it is tried on: "linear", "trees", "network", "torch", or a function ``(task, X, y)`` that returns a
        model which ignores the first column. Default: linear models, and for a heuristic of one kind of model the first
        of these that it does not refuse
    tasks : of "regression", "binary" and "multiclass"
    tables : of "array", "numbers" (pandas) and "mixed" (pandas with categories, text and missing cells)
    losses : those that the measure admits, where these are not all that fit the task
    options : for every call
    seed : of the problems

    Examples
    --------
    As a test of one's own, ``checks = dict(measure_checks(my_measure))`` and
    ``@pytest.mark.parametrize("name", checks)`` over ``checks[name]()``.

    >>> checks = dict(measure_checks("sage", tasks=["regression"], tables=["array"]))
    >>> checks["sage, regression, array, squared error: sum"]()
    """
    row = None if callable(measure) and not isinstance(measure, Measure) else as_measure(measure)
    function = measure if row is None else row.function
    name = getattr(function, "__name__", "measure") if row is None else row.name
    settings = dict(options or {})
    family = cache(partial(family_of, function, row, settings, seed) if model is None else lambda: model)
    for task, table in product(tasks, tables):
        check_names(task, table, model)
        pose = cache(partial(_posed, task, table, family, seed))
        for number, loss in enumerate(_admitted(function, losses, task, table)):
            trial = Trial(function, row, pose, loss, settings)
            where = ", ".join(filter(None, (name, task, table, _words(loss))))
            for promise, check in _promises(is_first=number == 0, is_first_task=task == tasks[0]).items():
                yield f"{where}: {promise}", partial(check, trial)


def check_measure(measure: Any, **options: Any) -> None:
    """Run all checks of a measure; options as in :func:`measure_checks`. Raises AssertionError with all that failed.

    Examples
    --------
    >>> check_measure("sage", tasks=["regression"], tables=["array"], losses=["squared error"])
    """
    failures = []
    for name, check in measure_checks(measure, **options):
        try:
            check()
        except Exception as error:  # a measure may fail in any way
            failures.append(f"{name}: {error if isinstance(error, AssertionError) else repr(error)}")
    if failures:
        raise AssertionError("\n".join(failures))


def family_of(function: Callable[..., Any], row: Measure | None, options: Mapping[str, Any], seed: int) -> Any:
    """The kind of model that a measure is for: linear, or of a heuristic of one kind the first that it takes."""
    if row is None or not row.is_heuristic or row.properties["agnostic"] != "no":
        return "linear"
    said = []
    for family in FAMILIES:
        try:
            Trial(function, row, partial(measure_problem, "regression", "array", family, seed), None, options).run()
        except InputError as error:
            if error.argument != "model":
                raise
            said.append(f"{family}: {error}")
        except ImportError as error:
            said.append(f"{family}: {error}")
        else:
            return family
    raise AssertionError(f"The measure takes no model of any kind that is here. {' '.join(said)}")


def _admitted(function: Callable[..., Any], losses: Sequence[Any] | None, task: str, table: str) -> Sequence[Any]:
    """Losses to try a measure with, None for one without."""
    if "loss" not in options_of(function):
        return [None]
    fitting = losses_of(task, table)
    return fitting if losses is None else [loss for loss in losses if not isinstance(loss, str) or loss in fitting]


def _promises(*, is_first: bool, is_first_task: bool) -> dict[str, Check]:
    return {**OF_A_RUN, **(OF_RUNS if is_first else {}), **(OF_A_TASK if is_first and is_first_task else {})}


def _words(loss: Any) -> str | None:
    return loss if loss is None or isinstance(loss, str) else str(getattr(loss, "__name__", type(loss).__name__))


def _posed(task: str, table: str, family: Callable[[], Any], seed: int) -> MeasureProblem:
    return measure_problem(task, table, family(), seed)
