"""Options that commands share: what they are called, and what their help says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from clarysage.catalogue import ADJUSTMENTS, BACKENDS, LOSSES, METHODS, removals_in_words
from clarysage.cli.completion import columns, names
from clarysage.cli.config import configured
from clarysage.cli.model_files import endings
from clarysage.cli.option_checks import as_adjustment, check_level, whole, workers
from clarysage.registry import Named, Registry, normalised


def _explained(registry: Registry[Named]) -> str:
    """All names of a registry, each with what it means."""
    meanings = [f'"{name}" ({registry[name].summary})' for name in registry]
    special = [] if registry.special is None else [f'"{registry.special.name}" {registry.special.purpose}']
    *first, last = [*meanings, *special]
    return f"{', '.join(first)}, or {last}"


class Group:
    """Options that several commands share; a dataclass declares of each its name, type, default and help, once."""


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: its command line has the options of a :class:`Group` in place of each such parameter."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Group)}
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


def _options_of(group: type[Group] | None, parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """The options of a group, or a parameter that is no group; all by name, since so typer calls commands."""
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
    help=f"The model: {endings()}, or module:name for a function or model in a Python module.",
)
DATA = typer.Argument(
    metavar="DATA",
    show_default=False,
    help="Rows to judge the model on, best not those it was fitted on: .csv, .csv.gz, .tsv, .parquet, or "
    "a folder of Parquet files.",
)
Background = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="Rows that stand in for withheld features, such as the training data. Default: DATA.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=names("method"),
        help=f"{METHODS.help()}.",
    ),
]


@dataclass(frozen=True)
class ProblemOptions(Group):
    """What is explained: rows, features and the loss."""

    background_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help="Rows to draw at random from a larger --background; cost grows with them. Default: 512, or 4096 where "
            "features are withheld given the others.",
        ),
    ] = None
    loss: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=names("loss"),
            help=f"{LOSSES.help()}.",
        ),
    ] = "auto"
    removal: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=names("removal"),
            help=f"How features are withheld: {removals_in_words()}.",
        ),
    ] = "marginal"
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help='Columns that count as one: a JSON file {"weather": ["temp", "wind"], ...}.',
        ),
    ] = None
    sample_weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=columns,
            help="A column with the weight of each row.",
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=columns,
            help="A column that is no feature; give it again for more.",
        ),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """As keyword arguments of the library, where they are such."""
        return {"loss": normalised(self.loss), "removal": normalised(self.removal)}


@dataclass(frozen=True)
class ModelOptions(Group):
    """How a model file is read, and which of its outputs is explained."""

    output: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help='The output to explain: a method such as "predict_proba", an output of an ONNX model, or "sigmoid" / '
            '"softmax" to turn logits into probabilities.',
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            show_default=False,
            help="Labels of the classes in the order of the model's outputs, for a model that knows only their "
            "numbers.",
        ),
    ] = None
    allow_pickle: Annotated[
        bool,
        typer.Option(
            "--allow-pickle/--no-allow-pickle", show_default=False, help="Read a pickled model, which can run any code."
        ),
    ] = False
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            show_default=False,
            help="A type that a .skops file may hold beside scikit-learn's own; give it again for more.",
        ),
    ] = None

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The classes, one by one."""
        return None if self.classes is None else tuple(label.strip() for label in self.classes.split(","))


@dataclass(frozen=True)
class RunFlags(Group):
    """When a run ends, who computes, and the seed."""

    tolerance: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Stop when the largest standard error is below this share of the values' range."
        ),
    ] = 0.025
    budget: Annotated[
        float | None,
        typer.Option(metavar="ROWS", show_default=False, help="Stop at this many rows passed to the model."),
    ] = None
    deadline: Annotated[
        float | None, typer.Option(metavar="SECONDS", show_default=False, help="Stop after this many seconds.")
    ] = None
    n_jobs: Annotated[
        int,
        typer.Option(
            metavar="K", help="Workers, -1 for all cores; the result is the same for any number. A cluster has its own."
        ),
    ] = 1
    backend: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=names("backend"),
            help=f"Who works: {_explained(BACKENDS)}. The result is the same.",
        ),
    ] = "processes"
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default=False,
            help="Of the cluster: a Dask scheduler such as tcp://host:8786, or a Ray cluster such as auto.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(metavar="K", min=0, help="Seed of the random draws.")] = 0

    @property
    def settings(self) -> dict[str, Any]:
        """As keyword arguments of the library, but for the seed; a cluster has to be there."""
        return {
            "tolerance": self.tolerance,
            "budget": whole(self.budget),
            "deadline": self.deadline,
            "n_jobs": workers(self.n_jobs, self.backend, self.address),
        }


@dataclass(frozen=True)
class StorageOptions(Group):
    """How much of a large table is read, and how much memory is taken."""

    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help='Rows to judge the model on at most, drawn at random. Default: all; by "clarysage '
            'explain" 100000 of a Parquet table, or as many as --memory-limit holds.',
        ),
    ] = None
    memory_limit: Annotated[
        float | None,
        typer.Option(
            metavar="BYTES",
            show_default=False,
            help='Bytes that the rows given to the model at once may take; and by "clarysage explain" those of a '
            "Parquet table in all. Default: 1e9.",
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help="Rows that the model gets at once, at most. Default: 32768, or what --memory-limit allows.",
        ),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """As keyword arguments of the library."""
        return {option.name: getattr(self, option.name) for option in fields(self)}


@dataclass(frozen=True)
class KeptRunFlags(StorageOptions):
    """How much of a large table is read, how much memory is taken, and where an unfinished run is kept."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Keep the run in a file, after every round and when it is interrupted: the same command goes on where "
            "it was, and ends with the same result.",
        ),
    ] = None


@dataclass(frozen=True)
class DifferenceOptions(Group):
    """How explanations are compared, and which differences are marked."""

    paired: Annotated[
        bool | None,
        typer.Option(
            "--paired/--unpaired",
            show_default=False,
            help="Take rows to be the same ones, in the same order, or to be drawn apart. Default: the same where "
            "features, target and weights are.",
        ),
    ] = None
    adjust: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=names("adjust"),
            help=f"Of p-values, since there are many: {_explained(ADJUSTMENTS)}.",
        ),
    ] = "holm"
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="1 less the adjusted p-value below which a difference is marked.")
    ] = 0.95

    @property
    def settings(self) -> dict[str, Any]:
        """As keyword arguments of the library, checked."""
        check_level(self.level)
        return {"paired": self.paired, "adjust": as_adjustment(self.adjust), "level": self.level}


@dataclass(frozen=True)
class JsonOptions(Group):
    """The file of a result's data."""

    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            show_default=False,
            help='Write the result as JSON; "-" prints it in place of the table.',
        ),
    ] = None


@dataclass(frozen=True)
class FileOptions(JsonOptions):
    """Files of a result that can be written, but for pictures, which are the command's own."""

    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Write a report: one page with chart, table and warnings, to open in a browser.",
        ),
    ] = None


@dataclass(frozen=True)
class ExplanationOptions(FileOptions):
    """What is written and printed of an explanation."""

    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Draw the values into a .png, .svg or .pdf file."),
    ] = None
    rows: Annotated[
        bool,
        typer.Option(
            "--rows/--no-rows",
            show_default=False,
            help='With --json: write what single rows contribute, too, where it is known, so that "clarysage compare" '
            'can pair explanations of the same rows, and "clarysage merge" makes sharper intervals.',
        ),
    ] = False
    about: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=names("about"),
            help='What intervals are about: "data" (the sampling of the run alone), "rows" (other rows of the same '
            'population), "population" (other rows and another background). Default: the widest that is known.',
        ),
    ] = None
    tests: Annotated[
        bool,
        typer.Option(
            "--tests/--no-tests",
            show_default=False,
            help="Add p-values to the table: does a feature help, does it hurt?",
        ),
    ] = False


@dataclass(frozen=True)
class ConsoleOptions(Group):
    """What is said on stderr."""

    quiet: Annotated[
        bool, typer.Option("--quiet/--no-quiet", "-q", show_default=False, help="No progress bar and no notes.")
    ] = False
    debug: Annotated[
        bool, typer.Option("--debug/--no-debug", show_default=False, help="Show the traceback of an error.")
    ] = False


@dataclass(frozen=True)
class ConfiguredOptions(ConsoleOptions):
    """What is said on stderr, and a file that options come from."""

    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            show_default=False,
            callback=configured,
            is_eager=True,  # before the options that it sets
            help='Options and arguments from a TOML file, by their names, such as html = "report.html"; what stands on '
            "the command line overrides it. A table with the name of a command is for that one alone. Paths in "
            "the file are relative to its folder.",
        ),
    ] = None
