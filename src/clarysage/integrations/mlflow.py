"""MLflow: logs the numbers of a result as metrics, how they were computed as tags, and its files as artifacts."""

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

BATCH = 500  # metrics in a request: MLflow takes 1000 and one megabyte, which long names in other scripts would fill
LONGEST_NAME = 40  # bytes of the name of a measure or of an explanation, as part of the name of a metric
LONGEST_PREFIX = 80  # bytes, so that all names of metrics stay within MLflow's 250 characters
LONGEST_TAG = 1000  # characters, of the thousands that servers take
PIXELS_PER_INCH = 150
ABSENT = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # MLflow's error codes for ids that belong to no run


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
    """Log a result to a run of MLflow: values and intervals, how they were computed, a plot and a report.

    Metrics are ``sage/value/age``, ``sage/std_error/age``, ``sage/low/age`` and ``sage/high/age`` for each feature, and
    ``sage/total``, ``sage/base``, ``sage/model_rows`` and ``sage/draws`` for the run as a whole. Other results have
    metrics of the same pattern:

    - a comparison has ``comparison/difference/age`` and so on, ``p``, ``p_adjusted`` and ``changed`` (1 or 0), and the
      number of changed features, ``comparison/changed_features``;
    - monitoring has ``monitoring/flagged/age`` and so on, ``inputs_distance``, and ``monitoring/loss``; its slices are
      steps;
    - several measures have ``importances/value/sage/age`` and so on, ``share`` and ``rank``;
    - the quality of removals has ``removal_quality/error/mean`` and so on;
    - an agreement has ``agreement/correlation`` and ``agreement/r2`` with the ends of their intervals.

    Names that MLflow refuses are changed; the column ``key`` of the table says how. Numbers that are unknown or not
    finite are left out.

    Tags are ``sage.measure``, ``sage.loss``, ``sage.removal``, ``sage.method``, ``sage.seed``, ``sage.converged``,
    ``sage.stopped``, ``sage.about``, ``sage.version`` and more. They are tags rather than params, since params cannot
    be logged a second time.

    Artifacts are ``explanation.json`` (or ``comparison.json``, ``monitoring.json`` and so on), which
    :func:`clarysage.load` reads, ``table.csv``, ``plot.png`` and ``report.html``. They hold the same as these files
    hold elsewhere: numbers of features, not of rows. The exception are measures that have values of single examples,
    which the JSON file keeps.

    Parameters
    ----------
    result : any result, such as that of :func:`clarysage.sage`, :func:`clarysage.compare` or
        :func:`clarysage.monitor`
    prefix : the beginning of all names; default: the measure, "comparison", "monitoring" and so on. Log several
        results to one run by giving each its own prefix; the same prefix again adds to the history of metrics and
        replaces everything else
    artifact_path : folder of the artifacts in the run; default: the prefix
    run_id : id of the run; default: the run that is active in this thread, or else the run that MLFLOW_RUN_ID names.
        No run is started, since nobody would end it
    client : the client to log with; default: a client of the current tracking URI
    step : step of the metrics, for results that follow one another; with several slices, the step of the first
    about : what intervals of an Explanation are about, as in :meth:`clarysage.Explanation.interval`
    plot, report : whether to log the plot and the report

    Notes
    -----
    Everything is computed before anything is logged. Two lines are enough: ``with mlflow.start_run():`` and
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
        table = _with_keys(record.frame(), record.item)
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
    """Returns the id of the run to log to, after a check that the run exists."""
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
        description = "the id of a run that the tracking server knows"  # the server's address may hold a password
        hint: Words = [Call("mlflow.get_tracking_uri"), ", to see which server is asked"]
        raise InputError("run_id", got=f"{run_id!r}", wanted=description, hint=hint) from error
    return run_id


def _summary(result: object, about: str | None) -> tuple[Summary, Record]:
    """Returns the summary of a result and its record for MLflow, with intervals about ``about``."""
    if not isinstance(result, Result):
        hint = "one entry at a time" if isinstance(result, (list, tuple, Mapping)) else "the result of cs.sage"
        expected = "a result such as those of cs.sage, cs.compare and cs.monitor"
        raise InputError("result", got=type(result).__name__, wanted=expected, hint=PythonOnly(hint))
    summary = result.summary(about=about)
    if summary.record is None:
        kind = type(result).__name__
        raise InputError(
            "result",
            got=f"{kind}, whose summary has no record",
            wanted="a result whose summary has a Record, which holds the numbers and words to log",
            hint=PythonOnly(f"Summary(..., record=Record(...)) in the method summary of {kind}"),
        )
    return summary, summary.record


def _with_keys(table: pd.DataFrame, item: str | None = "feature") -> pd.DataFrame:
    """Adds a column with the key by which the metrics of an item are named, where the rows of the table have names."""
    if item is not None:
        keys = metric_names(dict.fromkeys(table[item]))
        table.insert(list(table.columns).index(item) + 1, "key", [keys[name] for name in table[item]])
    return table


def metrics(record: Record, table: pd.DataFrame) -> Iterator[tuple[str, float, int]]:
    """Yields all finite numbers of a result with their names and steps.

    ``table`` has a row for each item with its ``key``, and for each section and slice where there are several.
    """
    for name, value, step in [*_numbers_of_result(record), *_numbers_of_items(record, table)]:
        if value is not None and math.isfinite(value):
            yield name, float(value), step


def _numbers_of_result(record: Record) -> Iterator[tuple[str, float | None, int]]:
    for name, values in record.numbers.items():
        for step, value in enumerate(values):
            yield name, value, step


def _numbers_of_items(record: Record, table: pd.DataFrame) -> Iterator[tuple[str, float, int]]:
    """Yields the numbers of items, named by column, by section where there are several, and by item.

    Each slice is a step.
    """
    blank = [""] * len(table)
    sections, slices = table.get(record.section, blank), table.get("where", blank)
    keys = metric_names(set(sections) - {""}, LONGEST_NAME)
    parts = {"": "", **{name: f"/{key}" for name, key in keys.items()}}
    steps = {name: step for step, name in enumerate(dict.fromkeys(slices))}
    for column in record.columns:
        for key, value, section, where in zip(table["key"], table[column], sections, slices, strict=True):
            yield f"{column}{parts[section]}/{key}", value, steps[where]


def _write(result: Result, summary: Summary, table: pd.DataFrame, folder: Path, plot: bool, report: bool) -> None:
    """Writes all artifacts as files."""
    save(result, folder / f"{summary.kind.replace(' ', '_')}.json")
    table.to_csv(folder / "table.csv", index=False)
    if plot and summary.record is not None and summary.record.plot is not None:
        _draw(summary.record.plot, folder / "plot.png")
    if report:
        result.report(folder / "report.html", about=summary.about or None)


def _draw(plot: Callable[[], Any], path: Path) -> None:
    import numpy as np
    from matplotlib import pyplot

    with pyplot.ioff():  # opens no window and shows nothing below the cell of a notebook
        figure = np.ravel(plot())[0].figure
        figure.savefig(path, dpi=PIXELS_PER_INCH, bbox_inches="tight")
        pyplot.close(figure)


def _log_metrics(
    mlflow: Any, client: Any, run_id: str, numbers: Iterable[tuple[str, float, int]], prefix: str, step: int
) -> None:
    now = int(1000 * time.time())
    logged = [mlflow.entities.Metric(f"{prefix}/{name}", value, now, step + offset) for name, value, offset in numbers]
    for first in range(0, len(logged), BATCH):
        client.log_batch(run_id, metrics=logged[first : first + BATCH])


def _log_tags(mlflow: Any, client: Any, run_id: str, record: Record, prefix: str) -> None:
    words = {name: shortened(text, LONGEST_TAG) for name, text in record.words.items()}
    client.log_batch(run_id, tags=[mlflow.entities.RunTag(f"{prefix}.{name}", text) for name, text in words.items()])


def _checked(argument: str, path: object) -> str:
    """Returns a path of names with slashes between them, or raises for one that MLflow would refuse."""
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


# names that every tracking server accepts

# characters that some servers refuse in the name of a metric (a colon is allowed only by some; a slash opens a section)
REFUSED = re.compile(r"\s*[^\w.\- ]+\s*")
EDGES = " ."  # characters that paths and some file systems strip
LONGEST = 100  # bytes; MLflow allows 250 characters in a name, and file systems 255 bytes
HASH_LENGTH = 8  # characters of a hash


def metric_names(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """Returns for each name one that may be part of the name of a metric; all differ, also when case is ignored.

    Letters of any language, digits, ``_``, ``-``, ``.`` and blanks stay; anything else becomes ``_``. A name that was
    cut, or that would equal another one, ends in characters of its hash. The order of the names does not matter.

    Examples
    --------
    >>> metric_names(["petal length (cm)", "a/b", "a_b"])
    {'petal length (cm)': 'petal length_cm', 'a/b': 'a_b-c14cddc0', 'a_b': 'a_b'}
    """
    allowed_names: dict[str, str] = {}
    taken: set[str] = set()
    names = list(names)
    for name in sorted(names, key=lambda name: (_cleaned(name) != name, name)):  # names that may stay come first
        allowed_names[name] = next(
            candidate for candidate in _candidates(name, longest) if _folded(candidate) not in taken
        )
        taken.add(_folded(allowed_names[name]))
    return {name: allowed_names[name] for name in names}


def allowed(name: str, longest: int = LONGEST) -> str:
    """Returns the name that may be part of the name of a metric, for a name on its own.

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
    """Yields names to try, the plainest first, without end."""
    cleaned = _cleaned(name)
    if len(cleaned.encode()) <= longest:
        yield cleaned
    stem = cleaned.encode()[: longest - HASH_LENGTH - 1].decode(errors="ignore").rstrip(EDGES)
    digest = name
    while True:
        digest = hashlib.sha256(digest.encode(errors="surrogatepass")).hexdigest()
        yield f"{stem}-{digest[:HASH_LENGTH]}"


def _folded(name: str) -> str:
    """Returns a name as file systems and databases see it that ignore case and forms of characters."""
    return unicodedata.normalize("NFKC", name).casefold()
