"""The checks of a measure: its contract for every admitted loss, every task, arrays and frames."""

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
    """Yields the checks of the contract of measures: pairs of a name and a function that raises AssertionError.

    Parameters
    ----------
    measure : a name in the table of measures, a :class:`~clarysage.Measure`, or a function ``(model, X, y, *, ...)``
        that returns an Explanation, which has fewer checks. The options of the measure are read from its signature
    model : the model of the problems: "linear", "trees", "network", "torch", or a function ``(task, X, y)`` that
        returns a model which ignores the first column. Default: linear models, and for a heuristic that requires a kind
        of model the first of these that it accepts
    tasks : some of "regression", "binary" and "multiclass"
    tables : some of "array", "numbers" (pandas) and "mixed" (pandas with categories, text and missing cells)
    losses : the losses that the measure admits, where these are not all losses of the task
    options : options of the measure in every call
    seed : seed of the problems

    Examples
    --------
    In a test suite, use ``checks = dict(measure_checks(my_measure))`` and
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
        pose = cache(partial(_problem, task, table, family, seed))
        for number, loss in enumerate(_admitted(function, losses, task, table)):
            trial = Trial(function, row, pose, loss, settings)
            title = ", ".join(filter(None, (name, task, table, _loss_name(loss))))
            for clause, check in _contract(is_first=number == 0, is_first_task=task == tasks[0]).items():
                yield f"{title}: {clause}", partial(check, trial)


def check_measure(measure: Any, **options: Any) -> None:
    """Runs all checks of a measure; raises an AssertionError that lists those that failed.

    Options are those of :func:`measure_checks`.

    Examples
    --------
    >>> check_measure("sage", tasks=["regression"], tables=["array"], losses=["squared error"])
    """
    failures = []
    for name, check in measure_checks(measure, **options):
        try:
            check()
        except Exception as error:  # a measure may raise any error
            failures.append(f"{name}: {error if isinstance(error, AssertionError) else repr(error)}")
    if failures:
        raise AssertionError("\n".join(failures))


def family_of(function: Callable[..., Any], row: Measure | None, options: Mapping[str, Any], seed: int) -> Any:
    """Returns the kind of model to check a measure with: linear, or the first kind that a heuristic accepts."""
    if row is None or not row.is_heuristic or row.properties["agnostic"] != "no":
        return "linear"
    refusals = []
    for family in FAMILIES:
        try:
            Trial(function, row, partial(measure_problem, "regression", "array", family, seed), None, options).run()
        except InputError as error:
            if error.argument != "model":
                raise
            refusals.append(f"{family}: {error}")
        except ImportError as error:
            refusals.append(f"{family}: {error}")
        else:
            return family
    raise AssertionError(f"The measure accepts none of the available kinds of models. {' '.join(refusals)}")


def _admitted(function: Callable[..., Any], losses: Sequence[Any] | None, task: str, table: str) -> Sequence[Any]:
    """Returns the losses to check a measure with; None stands for a measure without a loss."""
    if "loss" not in options_of(function):
        return [None]
    fitting = losses_of(task, table)
    return fitting if losses is None else [loss for loss in losses if not isinstance(loss, str) or loss in fitting]


def _contract(*, is_first: bool, is_first_task: bool) -> dict[str, Check]:
    return {**OF_A_RUN, **(OF_RUNS if is_first else {}), **(OF_A_TASK if is_first and is_first_task else {})}


def _loss_name(loss: Any) -> str | None:
    return loss if loss is None or isinstance(loss, str) else str(getattr(loss, "__name__", type(loss).__name__))


def _problem(task: str, table: str, family: Callable[[], Any], seed: int) -> MeasureProblem:
    return measure_problem(task, table, family(), seed)
