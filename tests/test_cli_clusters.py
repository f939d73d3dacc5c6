"""``clarysage explain`` with other workers than this process, by the names and addresses of a command line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.cli_harness import enter, error_of, printed_json
from tests.clusters import dask_cluster, made_up

MODULE = "def product(rows):\n    return rows['a'] * rows['b'] + rows['c']\n"
QUICK = ["--target", "y", "--method", "permutation", "--tolerance", "0.1", "--quiet"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    X, y = made_up(60, 4)
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "cli_cluster_model.py").write_text(MODULE)
    enter(tmp_path, monkeypatch, "cli_cluster_model")
    return ["explain", "cli_cluster_model:product", "t.csv", *QUICK]


@pytest.mark.needs("distributed")
def test_workers_of_every_kind_write_the_same_numbers(files):
    alone = printed_json(*files)
    assert printed_json(*files, "--n-jobs", "2", "--backend", "threads")["values"] == alone["values"]
    assert printed_json(*files, "--n-jobs", "2", "--backend", "processes")["values"] == alone["values"]
    with dask_cluster() as client:
        shared = printed_json(*files, "--backend", "dask", "--address", client.scheduler.address)
    assert shared["values"] == alone["values"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--backend", "spark"], "--backend: got 'spark'; wanted one of 'processes', 'threads', 'dask', 'ray'"),
        (["--backend", "dask"], "--address: got none; wanted that of a scheduler. Try --address tcp://host:8786"),
        (["--backend", "threads"], "--n-jobs: got 1 with threads; wanted the number of threads. Try --n-jobs -1"),
        (["--backend", "ray", "--n-jobs", "4"], "--n-jobs: got 4 with a cluster, which has its own number"),
        pytest.param(
            ["--backend", "dask", "--address", "tcp://127.0.0.1:9"],
            "--address: got Dask() with 'tcp://127.0.0.1:9', where no scheduler answers",
            marks=pytest.mark.needs("distributed"),
        ),
        (["--address", "tcp://a:1"], "--address: got 'tcp://a:1' with processes of this machine"),
    ],
)
def test_what_is_no_cluster_is_refused_in_one_line(files, more, said):
    assert error_of(*files, *more, code=2).startswith(f"error: {said}")
