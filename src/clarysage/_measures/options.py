"""Options that all measures share: data and removal, and how a run is made.

A measure declares its own options and takes the shared ones as ``**options``. The decorator :func:`with_shared_options`
writes them out in its signature and describes them in its docstring::

    @with_shared_options(unused={"removal": "a feature is set to its mean"})
    def mean_importance(model, X, y=None, *, loss="auto", **options: Unpack[SharedOptions]): ...
        data, run = split_options(options)

Every decorated measure accepts every shared option, so that a loop over measures needs no special cases. A note in the
explanation names the options that a measure does not use.
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

from clarysage._measures.after import after_step, refuse_texts
from clarysage._measures.wide_tables import with_fewer_players
from clarysage._utils.pace import Pace
from clarysage.catalogue import LOSSES, METHODS, drawing_removals_in_words, removals_in_words
from clarysage.errors import Call, InputError, Note, RunFailedError, Set
from clarysage.execution.observers import shown
from clarysage.inference.stopping import Converged, Deadline, time_limit
from clarysage.protocols import GroupsLike, RemovalLike, Rule, Seed, TableLike, WeightsLike
from clarysage.results import Explanation
from clarysage.synonyms import in_our_words, with_synonyms

Measuring = TypeVar("Measuring", bound=Callable[..., Any])


class RunOptions(TypedDict, total=False):
    """Options of a run: when it stops, who computes, how much memory it takes. They are the fields of :class:`Run`."""

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
    """Options of the data other than X and y, of the removal, and the seed."""

    background: TableLike | None
    removal: RemovalLike
    groups: GroupsLike | None
    sample_weight: WeightsLike | None
    feature_names: Sequence[str] | None
    rng: Seed


@with_synonyms
@dataclass(frozen=True)
class Run:
    """Options of runs as one object that several calls can share; the options of a call take precedence.

    Parameters
    ----------
    tolerance : the largest standard error, as a share of the range of the values; None for a run that another rule ends
    budget : the largest number of model rows
    deadline : the largest number of seconds, from the call
    stop : one or more rules, such as :class:`~clarysage.SignsKnown`
    n_jobs : number of processes, -1 for all cores, or a backend such as :class:`~clarysage.Dask`
    checkpoint : file in which the state of the run is stored, and from which it continues
    progress : True for a progress bar at once, False for none; by default after two seconds where somebody watches
    max_rows : the largest number of rows of X that are explained, drawn at random
    memory_limit : bytes that the rows that are read, and those given to the model at once, may take
    batch_size : the largest number of rows in one call of the model
    check_manifold : whether to test if hybrid rows look unlike real ones
    rng : seed or Generator of calls without one of their own
    called : when the call began, by ``time.monotonic``; a deadline counts from then

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
    rng: Seed = None
    called: float = field(default_factory=time.monotonic, repr=False, compare=False)

    @classmethod
    def of(cls, run: Run | None, options: RunOptions) -> Run:
        """Makes the run of a call, whose options take precedence over the object. A deadline counts from now."""
        if run is not None and not isinstance(run, Run):
            raise InputError("run", got=type(run).__name__, wanted="a Run, or None", hint=Call("Run", "n_jobs=2"))
        given = cast(dict[str, Any], options)
        return replace(run or cls(), **given, called=time.monotonic())

    @property
    def seconds(self) -> float:
        """The seconds from the call to the deadline; infinity without a deadline."""
        given = [] if self.deadline is None else [Deadline(self.deadline)]
        return time_limit([*given, *self.further_rules])

    @property
    def left(self) -> float:
        """The seconds until the deadline."""
        return self.called + self.seconds - time.monotonic()

    def pace(self) -> Pace:
        """Returns the pace of a model that has not been called yet, with the deadline."""
        return Pace(self.seconds, self.called + self.seconds)

    @property
    def further_rules(self) -> list[Rule]:
        """The rules of ``stop``, as a list."""
        if isinstance(self.stop, (list, tuple)):
            return list(self.stop)
        return [] if self.stop is None else [cast(Rule, self.stop)]


class SharedOptions(DataOptions, RunOptions, total=False):
    """All shared options of measures."""

    run: Run | None
    after: str | None
    max_players: int | None


DEFAULTS: Mapping[str, Any] = {
    "background": None,
    "removal": "marginal",
    "loss": "auto",
    "groups": None,
    "sample_weight": None,
    "feature_names": None,
    "rng": None,
    **{option.name: option.default for option in fields(Run) if option.default is not MISSING},
    "run": None,
    "after": None,
    "max_players": None,
}
DATA_OPTIONS = tuple(DataOptions.__annotations__)
RUN_OPTIONS = tuple(RunOptions.__annotations__)
NOT_NEEDED = "this measure does not need it"
SEVERAL_RUNS = "None, since there are several runs, and a file holds only one"
OF_ALL = ("after", "max_players")  # shared options that are used before a measure is called
WITHOUT_NOTE = ("check_manifold", "rng", "n_jobs", "progress", "run")  # no note says that these were not used
DECORATED: set[Callable[..., Any]] = set()  # measures that take all shared options
TYPES = {name: hint.__forward_arg__ for name, hint in SharedOptions.__annotations__.items()}
SHARED = """
    loss : {loss}; a name that scikit-learn, XGBoost, LightGBM or CatBoost has for one of these; a metric or a scorer of
        scikit-learn, for the loss whose mean it is; a callable ``loss(y_true, y_pred)`` that returns one value per
        example; or a list of these, evaluated in one pass
    method : {method}; or an object such as ``SurrogateWalks(regressor)``
    background : rows whose values replace withheld features; default a random sample of X of at most 512 rows
        (4,096 for a removal that learns from them). A path or a dataset is sampled to the same size
    removal : {removal}; or an object such as ``Copula(X_train)``
    groups : mapping of names to columns that are one player together; every other column is a player by itself
    sample_weight : one weight for each example, or the name of a column
    feature_names : names of the columns, if X has none or to replace them
    rng : seed or Generator; ``random_state`` and ``seed`` are understood, too, as ``scoring`` is in place of ``loss``
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values
        (Sec. 3.3), at this many model rows, or after this many seconds, whichever comes first. A deadline holds within
        a tenth, or one call of the model; if it is too short for any estimate, an error says how long it takes at least
    stop : a further rule, or a list of them: called with the Estimate, it returns a StopReason or None
    n_jobs : workers: a number, -1 for all cores, or a cluster: a Dask client, ``Dask(address)`` or ``Ray(address)``;
        default the number of ``joblib.parallel_config``, else one. Results are the same bits for any of them
    checkpoint : a file that stores the run at the end of every round and when it is interrupted. The same call then
        continues it, with the bits of a run that was not interrupted (with a deadline, draws of a slow model depend on
        its speed). ``rng=None`` uses the seed in the file; a smaller ``tolerance`` continues a run that had converged.
        A damaged file, or that of another run, is an error
    progress : True for a bar on stderr, False for none; default: in a terminal or a notebook, a bar that appears after
        two seconds, with the time that is left
    max_rows : the largest number of rows of X to use, a simple random sample without replacement. Default: all rows of
        a table in memory; of one on disk, or of an Arrow table too large for the memory limit, 100,000 rows, or as many
        as fit into the limit
    memory_limit : approximate limit, in bytes, for the rows given to the model at once in each worker, and for all
        rows read from a table on disk; default 1e9. If a removal object has its own limit, the lower one holds
    batch_size : the largest number of rows that the model gets at once, and the size of a worker's batch; default
        32,768, or what the memory limit allows. For a slow model and many workers: about a second's worth of rows
    check_manifold : whether to test for rows that are unlike any real one, and to warn of them in a note; the test fits
        a classifier to a few hundred rows, and is made as small as a tenth of the run, or left out with a note
    run : a :class:`~clarysage.Run` with the options of the run, which several calls can share
    after : for a fitted pipeline, the name of the step whose columns are the features: X, the background and training
        data are transformed by the steps up to this one, and the rest of the pipeline is the model. For texts, the
        step that makes columns of them, such as "tfidfvectorizer"
    max_players : the largest number of features and groups: the columns that probably matter most (by their standard
        deviation times the model's coefficients, by its gains, or by the standard deviation alone) are features, and
        all others are one group, "the other ... columns". Default: 50 for a sparse matrix with more than 256 columns,
        no limit for other tables
"""
DOCSTRING_WIDTH = 120
PARAMETER = re.compile(r"^    (\S.*?) : .*\n(?:        .*\n)*", re.MULTILINE)


def split_options(options: SharedOptions) -> tuple[DataOptions, Run]:
    """Splits shared options into those of the data, and those of the run as one object.

    Examples
    --------
    >>> data, run = split_options({"budget": 1000, "groups": None, "run": Run(tolerance=0.1)})
    >>> data, run.budget, run.tolerance
    ({'groups': None}, 1000, 0.1)
    """
    of_run = cast(RunOptions, {name: value for name, value in options.items() if name in RUN_OPTIONS})
    of_data = cast(DataOptions, {name: value for name, value in options.items() if name in DATA_OPTIONS})
    return of_data, Run.of(options.get("run"), of_run)


def with_shared_options(
    *,
    unused: Mapping[str, str] | None = None,
    otherwise: str = NOT_NEEDED,
    defaults: Mapping[str, Any] | None = None,
    refused: Mapping[str, str] | None = None,
) -> Callable[[Measuring], Measuring]:
    """Decorates a measure so that it accepts all shared options.

    Parameters
    ----------
    unused : shared options that the measure does not use, with the reason, which ends the sentence "background= was
        not used: ..." in a note
    otherwise : the reason for other options that it neither names nor takes as ``**options``
    defaults : defaults of shared options that differ for this measure
    refused : options that raise an error, since to ignore them would mislead, with the value that is accepted
    """

    def decorated(function: Measuring) -> Measuring:
        refusals = refused or {}
        reasons = {**_reasons_for_unused(function, unused or {}, otherwise), **refusals}
        signature = _full_signature(function, reasons, {**DEFAULTS, **(defaults or {})})
        names = [*signature.parameters, *(name for name in DEFAULTS if name not in signature.parameters)]
        name = getattr(function, "__name__", "a measure")

        @wraps(function)
        def measured(*args: Any, **options: Any) -> Any:
            options = in_our_words(name, options, names)
            run = options.get("run")
            if isinstance(run, Run) and run.rng is not None:
                options.setdefault("rng", run.rng)
            for option in refusals:
                if not is_default(option, options.get(option, DEFAULTS[option])):
                    raise InputError(option, got=repr(options[option])[:80], wanted=refusals[option])
            used = {option: value for option, value in options.items() if option not in reasons}
            notes = [
                Note([Set(option), f" was not used: {reasons[option]}."])
                for option, value in options.items()
                if option in reasons and option not in WITHOUT_NOTE and not is_default(option, value)
            ]
            of_all = {option: used.pop(option, None) for option in OF_ALL}
            if "X" in signature.parameters and len(args) <= len(signature.parameters):
                arguments = {**dict(zip(signature.parameters, args, strict=False)), **used}
                args, (used, about_columns) = (), columns_to_explain(arguments, **of_all)
                notes = [*about_columns, *notes]
            try:
                with shown(options.get("progress", run.progress if isinstance(run, Run) else None)):
                    return _with_notes(function(*args, **used), notes)
            except RunFailedError as error:
                raise RunFailedError(error.text, _with_notes(error.partial, notes)) from error.__cause__

        measured.__signature__ = signature  # type: ignore[attr-defined]
        measured.__doc__ = _full_docstring(function.__doc__ or "", signature)
        DECORATED.add(measured)
        return cast(Measuring, measured)

    return decorated


def columns_to_explain(arguments: dict[str, Any], *, after: Any, max_players: Any) -> tuple[dict[str, Any], list[Note]]:
    """Returns the arguments of a measure after a step of a pipeline and with few players; and notes on both."""
    notes = []
    if after is None:
        refuse_texts(arguments.get("model"))
    else:
        arguments, about_step = after_step(after, arguments)
        notes.append(about_step)
    arguments, about_players = with_fewer_players(max_players, arguments)
    return arguments, [*notes, *about_players]


def taking_shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the measure, decorated to accept all shared options if it is not (one of another package)."""
    return function if function in DECORATED else with_shared_options()(function)


def options_of(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the options that a measure uses, in addition to model, X and y.

    Examples
    --------
    >>> options_of(lambda model, X, y=None, *, loss="auto": None)
    ['loss']
    """
    return [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]


def is_default(option: str, value: Any) -> bool:
    """Returns whether a shared option has its default value; tables and other objects are never equal to a default."""
    default = DEFAULTS[option]
    return value is default or (isinstance(value, (str, float)) and value == default)


def _reasons_for_unused(function: Callable[..., Any], given: Mapping[str, str], otherwise: str) -> dict[str, str]:
    """Returns the shared options that a function does not use, with the reasons."""
    parameters = inspect.signature(function).parameters
    takes_shared = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    left = [name for name in DEFAULTS if name not in parameters and (name == "loss" or not takes_shared)]
    return {**dict.fromkeys((name for name in left if name not in OF_ALL), otherwise), **given}


def _full_signature(
    function: Callable[..., Any], reasons: Mapping[str, str], defaults: Mapping[str, Any]
) -> inspect.Signature:
    """Returns the signature of a function with the shared options that it uses in place of ``**options``.

    Those of all measures are added to any function, since they are used before it is called.
    """
    signature = inspect.signature(function)
    explicit = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    shared, names = TYPES if len(explicit) < len(signature.parameters) else OF_ALL, {each.name for each in explicit}
    explicit += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=TYPES[name])
        for name, default in defaults.items()
        if name in shared and name not in names and name not in reasons
    ]
    return signature.replace(parameters=explicit)


def _full_docstring(doc: str, signature: inspect.Signature) -> str:
    """Adds the shared options to a docstring, after the parameters that it describes."""
    head, mark, tail = doc.partition("    Returns\n    -------\n")
    if not mark or "Parameters\n    -------" not in head:
        return doc
    choices = {
        "loss": LOSSES.help(),
        "method": METHODS.help(),
        "removal": removals_in_words(),
        "drawing": drawing_removals_in_words(),
    }
    head = PARAMETER.sub(lambda match: _with_choices(match[0], choices), head)
    described = {name for match in PARAMETER.finditer(head) for name in match[1].split(", ")}
    missing = [
        _with_choices(match[0], choices)
        for match in PARAMETER.finditer(SHARED)
        if all(name in signature.parameters and name not in described for name in match[1].split(", "))
    ]
    return f"{head.rstrip()}\n{''.join(missing)}\n{mark}{tail}"


def _with_choices(parameter: str, choices: Mapping[str, str]) -> str:
    """Fills the lists of names into the description of a parameter, in lines of a docstring."""
    if not any(f"{{{name}}}" in parameter for name in choices):
        return parameter
    parameter = parameter.format_map(choices)
    return fill(" ".join(parameter.split()), DOCSTRING_WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8) + "\n"


def _with_notes(result: Any, notes: Sequence[Note]) -> Any:
    """Adds notes to a result, or to each of a list of results."""
    if isinstance(result, list):
        return [_with_notes(explanation, notes) for explanation in result]
    return replace(result, notes=(*result.notes, *notes)) if notes and isinstance(result, Explanation) else result
