"""Datasets: kinds of columns, where files are found, and downloads from a server of our own with made-up files."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as scikit_learn

import clarysage as cs
from clarysage.datasets import fetching, loading
from clarysage.datasets.dataset import Address, DatasetRow, PublicFile
from clarysage.datasets.fetching import PackingError, unpacked
from clarysage.datasets.table import DATASETS
from clarysage.errors import ClarysageWarning, FormatError, InputError, MissingDataError, MissingLibraryError

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
CONTENTS = {
    "bank": {"bank-full.csv": BANK},
    "bike": {"bike.csv": BIKE},
    "credit": {"SouthGermanCredit.asc": CREDIT},
    "brca": {"brca_small.csv": BRCA},
    "mnist": {
        "train-images-idx3-ubyte": bytes([0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28, *TRAIN]),
        "train-labels-idx1-ubyte": bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 9]),
        "t10k-images-idx3-ubyte": bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28, *TEST]),
        "t10k-labels-idx1-ubyte": bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 2]),
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
def _nothing_at_hand(monkeypatch, tmp_path):
    monkeypatch.delenv("CLARYSAGE_DATA", raising=False)
    monkeypatch.setenv("CLARYSAGE_CACHE", str(tmp_path / "cache"))


def published(name: str, content: bytes, *addresses: Address | str) -> PublicFile:
    """A made-up file, known by its size and checksum."""
    as_addresses = tuple(Address(address) if isinstance(address, str) else address for address in addresses)
    return PublicFile(name, len(content), hashlib.sha256(content).hexdigest(), as_addresses)


def row_of(name: str) -> DatasetRow:
    """A row of the table whose files are the made-up ones."""
    return replace(DATASETS[name], files=tuple(published(*file) for file in CONTENTS[name].items()))


def written(folder: Path, name: str) -> Path:
    """A folder with the made-up files of a dataset."""
    folder.mkdir(exist_ok=True)
    for file, content in CONTENTS[name].items():
        (folder / file).write_bytes(content)
    return folder


def made_up(name: str, folder: Path) -> cs.datasets.Dataset:
    return cs.datasets.load(row_of(name), directory=written(folder, name), download=False)


class TestColumns:
    def test_bank_has_the_paper_s_names_and_months_in_calendar_order(self, tmp_path):
        X, y = made_up("bank", tmp_path)
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

    def test_bike_takes_time_apart_and_parts_of_its_target_are_no_features(self, tmp_path):
        dataset = made_up("bike", tmp_path)
        assert dataset.X.iloc[1].tolist() == [2012, 12, 19, 23, 4, 0, 1, 1, 13.12, 16.665, 66, 8.9981]
        assert list(dataset.X) == [
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
        assert (dataset.beside["Casual"] + dataset.beside["Registered"]).tolist() == dataset.y.tolist() == [16, 88]

    def test_credit_has_codes_for_categories_and_a_number_for_the_amount(self, tmp_path):
        X, y = made_up("credit", tmp_path)
        assert len(X.select_dtypes("category").columns) == 13
        assert X["Purpose"].cat.categories.tolist() == list(range(11))
        assert X["Credit Amount"].tolist() == [1049, 2299]
        assert X["Foreign Worker"].tolist() == [2, 1]
        assert y.tolist() == [1, 0]

    def test_the_credit_amount_is_a_category_where_asked_for(self, tmp_path):
        with pytest.warns(ClarysageWarning, match="SHA-256"):
            X, _ = cs.datasets.credit(amount_as_category=True, directory=written(tmp_path, "credit"))
        assert list(X.select_dtypes("category"))[3] == "Credit Amount"
        assert len(X.select_dtypes("category").columns) == 14

    def test_brca_keeps_every_digit_and_names_subtypes(self, tmp_path):
        dataset = made_up("brca", tmp_path)
        assert dataset.X.to_numpy().tolist() == [[-3.53275, 0.11599999999999999], [-0.3971666666666671, 1.5]]
        assert dataset.y.tolist() == ["LumA", "Basal"]
        assert dataset.beside["patient"].tolist() == ["TCGA-00-0001"] * 2
        assert any("near copy" in note for note in dataset.notes)

    def test_mnist_has_train_before_test_and_pixels_row_by_row(self, tmp_path):
        dataset = made_up("mnist", tmp_path)
        assert list(dataset.X) == [f"p{i}" for i in range(784)]
        assert (dataset.X.dtypes == "uint8").all()
        assert (dataset.X.to_numpy().ravel() == [*TRAIN, *TEST]).all()
        assert dataset.y.tolist() == [5, 0, 9, 7, 2]
        assert dataset.beside["split"].tolist() == ["train"] * 3 + ["test"] * 2

    @pytest.mark.needs("pyarrow")
    @pytest.mark.parametrize("name", CONTENTS)
    def test_published_files_and_the_tidy_file_give_the_same_frames(self, name, tmp_path):
        raw = made_up(name, tmp_path / "raw")
        (tmp_path / "tidy").mkdir()
        TIDY[name].to_parquet(path := tmp_path / "tidy" / f"{name}.parquet")
        row = replace(row_of(name), tidy_sha256=hashlib.sha256(path.read_bytes()).hexdigest())
        tidy = cs.datasets.load(row, directory=tmp_path / "tidy", download=False)
        pd.testing.assert_frame_equal(raw.X, tidy.X, check_exact=True)
        pd.testing.assert_series_equal(raw.y, tidy.y)
        pd.testing.assert_frame_equal(raw.beside, tidy.beside)

    @pytest.mark.needs("pyarrow")
    def test_the_tidy_file_of_brca_says_which_rows_are_of_normal_tissue(self, tmp_path):
        TIDY["brca"].assign(tissue=["tumour", "normal"]).to_parquet(tmp_path / "brca50.parquet")
        with pytest.warns(ClarysageWarning, match=r"brca50.parquet has a different SHA-256"):
            dataset = cs.datasets.brca50(directory=tmp_path)
        assert dataset.beside["tissue"].tolist() == ["tumour", "normal"]
        assert list(dataset.X) == ["OSTbeta", "STATH"]

    @pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "wine", "digits"])
    def test_bundled_tables_are_scikit_learn_s(self, name):
        options = {"scaled": False} if name == "diabetes" else {}
        X, y = getattr(scikit_learn, f"load_{name}")(return_X_y=True, **options)
        dataset = getattr(cs.datasets, name)()
        assert (dataset.X.to_numpy() == X).all()
        assert (dataset.y.to_numpy() == y).all()
        assert dataset.X.shape == (DATASETS[name].rows, DATASETS[name].features)
        assert dataset.beside.shape == (len(y), 0)

    def test_a_dataset_unpacks_into_features_and_target(self, tmp_path):
        dataset = made_up("bank", tmp_path)
        X, y = dataset
        assert X is dataset.X
        assert y is dataset.y
        assert repr(dataset).startswith("bank: 2 rows, 16 features, target 'Success'; UCI")

    def test_a_model_of_words_and_categories_can_be_explained(self, tmp_path):
        X, y = made_up("bank", tmp_path)
        explanation = cs.sage(
            lambda rows: np.where(rows["Month"] == "jan", 0.9, 0.1), X, y == "yes", loss="brier", rng=0
        )
        assert explanation.top(1) == ["Month"]


class TestTable:
    @pytest.mark.parametrize("row", DATASETS.values(), ids=lambda row: row.name)
    def test_every_row_has_a_function_and_files_by_https(self, row):
        assert row.name in cs.datasets.__all__
        assert callable(getattr(cs.datasets, row.name))
        for file in row.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert all(address.url.startswith("https://") for address in file.addresses)
            assert file.addresses

    def test_listed_says_where_each_would_come_from(self, tmp_path):
        (tmp_path / "bike.parquet").write_bytes(b"")
        written(tmp_path, "credit")
        folder = fetching.cache_directory() / "brca"
        folder.mkdir(parents=True)
        (folder / "brca_small.csv").write_bytes(b"")
        assert cs.datasets.listed(directory=tmp_path)["from"].to_dict() == {
            "bank": "download",
            "bike": "data directory",
            "credit": "data directory",
            "brca": "cache",
            "brca50": "a data directory alone",
            "mnist": "download",
            "diabetes": "scikit-learn",
            "breast_cancer": "scikit-learn",
            "wine": "scikit-learn",
            "digits": "scikit-learn",
        }

    def test_a_name_may_be_spelled_with_blanks(self):
        assert cs.datasets.load("Breast cancer").name == "breast_cancer"

    @pytest.mark.parametrize("name", ["bnak", 3, None])
    def test_an_unknown_name_is_refused_with_those_there_are(self, name):
        with pytest.raises(InputError, match="wanted one of 'bank', 'bike'"):
            cs.datasets.load(name)

    def test_a_misspelled_name_is_answered_with_the_right_one(self):
        with pytest.raises(InputError, match="Try 'mnist'"):
            cs.datasets.load("mnsit")


class TestDataDirectory:
    def test_the_argument_goes_before_the_variable(self, tmp_path, monkeypatch):
        monkeypatch.setenv("CLARYSAGE_DATA", str(written(tmp_path / "variable", "bank")))
        other = tmp_path / "argument"
        other.mkdir()
        (other / "bank-full.csv").write_bytes(BANK.replace(b"\n58;", b"\n59;"))
        with pytest.warns(ClarysageWarning, match="argument"):
            X, _ = cs.datasets.load(row_of("bank"), directory=other)
        assert X["Age"][0] == 59
        assert cs.datasets.load(row_of("bank")).X["Age"][0] == 58

    @pytest.mark.parametrize("directory", ["nowhere", 3])
    def test_a_directory_that_is_not_there_is_an_error(self, directory):
        with pytest.raises(InputError, match=r"directory: got .* which is no folder"):
            cs.datasets.bank(directory=directory)

    def test_a_variable_that_names_no_folder_is_an_error_that_names_it(self, monkeypatch):
        monkeypatch.setenv("CLARYSAGE_DATA", "nowhere")
        with pytest.raises(InputError, match="CLARYSAGE_DATA: got 'nowhere'"):
            cs.datasets.bank()
        assert len(cs.datasets.wine().y) == 178

    def test_a_file_that_differs_is_read_with_a_warning(self, tmp_path):
        with pytest.warns(ClarysageWarning, match=r"bank-full.csv has a different SHA-256"):
            X, _ = cs.datasets.bank(directory=written(tmp_path, "bank"))
        assert len(X) == 2

    def test_archives_are_read_as_they_were_downloaded(self, tmp_path):
        outer = zipped("bank.zip", zipped("bank-full.csv", BANK))
        (tmp_path / "bank+marketing.zip").write_bytes(outer)
        row = row_of("bank")
        row = replace(row, files=(replace(row.files[0], addresses=DATASETS["bank"].files[0].addresses),))
        assert cs.datasets.load(row, directory=tmp_path, download=False).y.tolist() == ["no", "yes"]

    def test_digits_may_be_compressed(self, tmp_path):
        for file, content in CONTENTS["mnist"].items():
            (tmp_path / f"{file}.gz").write_bytes(gzip.compress(content))
        with pytest.warns(ClarysageWarning, match="SHA-256"):
            assert cs.datasets.mnist(directory=tmp_path, download=False).y.tolist() == [5, 0, 9, 7, 2]

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
            ("mnist", "train-labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 4, 5, 0, 9]), "3 cells where .* 4"),
            ("mnist", "train-labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 0]), "labels of shape"),
            ("mnist", "train-labels-idx1-ubyte", bytes([0, 0, 9, 1, 0, 0, 0, 3, 5, 0, 9]), "does not begin like"),
            ("mnist", "train-labels-idx1-ubyte", bytes([0, 0, 8, 9, 0, 0]), "ends before its first cell"),
        ],
    )
    def test_a_file_that_is_no_such_table_is_an_error_that_says_why(self, name, file, content, reason, tmp_path):
        folder = written(tmp_path, name)
        (folder / file).write_bytes(content)
        with pytest.warns(ClarysageWarning, match="SHA-256"), pytest.raises(FormatError, match=reason):
            cs.datasets.load(row_of(name), directory=folder, download=False)

    def test_a_damaged_archive_is_an_error_that_names_it(self, tmp_path):
        for file in CONTENTS["mnist"]:
            (tmp_path / f"{file}.gz").write_bytes(gzip.compress(b"digits")[:-4])
        with pytest.raises(FormatError, match=r"train-images-idx3-ubyte.gz, which cannot be unpacked"):
            cs.datasets.mnist(directory=tmp_path)

    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    def test_an_archive_with_any_byte_damaged_gives_what_it_held_or_says_so(self, method):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", method) as packed:
            packed.writestr("bank.csv", BANK)
        content, address, refused = archive.getvalue(), Address("https://example.org/bank.zip", ("bank.csv",)), 0
        for i in range(len(content)):
            damaged = content[:i] + bytes([content[i] ^ 0xFF]) + content[i + 1 :]
            try:
                assert unpacked(damaged, address, len(BANK)) == BANK
            except PackingError:
                refused += 1
        assert 0 < refused < len(content)

    def test_a_file_that_may_not_be_read_is_an_error_that_says_so(self, tmp_path, monkeypatch):
        def refused(path: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        folder = written(tmp_path, "bank")
        monkeypatch.setattr(Path, "read_bytes", refused)
        with pytest.raises(InputError, match=r"bank-full.csv: Permission denied; wanted a file that may be read"):
            cs.datasets.bank(directory=folder)

    @pytest.mark.needs("pyarrow")
    def test_a_tidy_file_that_is_none_is_an_error(self, tmp_path):
        (tmp_path / "bank.parquet").write_bytes(b"no table")
        with pytest.warns(ClarysageWarning, match="SHA-256"), pytest.raises(FormatError, match=r"bank.parquet, which"):
            cs.datasets.bank(directory=tmp_path)

    def test_without_pyarrow_a_tidy_file_names_the_extra_and_published_files_are_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr(loading, "find_spec", lambda name: None)
        (tmp_path / "bank.parquet").write_bytes(b"")
        with pytest.raises(MissingLibraryError, match=r"clarysage\[arrow\]"):
            cs.datasets.bank(directory=tmp_path)
        assert len(made_up("bank", tmp_path).y) == 2

    def test_what_is_not_published_is_asked_for_by_its_file_name(self):
        with pytest.raises(MissingDataError, match=r"brca50.parquet is not in a data directory.*CLARYSAGE_DATA"):
            cs.datasets.brca50()


@dataclass
class Site:
    """A web server on this machine: what it answers at each path, and which paths it was asked for."""

    url: str
    pages: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, path: str, page: Callable[[BaseHTTPRequestHandler], None]) -> str:
        self.pages[path] = page
        return self.url + path

    def row(self, page: Callable[[BaseHTTPRequestHandler], None], content: bytes = BANK) -> DatasetRow:
        """The bank's row, with its file of this content at the page."""
        return replace(DATASETS["bank"], files=(published("bank-full.csv", content, self.put("/bank.csv", page)),))


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            with suppress(ConnectionError):  # of who has heard enough
                site.pages[self.path](self)

        def log_message(self, *args: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def giving(content: bytes, *, length: str | None = "", status: int = 200, **headers: str):
    """A page: this content; ``length`` is what it says of its length, the truth by default, nothing for None."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        if length is not None:
            request.send_header("Content-Length", length or str(len(content)))
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)

    return answer


def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def in_cache() -> list[str]:
    return sorted(str(path.relative_to(fetching.cache_directory())) for path in fetching.cache_directory().rglob("*.*"))


class TestDownload:
    def test_a_complete_file_is_read_kept_and_not_asked_for_again(self, site):
        row = site.row(giving(BANK))
        assert cs.datasets.load(row).y.tolist() == ["no", "yes"]
        assert in_cache() == [os.path.join("bank", "bank-full.csv")]
        assert (fetching.cache_directory() / "bank" / "bank-full.csv").read_bytes() == BANK
        assert cs.datasets.load(row, download=False).y.tolist() == ["no", "yes"]
        assert site.asked == ["/bank.csv"]

    def test_nothing_is_fetched_where_the_data_directory_has_it(self, site, tmp_path):
        cs.datasets.load(site.row(giving(BANK)), directory=written(tmp_path / "data", "bank"))
        assert site.asked == []
        assert not fetching.cache_directory().exists()

    def test_download_false_asks_nobody(self, site):
        with pytest.raises(MissingDataError, match=r"bank-full.csv is not on this machine, and download=False"):
            cs.datasets.load(site.row(giving(BANK)), download=False)
        assert site.asked == []

    @pytest.mark.parametrize(
        ("page", "reason"),
        [
            (giving(BANK[:100], length=str(len(BANK))), r"cut short after 100 of"),
            (giving(BANK[:100]), r"100 bytes instead of"),
            (giving(BANK[:100], length=None), r"100 bytes instead of"),
            (giving(BANK, length="100"), r"100 bytes instead of"),
            (giving(BANK.replace(b"58", b"59")), r"its SHA-256 is [0-9a-f]{64} instead of"),
            (giving(BANK, length=str(10**15)), r"announces 1,000,000,000,000,000 bytes, more than"),
            (giving(BANK + b"more"), r"announces .* bytes, more than"),
            (giving(BANK + b"more", length=None), r"gives more than"),
            (giving(BANK + b"more", length="-5"), r"gives more than"),
            (giving(BANK + b"more", length="many"), r"gives more than"),
            (giving(b"5000\r\nabc", length=None, **{"Transfer-Encoding": "chunked"}), r"IncompleteRead|bytes instead"),
            (giving(b"", status=404), r"HTTP 404 Not Found"),
            (giving(b"", status=503), r"HTTP 503"),
            (giving(b"", status=204), r"0 bytes instead of"),
            (giving(b"", status=302, Location="http://example.org/bank.csv"), r"is no https address"),
            (giving(b"", status=302, Location="file:///etc/hosts"), r"not allowed"),
            (giving(b"", status=302, Location="ftp://127.0.0.1/bank.csv"), r"is no https address"),
            (giving(b"", status=302, Location="/bank.csv"), r"redirect error|infinite loop"),
            (lambda request: request.wfile.write(b"what?\r\n\r\n"), r"127.0.0.1: .+"),
            (lambda request: request.connection.close(), r"127.0.0.1: .+"),
        ],
    )
    def test_a_broken_answer_is_an_error_and_leaves_nothing_behind(self, site, page, reason):
        with pytest.raises(MissingDataError, match=rf"bank-full.csv is not on this machine and .*{reason}"):
            cs.datasets.load(site.row(page))
        assert not fetching.cache_directory().exists()

    def test_an_endless_answer_is_left_after_the_bytes_there_can_be(self, site):
        sent = []

        def endless(request: BaseHTTPRequestHandler) -> None:
            giving(b"", length=None)(request)
            while len(sent) < 10_000:
                request.wfile.write(bytes(2**16))
                sent.append(1)

        with pytest.raises(MissingDataError, match="gives more than"):
            cs.datasets.load(site.row(endless))
        assert len(sent) < 1000  # beyond what was read, what connections hold: a few megabytes

    def test_silence_ends_in_an_error(self, site, monkeypatch):
        monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", 0.2)
        heard = threading.Event()
        with pytest.raises(MissingDataError, match="timed out"):
            cs.datasets.load(site.row(lambda request: heard.wait(20)))
        heard.set()

    def test_an_error_says_what_to_do(self, site):
        row = site.row(giving(b"", status=404))
        with pytest.raises(MissingDataError) as caught:
            cs.datasets.load(row)
        for word in (f"{site.url}/bank.csv", "bank-full.csv", "bank.parquet", "directory=...", "CLARYSAGE_DATA"):
            assert word in str(caught.value)

    def test_where_nobody_answers_there_is_an_error(self):
        row = replace(DATASETS["bank"], files=(published("bank-full.csv", BANK, "http://127.0.0.1:9/bank.csv"),))
        with pytest.raises(MissingDataError, match=r"127.0.0.1: .*[Rr]efused"):
            cs.datasets.load(row)

    @pytest.mark.parametrize("url", ["http://example.org/bank.csv", "file:///etc/hosts", "ftp://127.0.0.1/a", "bank"])
    def test_only_https_is_spoken_with_others(self, url, monkeypatch):
        monkeypatch.setattr(fetching, "_opener", None)  # so that trying to would fail
        row = replace(DATASETS["bank"], files=(published("bank-full.csv", BANK, url),))
        with pytest.raises(MissingDataError, match="is no https address"):
            cs.datasets.load(row)

    def test_a_redirect_on_this_machine_is_followed(self, site):
        site.put("/moved.csv", giving(BANK))
        assert len(cs.datasets.load(site.row(giving(b"", status=301, Location="/moved.csv"))).y) == 2

    def test_the_second_address_is_tried_where_the_first_fails(self, site):
        first, second = site.put("/first", giving(b"", status=500)), site.put("/second", giving(BANK))
        row = replace(DATASETS["bank"], files=(published("bank-full.csv", BANK, first, second),))
        assert len(cs.datasets.load(row).y) == 2
        assert site.asked == ["/first", "/second"]

    @pytest.mark.parametrize(
        ("path", "members", "packed"),
        [
            ("/bank.csv.gz", (), gzip.compress(BANK)),
            ("/bank.zip", ("bank-full.csv",), zipped("bank-full.csv", BANK)),
            ("/both.zip", ("bank.zip", "bank-full.csv"), zipped("bank.zip", zipped("bank-full.csv", BANK))),
        ],
        ids=["gzip", "zip", "zip in a zip"],  # archives hold the time, by which workers would disagree on names
    )
    def test_archives_are_unpacked_before_they_are_kept(self, site, path, members, packed):
        file = published("bank-full.csv", BANK, Address(site.put(path, giving(packed)), members))
        assert len(cs.datasets.load(replace(DATASETS["bank"], files=(file,))).y) == 2
        assert (fetching.cache_directory() / "bank" / "bank-full.csv").read_bytes() == BANK

    @pytest.mark.parametrize(
        ("path", "members", "packed", "reason"),
        [
            ("/bank.csv.gz", (), gzip.compress(bytes(10**7)), "holds more than"),
            ("/bank.csv.gz", (), gzip.compress(BANK)[:-9], "cannot be unpacked"),
            ("/bank.zip", ("bank-full.csv",), zipped("bank-full.csv", bytes(10**7)), "holds more than"),
            ("/bank.zip", ("bank-full.csv",), zipped("bank-half.csv", BANK), "has no bank-full.csv in it"),
            ("/bank.zip", ("bank-full.csv",), b"<html>not found</html>", "cannot be unpacked"),
        ],
        ids=["large gzip", "cut gzip", "large zip", "zip of another file", "web page"],
    )
    def test_a_bad_archive_is_an_error_that_says_why(self, site, path, members, packed, reason):
        file = published("bank-full.csv", BANK, Address(site.put(path, giving(packed)), members))
        with pytest.raises(MissingDataError, match=reason):
            cs.datasets.load(replace(DATASETS["bank"], files=(file,)))
        assert not fetching.cache_directory().exists()

    def test_several_files_come_from_wherever_each_is(self, site, tmp_path):
        folder = written(tmp_path / "data", "mnist")
        for name in ("train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
            (folder / name).unlink()
        files = tuple(
            published(name, content, site.put(f"/{name}.gz", giving(gzip.compress(content))))
            for name, content in CONTENTS["mnist"].items()
        )
        dataset = cs.datasets.load(replace(DATASETS["mnist"], files=files), directory=folder)
        assert dataset.y.tolist() == [5, 0, 9, 7, 2]
        assert site.asked == ["/train-images-idx3-ubyte.gz", "/t10k-labels-idx1-ubyte.gz"]

    def test_nothing_is_printed_where_there_is_no_terminal(self, site, capfd, monkeypatch):
        monkeypatch.setattr(fetching, "PROGRESS_BAR_BYTES", 1)
        cs.datasets.load(site.row(giving(BANK)))
        assert capfd.readouterr() == ("", "")

    def test_a_large_download_shows_its_progress_on_a_terminal(self, site, monkeypatch):
        shown = io.StringIO()
        monkeypatch.setattr(shown, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stderr", shown)
        cs.datasets.load(site.row(giving(BANK)))
        assert shown.getvalue() == ""
        monkeypatch.setattr(fetching, "PROGRESS_BAR_BYTES", 1)
        (fetching.cache_directory() / "bank" / "bank-full.csv").unlink()
        cs.datasets.load(site.row(giving(BANK)))
        assert "bank.csv: 100%" in shown.getvalue()


class TestCache:
    def test_a_damaged_file_is_downloaded_again(self, site):
        row = site.row(giving(BANK))
        cs.datasets.load(row)
        path = fetching.cache_directory() / "bank" / "bank-full.csv"
        path.write_bytes(BANK[:-10])
        assert len(cs.datasets.load(row).y) == 2
        assert path.read_bytes() == BANK

    def test_a_damaged_file_that_cannot_be_downloaded_is_an_error_that_says_so(self, site):
        path = fetching.cache_directory() / "bank" / "bank-full.csv"
        path.parent.mkdir(parents=True)
        path.write_bytes(BANK[:-10])
        with pytest.raises(MissingDataError, match=r"bank-full.csv is damaged in the cache and could not be"):
            cs.datasets.load(site.row(giving(b"", status=500)))

    def test_a_cache_that_cannot_be_made_costs_a_warning(self, site, tmp_path, monkeypatch):
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("CLARYSAGE_CACHE", str(tmp_path / "file"))
        with pytest.warns(ClarysageWarning, match=r"could not be written \(.+\).*Set CLARYSAGE_CACHE"):
            assert len(cs.datasets.load(site.row(giving(BANK))).y) == 2

    def test_a_file_that_cannot_be_put_in_place_leaves_no_draft(self, site, monkeypatch):
        def refused(draft: Path, path: Path) -> None:
            assert draft.read_bytes() == BANK
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(fetching.os, "replace", refused)
        with pytest.warns(ClarysageWarning, match=r"could not be written \(Permission denied\)"):
            assert len(cs.datasets.load(site.row(giving(BANK))).y) == 2
        assert in_cache() == []

    def test_drafts_of_two_at_once_are_apart(self, tmp_path, monkeypatch):
        both, in_place = threading.Barrier(2), os.replace

        def together(draft: Path, path: Path) -> None:
            both.wait(timeout=60)
            in_place(draft, path)

        monkeypatch.setattr(fetching.os, "replace", together)
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(fetching.write_to_cache, [BANK, BANK], [tmp_path / "bank-full.csv"] * 2))
        assert [path.name for path in tmp_path.iterdir()] == ["bank-full.csv"]

    @pytest.mark.subprocess
    def test_two_processes_at_once_both_end_with_the_whole_file(self, site):
        both = threading.Barrier(2)

        def together(request: BaseHTTPRequestHandler) -> None:
            both.wait(timeout=60)
            giving(BANK)(request)

        script = f"""
from dataclasses import replace
from clarysage.datasets.dataset import Address
from clarysage.datasets.table import DATASETS, load
row = DATASETS["bank"]
file = replace(row.files[0], size={len(BANK)}, sha256={hashlib.sha256(BANK).hexdigest()!r},
               addresses=(Address({site.put("/bank.csv", together)!r}),))
print(load(replace(row, files=(file,))).y.tolist())
"""
        running = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in "ab"]
        assert [process.communicate(timeout=120)[0] for process in running] == ["['no', 'yes']\n"] * 2
        assert site.asked == ["/bank.csv"] * 2
        assert in_cache() == [os.path.join("bank", "bank-full.csv")]
        assert (fetching.cache_directory() / "bank" / "bank-full.csv").read_bytes() == BANK

    @pytest.mark.parametrize(
        ("platform", "variables", "folder"),
        [
            ("linux", {}, "home/.cache/clarysage/datasets"),
            ("linux", {"XDG_CACHE_HOME": "{root}/xdg"}, "xdg/clarysage/datasets"),
            ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/clarysage/datasets"),
            ("darwin", {"XDG_CACHE_HOME": "{root}/xdg"}, "home/Library/Caches/clarysage/datasets"),
            ("win32", {"LOCALAPPDATA": "{root}/local"}, "local/clarysage/datasets"),
            ("win32", {}, "home/AppData/Local/clarysage/datasets"),
            ("linux", {"CLARYSAGE_CACHE": "{root}/own", "XDG_CACHE_HOME": "{root}/xdg"}, "own/datasets"),
            ("linux", {"CLARYSAGE_CACHE": "~/own"}, "home/own/datasets"),
        ],
    )
    def test_it_is_where_the_platform_keeps_such(self, platform, variables, folder, tmp_path, monkeypatch):
        for name in ("CLARYSAGE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(root=tmp_path))
        monkeypatch.setattr(fetching.sys, "platform", platform)
        assert fetching.cache_directory() == tmp_path / folder

    def test_without_a_home_nothing_is_kept(self, site, monkeypatch):
        monkeypatch.delenv("CLARYSAGE_CACHE")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(fetching.Path, "home", no_home)
        assert fetching.cache_directory() is None
        assert len(cs.datasets.load(site.row(giving(BANK))).y) == 2


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")
