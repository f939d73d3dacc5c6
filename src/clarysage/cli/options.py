"""Options that several commands share, with their help texts, in dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from clarysage.catalogue import ADJUSTMENTS, BACKENDS, LOSSES, METHODS, removals_in_words
from clarysage.cli.checks import as_adjustment, as_count, as_n_jobs, check_level
from clarysage.cli.completion import complete_column, completion_of
from clarysage.cli.config import configured
from clarysage.cli.model_files import endings
from clarysage.registry import Named, Registry, normalised


def _names_with_meanings(registry: Registry[Named]) -> str:
    """Returns all names of a registry, each with its meaning."""
    meanings = [f'"{name}" ({registry[name].summary})' for name in registry]
    special = [] if registry.special is None else [f'"{registry.special.name}" {registry.special.purpose}']
    *first, last = [*meanings, *special]
    return f"{', '.join(first)}, or {last}"


class OptionGroup:
    """A group of options that several commands share: a dataclass whose fields are the options."""


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command function: each parameter that is a :class:`OptionGroup` becomes the options of the group."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, OptionGroup)}
    parameters = [
        option
        for parameter in inspect.signature(command).parameters.values()
        for option in _options_of(groups.get(parameter.name), parameter.replace(annotation=hints[parameter.name]))
    ]

    @wraps(command)
    def with_options(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in fields(group)})  # type: ignore[arg-type]
        command(**given)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {option.name: option.annotation for option in parameters}
    return with_options


def _options_of(group: type[OptionGroup] | None, parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Returns the options of a group, or the parameter itself; keyword-only, since typer passes them by name."""
    if group is None:
        return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if option.default is MISSING else option.default,
            annotation=hints[option.name],
        )
        for option in fields(group)  # type: ignore[arg-type]
    ]


MODEL = typer.Argument(
    metavar="MODEL",
    show_default=False,
    help=f"File of the model ({endings()}), or module:name for a function or model in a Python module.",
)
DATA = typer.Argument(
    metavar="DATA",
    show_default=False,
    help="Table of rows to evaluate the model on, such as test data: .csv, .csv.gz, .tsv, .parquet, or a folder of "
    "Parquet files.",
)
Background = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="Table of rows that replace withheld features, such as the training data. Default: DATA.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=completion_of("method"),
        help=f"Estimator of the values: {METHODS.help()}.",
    ),
]


@dataclass(frozen=True)
class ProblemOptions(OptionGroup):
    """Options of the explained problem: background, features and loss."""

    background_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help="Maximum number of background rows; a larger --background is sampled at random. More rows cost more "
            "time. Default: 512, or 4096 for a conditional --removal.",
        ),
    ] = None
    loss: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=completion_of("loss"),
            help=f"Loss function: {LOSSES.help()}.",
        ),
    ] = "auto"
    removal: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=completion_of("removal"),
            help=f"Distribution that replaces withheld features: {removals_in_words()}.",
        ),
    ] = "marginal"
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help='Groups of columns that are explained together: a JSON file {"weather": ["temp", "wind"], ...}.',
        ),
    ] = None
    sample_weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=complete_column,
            help="Column with the weight of each row.",
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=complete_column,
            help="Column that is not a feature; repeat the option for several columns.",
        ),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """Those options that are keyword arguments of the library."""
        return {"loss": normalised(self.loss), "removal": normalised(self.removal)}


@dataclass(frozen=True)
class ExplainedOptions(ProblemOptions):
    """The options of the explained problem, with those that make other features of the columns of the table."""

    after: Annotated[
        str | None,
        typer.Option(
            metavar="STEP",
            show_default=False,
            help="Step of a fitted pipeline whose columns are the features, such as the words that tfidfvectorizer "
            "makes of texts. Default: the columns of DATA.",
        ),
    ] = None
    max_players: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            show_default=False,
            help="Maximum number of features and groups: the columns that probably matter most, and all others as one "
            "group. Default: 50 for more than 256 words or other columns of a sparse matrix, else no limit.",
        ),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """Those options that are keyword arguments of the library."""
        return {**super().settings, "after": self.after, "max_players": self.max_players}

    @property
    def needs_all_rows(self) -> bool:
        """Tells whether the whole table is read into memory, for a step or for a look at all columns."""
        return self.after is not None or self.max_players is not None


@dataclass(frozen=True)
class ModelOptions(OptionGroup):
    """Options of the model file: how it is read, and which of its outputs is explained."""

    output: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help='Output to explain: a method such as "predict_proba", the name of an output of an ONNX model, or '
            '"sigmoid" or "softmax" to convert logits to probabilities.',
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            show_default=False,
            help="Class labels in the order of the model's outputs, for a model that has only class numbers.",
        ),
    ] = None
    allow_pickle: Annotated[
        bool,
        typer.Option(
            "--allow-pickle/--no-allow-pickle",
            show_default=False,
            help="Allow pickled models. Loading a pickle can run any code, so use it only with files you trust.",
        ),
    ] = False
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            show_default=False,
            help="Python type that you trust in a .skops file; repeat the option for several types.",
        ),
    ] = None

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The class labels as a tuple."""
        return None if self.classes is None else tuple(label.strip() for label in self.classes.split(","))


@dataclass(frozen=True)
class StoppingOptions(OptionGroup):
    """Options of the run: stopping rules, parallel workers, the check of the manifold and the seed."""

    tolerance: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Stop when the largest standard error is less than this share of the range of values."
        ),
    ] = 0.025
    budget: Annotated[
        float | None,
        typer.Option(metavar="ROWS", show_default=False, help="Stop after this many rows passed to the model."),
    ] = None
    deadline: Annotated[
        float | None, typer.Option(metavar="SECONDS", show_default=False, help="Stop after this many seconds.")
    ] = None
    n_jobs: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Number of parallel workers, -1 for all cores; a cluster uses all its workers. The result does not "
            "depend on it.",
        ),
    ] = 1
    backend: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=completion_of("backend"),
            help=f"Parallel backend: {_names_with_meanings(BACKENDS)}. The result does not depend on it.",
        ),
    ] = "processes"
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default=False,
            help="Address of the cluster: of a Dask scheduler, such as tcp://host:8786, or of a Ray cluster, such as "
            "auto.",
        ),
    ] = None
    check_manifold: Annotated[
        bool,
        typer.Option(
            "--check-manifold/--no-check-manifold",
            show_default=False,
            help="Test for rows that are unlike any real one, and warn of them. Default: test, in at most a tenth of "
            "the run.",
        ),
    ] = True
    seed: Annotated[int, typer.Option(metavar="K", min=0, help="Seed of the random draws.")] = 0

    @property
    def settings(self) -> dict[str, Any]:
        """The options as keyword arguments of the library, without the seed."""
        return {
            "tolerance": self.tolerance,
            "budget": as_count(self.budget),
            "deadline": self.deadline,
            "n_jobs": as_n_jobs(self.n_jobs, self.backend, self.address),
            "check_manifold": self.check_manifold,
        }


@dataclass(frozen=True)
class StorageOptions(OptionGroup):
    """Options that limit how much of a large table is read, and how much memory is used."""

    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help="Maximum number of rows to evaluate the model on; more are sampled at random. Default: all rows; "
            '"clarysage explain" takes 100000 rows of a Parquet table, or as many as fit into --memory-limit.',
        ),
    ] = None
    memory_limit: Annotated[
        float | None,
        typer.Option(
            metavar="BYTES",
            show_default=False,
            help='Maximum bytes of the rows passed to the model at once; for "clarysage explain" also of the rows read '
            "from a Parquet table. Default: 1e9.",
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help="Maximum number of rows passed to the model at once. Default: 32768, or what --memory-limit allows.",
        ),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The options as keyword arguments of the library."""
        return {option.name: getattr(self, option.name) for option in fields(self)}


@dataclass(frozen=True)
class CheckpointOptions(StorageOptions):
    """The storage options with a checkpoint file for unfinished runs."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Save the state of the run in this file, regularly and when it is interrupted. If the file exists, "
            "the same command continues the run; the result is the same as without interruption.",
        ),
    ] = None


@dataclass(frozen=True)
class DifferenceOptions(OptionGroup):
    """Options of comparisons: whether rows are paired, and which differences are significant."""

    paired: Annotated[
        bool | None,
        typer.Option(
            "--paired/--unpaired",
            show_default=False,
            help="Treat the rows of both explanations as the same rows in the same order (paired), or as separate "
            "samples (unpaired). Default: paired if features, target and weights are equal.",
        ),
    ] = None
    adjust: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=completion_of("adjust"),
            help=f"Adjustment of p-values for multiple tests: {_names_with_meanings(ADJUSTMENTS)}.",
        ),
    ] = "holm"
    level: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Confidence level: a difference is marked if its adjusted p-value is less than 1 minus this level.",
        ),
    ] = 0.95

    @property
    def settings(self) -> dict[str, Any]:
        """The options as keyword arguments of the library, checked."""
        check_level(self.level)
        return {"paired": self.paired, "adjust": as_adjustment(self.adjust), "level": self.level}


@dataclass(frozen=True)
class JsonOptions(OptionGroup):
    """The option that writes a result as JSON."""

    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            show_default=False,
            help='Write the result to this JSON file; "-" prints the JSON instead of the table.',
        ),
    ] = None


@dataclass(frozen=True)
class FileOptions(JsonOptions):
    """Options that write a result as JSON and HTML; options for plots belong to the commands."""

    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Write a report to this HTML file: a page with chart, table and warnings.",
        ),
    ] = None
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help="Number of features in the printed table and in plots, the largest ones. Default: 20.",
        ),
    ] = None


@dataclass(frozen=True)
class ExplanationOptions(FileOptions):
    """Options of the output of an explanation."""

    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Plot the values to this .png, .svg or .pdf file."),
    ] = None
    rows: Annotated[
        bool | None,
        typer.Option(
            "--rows/--no-rows",
            show_default=False,
            help='Include the contributions of single rows in the --json file. With them "clarysage compare" can pair '
            'explanations of the same rows, and "clarysage merge" gives narrower intervals. Default: if they are known '
            "and at most a million numbers, except on stdout.",
        ),
    ] = None
    about: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=completion_of("about"),
            help='Source of uncertainty in the intervals: "data" (only the sampling of the run), "rows" (also other '
            'rows of the same population), "population" (also another background). Default: the widest available.',
        ),
    ] = None
    tests: Annotated[
        bool,
        typer.Option(
            "--tests/--no-tests",
            show_default=False,
            help="Add p-values to the table: whether a feature helps or hurts.",
        ),
    ] = False


@dataclass(frozen=True)
class ConsoleOptions(OptionGroup):
    """Options of the messages on stderr."""

    quiet: Annotated[
        bool, typer.Option("--quiet/--no-quiet", "-q", show_default=False, help="Hide the progress bar and notes.")
    ] = False
    debug: Annotated[
        bool, typer.Option("--debug/--no-debug", show_default=False, help="Show the traceback of errors.")
    ] = False


@dataclass(frozen=True)
class ConfiguredOptions(ConsoleOptions):
    """Options of the messages on stderr, and a configuration file."""

    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            show_default=False,
            callback=configured,
            is_eager=True,  # before the options that it sets
            help='TOML file with options and arguments, such as html = "report.html". The command line overrides it. A '
            "table with the name of a command applies to that command only. Paths in the file are relative to its "
            "folder.",
        ),
    ] = None


@dataclass(frozen=True)
class LongRunOptions(ConfiguredOptions):
    """Options of the messages on stderr of commands that may take long, and a configuration file."""

    progress: Annotated[
        bool | None,
        typer.Option(
            "--progress/--no-progress",
            show_default=False,
            help="Show a progress bar. Default: on a terminal, once the command has taken two seconds.",
        ),
    ] = None

    @property
    def shows_progress(self) -> bool | None:
        """Tells whether to show a progress bar; None lets the library decide."""
        return False if self.quiet else self.progress
