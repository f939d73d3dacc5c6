"""Results in a run of MLflow: numbers as metrics, how they were found as tags, files as artifacts."""

from __future__ import annotations

import hashlib
import math
import os
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from clarysage._utils.display import shortened
from clarysage.errors import Call, InputError, MissingLibraryError, PythonOnly, Set, Words
from clarysage.results.files import save
from clarysage.results.result import Result
from clarysage.results.summary import Record, Summary

if TYPE_CHECKING:
    import pandas as pd
    from mlflow import MlflowClient

BATCH = 500  # metrics a request: MLflow takes 1000, and a megabyte, which long names in other scripts would fill
LONGEST_NAME = 40  # bytes of the name of a measure or of an explanation, as part of that of a metric
LONGEST_PREFIX = 80  # bytes, so that all names of metrics keep within MLflow's 250 letters
LONGEST_TAG = 1000  # letters, of thousands that servers take
PIXELS_PER_INCH = 150
ABSENT = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # what MLflow says of ids of no run


def log(
    result: Result,
    *,
    prefix: str | None = None,
    artifact_path: str | None = None,
    run_id: str | None = None,
    client: MlflowClient | None = None,
    step: int = 0,
    about: str | None = None,
    plot: bool = True,
    report: bool = True,
) -> None:
    """Log a result to a run of MLflow: values and intervals, how they were found, a plot and a report.

    Metrics are ``sage/value/age``, ``sage/std_error/age``, ``sage/low/age`` and ``sage/high/age`` for each feature, and
    ``sage/total``, ``sage/base``, ``sage/model_rows`` and ``sage/draws`` of the whole; of a comparison
    ``comparison/difference/age`` and so on, with ``p``, ``p_adjusted`` and ``changed`` (1 or 0), and
    ``comparison/changed_features``, how many there are; of monitoring ``monitoring/flagged/age`` and so on, beside
    differences also of ``inputs_distance``, with ``monitoring/loss``; its slices are steps. Names that MLflow refuses
    are changed; the column ``key`` of the table says how. What is not known, or no number, is left out.

    Tags are ``sage.measure``, ``sage.loss``, ``sage.removal``, ``sage.method``, ``sage.seed``, ``sage.converged``,
    ``sage.stopped``, ``sage.about``, ``sage.version`` and more: tags, since params could not be logged a second time.

    Artifacts are ``explanation.json``, ``comparison.json`` or ``monitoring.json``, which :func:`clarysage.load` reads,
    ``table.csv``, ``plot.png`` and ``report.html``. They hold what these files hold elsewhere: features, not rows, but
    for measures that have values of single examples, which the JSON keeps.

    Parameters
    ----------
    result : what a measure such as :func:`clarysage.sage` returns, :func:`clarysage.compare` or
        :func:`clarysage.monitor`
    prefix : what all names begin with; default: the measure, "comparison" or "monitoring". Log several results to one
        run by giving each a prefix of its own; the same prefix again adds to the history of metrics and replaces all
        else
    artifact_path : folder of the artifacts in the run; default: the prefix
    run_id : of the run; default: the run that is active in this thread, or else the one that MLFLOW_RUN_ID names. No
        run is started, since nobody would end it
    client : to log with; default: one of the current tracking URI
    step : of the metrics, for results that follow one another; of the first of several slices
    about : what intervals of an Explanation are about, as in :meth:`clarysage.Explanation.interval`
    plot, report : whether to log these

    Notes
    -----
    Everything is computed before anything is logged. Two lines do it: ``with mlflow.start_run():`` and
    ``cs.integrations.mlflow.log(explanation)``.
    """
    mlflow = _mlflow()
    summary, record = _summary(result, about)
    name = allowed(record.name, LONGEST_NAME).replace(" ", "_")
    prefix = _checked("prefix", name if prefix is None else prefix)
    folder = _checked("artifact_path", prefix if artifact_path is None else artifact_path)
    step = _checked_step(step)
    client = mlflow.MlflowClient() if client is None else client
    run_id = _run(mlflow, client, run_id)
    with TemporaryDirectory(prefix="clarysage-") as files:
        table = _with_keys(record.frame())
        _write(result, summary, table, Path(files), plot, report)
        _log_metrics(mlflow, client, run_id, metrics(record, table), prefix, step)
        _log_tags(mlflow, client, run_id, record, prefix)
        client.log_artifacts(run_id, files, folder)


def _mlflow() -> Any:
    try:
        import mlflow
    except ModuleNotFoundError as error:
        raise MissingLibraryError("mlflow", "mlflow", "Logging to MLflow") from error
    return mlflow


def _run(mlflow: Any, client: Any, given: object) -> str:
    """The id of the run that is meant, which exists."""
    active = mlflow.active_run()
    run_id = given if given is not None else active.info.run_id if active else os.environ.get("MLFLOW_RUN_ID")
    if run_id is None:
        raise InputError(
            "run_id",
            got="None, and no run of MLflow is active in this thread",
            wanted="a run to log to",
            hint=PythonOnly("with mlflow.start_run(): around the call, or run_id=run.info.run_id"),
        )
    if not isinstance(run_id, str):
        raise InputError(
            "run_id", got=type(run_id).__name__, wanted="a text", hint=PythonOnly("run_id=run.info.run_id")
        )
    try:
        client.get_run(run_id)
    except mlflow.MlflowException as error:
        if error.error_code not in ABSENT:
            raise
        where = "the id of a run that the tracking server knows"  # whose address may hold a password
        hint: Words = [Call("mlflow.get_tracking_uri"), ", to see which server is asked"]
        raise InputError("run_id", got=f"{run_id!r}", wanted=where, hint=hint) from error
    return run_id


def _summary(result: object, about: str | None) -> tuple[Summary, Record]:
    """What there is to say of a result, with its numbers; intervals are about what is asked for."""
    if isinstance(result, Result) and (record := (summary := result.summary(about=about)).record) is not None:
        return summary, record
    hint = "one entry at a time" if isinstance(result, (list, tuple, Mapping)) else "the result of cs.sage"
    wanted = "a result such as those of cs.sage, cs.compare and cs.monitor"
    raise InputError("result", got=type(result).__name__, wanted=wanted, hint=PythonOnly(hint))


def _with_keys(table: pd.DataFrame) -> pd.DataFrame:
    """A table that also says by which key the metrics of a feature go."""
    keys = metric_names(dict.fromkeys(table["feature"]))
    place = list(table.columns).index("feature") + 1
    table.insert(place, "key", [keys[name] for name in table["feature"]])
    return table


def metrics(record: Record, table: pd.DataFrame) -> Iterator[tuple[str, float, int]]:
    """All numbers of a result with their names and steps; those that are none are left out.

    ``table`` has a row a feature with its ``key``; of several comparisons, and of slices, a row a feature and each.
    """
    for name, value, step in [*_numbers_of_the_whole(record), *_numbers_of_features(record, table)]:
        if value is not None and math.isfinite(value):
            yield name, float(value), step


def _numbers_of_the_whole(record: Record) -> Iterator[tuple[str, float | None, int]]:
    for name, values in record.numbers.items():
        for step, value in enumerate(values):
            yield name, value, step


def _numbers_of_features(record: Record, table: pd.DataFrame) -> Iterator[tuple[str, float, int]]:
    """Numbers of features: one section a column, and a comparison, if there are several; one step a slice."""
    others, slices = (table.get(name, [""] * len(table)) for name in ("compared", "where"))
    sections = {"": "", **{name: f"/{key}" for name, key in metric_names(set(others) - {""}, LONGEST_NAME).items()}}
    steps = {name: step for step, name in enumerate(dict.fromkeys(slices))}
    for column in record.columns:
        for key, value, other, where in zip(table["key"], table[column], others, slices, strict=True):
            yield f"{column}{sections[other]}/{key}", value, steps[where]


def _write(result: Result, summary: Summary, table: pd.DataFrame, folder: Path, plot: bool, report: bool) -> None:
    """Everything that is to be an artifact, as files."""
    save(result, folder / f"{summary.kind}.json")
    table.to_csv(folder / "table.csv", index=False)
    if plot and summary.record is not None and summary.record.plot is not None:
        _draw(summary.record.plot, folder / "plot.png")
    if report:
        result.report(folder / "report.html", about=summary.about or None)


def _draw(plot: Callable[[], Any], path: Path) -> None:
    import numpy as np
    from matplotlib import pyplot

    with pyplot.ioff():  # no window, and nothing below a notebook's cell
        figure = np.ravel(plot())[0].figure
        figure.savefig(path, dpi=PIXELS_PER_INCH, bbox_inches="tight")
        pyplot.close(figure)


def _log_metrics(
    mlflow: Any, client: Any, run_id: str, numbers: Iterable[tuple[str, float, int]], prefix: str, step: int
) -> None:
    now = int(1000 * time.time())
    logged = [mlflow.entities.Metric(f"{prefix}/{name}", value, now, step + later) for name, value, later in numbers]
    for first in range(0, len(logged), BATCH):
        client.log_batch(run_id, metrics=logged[first : first + BATCH])


def _log_tags(mlflow: Any, client: Any, run_id: str, record: Record, prefix: str) -> None:
    words = {name: shortened(text, LONGEST_TAG) for name, text in record.words.items()}
    client.log_batch(run_id, tags=[mlflow.entities.RunTag(f"{prefix}.{name}", text) for name, text in words.items()])


def _checked(argument: str, path: object) -> str:
    """Names and slashes between them, as MLflow takes them."""
    if not isinstance(path, str):
        raise InputError(argument, got=f"{path!r}", wanted="a text")
    is_fitting = all(part == allowed(part) for part in path.split("/"))
    if not is_fitting or len(path.encode()) > LONGEST_PREFIX:
        raise InputError(
            argument,
            got=f"{shortened(path, LONGEST_PREFIX)!r}",
            hint=Set(argument, "sage/test data"),
            wanted="letters, digits, '_', '-', '.' and blanks, with '/' between parts, of at most "
            f"{LONGEST_PREFIX} bytes",
        )
    return path


def _checked_step(step: object) -> int:
    if not isinstance(step, Integral) or isinstance(step, bool):
        raise InputError("step", got=f"{step!r}", wanted="a whole number")
    return int(step)


# names that a tracking server takes

# what not every server takes in the name of a metric; a colon is for some of them, and a slash would open a section
REFUSED = re.compile(r"\s*[^\w.\- ]+\s*")
EDGES = " ."  # which paths and some file systems take away
LONGEST = 100  # bytes: of 250 letters that a name may have, and of 255 bytes of a file's
MARK = 8  # letters of a hash


def metric_names(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """For each name one that may be a part of the name of a metric; no two are alike, not even up to case.

    Letters of any language, digits, ``_``, ``-``, ``.`` and blanks stay, anything else becomes ``_``. A name that was
    cut, or comes out like another, ends in letters of its hash, whatever the order of the names.

    Examples
    --------
    >>> metric_names(["petal length (cm)", "a/b", "a_b"])
    {'petal length (cm)': 'petal length_cm', 'a/b': 'a_b-c14cddc0', 'a_b': 'a_b'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    names = list(names)
    for name in sorted(names, key=lambda name: (_cleaned(name) != name, name)):  # names that may stay come first
        found[name] = next(one for one in _candidates(name, longest) if _folded(one) not in taken)
        taken.add(_folded(found[name]))
    return {name: found[name] for name in names}


def allowed(name: str, longest: int = LONGEST) -> str:
    """What a name becomes where there is no other.

    Examples
    --------
    >>> allowed("../sage: run 1")
    'sage_run 1'
    """
    return metric_names([name], longest)[name]


def _cleaned(name: str) -> str:
    if name and name == name.strip(EDGES) and not REFUSED.search(name):
        return name
    return REFUSED.sub("_", name).strip(f"{EDGES}_") or "_"


def _candidates(name: str, longest: int) -> Iterator[str]:
    """Names to take, the plainest first, and no end of them."""
    cleaned = _cleaned(name)
    if len(cleaned.encode()) <= longest:
        yield cleaned
    stem = cleaned.encode()[: longest - MARK - 1].decode(errors="ignore").rstrip(EDGES)
    mark = name
    while True:
        mark = hashlib.sha256(mark.encode(errors="surrogatepass")).hexdigest()
        yield f"{stem}-{mark[:MARK]}"


def _folded(name: str) -> str:
    """What some file systems and databases take a name for."""
    return unicodedata.normalize("NFKC", name).casefold()
