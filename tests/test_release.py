"""What a release consists of: its notes, the files in the distributions, and other files that repeat pyproject.toml."""

from __future__ import annotations

import io
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import clarysage
from tools.environments import PACKAGE, ROOT, SUPPORTED, CheckError
from tools.release import Contents, check_tag, notes_of, refuse, version_in
from tools.versions import at_lower_bound, library, lower_bound, requirements_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGELOG = """# Changelog

## 1.1.0 (unreleased)

### Losses

- One more, in [a table](docs/losses.md#names).

## 1.0.0 (2026-02-01)

- The first, on [a page](https://example.org/first).

## 0.9.0 (2026-01-01)
"""


def test_notes_are_the_section_of_the_version_alone():
    assert notes_of("1.0.0", CHANGELOG) == (
        "1.0.0 (2026-02-01)",
        "- The first, on [a page](https://example.org/first).\n",
    )


def test_notes_give_the_path_in_place_of_a_link_into_the_repository():
    heading, notes = notes_of("1.1.0", CHANGELOG)
    assert heading == "1.1.0 (unreleased)"
    assert notes == "### Losses\n\n- One more, in a table (`docs/losses.md#names`).\n"


@pytest.mark.parametrize(("version", "complaint"), [("1.0", "0 sections"), ("0.9.0", "nothing about 0.9.0")])
def test_a_version_without_notes_is_refused(version, complaint):
    with pytest.raises(CheckError, match=complaint):
        notes_of(version, CHANGELOG)


def test_the_version_is_written_in_one_place():
    source = (ROOT / "src" / PACKAGE / "__init__.py").read_text()
    assert version_in(source) == clarysage.__version__
    assert "version" in PROJECT["dynamic"]
    assert notes_of(clarysage.__version__, (ROOT / "CHANGELOG.md").read_text())


@pytest.mark.parametrize(
    ("tag", "heading", "changes", "complaint"),
    [
        ("1.0.0", "1.0.0 (2026-02-01)", "", "would be v1.0.0"),
        ("v1.0.1", "1.0.0 (2026-02-01)", "", "would be v1.0.0"),
        ("v1.0.0", "1.0.0 (unreleased)", "", "needs '## 1.0.0"),
        ("v1.0.0", "1.0.0", "", "needs '## 1.0.0"),
        ("v1.0.0", "1.0.0 (2026-02-01)", " M README.md\n", "README.md"),
    ],
)
def test_a_tag_needs_its_version_a_date_and_committed_sources(tag, heading, changes, complaint):
    check_tag("v1.0.0", "1.0.0", "1.0.0 (2026-02-01)", "")
    with pytest.raises(CheckError, match=re.escape(complaint)):
        check_tag(tag, "1.0.0", heading, changes)


FILES = {"clarysage/__init__.py": b"", "clarysage/py.typed": b""}


def wheel_of(folder: Path, files: dict[str, bytes]) -> Path:
    """Writes a wheel with some files and its record."""
    path = folder / "clarysage-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**files, "clarysage-1.0.0.dist-info/RECORD": b""}.items():
            archive.writestr(name, data)
    return path


def sources_of(folder: Path, files: dict[str, bytes]) -> Path:
    """Writes a source distribution with some files."""
    path = folder / "clarysage-1.0.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"clarysage-1.0.0/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def test_a_wheel_with_the_files_of_the_package_and_metadata_is_accepted(tmp_path):
    Contents.of_wheel(wheel_of(tmp_path, FILES)).check({*FILES, "dist-info/RECORD"})


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({**FILES, "clarysage/notes.txt": b""}, "does not belong there: clarysage/notes.txt"),
        ({**FILES, "tests/test_x.py": b""}, "does not belong there: tests/test_x.py"),
        ({**FILES, "clarysage/data/rows.csv": b""}, "does not belong there: clarysage/data/rows.csv"),
        ({"clarysage/__init__.py": b""}, "lacks clarysage/py.typed"),
        (
            {**FILES, "clarysage/__init__.py": f"X = '{ROOT}/data'".encode()},
            "paths of this machine in clarysage/__init",
        ),
    ],
)
def test_a_stray_file_a_missing_one_and_a_path_of_this_machine_are_found(tmp_path, files, complaint):
    with pytest.raises(CheckError, match=re.escape(complaint)):
        Contents.of_wheel(wheel_of(tmp_path, files)).check({*FILES, "dist-info/RECORD"})
    with pytest.raises(CheckError, match=re.escape(complaint)):
        Contents.of_sources(sources_of(tmp_path, files)).check(FILES)


@pytest.mark.parametrize("name", ["../stray.py", "/stray.py"])
def test_a_file_that_would_leave_the_folder_is_found(name):
    with pytest.raises(CheckError, match="lead out of it"):
        Contents({name: b""}).check([name])


def test_a_long_list_of_files_is_cut():
    with pytest.raises(CheckError, match="lacks 0, 1, 2, 3, 4 and 2 more"):
        refuse("lacks", map(str, range(7)))


# Environments with the oldest libraries


def test_lower_bounds_are_pinned_with_extras_and_markers():
    assert at_lower_bound("dask[array] >= 2.1, <3; python_version < '4'") == "dask[array]==2.1; python_version < '4'"
    assert at_lower_bound("dask") == "dask"
    assert (library("lazy-loader>=0.4"), lower_bound("lazy-loader>=0.4,<1")) == ("lazy-loader", "0.4")


def test_requirements_of_extras_that_name_extras_are_followed():
    project = {
        "name": "p",
        "dependencies": ["a>=1"],
        "optional-dependencies": {"x": ["p[y]", "b>=2"], "y": ["c>=3", "p[x]"]},
    }
    assert set(requirements_of(project, ["x"])) == {"a>=1", "b>=2", "c>=3"}


# Files that repeat pyproject.toml


def test_every_supported_python_has_a_classifier():
    classifiers = {f"Programming Language :: Python :: {version}" for version in SUPPORTED}
    named = {name for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)}
    assert named == classifiers
    assert PROJECT["requires-python"] == f">={SUPPORTED[0]}"
    assert not any(name.startswith("License ::") for name in PROJECT["classifiers"])  # the expression says it


def test_the_conda_recipe_has_the_version_and_the_requirements_of_the_package():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    assert re.findall(r'^  version: "(.*)"$', recipe, flags=re.MULTILINE) == [clarysage.__version__]
    assert f'summary: "{PROJECT["description"]}"' in recipe
    run = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, flags=re.MULTILINE)[1]
    lines = re.findall(r"- (.*?)(?: #.*)?\n", run)
    listed = {line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in lines}
    assert listed == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    scripts = re.findall(r"- (\w+) = (\S+)$", recipe, flags=re.MULTILINE)
    assert dict(scripts) == PROJECT["scripts"]


def test_workflows_run_every_supported_python_by_commands_that_exist():
    workflows = {path.stem: path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    listed = re.search(r"python: \[(.*)\]", workflows["tests"])[1]
    assert tuple(re.findall(r"[\d.]+", listed)) == SUPPORTED
    assert tuple(re.findall(r"^ +(3\.\d+)$", workflows["publish"], flags=re.MULTILINE)) == SUPPORTED
    text = "\n".join(workflows.values())
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"run: make (\S+)", text)) <= targets
    for module in re.findall(r"python -m (tools\.\w+)", text):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()


def test_publishing_needs_no_token_and_every_action_is_pinned_to_a_commit():
    text = "\n".join(path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    assert "secrets." not in text
    actions = re.findall(r"uses: (\S+)", text)
    assert len(actions) > 10
    assert [action for action in actions if not re.search(r"@[0-9a-f]{40}$", action)] == []
