"""Tables larger than memory: drawn rows are rows of the source, each as likely as any other; no others are read."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import clarysage as cs
from clarysage._measures.examples import Examples, sample_rows
from clarysage.execution.seeds import ROWS, stream
from clarysage.tables import open_on_disk

pytestmark = pytest.mark.needs("pyarrow")

N, GROUP = 2000, 130  # the last row group is smaller
BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "large_data.py"


def rows(n: int = N) -> pd.DataFrame:
    """Rows that know their number; y is a function of the features, exactly."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    table["id"], table["w"] = np.arange(n), rng.random(n)
    table["y"] = truth(table)
    return table


def truth(table: Any) -> np.ndarray:
    return 3 * np.asarray(table["a"]) + np.asarray(table["b"]) * np.asarray(table["c"])


def f(table: Any) -> np.ndarray:
    return truth(table)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return rows()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, table: pd.DataFrame) -> Path:
    path = tmp_path_factory.mktemp("large") / "rows.parquet"
    table.to_parquet(path, row_group_size=GROUP)
    return path


def folder_of(path: Path, table: pd.DataFrame) -> Path:
    folder = path.parent / "folder"
    folder.mkdir(exist_ok=True)
    for part, start in enumerate(range(0, len(table), 700)):
        table.iloc[start : start + 700].to_parquet(folder / f"part-{part}.parquet", row_group_size=GROUP, index=False)
    return folder


def hive_of(path: Path, table: pd.DataFrame) -> Path:
    folder = path.parent / "hive"
    for part, start in enumerate(range(0, len(table), 700)):
        (folder / f"shop={part}").mkdir(parents=True, exist_ok=True)
        few = table.iloc[start : start + 700]
        few.to_parquet(folder / f"shop={part}" / "rows.parquet", row_group_size=GROUP, index=False)
    return folder


def arrow_of(path: Path, table: pd.DataFrame, compression: str | None = None) -> Path:
    import pyarrow as pa
    from pyarrow import feather

    file = path.parent / f"{compression or 'plain'}.arrow"
    whole = pa.Table.from_pandas(table, preserve_index=False)
    feather.write_feather(whole, str(file), compression=compression or "uncompressed", chunksize=GROUP)
    return file


def dataset_of(path: Path, table: pd.DataFrame) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(path)


def filtered(path: Path, table: pd.DataFrame) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(path).filter(ds.field("id") >= 0)


def of_parquet(name: str) -> Callable[[Path, pd.DataFrame], Any]:
    def source(path: Path, table: pd.DataFrame) -> Any:
        import pyarrow.parquet as pq

        return getattr(pq, name)(path)

    return source


SOURCES: dict[str, Callable[[Path, pd.DataFrame], Any]] = {
    "path": lambda path, table: path,
    "name": lambda path, table: str(path),
    "folder": folder_of,
    "hive": hive_of,
    "arrow file": arrow_of,
    "compressed arrow file": lambda path, table: arrow_of(path, table, "zstd"),
    "dataset": dataset_of,
    "filtered dataset": filtered,
    "ParquetFile": of_parquet("ParquetFile"),
    "ParquetDataset": of_parquet("ParquetDataset"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_taken_are_those_of_the_table_in_memory(kind, path, table, seed):
    source = open_on_disk(SOURCES[kind](path, table), "X")
    assert source.rows == N
    rng = np.random.default_rng(seed)
    chosen = [np.sort(rng.choice(N, size, replace=False)) for size in (1, 3, 40, N)]
    for places in (*chosen, np.array([0, GROUP - 1, GROUP, N - 1])):
        found = source.take(places)
        found = found if isinstance(found, pd.DataFrame) else found.to_pandas()
        pd.testing.assert_frame_equal(found[list(table)], table.iloc[places].reset_index(drop=True))


def test_folders_that_name_a_column_give_it_to_their_rows(path, table):
    source = open_on_disk(hive_of(path, table), "X")
    assert source.columns[-1] == "shop"
    assert source.take(np.array([5, 699, 700, 1999]))["shop"].tolist() == [0, 0, 1, 2]


def test_more_columns_than_are_read_at_once_stay_in_their_order(tmp_path):
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 150))).rename(columns=str)
    wide.to_parquet(tmp_path / "wide.parquet", row_group_size=20)
    columns = [str(number) for number in reversed(range(150))]
    found = open_on_disk(tmp_path / "wide.parquet", "X").select(columns).take(np.arange(0, 90, 7))
    pd.testing.assert_frame_equal(found, wide[columns].iloc[::7].reset_index(drop=True))


@pytest.mark.parametrize("lacking", [0, 1])
def test_a_column_that_a_file_of_a_folder_lacks_is_missing_there_and_told_of(lacking, tmp_path, table):
    for number, part in enumerate((table[:10], table[10:20])):
        part.drop(columns="b" if number == lacking else []).to_parquet(tmp_path / f"{number}.parquet")
    source = open_on_disk(tmp_path, "X")
    with pytest.warns(
        cs.ClarysageWarning, match=f"^X: {lacking}.parquet has no column 'b', so that its cells are miss"
    ):
        found = source.take(np.array([3, 9, 10, 19]))
    assert found["b"].isna().tolist() == [lacking == 0] * 2 + [lacking == 1] * 2
    assert found["id"].tolist() == [3, 9, 10, 19]
    with warnings.catch_warnings():
        warnings.simplefilter("error", cs.ClarysageWarning)
        source.select(["a", "c"]).take(np.array([3, 19]))


def test_numbers_that_are_whole_in_one_file_only_are_numbers_in_all(tmp_path, table):
    table[["id"]][:10].to_parquet(tmp_path / "0.parquet")
    (table[["id"]][10:20] + 0.5).to_parquet(tmp_path / "1.parquet")
    assert open_on_disk(tmp_path, "X").take(np.array([9, 10]))["id"].tolist() == [9, 10.5]


def test_files_of_a_list_are_one_table(path, table, tmp_path):
    folder = hive_of(path, table)
    files = sorted(folder.rglob("*.parquet"))
    assert len(files) > 1
    whole, places = open_on_disk(folder, "X"), np.array([5, 699, 700, 1999])
    pd.testing.assert_frame_equal(
        open_on_disk([*files[:1], *map(str, files[1:])], "X").take(places), whole.take(places)
    )


@pytest.mark.parametrize("kind", SOURCES)
def test_responses_go_with_their_rows(kind, path, table):
    """The model is the truth, so that any row with a response of another would leave a loss."""
    found = cs.sage(f, SOURCES[kind](path, table), "y", sample_weight="w", max_rows=150, budget=20_000, rng=1)
    assert found.base > 1
    assert found.base - found.total == 0
    assert found.provenance["examples"] == 150
    assert found.provenance["rows_of_source"] == N
    assert str(found.notes[0]).startswith(f"X: 150 of {N:,} rows, drawn at random.")


def test_every_kind_of_source_gives_the_same_rows_for_the_same_seed(path, table):
    columns = ["a", "b", "c"]
    prints = {
        kind: cs.sage(
            cs.as_predictor(f, feature_names=columns), make(path, table), "y", max_rows=50, budget=9000, rng=3
        ).provenance["fingerprints"]["X"]
        for kind, make in SOURCES.items()
    }
    assert len(set(prints.values())) == 1


def test_same_seed_same_bits_and_another_seed_other_rows(path):
    once, again, other = (cs.sage(f, path, "y", max_rows=100, budget=20_000, rng=seed) for seed in (5, 5, 6))
    assert once.values.tobytes() == again.values.tobytes()
    assert once.std_error.tobytes() == again.std_error.tobytes()
    assert once.provenance["fingerprints"]["X"] != other.provenance["fingerprints"]["X"]


def awkward(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = rows(n)[["a", "b", "y"]]
    table["colour"] = rng.choice(["red", "green", None], n)
    table["size"] = pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"], ordered=True)
    table.loc[::7, "b"] = np.nan
    table["day"] = pd.Timestamp("2024-02-01") + pd.to_timedelta(rng.integers(30, size=n), unit="D")
    return table.set_index(rng.permutation(n))


def of_colours(table: Any) -> np.ndarray:
    table = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    red, large = (table["colour"] == "red").to_numpy(), (table["size"] == "L").to_numpy()
    return 2.0 * red + large + table["b"].fillna(0).to_numpy() * (table["day"].dt.day.to_numpy() > 15)


def test_a_table_that_fits_has_the_bits_of_the_same_call_in_memory(tmp_path):
    import pyarrow.dataset as ds

    awkward().to_parquet(tmp_path / "t.parquet", row_group_size=40)
    options: dict[str, Any] = {"loss": "squared error", "budget": 100_000, "rng": 0}
    frame = pd.read_parquet(tmp_path / "t.parquet").reset_index(drop=True)
    arrow = ds.dataset(tmp_path / "t.parquet").to_table(columns=list(frame))
    for source, memory in ((tmp_path / "t.parquet", frame), (ds.dataset(tmp_path / "t.parquet"), arrow)):
        found = cs.sage(of_colours, source, "y", **options)
        known = cs.sage(of_colours, memory, "y", **options)
        assert found.feature_names == known.feature_names == ("a", "b", "colour", "size", "day")
        assert found.values.tobytes() == known.values.tobytes()
        assert found.std_error.tobytes() == known.std_error.tobytes()
        assert found.provenance == known.provenance
        assert found.notes == known.notes


def test_every_row_is_as_likely_as_any_other(path, table, seed):
    """Counts over runs are of sampling without replacement: their covariance is known, and chi-square follows."""
    small = open_on_disk(path, "X")
    runs, size, n = 300, 200, N
    counts, together, same = np.zeros(n), [], (GROUP - 1) / (n - 1)
    for run in range(runs):
        places = sample_rows(small.rows, size, stream(1000 * seed + run, ROWS, 0))
        assert len(set(places.tolist())) == size
        counts[places] += 1
        groups = np.bincount(places // GROUP)
        together.append((groups * (groups - 1)).sum() / (size * (size - 1)))
    share = size / n
    statistic = ((counts - runs * share) ** 2).sum() / (runs * share * (1 - share)) * (n - 1) / n
    assert chi2.ppf(1e-6, n - 1) < statistic < chi2.ppf(1 - 1e-6, n - 1)
    expected = (N // GROUP * GROUP * same + N % GROUP * ((N % GROUP - 1) / (n - 1))) / n  # pairs within a group
    assert abs(np.mean(together) - expected) < 5 * np.std(together, ddof=1) / np.sqrt(runs)


def test_the_rows_of_a_run_are_those_drawn_from_its_stream(path, table):
    options: dict[str, Any] = {"max_rows": 60, "memory_limit": None}
    found = Examples.of(cs.as_predictor(f), path, "y", "w", rng=stream(7, ROWS, 0), **options)
    places = sample_rows(N, 60, stream(7, ROWS, 0))
    assert found.X["id"].tolist() == places.tolist()
    assert found.y.tolist() == table["y"].iloc[places].tolist()
    assert found.sample_weight.tolist() == table["w"].iloc[places].tolist()
    thinned = Examples.of(cs.as_predictor(f), table, "y", "w", rng=stream(7, ROWS, 0), **options)
    assert thinned.X["id"].tolist() == places.tolist()
    assert thinned.y.tolist() == table["y"].iloc[places].tolist()


def spoilt(path: Path, name: str, is_spoilt: Callable[[int, str], bool]) -> Path:
    """A copy of a Parquet file in which some column chunks are noise."""
    import pyarrow.parquet as pq

    content = bytearray(path.read_bytes())
    metadata = pq.ParquetFile(path).metadata
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            if is_spoilt(group, chunk.path_in_schema):
                first = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
                content[first : first + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    (path.parent / name).write_bytes(content)
    return path.parent / name


def test_row_groups_without_a_drawn_row_are_not_read(path, table):
    size, seed = 4, 11
    touched = set((sample_rows(N, size, stream(seed, ROWS, 0)) // GROUP).tolist())
    options: dict[str, Any] = {"max_rows": size, "budget": 2000, "rng": seed}
    whole = cs.sage(f, path, "y", **options)
    spared = cs.sage(f, spoilt(path, "spared.parquet", lambda group, column: group not in touched), "y", **options)
    assert whole.values.tobytes() == spared.values.tobytes()
    with pytest.raises(cs.InputError, match=r"^X: got .*hit\.parquet.*cannot be read"):
        cs.sage(f, spoilt(path, "hit.parquet", lambda group, column: group == min(touched)), "y", **options)


def test_columns_that_are_not_needed_are_not_read(path):
    model = cs.as_predictor(f, feature_names=["a", "b", "c"])
    file = spoilt(path, "columns.parquet", lambda group, column: column in ("id", "w"))
    found = cs.sage(model, file, "y", max_rows=50, budget=5000, rng=0)
    assert found.feature_names == ("a", "b", "c")
    with pytest.raises(cs.InputError, match="cannot be read"):
        cs.sage(model, file, "y", sample_weight="w", max_rows=50, budget=5000, rng=0)


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_sample_agrees_with_all_rows_within_its_errors_about_rows(path, table, seed, weight):
    background, options = table[["a", "b", "c"]].iloc[:64], {"loss": "squared error", "tolerance": 0.01}
    model = cs.as_predictor(f, feature_names=["a", "b", "c"])
    full = cs.sage(model, path, "y", sample_weight=weight, background=background, rng=seed, **options)
    part = cs.sage(model, path, "y", sample_weight=weight, background=background, rng=seed + 1, max_rows=400, **options)
    error = np.hypot(part.targets["rows"].std_error, full.std_error)
    assert (np.abs(part.values - full.values) < 5 * error).all()
    assert (part.targets["rows"].std_error > part.std_error).all()


def test_too_few_rows_for_the_tolerance_are_said_and_the_number_named_does(path, seed):
    model = cs.as_predictor(f, feature_names=["a", "b", "c"])
    few = cs.sage(model, path, "y", max_rows=100, rng=seed)
    note = next(note for note in few.notes if "The sampling of rows" in note)
    by_rows = np.sqrt((few.targets["rows"].std_error ** 2 - few.std_error**2).max()) / np.ptp(few.values)
    wanted = 100 * (by_rows / 0.025) ** 2
    if wanted < N:
        said = int(str(note).split("max_rows=")[1].rstrip(".").replace("_", ""))
        assert wanted <= said <= 1.1 * wanted + 10
    else:
        assert str(note).endswith(f"all {N:,} rows are not enough.")
    loose = cs.sage(model, path, "y", max_rows=100, tolerance=0.9, rng=seed)
    assert not any("The sampling of rows" in note for note in loose.notes)


def test_a_background_on_disk_is_drawn_and_columns_that_are_no_features_are_ignored(path, table):
    found = cs.sage(f, table[["a", "b", "c", "y"]][:100], "y", background=path, budget=20_000, rng=0)
    assert found.provenance["background_rows"] == 512
    assert f"Background: 512 of {N:,} rows, drawn at random." in [str(note) for note in found.notes]
    learned = cs.sage(f, path, "y", background=path, removal="gaussian", max_rows=100, budget=20_000, rng=0)
    assert not any(str(note).startswith("Background") for note in learned.notes)  # all rows, since it learns from 4,096
    mean = cs.sage(f, path, "y", background=path, removal="baseline", max_rows=100, budget=20_000, rng=0)
    known = cs.sage(
        f, path, "y", background=table.drop(columns="y"), removal="baseline", max_rows=100, budget=20_000, rng=0
    )
    np.testing.assert_array_equal(mean.values, known.values)


FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda table: table,
    "polars": lambda table: pytest.importorskip("polars").from_pandas(table),
    "pyarrow": lambda table: pytest.importorskip("pyarrow").Table.from_pandas(table, preserve_index=False),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_names_of_columns_are_those_columns(kind, table):
    small = table.drop(columns="id")[:200]
    X, whole = FRAMES[kind](small[["a", "b", "c"]]), FRAMES[kind](small)
    options: dict[str, Any] = {"budget": 20_000, "rng": 0, "loss": "squared error"}
    known = cs.sage(f, X, small["y"].to_numpy(), sample_weight=small["w"].to_numpy(), background=X[:50], **options)
    named = cs.sage(f, whole, "y", sample_weight="w", background=whole[:50], **options)
    assert named.values.tobytes() == known.values.tobytes()
    assert named.provenance == known.provenance
    for measure in (cs.permutation_importance, cs.mean_importance, cs.mean_loss_shap):
        known = measure(f, X, small["y"].to_numpy(), sample_weight=small["w"].to_numpy(), loss="squared error", rng=0)
        named = measure(f, whole, "y", sample_weight="w", loss="squared error", rng=0)
        assert named.values.tobytes() == known.values.tobytes()


def test_measures_that_refit_take_names_of_columns_too(table):
    from sklearn.linear_model import LinearRegression

    small = table.drop(columns="id")[:120]
    X, y, w = small[["a", "b", "c"]], small["y"], small["w"]
    model = LinearRegression().fit(X, y)
    for measure in (cs.drop_column_importance, cs.squared_correlation, cs.shapley_net_effects, cs.universal_power):
        options: dict[str, Any] = {} if measure is cs.squared_correlation else {"rng": 0}
        known = measure(model, X, y, sample_weight=w, **options)
        named = measure(model, small, "y", sample_weight="w", **options)
        assert named.feature_names == ("a", "b", "c")
        assert named.values.tobytes() == known.values.tobytes()
    chosen: dict[str, Any] = {"measures": ["sage", "permutation importance"], "rng": 0}
    known = cs.importances(model, X, y, sample_weight=w, background=X[:40], **chosen)
    named = cs.importances(model, small, "y", sample_weight="w", background=small[:40], **chosen)
    assert all(named[name].values.tobytes() == known[name].values.tobytes() for name in known)


def test_measures_without_responses_leave_out_the_column_that_they_name(path, table):
    for X in (path, table):
        effects = cs.shapley_effects(f, X, "y", sample_weight="w", max_rows=100, budget=20_000, rng=0)
        assert effects.feature_names == ("a", "b", "c", "id")
    absolute = cs.mean_absolute_shap(f, table[:50], "y", budget=200_000, rng=0)
    assert absolute.feature_names == ("a", "b", "c", "id", "w")


def test_every_measure_of_a_setting_takes_a_path(path, table):
    model = cs.as_predictor(f, feature_names=["a", "b", "c"])
    found = cs.permutation_importance(model, path, "y", repeats=2, rng=0)
    known = cs.permutation_importance(model, table[["a", "b", "c"]], table["y"], repeats=2, rng=0)
    assert found.values.tobytes() == known.values.tobytes()


def test_responses_that_are_not_in_the_table_are_taken_along(path, table):
    by_name = cs.sage(f, path, "y", max_rows=80, budget=20_000, rng=0, sample_weight="w")
    model = cs.as_predictor(f, feature_names=["a", "b", "c", "id"])
    by_array = cs.sage(
        model, path, table["y"].to_numpy(), max_rows=80, budget=20_000, rng=0, sample_weight=table["w"].to_numpy()
    )
    np.testing.assert_allclose(by_array.values, by_name.values, rtol=1e-9, atol=1e-12)


def test_a_table_in_memory_is_thinned_with_what_belongs_to_it(table, tmp_path):
    X, y = table[["a", "b", "c"]], table["y"]
    found = cs.sage(f, X, y, sample_weight=table["w"], max_rows=90, budget=20_000, rng=0)
    assert found.base - found.total == 0
    assert found.provenance["rows_of_source"] == N
    found.save(tmp_path / "sage.json")
    again = cs.load(tmp_path / "sage.json")
    assert again.provenance == found.provenance
    assert again.notes == found.notes
    whole = cs.sage(f, X[:90], y[:90], max_rows=90, budget=20_000, rng=0)
    assert "rows_of_source" not in whole.provenance


def test_an_arrow_table_is_sampled_where_the_memory_limit_does_not_hold_it(path, table):
    import pyarrow as pa

    X = pa.Table.from_pandas(table, preserve_index=False)
    assert "rows_of_source" not in cs.sage(f, X, "y", budget=20_000, rng=0).provenance
    found = cs.sage(f, X, "y", budget=20_000, memory_limit=8 * 8 * 6 * 500, rng=0)
    assert found.provenance["examples"] == 500
    assert found.base - found.total == 0


def test_the_memory_limit_bounds_the_rows_read(path):
    found = cs.sage(f, path, "y", budget=20_000, memory_limit=8 * 8 * 6 * 300, rng=0)
    assert found.provenance["examples"] == 300


def test_the_model_never_gets_more_rows_than_the_batch_size(table):
    seen: list[int] = []

    def counting(rows: Any) -> np.ndarray:
        seen.append(len(rows))
        return f(rows)

    X, y = table[["a", "b", "c"]][:300], table["y"][:300]
    options: dict[str, Any] = {"budget": 30_000, "rng": 0}
    free = cs.sage(counting, X, y, **options)
    assert max(seen) > 37
    for given in ({"model": counting, "batch_size": 37}, {"model": cs.as_predictor(counting, batch_size=37)}):
        seen.clear()
        few = cs.sage(X=X, y=y, **given, **options)
        assert max(seen) == 37
        error = np.hypot(few.std_error, free.std_error)  # batches are those of workers too, each with its own draws
        assert (np.abs(few.values - free.values) < 5 * error).all()


def test_of_two_memory_limits_the_lower_holds(table):
    X, y = table[["a", "b", "c"]][:100], table["y"][:100]
    seen: list[int] = []

    def counting(rows: Any) -> np.ndarray:
        seen.append(len(rows))
        return f(rows)

    most = {}
    for own, given in ((1e9, 2e4), (2e4, 1e9), (2e4, None), (1e9, None)):
        seen.clear()
        cs.sage(counting, X, y, removal=cs.Marginal(X, memory_limit=own), memory_limit=given, budget=10_000, rng=0)
        most[own, given] = max(seen)
    seen.clear()
    cs.sage(counting, X, y, background=X, memory_limit=2e4, budget=10_000, rng=0)
    assert most[1e9, 2e4] == most[2e4, 1e9] == most[2e4, None] == max(seen) == 128  # 2e4 / (8 * 6 * 3), a power of two
    assert most[1e9, None] > 128


WRONG: dict[str, tuple[Callable[[Path, pd.DataFrame], Any], str]] = {
    "no such file": (lambda p, t: cs.sage(f, p.parent / "row.parquet", "y"), "X: .*does not exist.*Try 'rows.parquet'"),
    "no such column": (lambda p, t: cs.sage(f, p, "yy"), "y: got 'yy', which is no column of rows.parquet"),
    "no such column in memory": (lambda p, t: cs.sage(f, t, "yy"), "y: got 'yy', which is no column of X.*Try 'y'"),
    "no such weight": (lambda p, t: cs.sage(f, p, "y", sample_weight="v"), "sample_weight: got 'v'"),
    "a text file": (lambda p, t: cs.sage(f, Path(__file__), "y"), "X: .*files end in .parquet"),
    "a name beside an array": (lambda p, t: cs.sage(f, t.to_numpy(), "y"), "y: .*array without names"),
    "a weight beside an array": (
        lambda p, t: cs.sage(f, t.to_numpy(), t["y"], sample_weight="w"),
        "sample_weight: .*array without names",
    ),
    "responses that are features": (
        lambda p, t: cs.sage(cs.as_predictor(f, feature_names=["a", "y"]), p, "y"),
        "y: .*a feature of the model",
    ),
    "a feature that is not there, like one that is": (
        lambda p, t: cs.sage(cs.as_predictor(f, feature_names=["a", "aa"]), p, "y"),
        "X: .*without the column 'aa', which the model was fitted on; wanted the model's columns, in any order.$",
    ),
    "features that are not there": (
        lambda p, t: cs.sage(cs.as_predictor(f, feature_names=["a", "bb"]), p, "y"),
        "X: .*without the column 'bb'",
    ),
    "a background without them": (
        lambda p, t: cs.sage(f, t.rename(columns={"a": "z"}), "y", background=p),
        "background: .*column 'z'",
    ),
    "no rows": (lambda p, t: cs.sage(f, t, "y", max_rows=0), "max_rows: got 0; wanted a whole number"),
    "half a row": (lambda p, t: cs.sage(f, t, "y", max_rows=1.5), "max_rows: got 1.5"),
    "no memory": (lambda p, t: cs.sage(f, p, "y", memory_limit=0), "memory_limit: got 0; wanted a positive number"),
    "memory for no row": (
        lambda p, t: cs.sage(f, p, "y", memory_limit=1),
        "memory_limit: got 1 bytes, which hold 0 of 2,000 rows of rows.parquet; wanted 38,400 or more, for 100 rows",
    ),
    "memory for no background": (
        lambda p, t: cs.sage(f, t[["a", "b", "c"]], t["y"], background=p, memory_limit=1000),
        "memory_limit: got 1000 bytes, which hold 5 of 2,000 rows",
    ),
    "paths where rows are wanted": (lambda p, t: cs.importances(f, [p, p], "y"), "X: got '.*rows.parquet', a text or"),
    "a list with another file": (
        lambda p, t: cs.sage(f, [p, __file__], "y"),
        "X: got a list with .*py', which is not a Parquet file",
    ),
    "a list with a folder": (
        lambda p, t: cs.sage(f, [p.parent], "y"),
        "X: got a list with .*', which is not a Parquet file; wanted a list of",
    ),
    "a pattern": (lambda p, t: cs.sage(f, p.parent / "*.parquet", "y"), r"X: got .*does not exist.* Try glob\.glob"),
    "a list with no file": (
        lambda p, t: cs.sage(f, [p, p / "none"], "y"),
        "X: got a list with .*none', which is not a Parquet file",
    ),
    "a path where rows are wanted": (
        lambda p, t: cs.removal_quality("marginal", f, p),
        "X: got '.*rows.parquet', a text or the name of a file; wanted a table in memory. Try pandas.read_parquet",
    ),
    "memory in words": (lambda p, t: cs.sage(f, p, "y", memory_limit="2GB"), "memory_limit: got '2GB'"),
    "no batch": (lambda p, t: cs.sage(f, p, "y", batch_size=0), "batch_size: got 0"),
    "a true batch": (lambda p, t: cs.as_predictor(f, batch_size=True), "batch_size: got True"),
    "responses of other rows": (lambda p, t: cs.sage(f, p, t["y"][:5]), "y: got 5 responses; wanted 2,000"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_named(case, path, table):
    call, words = WRONG[case]
    with pytest.raises(cs.InputError, match=f"(?s)^{words}"):
        call(path, table)


def test_a_table_without_rows_is_an_error(tmp_path, table):
    table[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(cs.InputError, match=r"^X: got none\.parquet, which has no rows"):
        cs.sage(f, tmp_path / "none.parquet", "y")


def test_missing_pyarrow_is_named_with_its_extra(path, monkeypatch):
    for name in [name for name in sys.modules if name == "pyarrow" or name.startswith("pyarrow.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"'clarysage\[arrow\]'"):
        cs.sage(f, path, "y")


PEAK = """
import sys
import pyarrow as pa, pyarrow.dataset as ds
import clarysage as cs

path, how = sys.argv[1:]
if how == "sampled":
    found = cs.sage(lambda X: X["x0"], path, "y", max_rows=5000, budget=20_000, rng=0)
    assert found.provenance["rows_of_source"] == 600_000
else:
    ds.dataset(path).to_table()
print(pa.default_memory_pool().max_memory())
"""


@pytest.mark.subprocess
def test_arrow_never_holds_half_of_a_table_which_reading_it_whole_does(tmp_path):
    large_data().write(tmp_path / "t.parquet", 600_000, 20, group_rows=600_000)  # all in one row group

    def peak(how: str) -> int:
        command = [sys.executable, "-c", PEAK, str(tmp_path / "t.parquet"), how]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    half = 600_000 * 21 * 8 / 2
    assert peak("sampled") < half < peak("whole")


@pytest.mark.subprocess
@pytest.mark.slow
@pytest.mark.parametrize("model", [pytest.param("lightgbm", marks=pytest.mark.needs("lightgbm")), "callable"])
def test_five_million_rows_of_fifty_columns_are_explained_under_a_cap_of_two_gigabytes(tmp_path, model):
    """The system refuses memory beyond the cap, and the peak of the whole process is below it."""
    path = tmp_path / "t.parquet"
    large_data().write(path, 5_000_000, 50, 500_000)
    command = [sys.executable, str(BENCHMARK), "--inside", str(path), "--model", model, "--cap", "2e9"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["rows"] == 100_000
    assert found["peak"] < 2e9
    cap = "import resource\nresource.setrlimit(resource.RLIMIT_DATA, (2 * 10**9,) * 2)"
    script = f"{cap}\nimport pandas\npandas.read_parquet({str(path)!r})"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode != 0


def large_data() -> Any:
    spec = importlib.util.spec_from_file_location("large_data", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
