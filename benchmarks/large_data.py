"""Explanation of a table larger than memory: rows read, seconds of reading and of the run, and peak memory.

    python benchmarks/large_data.py
    python benchmarks/large_data.py --rows 50_000_000 --group-rows 1_000_000 --model lightgbm

The table is written to a temporary folder piece by piece, as one Parquet file, and deleted afterwards. Each run is a
process of its own with default settings, in which only the path is handed to ``cs.sage``: its peak is that of the
whole process, libraries and model included. ``--cap`` has the system refuse memory beyond that many bytes
(``RLIMIT_DATA``), so that a run that needs more ends in an error.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

ROWS_AT_ONCE = 100_000
TRAINING_ROWS = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--group-rows", type=int, default=500_000, help="rows of a row group")
    parser.add_argument("--max-rows", type=int, help="rows to read, by default the library's own choice")
    parser.add_argument("--cap", type=float, help="bytes beyond which the system refuses memory")
    parser.add_argument("--model", action="append", choices=[*MODELS], help="only these")
    parser.add_argument("--folder", type=Path, help="where the table is written")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside is not None:
        print(json.dumps(explained(options.inside, options.model[0], options.max_rows, options.cap)))
        return
    with TemporaryDirectory(dir=options.folder) as folder:
        report(Path(folder) / "table.parquet", options)


def report(path: Path, options: argparse.Namespace) -> None:
    """Write the table, explain it in processes of their own, print what that took."""
    write(path, options.rows, options.columns, options.group_rows)
    raw = 8 * options.rows * (options.columns + 1)
    print(
        f"{options.rows:,} rows x {options.columns} columns and y: {raw / 1e9:.2f} GB, on disk "
        f"{path.stat().st_size / 1e9:.2f} GB in row groups of {options.group_rows:,}"
    )
    print(f"{'model':<12}{'rows read':>10}{'reading':>10}{'run':>9}{'peak':>10}{'of table':>10}{'model rows':>13}")
    for model in options.model or MODELS:
        command = [sys.executable, __file__, "--inside", str(path), "--model", model]
        command += [] if options.cap is None else ["--cap", str(options.cap)]
        command += [] if options.max_rows is None else ["--max-rows", str(options.max_rows)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{model:<12}  failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
            continue
        measured = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{model:<12}{measured['rows']:>10,}{measured['reading']:>8.1f} s{measured['run']:>7.1f} s"
            f"{measured['peak'] / 1e6:>7,.0f} MB{measured['peak'] / raw:>10.3f}{measured['model_rows']:>13,}"
        )


def write(path: Path, rows: int, columns: int, group_rows: int) -> None:
    """A table of correlated columns x0, x1, ... and y, written in pieces; no more than a row group is held."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{i}" for i in range(columns)]
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        held: list[Any] = []
        for first in range(0, rows, ROWS_AT_ONCE):
            X, y = examples(min(ROWS_AT_ONCE, rows - first), columns, first)
            held.append(pa.table([*X.T, y], schema=schema))
            if sum(map(len, held)) >= group_rows:
                writer.write_table(pa.concat_tables(held), row_group_size=group_rows)
                held = []
        if held:
            writer.write_table(pa.concat_tables(held), row_group_size=group_rows)


def examples(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) + 0.5 * rng.normal(size=(rows, 1))
    return X, mean(X) + rng.normal(size=rows)


def mean(X: np.ndarray) -> np.ndarray:
    return 3 * X[:, 0] + 2 * X[:, 1] * X[:, 2] + np.sin(X[:, 3]) + np.abs(X[:, 4])


def explained(path: Path, model: str, max_rows: int | None, cap: float | None) -> dict[str, Any]:
    """Measures one run, in a process that has not read any of the table before."""
    if cap is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(cap), int(cap)))
    import pyarrow.parquet as pq

    import clarysage as cs
    from clarysage.tables import OnDiskTable

    columns = len(pq.read_schema(path).names) - 1
    f = MODELS[model](*examples(TRAINING_ROWS, columns, 2**32))
    reading, take = [0.0], OnDiskTable.take

    def timed(self: OnDiskTable, rows: np.ndarray) -> Any:
        begun = time.perf_counter()
        table = take(self, rows)
        reading[0] += time.perf_counter() - begun
        return table

    OnDiskTable.take = timed  # type: ignore[method-assign]
    begun = time.perf_counter()
    explanation = cs.sage(f, path, "y", max_rows=max_rows, rng=0)
    took = time.perf_counter() - begun
    print(explanation, file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "rows": explanation.provenance["examples"],
        "reading": reading[0],
        "run": took,
        "peak": peak,
        "model_rows": explanation.model_rows,
    }


def lightgbm(X: np.ndarray, y: np.ndarray) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=100, n_jobs=2, random_state=0, verbose=-1).fit(_frame(X), y)


def scikit_learn(X: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0).fit(_frame(X), y)


def function(X: np.ndarray, y: np.ndarray) -> Any:
    return lambda frame: mean(frame.to_numpy())


def _frame(X: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


MODELS = {"lightgbm": lightgbm, "scikit-learn": scikit_learn, "callable": function}

if __name__ == "__main__":
    main()
