"""Pairwise interactions of the SAGE game, and how much of it SAGE values leave unexplained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, overload

from clarysage._measures.explain import explained
from clarysage._measures.interaction_runs import Found, InteractionRun, PairsWanted, known_values
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import SEVERAL_RUNS, SharedOptions, apart, with_shared_options
from clarysage._measures.problem import Problem
from clarysage._measures.provenance import provenance_of
from clarysage._measures.run import as_asked, rules_of
from clarysage.errors import Note
from clarysage.execution.n_jobs import as_executor
from clarysage.players import Players
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.registry import Registry, Special, Word
from clarysage.results import Explanation, Interactions

METHODS: Registry[Word] = Registry(
    "method",
    (
        Word("exact", "all coalitions"),
        Word("toggles", "random coalitions, in which each pair of features is added and taken away"),
    ),
    special=Special("auto", "to take what is quickest"),
)
OF_LOSS = "Interactions: the {loss} that two features save together beyond what each saves without the other"
OF_VARIANCE = "Interactions: the variance of the model's output that two features explain together beyond each alone"


@overload
def interactions(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    pairs: object = ...,
    top: int | None = ...,
    of: Explanation | Sequence[Explanation] | None = ...,
    method: str = ...,
    **options: Unpack[SharedOptions],
) -> list[Interactions]: ...


@overload
def interactions(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    pairs: object = ...,
    top: int | None = ...,
    of: Explanation | Sequence[Explanation] | None = ...,
    method: str = ...,
    **options: Unpack[SharedOptions],
) -> Interactions: ...


@with_shared_options(
    refused={"checkpoint": SEVERAL_RUNS, "stop": "None, since each of several runs has a rule of its own"}
)
def interactions(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    pairs: object = None,
    top: int | None = None,
    of: Explanation | Sequence[Explanation] | None = None,
    loss: LossLike | LossList = "auto",
    method: str = "auto",
    **options: Unpack[SharedOptions],
) -> Interactions | list[Interactions]:
    r"""Pairwise interactions: what two features are worth together beyond what each is worth without the other.

    .. math:: I_{ij} = \sum_{S \subseteq D \setminus \{i, j\}} \frac{|S|! (p - |S| - 2)!}{(p - 1)!}
        [v_f(S \cup ij) - v_f(S \cup i) - v_f(S \cup j) + v_f(S)]

    the Shapley interaction index of the game whose Shapley values are SAGE values (Eq. 2). Above zero: complements, of
    which each makes the other more useful. Below: features that share what they know, of which one does for both.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
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
    data, run = apart(options)
    rules_of(run)  # raises where there is no reason to stop
    asked = _method(method)
    executor = as_executor(run.n_jobs)
    problem = Problem.of(model, X, y, run=run, **data)
    wanted = PairsWanted.of(pairs, top, problem.players, problem.order)
    v, remarks = problem.game(loss)
    measure = "shapley effects" if y is None else "sage"
    known = None if of is None else known_values(of, problem, v, measure)
    steps = InteractionRun(problem, v, measure, run, executor)
    is_exact, why = steps.choose(asked, wanted)
    found = steps.exactly(wanted) if is_exact else steps.by_toggles(wanted, known)
    notes = [*remarks, *v.remarks, *about_manifold(v, problem, run), *why, *found.notes]
    return as_asked(_results(problem, v, found, OF_VARIANCE if y is None else OF_LOSS, notes), loss)


def _results(problem: Problem, v: Any, found: Found, headline: str, notes: Sequence[Note | str]) -> list[Interactions]:
    """One result for each loss of the game."""
    pairs = tuple((problem.players.names[i], problem.players.names[j]) for i, j in found.pairs.tolist())
    labels = _labels(pairs)
    values = explained(
        v,
        found.estimate,
        Players(labels, found.pairs[:, 0]),
        range(len(pairs)),
        headline=headline,
        notes=(*problem.notes, *notes),
        groups=problem.members,
        measure="interactions",
        removal=problem.removal_name,
        method=found.method,
        provenance=provenance_of(problem, v),
        held_fixed=problem.held_fixed,
    )
    return [
        Interactions(pairs, one, sage, *((None, None) if share is None else (share.value, share.std_error)))
        for one, sage, share in zip(values, found.sage, found.shares, strict=True)
    ]


def _labels(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Names of pairs, all of them distinct."""
    plain = tuple(f"{one} × {other}" for one, other in pairs)
    return plain if len(set(plain)) == len(plain) else tuple(f"{one!r} × {other!r}" for one, other in pairs)


def _method(method: object) -> str:
    if isinstance(method, str) and METHODS.is_special(method):
        return "auto"
    if not isinstance(method, str):
        raise METHODS.unknown(method)
    return METHODS.get_row(method).name
