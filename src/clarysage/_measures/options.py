"""Options that all measures share: of the data and the removal, and of the run.

A measure states what is its own and takes the rest as one group, which :func:`with_shared_options` writes out in its
signature and describes in its docstring::

    @with_shared_options(unused={"removal": "a feature is set to its mean"})
    def mean_importance(model, X, y=None, *, loss="auto", **options: Unpack[SharedOptions]): ...
        data, run = apart(options)

Every measure so decorated accepts every shared option, so that a loop over measures needs no cases: of those that it
has no use for, a note in the explanation says so.
"""

from __future__ import annotations

import inspect
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import wraps
from textwrap import fill
from typing import Any, TypedDict, TypeVar, cast

from clarysage.catalogue import LOSSES, METHODS, drawing_removals_in_words, removals_in_words
from clarysage.errors import Call, InputError, Note, RunFailedError, Set, resembling
from clarysage.inference.stopping import Converged
from clarysage.protocols import GroupsLike, RemovalLike, Rule, Seed, TableLike, WeightsLike
from clarysage.results import Explanation

Measuring = TypeVar("Measuring", bound=Callable[..., Any])


class RunOptions(TypedDict, total=False):
    """How a run is made: when it ends, who computes, how much memory it takes; of a :class:`Run`, one by one."""

    tolerance: float | None
    budget: float | None
    deadline: float | None
    stop: Rule | Sequence[Rule] | None
    n_jobs: object
    checkpoint: str | os.PathLike[str] | None
    progress: bool | None
    max_rows: int | None
    memory_limit: float | None
    batch_size: int | None
    check_manifold: bool


class DataOptions(TypedDict, total=False):
    """The data beside X and y, how features are withheld, and the seed."""

    background: TableLike | None
    removal: RemovalLike
    groups: GroupsLike | None
    sample_weight: WeightsLike | None
    feature_names: Sequence[str] | None
    rng: Seed


@dataclass(frozen=True)
class Run:
    """How runs are made, as one object that several calls can share; options of a call go before it.

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> quick = Run(tolerance=0.1, n_jobs=1)
    >>> cs.sage(lambda X: X[:, 0], X, X[:, 0], run=quick, budget=100_000, rng=0).top(1)
    ['x0']
    """

    tolerance: float | None = Converged().tolerance
    budget: float | None = None
    deadline: float | None = None
    stop: Rule | Sequence[Rule] | None = None
    n_jobs: object = None
    checkpoint: str | os.PathLike[str] | None = None
    progress: bool | None = None
    max_rows: int | None = None
    memory_limit: float | None = None
    batch_size: int | None = None
    check_manifold: bool = True
    called: float = field(default_factory=time.monotonic, repr=False, compare=False)

    @classmethod
    def of(cls, run: Run | None, options: RunOptions) -> Run:
        """The run of a call, whose options go before those of an object; a deadline counts from now on."""
        if run is not None and not isinstance(run, Run):
            raise InputError("run", got=type(run).__name__, wanted="a Run, or None", hint=Call("Run", "n_jobs=2"))
        given = cast(dict[str, Any], options)
        return replace(run or cls(), **given, called=time.monotonic())

    @property
    def further_rules(self) -> list[Rule]:
        """The rules of ``stop``, as a list."""
        if isinstance(self.stop, (list, tuple)):
            return list(self.stop)
        return [] if self.stop is None else [cast(Rule, self.stop)]


class SharedOptions(DataOptions, RunOptions, total=False):
    """All that measures share."""

    run: Run | None


DEFAULTS: Mapping[str, Any] = {
    "background": None,
    "removal": "marginal",
    "loss": "auto",
    "groups": None,
    "sample_weight": None,
    "feature_names": None,
    "rng": None,
    **{one.name: one.default for one in fields(Run) if one.default is not MISSING},
    "run": None,
}
OF_DATA = tuple(DataOptions.__annotations__)
OF_RUN = tuple(RunOptions.__annotations__)
NEEDLESS = "this measure does without"
SEVERAL_RUNS = "None, since there are several runs, and a file holds one"
UNSAID = ("check_manifold", "rng", "n_jobs", "progress", "run")  # of which no note says that they were not used
ELSEWHERE = {"random_state": "rng", "seed": "rng", "scoring": "loss", "n_repeats": "repeats"}  # as others call options
DECORATED: set[Callable[..., Any]] = set()  # measures that take all shared options
TYPES = {name: hint.__forward_arg__ for name, hint in SharedOptions.__annotations__.items()}
SHARED = """
    loss : {loss}; a callable ``loss(y_true, y_pred)`` that returns one value per example; or a list of these,
        evaluated in one pass
    method : {method}; or an object such as ``SurrogateWalks(regressor)``
    background : rows that stand in for withheld features; default X itself, thinned to 512 rows
        (4,096 for a removal that learns from them). Of a path or a dataset so many rows are drawn
    removal : {removal}; or an object such as ``Copula(X_train)``
    groups : mapping of names to columns that play as one; columns not named stay players of their own
    sample_weight : one weight an example, or the name of a column
    feature_names : names for the columns, where X has none or others are wanted
    rng : seed or Generator
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values
        (Sec. 3.3), at this many model rows, or after this many seconds, whichever comes first
    stop : a further rule, or a list of them: called with the Estimate, it returns a StopReason or None
    n_jobs : workers: a number, -1 for all cores, or a cluster: a Dask client, ``Dask(address)`` or ``Ray(address)``;
        default as ``joblib.parallel_config`` says, else one. Results are the same bits for any of them
    checkpoint : a file to keep the run in, written at the end of every round and when the run is interrupted, so that
        the same call goes on where it was, with the bits of a run that was not interrupted. ``rng=None`` takes up the
        seed in it; a finer ``tolerance`` goes on from a run that had converged. A file of another run, or a damaged
        one, is refused
    progress : True for a bar on stderr
    max_rows : rows of X to take at most, drawn at random without replacement. Default: all of a table in memory; of one
        on disk, or of an Arrow table too large for the memory limit, 100,000, or as many as the limit holds
    memory_limit : bytes, about, that the rows given to the model at once may take, in each worker, and that the rows
        of a table on disk may take in all; default 1e9. Where a removal object has a limit of its own, the lower holds
    batch_size : rows that the model gets at once, at most, and that a worker's batch holds; default 32,768, or what the
        memory limit allows. For a slow model and many workers, as many as take it a second or so
    check_manifold : whether to look for rows that are unlike any real one, of which a note then warns; this fits a
        classifier to some hundred rows
    run : a :class:`~clarysage.Run` with those of these options that are about the run, for several calls alike
"""
WIDTH = 120  # of lines of docstrings
PARAMETER = re.compile(r"^    (\S.*?) : .*\n(?:        .*\n)*", re.MULTILINE)


def apart(options: SharedOptions) -> tuple[DataOptions, Run]:
    """The options of the data, and those of the run as one object.

    Examples
    --------
    >>> data, run = apart({"budget": 1000, "groups": None, "run": Run(tolerance=0.1)})
    >>> data, run.budget, run.tolerance
    ({'groups': None}, 1000, 0.1)
    """
    of_run = cast(RunOptions, {name: value for name, value in options.items() if name in OF_RUN})
    of_data = cast(DataOptions, {name: value for name, value in options.items() if name in OF_DATA})
    return of_data, Run.of(options.get("run"), of_run)


def with_shared_options(
    *,
    unused: Mapping[str, str] | None = None,
    otherwise: str = NEEDLESS,
    defaults: Mapping[str, Any] | None = None,
    refused: Mapping[str, str] | None = None,
) -> Callable[[Measuring], Measuring]:
    """Decorates a measure so that it takes all shared options, and says what it does with them.

    Parameters
    ----------
    unused : shared options that the measure has no use for, with the reason, which ends the sentence "background= was
        not used: ..." in a note
    otherwise : the reason for those that it neither names, nor takes as ``**options``, nor gives a reason for
    defaults : of shared options, where they are others for this measure
    refused : options that it would do harm to leave out silently, with what is wanted in place of them
    """

    def decorated(function: Measuring) -> Measuring:
        refusals = refused or {}
        reasons = {**_unused(function, unused or {}, otherwise), **refusals}
        signature = _written_out(function, reasons, {**DEFAULTS, **(defaults or {})})
        known = [*signature.parameters, *(name for name in DEFAULTS if name not in signature.parameters)]
        name = getattr(function, "__name__", "a measure")

        @wraps(function)
        def measured(*args: Any, **options: Any) -> Any:
            for option in options:
                if option not in known:
                    raise _unexpected(name, option, known)
            for option in refusals:
                if not is_default(option, options.get(option, DEFAULTS[option])):
                    raise InputError(option, got=repr(options[option])[:80], wanted=refusals[option])
            used = {option: value for option, value in options.items() if option not in reasons}
            notes = [
                Note([Set(option), f" was not used: {reasons[option]}."])
                for option, value in options.items()
                if option in reasons and option not in UNSAID and not is_default(option, value)
            ]
            try:
                return _noted(function(*args, **used), notes)
            except RunFailedError as error:
                raise RunFailedError(error.text, _noted(error.partial, notes)) from error.__cause__

        measured.__signature__ = signature  # type: ignore[attr-defined]
        measured.__doc__ = _described(function.__doc__ or "", signature)
        DECORATED.add(measured)
        return cast(Measuring, measured)

    return decorated


def taking_shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A measure that takes all shared options: of other packages one that is decorated here, where it is not yet."""
    return function if function in DECORATED else with_shared_options()(function)


def options_of(function: Callable[..., Any]) -> list[str]:
    """Names of the options that a measure makes use of, beside model, X and y.

    Examples
    --------
    >>> options_of(lambda model, X, y=None, *, loss="auto": None)
    ['loss']
    """
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]


def is_default(option: str, value: Any) -> bool:
    """Whether a shared option is as it was; of tables and other objects only None is."""
    default = DEFAULTS[option]
    return value is default or (isinstance(value, (str, float)) and value == default)


def _unexpected(name: str, option: str, known: Sequence[str]) -> TypeError:
    elsewhere = ELSEWHERE.get(option, "")
    close = elsewhere if elsewhere in known else resembling(option, known).replace("'", "")
    meant = f"; did you mean {close}?" if close else f"; it takes {', '.join(known)}"
    return TypeError(f"{name}() got an unexpected keyword argument {option!r}{meant}")


def _unused(function: Callable[..., Any], given: Mapping[str, str], otherwise: str) -> dict[str, str]:
    """Reasons by the shared options that a function has no use for."""
    parameters = inspect.signature(function).parameters
    takes_rest = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    left = [name for name in DEFAULTS if name not in parameters and (name == "loss" or not takes_rest)]
    return {**dict.fromkeys(left, otherwise), **given}


def _written_out(
    function: Callable[..., Any], reasons: Mapping[str, str], defaults: Mapping[str, Any]
) -> inspect.Signature:
    """The signature of a function with the shared options that it uses in place of ``**options``."""
    signature = inspect.signature(function)
    explicit = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    if len(explicit) < len(signature.parameters):
        names = {one.name for one in explicit}
        explicit += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=TYPES[name])
            for name, default in defaults.items()
            if name in TYPES and name not in names and name not in reasons
        ]
    return signature.replace(parameters=explicit)


def _described(doc: str, signature: inspect.Signature) -> str:
    """A docstring with the shared options after the parameters that it describes itself."""
    head, mark, rest = doc.partition("    Returns\n    -------\n")
    if not mark or "Parameters\n    -------" not in head:
        return doc
    choices = {
        "loss": LOSSES.help(),
        "method": METHODS.help(),
        "removal": removals_in_words(),
        "drawing": drawing_removals_in_words(),
    }
    head = PARAMETER.sub(lambda own: _with_choices(own[0], choices), head)
    described = {name for own in PARAMETER.finditer(head) for name in own[1].split(", ")}
    missing = [
        _with_choices(shared[0], choices)
        for shared in PARAMETER.finditer(SHARED)
        if all(name in signature.parameters and name not in described for name in shared[1].split(", "))
    ]
    return f"{head.rstrip()}\n{''.join(missing)}\n{mark}{rest}"


def _with_choices(parameter: str, choices: Mapping[str, str]) -> str:
    """The description of a parameter with names of rows where it has a place for them, in lines of a docstring."""
    if not any(f"{{{name}}}" in parameter for name in choices):
        return parameter
    parameter = parameter.format_map(choices)
    return fill(" ".join(parameter.split()), WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8) + "\n"


def _noted(result: Any, notes: Sequence[Note]) -> Any:
    """A result with further notes; a list of them, each with these."""
    if isinstance(result, list):
        return [_noted(one, notes) for one in result]
    return replace(result, notes=(*result.notes, *notes)) if notes and isinstance(result, Explanation) else result
