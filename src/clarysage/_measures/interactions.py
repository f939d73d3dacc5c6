"""Pairwise interactions of the SAGE game, and how much of it SAGE values leave unexplained."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from clarysage._measures.chosen_pairs import PairsWanted
from clarysage._measures.interaction_runs import Found, Run, known_values
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.problem import Setting, explained, provenance_of
from clarysage._measures.rules import rules_of
from clarysage.errors import InputError
from clarysage.execution.parallel import as_executor
from clarysage.players import Players
from clarysage.results import Explanation, Interactions

METHODS = ("auto", "exact", "toggles")
OF_LOSS = "Interactions: the {loss} that two features save together beyond what each saves without the other"
OF_VARIANCE = "Interactions: the variance of the model's output that two features explain together beyond each alone"


def interactions(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Any = None,
    top: int | None = None,
    of: Explanation | Sequence[Explanation] | None = None,
    background: Any = None,
    removal: Any = "marginal",
    loss: Any = "auto",
    method: str = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    tolerance: float | None = 0.025,
    budget: float | None = None,
    deadline: float | None = None,
    n_jobs: Any = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
) -> Any:
    r"""Pairwise interactions: what two features are worth together beyond what each is worth without the other.

    .. math:: I_{ij} = \sum_{S \subseteq D \setminus \{i, j\}} \frac{|S|! (p - |S| - 2)!}{(p - 1)!}
        [v_f(S \cup ij) - v_f(S \cup i) - v_f(S \cup j) + v_f(S)]

    the Shapley interaction index of the game whose Shapley values are SAGE values (Eq. 2). Above zero: complements, of
    which each makes the other more useful. Below: features that share what they know, of which one does for both.

    Parameters
    ----------
    model, X, y, background, removal, loss, groups, sample_weight, n_jobs, progress, feature_names, rng : as in
        :func:`~clarysage.sage`
    pairs : pairs of names or numbers of features (or groups), such as ``[("age", "income"), (0, 3)]``
    top : all pairs among so many features, those of the largest SAGE values (of the first loss, where there are
        several); default all pairs of 6 features or fewer, else those among 5
    of : SAGE values of the same model and data, where they are known; otherwise they are found first
    method : "auto" (exact where that is no dearer), "exact", or "toggles" (sampling)
    tolerance : stop when the largest standard error is below this share of the range of the SAGE values, or of the
        interactions if those are larger, since interactions may all be zero
    budget, deadline : in all, for SAGE values (a quarter), interactions, and what is left unexplained

    Returns
    -------
    Interactions, or a list of them for a list of losses

    Notes
    -----
    An interaction is one of the loss, not of the model's formula: under squared error two features that add up in the
    model still interact where their parts are correlated, on the data or by chance in it.

    Toggles that stop early on few examples, after two or three visits to each of a hundred or fewer, know their own
    error poorly: intervals about the data of 90 % then held 70 to 85 times in a hundred. Intervals about rows, of which
    that error is a small part, held as often as those of exact values.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 3))
    >>> found = interactions(lambda X: X[:, 0] * X[:, 1], X, X[:, 0] * X[:, 1], rng=0)
    >>> found.to_frame().loc[0, ["feature", "other", "meaning"]].tolist()
    ['x0', 'x1', 'worth more together']
    """
    begun = time.monotonic()
    rules_of(tolerance, budget, deadline, None)
    asked = _asked(method)
    executor = as_executor(n_jobs)
    setting = Setting.of(
        model, X, y, sample_weight, background=background, removal=removal, groups=groups, feature_names=feature_names,
        rng=rng,
    )  # fmt: skip
    wanted = PairsWanted.of(pairs, top, setting.players, setting.order)
    v, remarks = setting.game(loss)
    measure = "shapley effects" if y is None else "sage"
    known = None if of is None else known_values(of, setting, v, measure)
    ends_at = None if deadline is None else begun + deadline
    run = Run(setting, v, measure, tolerance, budget, ends_at, executor, bool(progress))
    is_exact, why = run.choose(asked, wanted)
    found = run.exactly(wanted) if is_exact else run.by_toggles(wanted, known)
    notes = [*remarks, *v.remarks, *about_manifold(v, setting.removal, setting.entropy), *why, *found.notes]
    results = _results(setting, v, found, OF_VARIANCE if y is None else OF_LOSS, notes)
    return results if isinstance(loss, (list, tuple)) else results[0]


def _results(setting: Setting, v: Any, found: Found, headline: str, notes: Sequence[str]) -> list[Interactions]:
    """One result for each loss of the game."""
    pairs = tuple((setting.players.names[i], setting.players.names[j]) for i, j in found.pairs.tolist())
    labels = _labels(pairs)
    values = explained(
        v, found.estimate, Players(labels, found.pairs[:, 0]), range(len(pairs)), headline=headline,
        notes=(*setting.notes, *notes), groups=setting.members, measure="interactions", removal=setting.removal_name,
        method=found.method, provenance=provenance_of(setting, v), held_fixed=setting.held_fixed,
    )  # fmt: skip
    return [
        Interactions(pairs, one, sage, *((None, None) if share is None else (share.value, share.std_error)))
        for one, sage, share in zip(values, found.sage, found.shares, strict=True)
    ]


def _labels(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Names of pairs, all of them distinct."""
    plain = tuple(f"{one} × {other}" for one, other in pairs)
    return plain if len(set(plain)) == len(plain) else tuple(f"{one!r} × {other!r}" for one, other in pairs)


def _asked(method: Any) -> str:
    name = method.lower().replace("_", " ").strip() if isinstance(method, str) else method
    if name not in METHODS:
        raise InputError("method", got=f"{method!r}", wanted=f"one of {', '.join(map(repr, METHODS))}")
    return str(name)
