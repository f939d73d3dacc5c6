"""Words of other libraries: options that are understood under their names, and what is called otherwise here.

An option with exactly the same meaning as one of ours is understood; for any other word, the error names ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar

from clarysage.errors import InputError, resembling

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# names of an option that are understood; None leaves the choice to the library, as it does there
SYNONYMS = {"random_state": "rng", "seed": "rng", "scoring": "loss", "max_display": "top"}
# names of other options, and what is nearest here: the first that the function has
COUNTERPARTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("n_repeats", "n_permutations", "npermutations"), ("repeats", "tolerance")),
    **dict.fromkeys(("max_evals", "nsamples", "n_samples"), ("budget",)),
    **dict.fromkeys(("thresh", "detect_convergence"), ("tolerance",)),
    **dict.fromkeys(("estimator", "predictor"), ("model", "learner")),
    **dict.fromkeys(("metric", "scorer", "loss_function", "criterion"), ("loss",)),
    **dict.fromkeys(("masker", "background_data", "X_train", "X_background"), ("background", "train")),
    **dict.fromkeys(("imputer", "feature_perturbation"), ("removal",)),
    **dict.fromkeys(("features_groups", "feature_groups"), ("groups",)),
    **dict.fromkeys(("algorithm", "sampler"), ("method",)),
    **dict.fromkeys(("verbose", "bar", "silent"), ("progress",)),
    **dict.fromkeys(("nthread", "num_threads", "n_workers", "workers"), ("n_jobs",)),
    **dict.fromkeys(("max_features", "num_features", "n_features"), ("top",)),
    **dict.fromkeys(("labels", "target"), ("y",)),
    "max_samples": ("max_rows",),
    "cv": ("folds",),
    "weights": ("sample_weight",),
}


def counterpart(option: str, names: Collection[str]) -> str:
    """Returns our name of another library's option, or names like a misspelled one; an empty text if there are none.

    Examples
    --------
    >>> counterpart("n_repeats", ["X", "repeats"]), counterpart("tolerence", ["X", "tolerance"])
    ('repeats', 'tolerance')
    """
    ours = (SYNONYMS[option],) if option in SYNONYMS else COUNTERPARTS.get(option, ())
    return next((name for name in ours if name in names), resembling(option, names).replace("'", ""))


def in_our_words(function: str, options: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns options under our names; raises an error for an option twice, and for one that the function has not.

    Examples
    --------
    >>> in_our_words("sage", {"random_state": 0, "scoring": None}, ["rng", "loss"])
    {'rng': 0}
    """
    given: dict[str, str] = {}
    for option in options:
        name = option if option in names else SYNONYMS.get(option, option)
        if name not in names:
            close = counterpart(option, names)
            meant = f"did you mean {close}?" if close else f"it takes {', '.join(names)}"
            raise TypeError(f"{function}() got an unexpected keyword argument {option!r}; {meant}")
        if name in given:
            raise InputError(
                option, got=f"{given[name]}= and {option}=, which are the same", wanted="one of them", hint=f"{name}="
            )
        given[name] = option
    return {name: options[option] for name, option in given.items() if name == option or options[option] is not None}


def with_synonyms(function: Decorated) -> Decorated:
    """Decorates a function or a dataclass so that it understands options under the names of other libraries."""
    if isinstance(function, type):
        initialise = _understanding(function.__init__, function.__name__)  # type: ignore[misc]
        function.__init__ = initialise  # type: ignore[misc]
        return function
    return _understanding(function, function.__name__)  # type: ignore[return-value]


def _understanding(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    names = [*inspect.signature(function).parameters]

    @wraps(function)
    def understanding(*args: Any, **options: Any) -> Any:
        return function(*args, **in_our_words(name, options, names))

    return understanding
