"""An explanation as JSON: plain data, checked field by field on the way in, nothing executed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from clarysage.errors import FormatError
from clarysage.inference.estimate import StopReason, Target
from clarysage.results.explanation import Explanation, HeldFixed, ValuesAre
from clarysage.whole_file import write_whole

FORMAT = "clarysage explanation"
VERSION = 1
LOWEST = {"values": -math.inf, "std_error": 0.0, "dof": 1.0, "skew": -math.inf}
TARGET = tuple(LOWEST)
PER_EXAMPLE = ("per_example", "per_example_error")
PARTS = ("parts", "parts_weight", "parts_error")
ROLES = {"values_are": get_args(ValuesAre), "held_fixed": get_args(HeldFixed)}
HALVES = re.compile("[\ud800-\udfff]")  # lone surrogates, such as names of files that are no UTF-8 leave


def encode(explanation: Explanation, *, rows: bool = False) -> dict[str, Any]:
    """Plain objects that JSON can hold; the covariance as the rows of its lower triangle; parts if asked for."""
    covariance = explanation.covariance
    triangle = None if covariance is None else [covariance[i, : i + 1].tolist() for i in range(len(covariance))]
    return {
        "format": FORMAT,
        "version": VERSION,
        "measure": explanation.measure,
        "values_are": explanation.values_are,
        "held_fixed": explanation.held_fixed,
        "loss": explanation.loss,
        "removal": explanation.removal,
        "method": explanation.method,
        "feature_names": list(explanation.feature_names),
        "values": explanation.values.tolist(),
        "std_error": explanation.std_error.tolist(),
        "covariance": triangle,
        "dof": None if explanation.dof is None else explanation.dof.tolist(),
        "targets": {
            about: {name: getattr(found, name).tolist() for name in TARGET}
            for about, found in explanation.targets.items()
        },
        "looks": explanation.looks,
        "confidence": explanation.confidence,
        "headline": explanation.headline,
        **{name: _rows(array) for name in PER_EXAMPLE if (array := getattr(explanation, name)) is not None},
        **({name: getattr(explanation, name).tolist() for name in PARTS} if rows else {}),
        **({} if explanation.trace is None else {"trace": explanation.trace.tolist()}),
        "constant": explanation.constant,
        "total": explanation.total,
        "base": explanation.base,
        "model_rows": explanation.model_rows,
        "draws": explanation.draws,
        "stopped": explanation.stopped.name,
        "converged": explanation.converged,
        "groups": explanation.groups,
        "notes": list(explanation.notes),
        "provenance": explanation.provenance,
    }


def write(data: dict[str, Any], path: str | Path) -> None:
    """Write plain objects as a file of JSON, whole or not at all."""
    write_whole(as_json(data) + "\n", path)


def as_json(data: dict[str, Any]) -> str:
    """Plain objects as JSON that UTF-8 can hold: halves of characters, which it has no bytes for, are spelled out."""
    text = json.dumps(data, allow_nan=False, indent=1, ensure_ascii=False)
    return HALVES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def read(path: str | Path) -> Any:
    """The plain objects in a JSON file."""
    where = Path(path)
    try:
        return json.loads(where.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise FormatError("path", got=f"{where}: {error.strerror}", wanted="a file that can be read") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "path", got=f"{where.name}, which is not JSON ({error})", wanted="a saved explanation"
        ) from error


def decode(data: Any, name: str = "data") -> Explanation:
    """An explanation from plain objects, or an error that names the field."""
    demand(isinstance(data, dict) and data.get("format") == FORMAT, name, "format", data, f"{FORMAT!r}")
    demand(data.get("version") == VERSION, name, "version", data, f"{VERSION}, which this release reads")
    names = strings(data, "feature_names", name)
    p = len(names)
    demand(p > 0 and len(set(names)) == p, name, "feature_names", data, "distinct names")
    stopped = data.get("stopped")
    demand(isinstance(stopped, str) and stopped in StopReason.__members__, name, "stopped", data, "a known reason")
    looks, confidence = _decisions(data, name)
    total, base = (number_or_none(data, key, name) for key in ("total", "base"))
    demand((base is None) == (total is None), name, "base", data, "a number beside a total, and none beside none")
    words: dict[str, Any] = {key: _string(data, key, name) for key in ("measure", "loss", "removal", "method")}
    words |= {key: _one_of(data, key, name, known) for key, known in ROLES.items() if key in data}
    explanation = Explanation(
        values=numbers(data, "values", name, p),
        std_error=numbers(data, "std_error", name, p, low=0.0),
        covariance=_triangle(data, name, p),
        dof=numbers(data, "dof", name, p, low=0.0) if "dof" in data else None,
        targets=_targets(data, name, p),
        looks=looks,
        confidence=confidence,
        feature_names=tuple(names),
        constant=number_or_none(data, "constant", name),
        total=total,
        base=base,
        headline=_string(data, "headline", name) if "headline" in data else "",  # not in earlier releases
        per_example=_per_example(data, "per_example", name, p),
        per_example_error=_per_example(data, "per_example_error", name, p),
        **_parts(data, name, p),
        trace=_trace(data, name),
        model_rows=_count(data, "model_rows", name),
        draws=_count(data, "draws", name),
        stopped=StopReason[str(stopped)],
        groups=_groups(data, name),
        notes=tuple(strings(data, "notes", name)),
        provenance=_mapping(data, "provenance", name),
        **words,
    )
    demand(data.get("converged") is explanation.converged, name, "converged", data, "what the reason for stopping says")
    return explanation


def demand(holds: bool, name: str, key: str, data: Any, wanted: str) -> None:
    if not holds:
        got = data.get(key, "no such field") if isinstance(data, dict) else type(data).__name__
        raise FormatError(
            f"{name}: {key}", got=repr(got)[:120], wanted=wanted, hint="a file that save wrote, as it was"
        )


def _checked(data: dict[str, Any], key: str, name: str, is_right: Callable[[Any], bool], wanted: str) -> Any:
    demand(key in data and is_right(data[key]), name, key, data, wanted)
    return data[key]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _string(data: dict[str, Any], key: str, name: str) -> str:
    return str(_checked(data, key, name, lambda value: isinstance(value, str), "text"))


def strings(data: dict[str, Any], key: str, name: str) -> list[str]:
    def is_right(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(part, str) for part in value)

    return list(_checked(data, key, name, is_right, "a list of texts"))


def _one_of(data: dict[str, Any], key: str, name: str, known: Sequence[str]) -> str:
    return str(_checked(data, key, name, lambda value: value in known, f"one of {', '.join(map(repr, known))}"))


def _number(data: dict[str, Any], key: str, name: str) -> float:
    return float(_checked(data, key, name, _is_number, "a finite number"))


def number_or_none(data: dict[str, Any], key: str, name: str) -> float | None:
    return None if key in data and data[key] is None else _number(data, key, name)


def _per_example(data: dict[str, Any], key: str, name: str, p: int) -> np.ndarray | None:
    if key not in data:  # which most measures do not have
        return None

    def is_right(value: Any) -> bool:
        return isinstance(value, list) and all(
            isinstance(row, list) and len(row) == p and all(one is None or _is_number(one) for one in row)
            for row in value
        )

    rows = _checked(data, key, name, is_right, f"rows of {p} finite numbers or nulls")
    return np.array(rows, dtype=np.float64).reshape(-1, p)


def _parts(data: dict[str, Any], name: str, p: int) -> dict[str, Any]:
    """What examples contribute, where the file has it."""
    if "parts" not in data:
        return {}

    def is_right(value: Any) -> bool:
        return isinstance(value, list) and all(
            isinstance(row, list) and len(row) == p and all(map(_is_number, row)) for row in value
        )

    rows = np.array(_checked(data, "parts", name, is_right, f"rows of {p} finite numbers"), dtype=np.float64)
    parts = rows.reshape(-1, p)
    values = numbers(data, "values", name, p)
    is_sum = bool(np.allclose(parts.sum(axis=0), values, rtol=1e-6, atol=1e-6 * np.abs(parts).sum()))
    demand(is_sum, name, "parts", data, "parts that add up to the values")
    weights = numbers(data, "parts_weight", name, len(parts), low=0.0)
    demand(abs(weights.sum() - 1) < 1e-6, name, "parts_weight", data, "weights that add up to one")
    return {"parts": parts, "parts_weight": weights, "parts_error": numbers(data, "parts_error", name, p, low=0.0)}


def _trace(data: dict[str, Any], name: str) -> np.ndarray | None:
    if "trace" not in data:  # of an exact run, or of an earlier release
        return None

    def is_right(value: Any) -> bool:
        return isinstance(value, list) and all(
            isinstance(row, list) and len(row) == 4 and all(_is_number(one) and one >= 0 for one in row)
            for row in value
        )

    rows = _checked(data, "trace", name, is_right, "rows of 4 finite numbers that are not negative")
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _rows(array: np.ndarray) -> list[list[float | None]]:
    """Rows of numbers, None for those that are not known."""
    return [[None if math.isnan(one) else one for one in row] for row in array.tolist()]


def _count(data: dict[str, Any], key: str, name: str) -> int:
    def is_right(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0

    return int(_checked(data, key, name, is_right, "a whole number of zero or more"))


def numbers(data: dict[str, Any], key: str, name: str, p: int, low: float = -math.inf) -> np.ndarray:
    def is_right(value: Any) -> bool:
        return isinstance(value, list) and len(value) == p and all(_is_number(part) and part >= low for part in value)

    return np.array(_checked(data, key, name, is_right, f"{p} finite numbers"), dtype=np.float64)


def _triangle(data: dict[str, Any], name: str, p: int) -> np.ndarray | None:
    def is_right(value: Any) -> bool:
        if value is None:
            return True
        is_triangle = isinstance(value, list) and len(value) == p
        return is_triangle and all(
            isinstance(row, list) and len(row) == i + 1 and all(map(_is_number, row)) for i, row in enumerate(value)
        )

    rows = _checked(data, "covariance", name, is_right, f"the lower triangle of a {p} x {p} matrix, or null")
    if rows is None:
        return None
    covariance = np.zeros((p, p))
    for i, row in enumerate(rows):
        covariance[i, : i + 1] = covariance[: i + 1, i] = row
    return covariance


def _targets(data: dict[str, Any], name: str, p: int) -> dict[str, Target]:
    def is_right(value: Any) -> bool:
        return isinstance(value, dict) and set(value) <= {"rows", "population"} and all(map(_is_target, value.values()))

    def _is_target(value: Any) -> bool:
        return isinstance(value, dict) and set(value) == set(TARGET)

    if "targets" not in data:  # of an earlier release
        return {}
    found = _checked(
        data, "targets", name, is_right, 'mappings "rows" and "population" of values, std_error, dof and skew'
    )
    return {about: target(one, f"{name}: targets: {about}", p) for about, one in found.items()}


def target(data: dict[str, Any], name: str, p: int) -> Target:
    """Values, standard errors, degrees of freedom and skewness of p players."""
    return Target(*(numbers(data, key, name, p, low) for key, low in LOWEST.items()))


def _decisions(data: dict[str, Any], name: str) -> tuple[int, float]:
    if "looks" not in data:  # of an earlier release
        return 1, 0.95

    def is_share(value: Any) -> bool:
        return _is_number(value) and 0 < value < 1

    looks = _checked(data, "looks", name, lambda value: type(value) is int and value >= 1, "a whole number from one on")
    return int(looks), float(_checked(data, "confidence", name, is_share, "a number between 0 and 1"))


def _groups(data: dict[str, Any], name: str) -> dict[str, list[str]] | None:
    def is_right(value: Any) -> bool:
        if value is None:
            return True
        return isinstance(value, dict) and all(
            isinstance(members, list) and all(isinstance(member, str) for member in members)
            for members in value.values()
        )

    groups: dict[str, list[str]] | None = _checked(data, "groups", name, is_right, "names of groups and their features")
    return groups


def _mapping(data: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    return dict(_checked(data, key, name, lambda value: isinstance(value, dict), "a mapping"))


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number that JSON has")
