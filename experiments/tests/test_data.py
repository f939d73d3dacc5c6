"""The paper's tables: kinds of columns, where files are found, and downloads of made-up files from a local server."""

from __future__ import annotations

import gzip
import hashlib
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from clarysage.errors import ClarysageWarning, FormatError, InputError, MissingLibraryError
from experiments.data import MissingDataError, PaperTable, load, tables
from experiments.data.files import PublishedFile
from experiments.data.tables import SOURCES

BANK = (
    b'"age";"job";"marital";"education";"default";"balance";"housing";"loan";"contact";"day";"month";"duration";'
    b'"campaign";"pdays";"previous";"poutcome";"y"\n'
    b'58;"management";"married";"tertiary";"no";2143;"yes";"no";"unknown";5;"may";261;1;-1;0;"unknown";"no"\n'
    b'33;"admin.";"single";"unknown";"no";-2;"yes";"yes";"cellular";28;"jan";76;3;92;4;"success";"yes"\n'
)
BIKE = (
    b"datetime,season,holiday,workingday,weather,temp,atemp,humidity,windspeed,casual,registered,count\n"
    b"2011-01-01 00:00:00,1,0,0,1,9.84,14.395,81,0,3,13,16\n"
    b"2012-12-19 23:00:00,4,0,1,1,13.12,16.665,66,8.9981,4,84,88\n"
)
CREDIT = (
    b"laufkont laufzeit moral verw hoehe sparkont beszeit rate famges buerge wohnzeit verm alter weitkred wohn "
    b"bishkred beruf pers telef gastarb kredit\r\n"
    b"1 18 4 2 1049 1 2 4 2 1 4 2 21 3 1 1 3 2 1 2 1\r\n"
    b"4 36 0 10 2299 5 5 4 3 3 4 3 39 1 2 1 3 2 1 1 0\r\n"
)
BRCA = (
    b"Sample.ID,OSTbeta,STATH,BRCA_Subtype_PAM50\n"
    b"TCGA-00-0001,-3.53275,0.11599999999999999,2\n"
    b"TCGA-00-0001,-0.3971666666666671,1.5,0\n"
)
TRAIN, TEST = np.arange(3 * 784) % 251, np.arange(2 * 784) % 7
LABELS = "train-labels-idx1-ubyte.gz"


def packed(*cells: int) -> bytes:
    return gzip.compress(bytes(cells), mtime=0)


# the published files of each table
CONTENTS = {
    "bank": {"bank-full.csv": BANK},
    "bike": {"bike.csv": BIKE},
    "credit": {"SouthGermanCredit.asc": CREDIT},
    "brca": {"brca_small.csv": BRCA},
    "mnist": {
        "train-images-idx3-ubyte.gz": packed(0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28, *TRAIN),
        LABELS: packed(0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 9),
        "t10k-images-idx3-ubyte.gz": packed(0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28, *TEST),
        "t10k-labels-idx1-ubyte.gz": packed(0, 0, 8, 1, 0, 0, 0, 2, 7, 2),
    },
}
# the same tables, as they would be written to NAME.parquet
TIDY = {
    "bank": pd.DataFrame(
        {
            "age": [58, 33],
            "job": ["management", "admin."],
            "marital": ["married", "single"],
            "education": ["tertiary", "unknown"],
            "default": ["no", "no"],
            "balance": [2143, -2],
            "housing": ["yes", "yes"],
            "loan": ["no", "yes"],
            "contact": ["unknown", "cellular"],
            "day": [5, 28],
            "month": ["may", "jan"],
            "duration": [261, 76],
            "campaign": [1, 3],
            "pdays": [-1, 92],
            "previous": [0, 4],
            "poutcome": ["unknown", "success"],
            "y": ["no", "yes"],
        }
    ),
    "bike": pd.DataFrame(
        {
            "Year": np.array([2011, 2012], "int32"),
            "Month": np.array([1, 12], "int32"),
            "Day": np.array([1, 19], "int32"),
            "Hour": np.array([0, 23], "int32"),
            "Season": [1, 4],
            "Holiday": [0, 0],
            "Workingday": [0, 1],
            "Weather": [1, 1],
            "Temp": [9.84, 13.12],
            "Atemp": [14.395, 16.665],
            "Humidity": [81, 66],
            "Windspeed": [0.0, 8.9981],
            "Casual": [3, 4],
            "Registered": [13, 84],
            "Count": [16, 88],
        }
    ),
    "credit": pd.DataFrame(
        [
            [1, 18, 4, 2, 1049, 1, 2, 4, 2, 1, 4, 2, 21, 3, 1, 1, 3, 2, 1, 2, 1],
            [4, 36, 0, 10, 2299, 5, 5, 4, 3, 3, 4, 3, 39, 1, 2, 1, 3, 2, 1, 1, 0],
        ],
        columns=[
            "Checking Status",
            "Duration",
            "Credit History",
            "Purpose",
            "Credit Amount",
            "Savings Account/Bonds",
            "Employment Since",
            "Installment Rate",
            "Personal Status",
            "Debtors/Guarantors",
            "Residence Duration",
            "Property Type",
            "Age",
            "Other Installment Plans",
            "Housing Ownership",
            "Number Existing Credits",
            "Job",
            "Number Liable",
            "Telephone",
            "Foreign Worker",
            "Good Customer",
        ],
    ),
    "brca": pd.DataFrame(
        {
            "patient": ["TCGA-00-0001", "TCGA-00-0001"],
            "OSTbeta": [-3.53275, -0.3971666666666671],
            "STATH": [0.11599999999999999, 1.5],
            "subtype": ["LumA", "Basal"],
        }
    ),
    "mnist": pd.DataFrame(
        {
            "split": ["train"] * 3 + ["test"] * 2,
            "label": np.array([5, 0, 9, 7, 2], "uint8"),
            **{f"p{i}": np.array([*TRAIN[i::784], *TEST[i::784]], "uint8") for i in range(784)},
        }
    ),
}


@pytest.fixture(autouse=True)
def _nothing_at_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLARYSAGE_DATA", raising=False)
    monkeypatch.setenv("CLARYSAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up files are those that are known by their checksums; nobody answers at their addresses."""
    for name, contents in CONTENTS.items():
        files = tuple(PublishedFile(f"http://127.0.0.1:9/{file}", digest(contents[file])) for file in contents)
        monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], files=files))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def written(folder: Path, name: str) -> Path:
    """A folder with the made-up files of a table."""
    folder.mkdir(exist_ok=True)
    for file, content in CONTENTS[name].items():
        (folder / file).write_bytes(content)
    return folder


@pytest.fixture
def made_up(known: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that loads a table of the made-up files."""

    def read(name: str) -> PaperTable:
        monkeypatch.setenv("CLARYSAGE_DATA", str(written(tmp_path / "published", name)))
        return load(name)

    return read


class TestColumns:
    def test_bank_has_the_paper_s_names_and_months_in_calendar_order(self, made_up):
        X, y, _ = made_up("bank")
        assert list(X)[-3:] == ["Prev Days", "Prev Contacts", "Prev Outcome"]
        assert list(X.select_dtypes("category")) == [
            "Job",
            "Marital",
            "Education",
            "Default",
            "Housing",
            "Loan",
            "Contact",
            "Month",
            "Prev Outcome",
        ]
        assert X["Month"].cat.codes.tolist() == [4, 0]
        assert X["Balance"].tolist() == [2143, -2]
        assert (X.select_dtypes("number").dtypes == "int64").all()
        assert y.name == "Success"
        assert y.tolist() == ["no", "yes"]
        assert y.cat.categories.tolist() == ["no", "yes"]

    def test_bike_takes_time_apart_and_parts_of_its_target_are_no_features(self, made_up):
        X, y, beside = made_up("bike")
        assert X.iloc[1].tolist() == [2012, 12, 19, 23, 4, 0, 1, 1, 13.12, 16.665, 66, 8.9981]
        assert list(X) == [
            "Year",
            "Month",
            "Day",
            "Hour",
            "Season",
            "Holiday",
            "Workingday",
            "Weather",
            "Temp",
            "Atemp",
            "Humidity",
            "Windspeed",
        ]
        assert (beside["Casual"] + beside["Registered"]).tolist() == y.tolist() == [16, 88]

    def test_credit_has_codes_for_categories_and_the_amount_is_one_as_in_the_paper_s_model(self, made_up):
        X, y, _ = made_up("credit")
        assert len(X.select_dtypes("category").columns) == 14
        assert X["Purpose"].cat.categories.tolist() == list(range(11))
        assert X["Credit Amount"].cat.categories.tolist() == [1049, 2299]
        assert X["Credit Amount"].tolist() == [1049, 2299]
        assert X["Foreign Worker"].tolist() == [2, 1]
        assert y.tolist() == [1, 0]

    def test_brca_keeps_every_digit_and_names_subtypes(self, made_up):
        X, y, beside = made_up("brca")
        assert X.to_numpy().tolist() == [[-3.53275, 0.11599999999999999], [-0.3971666666666671, 1.5]]
        assert y.tolist() == ["LumA", "Basal"]
        assert beside["patient"].tolist() == ["TCGA-00-0001"] * 2

    def test_mnist_has_train_before_test_and_pixels_row_by_row(self, made_up):
        X, y, beside = made_up("mnist")
        assert list(X) == [f"p{i}" for i in range(784)]
        assert (X.dtypes == "uint8").all()
        assert (X.to_numpy().ravel() == [*TRAIN, *TEST]).all()
        assert y.tolist() == [5, 0, 9, 7, 2]
        assert beside["split"].tolist() == ["train"] * 3 + ["test"] * 2

    @pytest.mark.needs("pyarrow")
    @pytest.mark.parametrize("name", CONTENTS)
    def test_published_files_and_the_tidy_file_give_the_same_frames(self, name, made_up, tmp_path, monkeypatch):
        published = made_up(name)
        (tmp_path / "tidy").mkdir()
        TIDY[name].to_parquet(path := tmp_path / "tidy" / f"{name}.parquet")
        monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], tidy_sha256=digest(path.read_bytes())))
        monkeypatch.setenv("CLARYSAGE_DATA", str(tmp_path / "tidy"))
        tidy = load(name)
        pd.testing.assert_frame_equal(published.X, tidy.X, check_exact=True)
        pd.testing.assert_series_equal(published.y, tidy.y)
        pd.testing.assert_frame_equal(published.beside, tidy.beside)

    @pytest.mark.needs("pyarrow")
    def test_the_tidy_file_of_brca_says_which_rows_are_of_normal_tissue(self, tmp_path, monkeypatch):
        TIDY["brca"].assign(tissue=["tumour", "normal"]).to_parquet(tmp_path / "brca50.parquet")
        monkeypatch.setenv("CLARYSAGE_DATA", str(tmp_path))
        with pytest.warns(ClarysageWarning, match=r"brca50.parquet has a different SHA-256"):
            X, _, beside = load("brca50")
        assert beside["tissue"].tolist() == ["tumour", "normal"]
        assert list(X) == ["OSTbeta", "STATH"]

    def test_a_model_of_words_and_categories_can_be_explained(self, made_up):
        X, y, _ = made_up("bank")
        explanation = cs.sage(
            lambda rows: np.where(rows["Month"] == "jan", 0.9, 0.1), X, y == "yes", loss="brier", rng=0
        )
        assert explanation.top(1) == ["Month"]


@pytest.mark.parametrize("name", SOURCES)
def test_files_have_https_addresses_and_checksums(name):
    source = SOURCES[name]
    assert (source.read is None) == (not source.files)
    for sha256 in (source.tidy_sha256, *(file.sha256 for file in source.files)):
        assert re.fullmatch("[0-9a-f]{64}", sha256)
    for file in source.files:
        assert file.url.startswith("https://")
    if name in CONTENTS:
        assert [file.name for file in source.files] == list(CONTENTS[name])


class TestDataDirectory:
    def test_a_variable_that_names_no_folder_is_an_error_that_names_it(self, monkeypatch):
        monkeypatch.setenv("CLARYSAGE_DATA", "nowhere")
        with pytest.raises(InputError, match="CLARYSAGE_DATA: got 'nowhere', which is no folder"):
            load("bank")

    def test_a_folder_may_be_below_the_home_directory(self, known, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(written(tmp_path / "home", "bank").parent))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        monkeypatch.setenv("CLARYSAGE_DATA", "~/home")
        assert load("bank").y.tolist() == ["no", "yes"]

    def test_a_file_that_differs_is_read_with_a_warning(self, tmp_path, monkeypatch):
        monkeypatch.setenv("CLARYSAGE_DATA", str(written(tmp_path / "data", "bank")))
        with pytest.warns(ClarysageWarning, match=r"bank-full.csv has a different SHA-256"):
            assert len(load("bank").X) == 2

    @pytest.mark.parametrize(
        ("name", "file", "content", "reason"),
        [
            ("bank", "bank-full.csv", BANK.replace(b'"month"', b'"mouth"'), "no column 'month'"),
            ("bank", "bank-full.csv", BANK.replace(b'"may"', b'"mai"'), "'month' has a cell 'mai'"),
            ("bank", "bank-full.csv", BANK.replace(b"\n58;", b"\nold;"), "old"),
            ("bank", "bank-full.csv", b"", "No columns"),
            ("bike", "bike.csv", BIKE.replace(b"2011-01-01 00", b"1.1.2011 0h"), "cannot be read"),
            ("bike", "bike.csv", BIKE.replace(b"datetime", b"when"), "no column 'Datetime'"),
            ("credit", "SouthGermanCredit.asc", CREDIT.replace(b"\n1 18", b"\n9 18"), "'Checking Status' has a cell 9"),
            ("brca", "brca_small.csv", BRCA.replace(b",2\n", b",7\n"), "'subtype' has a cell '7'"),
            ("mnist", LABELS, packed(0, 0, 8, 1, 0, 0, 0, 4, 5, 0, 9), "3 cells where .* 4"),
            ("mnist", LABELS, packed(0, 0, 8, 1, 0, 0, 0, 2, 5, 0), "labels of shape"),
            ("mnist", LABELS, packed(0, 0, 9, 1, 0, 0, 0, 3, 5, 0, 9), "does not begin like"),
            ("mnist", LABELS, packed(0, 0, 8, 9, 0, 0), "ends before its first cell"),
            ("mnist", LABELS, CONTENTS["mnist"][LABELS][:-4], "cannot be read"),
            ("mnist", LABELS, b"<html>not found</html>", "[Nn]ot a gzipped file"),
        ],
    )
    def test_a_file_that_is_no_such_table_is_an_error_that_says_why(
        self, name, file, content, reason, known, tmp_path, monkeypatch
    ):
        folder = written(tmp_path / "data", name)
        (folder / file).write_bytes(content)
        monkeypatch.setenv("CLARYSAGE_DATA", str(folder))
        with pytest.warns(ClarysageWarning, match="SHA-256"), pytest.raises(FormatError, match=reason) as caught:
            load(name)
        assert str(folder / file) in str(caught.value)

    def test_a_file_that_may_not_be_read_is_an_error_that_says_so(self, known, tmp_path, monkeypatch):
        def refused(path: Path, mode: str) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setenv("CLARYSAGE_DATA", str(written(tmp_path / "data", "bank")))
        monkeypatch.setattr(Path, "open", refused)
        with pytest.raises(InputError, match=r"bank-full.csv: Permission denied; wanted a file that may be read"):
            load("bank")

    @pytest.mark.needs("pyarrow")
    def test_a_tidy_file_that_is_none_is_an_error(self, tmp_path, monkeypatch):
        (tmp_path / "bank.parquet").write_bytes(b"no table")
        monkeypatch.setenv("CLARYSAGE_DATA", str(tmp_path))
        with pytest.warns(ClarysageWarning, match="SHA-256"), pytest.raises(FormatError, match=r"bank.parquet, which"):
            load("bank")

    def test_a_tidy_file_without_pyarrow_asks_for_that_library(self, tmp_path, monkeypatch):
        def read_parquet(path: Path) -> None:
            raise ImportError("pyarrow is required")

        monkeypatch.setattr(tables.pd, "read_parquet", read_parquet)
        (tmp_path / "bank.parquet").write_bytes(b"")
        monkeypatch.setenv("CLARYSAGE_DATA", str(tmp_path))
        with pytest.warns(ClarysageWarning, match="SHA-256"), pytest.raises(ImportError, match="pyarrow is required"):
            load("bank")

    def test_what_is_not_published_is_asked_for_by_its_file_name(self, tmp_path, monkeypatch):
        with pytest.raises(
            MissingDataError, match=r"brca50.parquet is not in a data directory \(CLARYSAGE_DATA is not"
        ):
            load("brca50")
        monkeypatch.setenv("CLARYSAGE_DATA", str(tmp_path))
        with pytest.raises(MissingDataError, match=r"directory .*, and is not published.*variable CLARYSAGE_DATA\."):
            load("brca50")


@dataclass
class Site:
    """A web server on this machine: contents by path, a status for each other path, and which paths were asked for."""

    url: str
    pages: dict[str, bytes] = field(default_factory=dict)
    status: int = 404
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server that has the files of the tables."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            content = site.pages.get(self.path, b"")
            self.send_response(200 if self.path in site.pages else site.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_port}")
    for name, contents in CONTENTS.items():
        files = tuple(PublishedFile(f"{site.url}/{file}", digest(content)) for file, content in contents.items())
        monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], files=files))
        site.pages |= {f"/{file}": content for file, content in contents.items()}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.needs("pooch")
class TestDownload:
    def test_a_file_is_kept_and_not_asked_for_again(self, site, tmp_path):
        assert load("bank").y.tolist() == ["no", "yes"]
        assert [path.name for path in (tmp_path / "cache").iterdir()] == ["bank-full.csv"]
        assert load("bank").y.tolist() == ["no", "yes"]
        assert site.asked == ["/bank-full.csv"]

    def test_nothing_is_downloaded_where_the_data_directory_has_it(self, site, tmp_path, monkeypatch):
        monkeypatch.setenv("CLARYSAGE_DATA", str(written(tmp_path / "data", "bank")))
        load("bank")
        assert site.asked == []
        assert not (tmp_path / "cache").exists()

    def test_several_files_come_from_wherever_each_is(self, site, tmp_path, monkeypatch):
        folder = written(tmp_path / "data", "mnist")
        for name in ("train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
            (folder / name).unlink()
        monkeypatch.setenv("CLARYSAGE_DATA", str(folder))
        assert load("mnist").y.tolist() == [5, 0, 9, 7, 2]
        assert site.asked == ["/train-images-idx3-ubyte.gz", "/t10k-labels-idx1-ubyte.gz"]

    @pytest.mark.parametrize("content", [BANK[:100], BANK.replace(b"58", b"59"), BANK + b"more", b""])
    def test_a_file_with_another_checksum_is_an_error_and_is_not_kept(self, content, site, tmp_path):
        site.pages["/bank-full.csv"] = content
        with pytest.raises(MissingDataError, match=r"bank-full.csv is not in .*could not be downloaded \(SHA256 hash"):
            load("bank")
        assert not list((tmp_path / "cache").glob("*"))

    @pytest.mark.parametrize("status", [404, 503])
    def test_a_page_that_is_not_there_is_an_error_that_says_what_to_do(self, status, site):
        site.status = status
        site.pages.clear()
        with pytest.raises(MissingDataError) as caught:
            load("bank")
        for words in (
            "bank-full.csv is not in a data directory (CLARYSAGE_DATA is not set)",
            f"could not be downloaded ({status} ",
            f"Download {site.url}/bank-full.csv yourself",
            "bank.parquet",
            "environment variable CLARYSAGE_DATA",
        ):
            assert words in str(caught.value)

    def test_where_nobody_answers_there_is_an_error(self, known):
        with pytest.raises(MissingDataError, match=r"could not be downloaded \(.*127.0.0.1.*[Rr]efused"):
            load("bank")

    def test_a_damaged_file_of_the_cache_is_downloaded_again(self, site, tmp_path):
        load("bank")
        path = tmp_path / "cache" / "bank-full.csv"
        path.write_bytes(BANK[:-10])
        assert len(load("bank").y) == 2
        assert path.read_bytes() == BANK
        assert site.asked == ["/bank-full.csv"] * 2

    def test_a_damaged_file_that_cannot_be_downloaded_is_an_error(self, known, tmp_path):
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "bank-full.csv").write_bytes(BANK[:-10])
        with pytest.raises(MissingDataError, match="could not be downloaded"):
            load("bank")

    def test_a_cache_that_cannot_be_made_is_an_error(self, site, tmp_path, monkeypatch):
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("CLARYSAGE_CACHE", str(tmp_path / "file"))
        with pytest.raises(MissingDataError, match=rf"could not be downloaded \(.*{re.escape(str(tmp_path / 'file'))}"):
            load("bank")


def test_a_download_without_pooch_names_the_extra(known, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingLibraryError, match=r"Downloading bank-full.csv needs pooch.*clarysage\[paper\]"):
        load("bank")
