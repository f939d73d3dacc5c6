"""A request: a model and tables on disk, read, put together and explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clarysage.cli.console import Say
from clarysage.cli.data_files import Table, check_groups, features, read_groups, read_table, with_categories
from clarysage.cli.files import check_readable
from clarysage.cli.model_files import Trust, load_model
from clarysage.cli.options import ModelOptions, ProblemOptions
from clarysage.errors import InputError

if TYPE_CHECKING:
    from clarysage.models import Predictor
    from clarysage.results import Explanation
    from clarysage.tables import Stored


@dataclass(frozen=True)
class Columns:
    """Columns of the data that are no features, by what they are."""

    target: str | None
    sample_weight: str | None
    drop: tuple[str, ...]
    by: str | None = None

    @property
    def read_too(self) -> list[str]:
        """Columns that are wanted beside the features."""
        return [column for column in (self.target, self.sample_weight) if column is not None]

    def without(self, columns: Sequence[str], fitted: Sequence[str] | None) -> list[str]:
        """The features among columns: all but those beside them, which the model may yet know."""
        return [column for column in columns if column not in self.read_too or column in (fitted or ())]

    def apart(self, table: Table) -> dict[str, str]:
        """The columns, and the option that names each; an error for one that the table does not have.

        What tells slices of current rows apart need not be in others.
        """
        named = [(column, "--drop") for column in self.drop]
        named += [(self.by, "--by")] if self.by in table.columns else []
        named += [] if self.sample_weight is None else [(self.sample_weight, "--sample-weight")]
        named += [] if self.target is None else [(self.target, "--target")]
        for column, option in named:
            table.check_has(column, option)
        return dict(named)


@dataclass(frozen=True)
class Request:
    """What the user asks to be explained; ``settings`` are options that are keyword arguments of the library.

    ``leaves_on_disk`` says that the command can do with some rows of a large table.
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
    leaves_on_disk: bool = False

    @property
    def columns(self) -> Columns:
        """Columns that are no features."""
        return Columns(self.target, self.problem.sample_weight, tuple(self.problem.drop or ()), self.by)

    @property
    def called(self) -> str:
        """What the data are called: a reference, where there are current rows beside them."""
        return "DATA" if self.current is None else "REFERENCE"

    @property
    def tables(self) -> dict[str, Path]:
        """Files with rows, by what they are called."""
        others = {"CURRENT": self.current, "--background": self.background, "--train": self.train}
        files = {self.called: self.data, **others}
        return {what: path for what, path in files.items() if path is not None}

    @property
    def most(self) -> Callable[[Stored], int] | None:
        """How many rows of a table on disk are taken, where the command does not need all of them."""
        if not self.leaves_on_disk:
            return None
        from clarysage._measures.examples import rows_to_read

        return partial(rows_to_read, max_rows=self.settings["max_rows"], memory_limit=self.settings["memory_limit"])

    @property
    def inputs(self) -> list[Path]:
        """All files that are read."""
        return [
            Path(self.model),
            *self.tables.values(),
            *([] if self.problem.groups is None else [self.problem.groups]),
        ]


@dataclass(frozen=True)
class Loaded:
    """What a request names, read: the model, as it is and as a predictor, tables, groups; and rows to refit on, or
    current rows, with what goes with them."""

    model: Any
    f: Predictor
    tables: dict[str, Any]
    groups: dict[str, list[Any]] | None
    train: tuple[Any, ...] | None = None
    current: dict[str, Any] | None = None


def explained(request: Request, say: Say, *, progress: bool) -> Explanation:
    """The explanation that is asked for."""
    import clarysage as cs

    found = loaded(request, say)
    if request.target is None:
        say("no --target was given, so these are Shapley effects: shares of the variance of the model's output.")
    explanation: Explanation = cs.sage(
        found.f, **found.tables, groups=found.groups, rng=request.seed, progress=progress, **request.settings
    )
    return explanation


def loaded(request: Request, say: Say) -> Loaded:
    """The files of a request, read and checked."""
    import clarysage as cs

    for what, path in request.tables.items():
        check_readable(what, path, folder=True)
    groups = None if request.problem.groups is None else read_groups(request.problem.groups)
    trust = Trust(request.of_model.allow_pickle, tuple(request.of_model.trust or ()))
    model = load_model(request.model, trust)
    f = cs.as_predictor(model, output=request.of_model.output, classes=request.of_model.labels)
    tables = _tables(request, model, f.feature_names, say)
    columns = request.columns.without(list(tables["X"].columns), f.feature_names)
    check_groups(groups or {}, columns)
    train, current = _train(request, model, columns, say), _current(request, model, columns)
    return Loaded(model, f, tables, groups, train, current)


def _train(request: Request, model: Any, columns: Sequence[str], say: Say) -> tuple[Any, ...] | None:
    """Rows to refit on, their responses, and their weights where the file has them, too."""
    if request.train is None:
        return None
    table, named = read_table("--train", request.train), request.columns
    if named.target is None:
        raise InputError("--train", got="rows to fit on without --target", wanted="the column that they predict")
    table.check_has(named.target, "--target")
    X = with_categories(features(table, columns, {}, lambda text: None), model)
    weights = [table.frame[named.sample_weight]] if named.sample_weight in table.columns else []
    if named.sample_weight is not None and not weights:
        column = f"{request.train.name} has no column {named.sample_weight!r}"
        say(f"{column}: learners are fitted on its rows without weights.")
    return (X, table.frame[named.target], *weights)


def _current(request: Request, model: Any, columns: Sequence[str]) -> dict[str, Any] | None:
    """Current rows, their responses and weights, and what tells slices of them apart."""
    if request.current is None:
        return None
    table, named = read_table("CURRENT", request.current), request.columns
    wanted = {"--target": named.target, "--sample-weight": named.sample_weight, "--by": named.by}
    for option, column in wanted.items():
        if column is not None:
            table.check_has(column, option, _without_responses(column) if option == "--target" else "")
    found = {option: None if column is None else table.frame[column] for option, column in wanted.items()}
    X = with_categories(features(table, columns, {}, lambda text: None), model)
    return {"X": X, "y": found["--target"], "sample_weight": found["--sample-weight"], "by": found["--by"]}


def _without_responses(target: str) -> str:
    return f"no --target but --drop {target}, where it is not known yet: effects on the output are compared then"


def _tables(request: Request, model: Any, fitted: tuple[str, ...] | None, say: Say) -> dict[str, Any]:
    """X, y, weights and background, from the files."""
    table, columns = read_table(request.called, request.data, request.most), request.columns
    X = features(table, fitted, columns.apart(table), say)
    if table.is_stored:  # what the run needs of it is read by the run
        X = replace(X, prepare=partial(_with_categories, features=X.columns, model=model))
        X = X.select(list(dict.fromkeys([*X.columns, *columns.read_too])))
    else:
        X = with_categories(X, model)
    background = None
    if request.background is not None:
        others = read_table("--background", request.background, lambda found: _background_rows(request))
        background = features(others, columns.without(X.columns, fitted), {}, lambda text: None)
        background = with_categories(_thinned(background, request, say), model)
    return {
        "X": X,
        "y": table.column(columns.target),
        "sample_weight": table.column(columns.sample_weight),
        "background": background,
    }


def _with_categories(frame: Any, features: Sequence[str], model: Any) -> Any:
    """A frame of features and of columns beside them, its features as the model wants them."""
    wanted = with_categories(frame[list(features)], model)
    return frame.assign(**{name: wanted[name] for name in features})


def _background_rows(request: Request) -> float:
    """How many rows the background is to have at most."""
    from clarysage.removal import default_rows

    return request.problem.background_rows or default_rows(request.settings["removal"])


def _thinned(rows: Any, request: Request, say: Say) -> Any:
    """The background, or rows of it drawn at random where it is larger than asked for."""
    from clarysage._measures.problem import background_places

    count, wanted = rows.shape[0], _background_rows(request)
    if count <= wanted:
        return rows
    chosen = background_places(count, wanted, request.seed)
    say(f"background: {int(wanted):,} of the {count:,} rows, drawn at random; --background-rows takes more.")
    return rows.iloc[chosen] if hasattr(rows, "iloc") else rows.take(chosen)
