"""``clarysage doctor``: what is installed, as the metadata have it; what is broken, by name and exit code 1."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import clarysage as cs
from clarysage.cli.commands import doctor
from tests.cli_harness import printed_json, run, run_main

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def printed_diagnosis(code: int = 0) -> dict[str, Any]:
    return printed_json("doctor", code=code)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what clarysage's metadata say that it needs; None where it is not installed."""

    def set_(requirements: list[str] | None) -> None:
        def requires(name: str) -> list[str]:
            assert name == "clarysage"
            if requirements is None:
                raise metadata.PackageNotFoundError(name)
            return requirements

        monkeypatch.setattr(metadata, "requires", requires)
        doctor.lowest_versions.cache_clear()

    yield set_
    doctor.lowest_versions.cache_clear()


def of_project() -> list[str]:
    """The requirements of pyproject.toml as a wheel's metadata have them."""
    extras = PROJECT["optional-dependencies"].items()
    return [*PROJECT["dependencies"], *(f'{one}; extra == "{extra}"' for extra, ones in extras for one in ones)]


def test_what_is_needed_is_what_the_project_depends_on() -> None:
    names = [re.split(r"[^\w-]", one)[0] for one in PROJECT["dependencies"]]
    assert sorted(doctor.NEEDED) == sorted(names)


def test_versions_are_those_of_the_libraries(asked: Any) -> None:
    import numpy
    import scipy

    asked(of_project())
    found = printed_diagnosis()
    versions = {one["name"]: one["version"] for one in found["needed"]}
    assert (found["clarysage"], versions["numpy"], versions["scipy"]) == (
        cs.__version__,
        numpy.__version__,
        scipy.__version__,
    )
    assert found["python"] == sys.version.split()[0]
    assert (found["problems"], found["self_check"]["is_right"]) == ([], True)
    assert found["self_check"]["seconds"] > 0
    assert found["machine"]["allowed"] >= 1
    assert not found["stdout_is_terminal"]
    assert {one["name"]: one["lowest"] for one in found["needed"]}["numpy"] == "1.26"


def test_optional_parts_name_extras_that_there_are(asked: Any) -> None:
    asked(of_project())
    for part in doctor.optional_libraries():
        if part.extra in PROJECT["optional-dependencies"]:
            (wanted,) = PROJECT["optional-dependencies"][part.extra]
            assert part.library.lowest == wanted.partition(">=")[2]
            assert part.install == f'pip install "clarysage[{part.extra}]"'
        else:
            assert part.install == f"pip install {part.module}"


@pytest.mark.subprocess
def test_optional_parts_are_told_without_loading_them() -> None:
    heavy = [
        part.module for part in doctor.optional_libraries() if part.module != "pyarrow"
    ]  # which pandas may load itself
    nothing_heavy = f"loaded = set({heavy}) & set(sys.modules)\nassert not loaded, loaded\n"
    done = run_main("doctor", "--json", "-", after=nothing_heavy)
    assert done.returncode == 0, done.stderr
    assert [one["name"] for one in json.loads(done.stdout)["optional"]] == [
        part.module for part in doctor.optional_libraries()
    ]


def test_text_tells_absent_parts_and_how_to_get_them(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(of_project())
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    result = run("doctor")
    assert result.exit_code == 0, result.stderr
    assert re.search(r'xgboost +not installed; for XGBoost models: pip install "clarysage\[xgboost\]"', result.stdout)
    assert "agrees with its closed form" in result.stdout
    assert "Everything that is needed is installed and works." in result.stdout


def test_missing_and_old_libraries_are_problems_and_exit_code_1(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(["numpy>=99.1", 'polars>=99; extra == "polars"'])
    version = metadata.version
    versions = {"tqdm": metadata.PackageNotFoundError("tqdm"), "polars": "1.0"}

    def version_of(name: str) -> str:
        found = versions.get(name) or version(name)
        if isinstance(found, Exception):
            raise found
        return str(found)

    monkeypatch.setattr(metadata, "version", version_of)
    monkeypatch.setattr(doctor, "find_spec", lambda name: name == "polars" or None)
    result = run("doctor")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: tqdm is not installed; numpy ")
    assert "is older than 99.1, which is needed" in line
    assert "OLDER than 99.1" in result.stdout
    assert "Remark: polars 1.0 is older than 99, which is needed for data in polars frames" in result.stdout


def test_without_metadata_bounds_are_not_known_and_that_is_said(asked: Any) -> None:
    asked(None)
    found = printed_diagnosis()
    assert {one["lowest"] for one in found["needed"]} == {None}
    assert found["problems"] == []
    assert "not installed, so the versions that it needs are not known" in found["remarks"][-1]


def test_wrong_numbers_fail_the_self_check(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cs.sage

    def wrong(*arguments: Any, **options: Any) -> Any:
        found = right(*arguments, **options)
        return replace(found, values=found.values * 1.001, parts=None)

    monkeypatch.setattr(cs, "sage", wrong)
    found = printed_diagnosis(code=1)
    assert not found["self_check"]["is_right"]
    assert "the self-check failed: SAGE values of a linear function are off by 0.1 %" in found["problems"][0]


def test_broken_library_fails_the_self_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> Any:
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(cs, "sage", broken)
    assert "ImportError: numpy.core.multiarray failed to import" in printed_diagnosis(code=1)["self_check"]["trouble"]


def test_broken_numba_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarysage.structure.kernels.compiled", None)
    found = printed_diagnosis(code=1)
    assert found["machine"] is None
    assert "libraries cannot be loaded" in found["problems"][0]


def test_self_check_is_exact_to_rounding() -> None:
    assert 0 <= doctor.largest_error() < 1e-12


def test_file_is_written_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("doctor", "--json", "doctor.json")
    assert result.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["doctor.json"]
    assert json.loads((tmp_path / "doctor.json").read_text())["format"] == "clarysage doctor"
    assert run("doctor", "--json", "nowhere/doctor.json").exit_code == 1


@pytest.mark.subprocess
def test_place_of_compiled_code_can_be_chosen(tmp_path: Path) -> None:
    script = "from clarysage.structure.kernels.compiled import cache_folder\nprint(cache_folder())"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.startswith(str(tmp_path)), done.stderr
