"""Options that commands share: what they are called, and what their help says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage.catalogue import ADJUSTMENTS, BACKENDS, LOSSES, METHODS, REMOVALS
from clarysage.cli.completion import columns, names
from clarysage.cli.config import configured
from clarysage.cli.model_files import endings
from clarysage.registry import Named, Registry


def _explained(registry: Registry[Named]) -> str:
    """All names of a registry, each with what it means."""
    meanings = [f'"{name}" ({registry[name].summary})' for name in registry]
    special = [] if registry.special is None else [f'"{registry.special.name}" {registry.special.purpose}']
    *first, last = [*meanings, *special]
    return f"{', '.join(first)}, or {last}"


def _removals() -> str:
    """How features are withheld, whatever the others are and given them."""
    plain, given = (
        ", ".join(f'"{row.name}"' for row in REMOVALS.values() if row.is_conditional == is_given)
        for is_given in (False, True)
    )
    choice = "" if REMOVALS.special is None else f', or "{REMOVALS.special.name}" {REMOVALS.special.purpose}'
    return f"How features are withheld: {plain}; given the others {given}{choice}."


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
BackgroundRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        show_default=False,
        help="Rows to draw at random from a larger --background; cost grows with them. Default: 512, or 4096 where "
        "features are withheld given the others.",
    ),
]
Loss = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=names("loss"),
        help=f"{LOSSES.help()}.",
    ),
]
Removal = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=names("removal"),
        help=_removals(),
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
Groups = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help='Columns that count as one: a JSON file {"weather": ["temp", "wind"], ...}.',
    ),
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        show_default=False,
        autocompletion=columns,
        help="A column with the weight of each row.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        show_default=False,
        autocompletion=columns,
        help="A column that is no feature; give it again for more.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help='The output to explain: a method such as "predict_proba", an output of an ONNX model, or "sigmoid" / '
        '"softmax" to turn logits into probabilities.',
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        show_default=False,
        help="Labels of the classes in the order of the model's outputs, for a model that knows only their numbers.",
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(
        metavar="SHARE", help="Stop when the largest standard error is below this share of the values' range."
    ),
]
Budget = Annotated[
    float | None, typer.Option(metavar="ROWS", show_default=False, help="Stop at this many rows passed to the model.")
]
Deadline = Annotated[
    float | None, typer.Option(metavar="SECONDS", show_default=False, help="Stop after this many seconds.")
]
NJobs = Annotated[
    int,
    typer.Option(
        metavar="K", help="Workers, -1 for all cores; the result is the same for any number. A cluster has its own."
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=names("backend"),
        help=f"Who works: {_explained(BACKENDS)}. The result is the same.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        show_default=False,
        help="Of the cluster: a Dask scheduler such as tcp://host:8786, or a Ray cluster such as auto.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="Keep the run in a file, after every round and when it is interrupted: the same command goes on where it "
        "was, and ends with the same result.",
    ),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        show_default=False,
        help="Rows of DATA to take at most, drawn at random. Default: all of a text file; of Parquet 100000, or as "
        "many as --memory-limit holds.",
    ),
]
MemoryLimit = Annotated[
    float | None,
    typer.Option(
        metavar="BYTES",
        show_default=False,
        help="Bytes that the rows given to the model at once may take, and that those of a Parquet table may take in "
        "all. Default: 1e9.",
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        show_default=False,
        help="Rows that the model gets at once, at most. Default: 32768, or what --memory-limit allows.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="K", min=0, help="Seed of the random draws.")]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        show_default=False,
        help='Write the result as JSON; "-" prints it in place of the table.',
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="Write a report: one page with chart, table and warnings, to open in a browser.",
    ),
]
Paired = Annotated[
    bool | None,
    typer.Option(
        "--paired/--unpaired",
        show_default=False,
        help="Take rows to be the same ones, in the same order, or to be drawn apart. Default: the same where "
        "features, target and weights are.",
    ),
]
Adjust = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=names("adjust"),
        help=f"Of p-values, since there are many: {_explained(ADJUSTMENTS)}.",
    ),
]
Level = Annotated[
    float, typer.Option(metavar="SHARE", help="1 less the adjusted p-value below which a difference is marked.")
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle/--no-allow-pickle", show_default=False, help="Read a pickled model, which can run any code."
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TYPE",
        show_default=False,
        help="A type that a .skops file may hold beside scikit-learn's own; give it again for more.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        show_default=False,
        callback=configured,
        is_eager=True,  # before the options that it sets
        help='Options and arguments from a TOML file, by their names, such as html = "report.html"; what stands on '
        " the command line overrides it. A table with the name of a command is for that one alone. Paths in "
        "the file are relative to its folder.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet/--no-quiet", "-q", show_default=False, help="No progress bar and no notes.")
]
Debug = Annotated[bool, typer.Option("--debug/--no-debug", show_default=False, help="Show the traceback of an error.")]
