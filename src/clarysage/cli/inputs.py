"""Reads the inputs of a command: the model, tables of rows and groups of features, from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clarysage.cli.checks import check_readable
from clarysage.cli.console import Say
from clarysage.cli.data_files import InputTable, check_groups, features, read_groups, read_table, with_categories
from clarysage.cli.model_files import Trust, load_model
from clarysage.cli.options import ModelOptions, ProblemOptions
from clarysage.errors import InputError

if TYPE_CHECKING:
    from clarysage.models import Predictor
    from clarysage.tables import OnDiskTable

SHAPLEY_EFFECTS = "no --target was given, so these are Shapley effects: shares of the variance of the model's output."


@dataclass(frozen=True)
class Columns:
    """Columns of the data that are not features, by their role."""

    target: str | None
    sample_weight: str | None
    drop: tuple[str, ...]
    by: str | None = None

    @property
    def read_with_features(self) -> list[str]:
        """Columns that are needed in addition to the features."""
        return [column for column in (self.target, self.sample_weight) if column is not None]

    def features_among(self, columns: Sequence[str], fitted: Sequence[str] | None) -> list[str]:
        """Returns the features among columns: without target and weights, unless the model was fitted on these."""
        return [column for column in columns if column not in self.read_with_features or column in (fitted or ())]

    def option_by_column(self, table: InputTable, current: InputTable | None = None) -> dict[str, str]:
        """Maps the columns to the options that name them; raises an error if the table lacks a column.

        The ``--by`` column is needed in the current rows only, and a column that is dropped in either table.
        """
        elsewhere = [] if current is None else [name for name in current.columns if name not in table.columns]
        named = [(column, "--drop") for column in self.drop if column not in elsewhere]
        named += [(self.by, "--by")] if self.by in table.columns else []
        named += [] if self.sample_weight is None else [(self.sample_weight, "--sample-weight")]
        named += [] if self.target is None else [(self.target, "--target")]
        for column, option in named:
            table.check_has(column, option)
        return dict(named)


@dataclass(frozen=True)
class Request:
    """The user's request: which model to explain on which data; ``settings`` are keyword arguments of the library.

    ``may_sample_rows`` says that the command needs only a sample of a large table.
    """

    model: str
    data: Path
    problem: ProblemOptions
    of_model: ModelOptions
    seed: int
    settings: Mapping[str, Any]
    target: str | None = None
    background: Path | None = None
    by: str | None = None
    train: Path | None = None
    current: Path | None = None
    may_sample_rows: bool = False

    @property
    def columns(self) -> Columns:
        """Columns that are not features."""
        return Columns(self.target, self.problem.sample_weight, tuple(self.problem.drop or ()), self.by)

    @property
    def data_argument(self) -> str:
        """The name of the data's argument on the command line."""
        return "DATA" if self.current is None else "REFERENCE"

    @property
    def tables(self) -> dict[str, Path]:
        """Files of tables, by their arguments or options."""
        others = {"CURRENT": self.current, "--background": self.background, "--train": self.train}
        files = {self.data_argument: self.data, **others}
        return {argument: path for argument, path in files.items() if path is not None}

    @property
    def max_rows_of(self) -> Callable[[OnDiskTable], int] | None:
        """Function that returns how many rows of a table on disk are needed; None if the command needs all rows."""
        if not self.may_sample_rows:
            return None
        from clarysage._measures.examples import rows_to_read

        return partial(rows_to_read, max_rows=self.settings["max_rows"], memory_limit=self.settings["memory_limit"])

    @property
    def inputs(self) -> list[Path]:
        """All files that are read."""
        groups = self.problem.groups
        return [Path(self.model), *self.tables.values(), *([] if groups is None else [groups])]


@dataclass(frozen=True)
class Inputs:
    """The inputs of a request, loaded.

    Attributes
    ----------
    model, f : the model as it was loaded, and as a predictor
    tables : X, y, sample_weight and background, as arguments of the library
    groups : columns by the names of their groups
    train : rows, responses and, if there are any, weights to refit the model on
    current : X, y, sample_weight and by of the current rows
    """

    model: Any
    f: Predictor
    tables: dict[str, Any]
    groups: dict[str, list[Any]] | None
    train: tuple[Any, ...] | None = None
    current: dict[str, Any] | None = None


def load_inputs(request: Request, say: Say) -> Inputs:
    """Reads and checks the files of a request."""
    import clarysage as cs

    for argument, path in request.tables.items():
        check_readable(argument, path, folder=True)
    groups = None if request.problem.groups is None else read_groups(request.problem.groups)
    trust = Trust(request.of_model.allow_pickle, tuple(request.of_model.trust or ()))
    model = load_model(request.model, trust)
    f = cs.as_predictor(model, output=request.of_model.output, classes=request.of_model.labels)
    current = None if request.current is None else read_table("CURRENT", request.current)
    tables = _tables(request, model, f.feature_names, current, say)
    columns = request.columns.features_among(list(tables["X"].columns), f.feature_names)
    if request.settings.get("after") is None:  # groups are of the columns of that step
        check_groups(groups or {}, columns)
    train = _train(request, model, columns, say)
    return Inputs(model, f, tables, groups, train, _current(request, model, current, columns))


def _tables(
    request: Request, model: Any, fitted: tuple[str, ...] | None, current: InputTable | None, say: Say
) -> dict[str, Any]:
    """Returns X, y, weights and background; ``fitted`` are the columns that the model was fitted on, if it says so."""
    table, columns = read_table(request.data_argument, request.data, request.max_rows_of), request.columns
    X = features(table, fitted, columns.option_by_column(table, current), say)
    if table.is_stored:  # the run reads the rows that it needs
        X = replace(X, prepare=partial(_prepare, features=X.columns, model=model))
        X = X.select(list(dict.fromkeys([*X.columns, *columns.read_with_features])))
    else:
        X = with_categories(X, model)
    background = None
    if request.background is not None:
        others = read_table("--background", request.background, lambda stored: _max_background_rows(request))
        background = features(others, columns.features_among(X.columns, fitted), {}, _say_nothing)
        background = with_categories(_sampled_background(background, request, say), model)
    return {
        "X": X,
        "y": table.column(columns.target),
        "sample_weight": table.column(columns.sample_weight),
        "background": background,
    }


def _prepare(frame: Any, features: Sequence[str], model: Any) -> Any:
    """Returns a frame with its feature columns as the model takes them, and other columns unchanged."""
    prepared = with_categories(frame[list(features)], model)
    return frame.assign(**{name: prepared[name] for name in features})


def _max_background_rows(request: Request) -> float:
    from clarysage.removal import default_rows

    return request.problem.background_rows or default_rows(request.settings["removal"])


def _sampled_background(rows: Any, request: Request, say: Say) -> Any:
    """Returns the background, or a random sample of it if it has more rows than the maximum."""
    from clarysage._measures.problem import background_row_numbers

    n_rows, max_rows = rows.shape[0], _max_background_rows(request)
    if n_rows <= max_rows:
        return rows
    sampled = background_row_numbers(n_rows, max_rows, request.seed)
    say(f"background: {int(max_rows):,} of the {n_rows:,} rows, drawn at random; --background-rows takes more.")
    return rows.iloc[sampled] if hasattr(rows, "iloc") else rows.take(sampled)


def _train(request: Request, model: Any, columns: Sequence[str], say: Say) -> tuple[Any, ...] | None:
    """Returns rows to refit the model on, their responses, and their weights if the file has them."""
    if request.train is None:
        return None
    table, named = read_table("--train", request.train), request.columns
    if named.target is None:
        raise InputError("--train", got="rows to fit on without --target", wanted="the column that they predict")
    table.check_has(named.target, "--target")
    X = with_categories(features(table, columns, {}, _say_nothing), model)
    weights = [table.frame[named.sample_weight]] if named.sample_weight in table.columns else []
    if named.sample_weight is not None and not weights:
        missing = f"{request.train.name} has no column {named.sample_weight!r}"
        say(f"{missing}: the model is refitted on its rows without weights.")
    return (X, table.frame[named.target], *weights)


def _current(request: Request, model: Any, table: InputTable | None, columns: Sequence[str]) -> dict[str, Any] | None:
    """Returns the current rows, their responses and weights, and the column that defines slices."""
    if table is None:
        return None
    named = request.columns
    column_of = {"y": named.target, "sample_weight": named.sample_weight, "by": named.by}
    for argument, column in column_of.items():
        if column is not None:
            is_target = argument == "y"
            hint = f"no --target but --drop {column} if it is not known yet: this compares effects on the output"
            option = "--target" if is_target else f"--{argument.replace('_', '-')}"
            table.check_has(column, option, hint if is_target else "")
    X = with_categories(features(table, columns, {}, _say_nothing), model)
    return {"X": X} | {key: None if column is None else table.frame[column] for key, column in column_of.items()}


def _say_nothing(note: object) -> None:
    """Ignores notes about tables other than the data."""
