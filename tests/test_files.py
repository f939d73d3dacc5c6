"""Files of results: whatever is damaged in one is refused by the path of the field, in every kind of result."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

import clarysage as cs
from clarysage.codec import Array, freeze_arrays, require
from clarysage.errors import FormatError, InputError, Note, Set
from clarysage.results.files import KINDS, as_plain, file_format, from_plain, load, save
from clarysage.results.removal_quality import RemovalQuality

NAMES = ["a", "b", "c"]
# mappings of names, of which some may be missing
OPEN = {"groups", "left_out", "facts", "explanations", "traits", "properties", "targets"}


def model(X: Any) -> Any:
    return np.asarray(X) @ [2.0, 1.0, 0.5]


def explained(seed: int = 0, scale: float = 1.0) -> cs.Explanation:
    X = np.random.default_rng(1).normal(size=(40, 3))
    found: cs.Explanation = cs.sage(
        lambda Z: scale * model(Z), X, model(X), background=X[:20], loss="squared error", feature_names=NAMES, rng=seed
    )
    return replace(found, notes=(*found.notes, Note("Strange.", advice=("Try ", Set("budget", 1000), "."))))


def results() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    one, other = explained(), explained(scale=0.5)
    table = {name: X[:, k] for k, name in enumerate(NAMES)}
    sides = [
        {**{name: values[part] for name, values in table.items()}, "y": model(X[part])}
        for part in (slice(None, 30), slice(30, None))
    ]
    pd = pytest.importorskip("pandas")
    return {
        "explanation": one,
        "comparison": cs.compare(one, other),
        "importances": cs.importances(model, X, model(X), measures=["sage", "shapley effects"], rng=0),
        "interactions": cs.interactions(model, X, model(X), rng=0, feature_names=NAMES),
        "monitoring": cs.monitor(
            model,
            *map(pd.DataFrame, sides),
            target="y",
            loss="squared error",
            background=pd.DataFrame(table)[:20],
            method="exact",
            rng=0,
        ),
        "agreement": one.agreement(cs.TabularGame(rng.normal(size=8)), 8),
        "removal quality": RemovalQuality(
            ("mean", "trees"),
            np.array([1.0, 2.0]),
            np.eye(2),
            3.0,
            np.array([0.1, 0.2]),
            np.array([10.0, 20.0]),
            5,
            2,
            {"copula": "Too few rows."},
            (Note("Few."),),
        ),
    }


@pytest.fixture(scope="module")
def saved() -> dict[str, Any]:
    return results()


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of everything in nested lists and mappings, of lists the first item."""
    yield path
    if isinstance(data, dict):
        for name in data:
            yield from places(data[name], (*path, name))
    elif isinstance(data, list) and data:
        yield from places(data[0], (*path, 0))


def test_every_kind_of_result_comes_back_from_its_file(saved: dict[str, Any], tmp_path: Path) -> None:
    assert set(saved) == set(KINDS)
    for name, result in saved.items():
        save(result, tmp_path / "it.json")
        again = load(tmp_path / "it.json")
        assert type(again) is type(result), name
        assert as_plain(again) == as_plain(result), name
        assert str(again) == str(result), name


@pytest.mark.parametrize("kind", list(KINDS))
def test_whatever_is_of_a_wrong_type_or_missing_is_refused_by_its_path(saved: dict[str, Any], kind: str) -> None:
    shown = {"format", "version", *KINDS[kind].shown}
    data = json.loads(json.dumps(as_plain(saved[kind])))
    paths = [path for path in places(data) if path and path[0] not in shown and "provenance" not in path[:-1]]
    for path in paths:
        value = _at(data, path)
        is_words = {"text", "advice"} & {*path[-2:]}  # which are text, or pieces of it
        is_text = isinstance(value, str) or value is None or is_words
        for damage in ({"strange": [1]}, "strange"):
            if type(damage) is not type(value) and not (damage == "strange" and is_text):
                assert not _accepts(_with(data, path, damage)), (path, damage)
        is_optional = isinstance(path[-1], int) or (len(path) > 1 and path[-2] in OPEN)
        if not is_optional:
            assert not _accepts(_with(data, path)), path


def _with(data: Any, path: tuple[Any, ...], *damage: Any) -> Any:
    """The same data with something else in one place, or with nothing there."""
    broken = copy.deepcopy(data)
    inside = _at(broken, path[:-1])
    if damage:
        inside[path[-1]] = damage[0]
    else:
        del inside[path[-1]]
    return broken


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def _accepts(data: Any) -> bool:
    try:
        from_plain(data, "it.json")
    except FormatError as error:
        return not error.argument.startswith("it.json: ")
    return True


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_file_that_ends_too_early_is_refused(saved: dict[str, Any], kind: str, tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    save(saved[kind], path)
    text = path.read_text(encoding="utf-8").rstrip()
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        path.write_text(text[: int(share * len(text))], encoding="utf-8")
        with pytest.raises(FormatError):
            load(path)


@pytest.mark.parametrize(("version", "words"), [(1, "the older release"), (3, "the newer release"), ("2", "got '2'")])
def test_files_of_other_versions_say_so(saved: dict[str, Any], version: Any, words: str) -> None:
    for result in saved.values():
        with pytest.raises(FormatError, match=f"data: version: got .*wanted 2.*|{words}") as caught:
            from_plain({**as_plain(result), "version": version})
        assert words in str(caught.value)


@dataclass(frozen=True, eq=False)
class Dummy:
    """A kind of result of a test."""

    numbers: Annotated[np.ndarray, Array("n p", low=0)]
    mood: Literal["good", "bad"]

    def __post_init__(self) -> None:
        freeze_arrays(self)
        require(self.numbers.size < 100, "numbers", self.numbers.shape, "fewer than 100")


def test_a_kind_that_is_registered_at_run_time_has_files(tmp_path: Path) -> None:
    file_format("dummy", "a kind of result of a test")(Dummy)
    try:
        save(Dummy(np.arange(6.0).reshape(2, 3), "good"), tmp_path / "it.json")
        again = load(tmp_path / "it.json")
        assert isinstance(again, Dummy)
        np.testing.assert_array_equal(again.numbers, np.arange(6.0).reshape(2, 3))
        data = as_plain(again)
        for field, value in [("numbers", [[1, 2], [3]]), ("numbers", [[-1.0]]), ("numbers", [[True]]), ("mood", "odd")]:
            with pytest.raises(FormatError, match=f"data: {field}: got"):
                from_plain({**data, field: value})
        with pytest.raises(FormatError, match=r"data: numbers: got .*fewer than 100"):
            from_plain({**data, "numbers": [[1.0] * 100]})
        with pytest.raises(FormatError, match="clarysage dummy"):
            from_plain({"format": "something else"})
    finally:
        KINDS.unregister("dummy")


def test_what_has_to_hold_in_files_has_to_hold_in_python_too() -> None:
    found = explained()
    for changes in (
        {"std_error": np.array([0.1, -0.1, 0.1])},
        {"values": np.zeros(2)},
        {"feature_names": ("a", "a", "b")},
        {"total": None},
        {"draws": -1},
        {"confidence": 1.0},
        {"parts_weight": np.ones(40)},
    ):
        with pytest.raises(InputError, match=next(iter(changes)) if "total" not in changes else "base"):
            replace(found, **changes)
