"""Values of options, checked before any file is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.cli.speech import OptionError
from clarysage.errors import InputError, resembling


def check_options(settings: dict[str, Any], *, has_target: bool) -> None:
    """Raise for settings of cs.sage, or of cs.importances, that are wrong whatever the files hold."""
    from clarysage.estimators import METHODS
    from clarysage.execution.parallel import as_executor
    from clarysage.inference.stopping import Budget, Converged, Deadline
    from clarysage.losses import LOSSES
    from clarysage.removal import AUTO_CONDITIONAL, REMOVALS

    removals = [*REMOVALS, AUTO_CONDITIONAL]
    _check_names(settings, {"loss": ["auto", *LOSSES], "method": ["auto", *METHODS], "removal": removals})
    _check_values(
        settings, {"tolerance": Converged, "budget": Budget, "deadline": Deadline, "n_jobs": as_executor}
    )  # fmt: skip
    if not has_target and settings["loss"] not in ("auto", "squared error"):
        raise OptionError("loss", got=f"{settings['loss']!r} without --target", wanted="a --target to take the loss of")


def check_about(about: str) -> None:
    """Raise for intervals about something else than there is."""
    from clarysage.explanation import ABOUT

    _check_names({"about": about}, {"about": [*ABOUT]})


def named_measures(names: str) -> list[str]:
    """Measures by their names, separated by commas."""
    from clarysage.measures.table import as_measure

    try:
        found = [as_measure(name).name for name in names.split(",") if name.strip()]
    except InputError as error:
        raise OptionError("--only", **error.parts) from error
    if not found:
        raise OptionError("--only", got=repr(names), wanted="names of measures, separated by commas")
    return list(dict.fromkeys(found))


def spelled(name: str) -> str:
    """A name as the library's tables have it; users may type dashes or underscores for blanks.

    Examples
    --------
    >>> spelled("Cross-Entropy")
    'cross entropy'
    """
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split())


def whole(number: float | None) -> float | None:
    """A count that users may type as 1e6, as the whole number it is."""
    return int(number) if number is not None and number.is_integer() else number


def _check_names(settings: dict[str, Any], tables: dict[str, list[str]]) -> None:
    for name, known in tables.items():
        if name in settings and settings[name] not in known:
            wanted = f"one of {', '.join(map(repr, known))}"
            raise OptionError(name, got=repr(settings[name]), wanted=wanted, hint=resembling(settings[name], known))


def _check_values(settings: dict[str, Any], checks: dict[str, Callable[[Any], object]]) -> None:
    for name, check in checks.items():
        if settings[name] is None:
            continue
        try:
            check(settings[name])
        except InputError as error:
            raise OptionError(error.argument, **error.parts) from error
