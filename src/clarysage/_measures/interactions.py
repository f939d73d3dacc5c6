"""Pairwise interactions of the SAGE game (Shapley interaction index, Grabisch and Roubens 1999), and its additive fit.

All coalitions are enumerated, or three runs follow each other: SAGE values, interactions from random coalitions in
which pairs of players are added and removed, and blocks of coalitions that estimate the lack of fit of the additive
surrogate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.explanations import explanations_of
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import SEVERAL_RUNS, Run, SharedOptions, split_options, with_shared_options
from clarysage._measures.problem import Problem
from clarysage._measures.provenance import provenance_of
from clarysage._measures.run import (
    SHORTEST_RUN,
    about_deadline,
    chosen_estimator,
    rules_of,
    single_or_list,
)
from clarysage.errors import InputError, Note, Set, Words, resembling
from clarysage.estimators import chosen_note, estimate
from clarysage.estimators.additive_fit import Blocks, ShareKnown, UnexplainedShare, enumerated_share, sampled_share
from clarysage.estimators.exact import Exact
from clarysage.estimators.interactions import ExactInteractions, SampledInteractions, enlarged, rows_per_unbiased_payoff
from clarysage.estimators.limits import pace_of
from clarysage.estimators.paired_walks.estimator import PairedWalks
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import observer_of
from clarysage.execution.seeds import PAIRS, PROXY, entropy_of, stream
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import Budget, Converged, ConvergedRelativeTo, Deadline, convergence_rule
from clarysage.players import Players
from clarysage.protocols import Executor, LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.registry import Registry, Special, Word
from clarysage.results import Explanation, Interactions

METHODS: Registry[Word] = Registry(
    "method",
    (
        Word("exact", "all coalitions"),
        Word(
            "random coalitions",
            "a sample of coalitions, in which each pair of features is added and removed",
            aliases=("toggles",),
        ),
    ),
    special=Special("auto", "to choose the fastest"),
)
OF_LOSS = "Interactions: how much more two features reduce the model's {loss} together than separately"
OF_VARIANCE = (
    "Interactions: how much more of the variance of the model's output two features explain together than separately"
)
MAX_PLAYERS_EXACT = 20  # for which the enumeration of all coalitions is considered
TYPICAL_DRAWS = 500  # of random coalitions at the default tolerance, or two passes over the examples
SHARE_OF_SAGE, SHARE_OF_PAIRS = 1 / 4, 7 / 8  # of the remaining budget or deadline
MIN_BLOCKS, MAX_BLOCKS = 16, 256  # to estimate the lack of fit
MANY_ROWS = 128  # of the background, above which a note mentions their cost
ALL_PAIRS = 6  # players or fewer, for which the default is all pairs ...
EXAMPLE: Words = (Set("pairs"), '[("age", "income")]')
TOP = 5  # ... and otherwise the pairs of so many players


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
    r"""Pairwise interactions: the predictive power of two features together beyond that of each without the other.

    .. math:: I_{ij} = \sum_{S \subseteq D \setminus \{i, j\}} \frac{|S|! (p - |S| - 2)!}{(p - 1)!}
        [v_f(S \cup ij) - v_f(S \cup i) - v_f(S \cup j) + v_f(S)]

    the Shapley interaction index of the game whose Shapley values are SAGE values (Eq. 2). Features with a positive
    interaction are complements: each makes the other more useful. Features with a negative interaction are redundant:
    one can replace the other.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
    pairs : pairs of names or numbers of features (or groups), such as ``[("age", "income"), (0, 3)]``
    top : all pairs of this number of features, those with the largest SAGE values (for the first loss of several);
        default all pairs of 6 features or fewer, else the pairs of 5
    of : SAGE values of the same model and data, if they are known; otherwise they are estimated first
    method : "auto" (exact if that costs no more), "exact", or "random coalitions" (sampling)
    tolerance : stop when the largest standard error is below this share of the range of the SAGE values, or of the
        interactions if those are larger, since interactions may all be zero
    budget, deadline : for the total of SAGE values (a quarter), interactions, and the lack of fit

    Returns
    -------
    Interactions, or a list of them for a list of losses

    Notes
    -----
    An interaction is one of the loss, not of the model's formula: under squared error two additive features still
    interact if their effects are correlated, in the population or by chance in the data.

    If sampling stops early on few examples, after two or three draws for each of a hundred or fewer, their standard
    errors are rough: the coverage of 90 % intervals about the data was then 70 to 85 %. Intervals about rows, where
    this error is a small part, had the same coverage as those of exact values.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 3))
    >>> found = interactions(lambda X: X[:, 0] * X[:, 1], X, X[:, 0] * X[:, 1], rng=0)
    >>> found.to_frame().loc[0, ["feature", "other", "meaning"]].tolist()
    ['x0', 'x1', 'worth more together']
    """
    data, run = split_options(options)
    rules_of(run)  # raises if there is no stopping rule
    method_name = _method(method)
    executor = as_executor(run.n_jobs)
    problem = Problem.of(model, X, y, run=run, **data)
    request = PairSelection.of(pairs, top, problem.players, problem.order)
    v, remarks = problem.game(loss)
    measure = "shapley effects" if y is None else "sage"
    sage_values = None if of is None else known_values(of, problem, v, measure)
    steps = InteractionRun(problem, v, measure, run, executor)
    is_exact, why = steps.choose(method_name, request)
    notes = [
        *remarks,
        *v.remarks,
        *about_manifold(v, problem, run, Exact() if is_exact else PairedWalks(), rules_of(run)),
        *why,
    ]
    result = steps.enumerate_all(request) if is_exact else steps.sample(request, sage_values)
    notes += [*result.notes, *about_deadline(run)]
    return single_or_list(_results(problem, v, result, OF_VARIANCE if y is None else OF_LOSS, notes), loss)


def _results(
    problem: Problem, v: Any, result: InteractionResult, headline: str, notes: Sequence[Note | str]
) -> list[Interactions]:
    """Returns one result for each loss of the game."""
    pairs = tuple((problem.players.names[i], problem.players.names[j]) for i, j in result.pairs.tolist())
    labels = _labels(pairs)
    values = explanations_of(
        v,
        result.estimate,
        Players(labels, result.pairs[:, 0]),
        range(len(pairs)),
        headline=headline,
        notes=(*problem.notes_on(v), *notes),
        groups=problem.members,
        measure="interactions",
        removal=problem.removal_name,
        method=result.method,
        provenance=provenance_of(problem, v),
        held_fixed=problem.held_fixed,
    )
    return [
        Interactions(pairs, explanation, sage, *((None, None) if share is None else (share.value, share.std_error)))
        for explanation, sage, share in zip(values, result.sage, result.shares, strict=True)
    ]


def _labels(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Returns distinct names of pairs."""
    plain = tuple(f"{first} × {other}" for first, other in pairs)
    return plain if len(set(plain)) == len(plain) else tuple(f"{first!r} × {other!r}" for first, other in pairs)


def _method(method: object) -> str:
    if isinstance(method, str) and METHODS.is_special(method):
        return "auto"
    if not isinstance(method, str):
        raise METHODS.unknown(method)
    return METHODS.get_row(method).name


@dataclass(frozen=True)
class PairSelection:
    """The pairs to estimate: ``named`` pairs (K, 2), or all of the ``top`` players; ``order`` is the user's order."""

    named: np.ndarray | None
    top: int
    order: tuple[int, ...]

    @classmethod
    def of(cls, pairs: Any, top: Any, players: Players, order: tuple[int, ...]) -> PairSelection:
        """Checks the arguments of the user; numbers are positions in the user's order."""
        p = len(players)
        if p < 2:
            raise InputError("X", got="one player", wanted="two features or groups, of which a pair can be made")
        if pairs is not None and top is not None:
            raise InputError("top", got=f"{top!r} and pairs", wanted="one of the two")
        if pairs is not None:
            named = np.array([_pair(pair, players, order) for pair in _as_list(pairs)], dtype=np.intp)
            if len({frozenset(pair) for pair in named.tolist()}) < len(named):
                raise InputError("pairs", got="a pair more than once", wanted="each at most once")
            return cls(named, p, order)
        if top is not None and (isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 2):
            raise InputError("top", got=f"{top!r}", wanted="a whole number of two or more", hint=Set("top", TOP))
        return cls(None, min(p, int(top) if top is not None else p if p <= ALL_PAIRS else TOP), order)

    @property
    def candidates(self) -> np.ndarray:
        """All pairs that may be selected, before the values of the players are known."""
        return self.among(self.order) if self.named is None else self.named

    def select(self, values: np.ndarray) -> np.ndarray:
        """Selects the pairs by the players' values (p,)."""
        if self.named is not None:
            return self.named
        by_user = values[list(self.order)]  # ties go to the first in the user's order
        indices = np.sort(np.argsort(-by_user, kind="stable")[: self.top])
        return self.among([self.order[player] for player in indices])

    @staticmethod
    def among(players: Sequence[int]) -> np.ndarray:
        return np.array(list(combinations(players, 2)), dtype=np.intp)

    @property
    def counts(self) -> tuple[int, int]:
        """The number of players in pairs, and the number of pairs."""
        if self.named is not None:
            return len(np.unique(self.named)), len(self.named)
        return self.top, self.top * (self.top - 1) // 2


def _as_list(pairs: Any) -> list[Any]:
    """Returns a list of pairs; a single pair becomes a list of one."""
    if isinstance(pairs, (str, bytes)) or not hasattr(pairs, "__iter__"):
        raise InputError(
            "pairs", got=f"{pairs!r}", wanted="a list of pairs", hint=[Set("pairs"), '[("age", "income")]']
        )
    listed = list(pairs)
    if len(listed) == 2 and all(isinstance(player, (str, int, np.integer)) for player in listed):
        listed = [tuple(listed)]
    if not listed:
        raise InputError("pairs", got="an empty list", wanted="one pair or more")
    return listed


def _pair(pair: Any, players: Players, order: Sequence[int]) -> tuple[int, int]:
    is_pair = hasattr(pair, "__iter__") and not isinstance(pair, (str, bytes, set, frozenset)) and len(list(pair)) == 2
    if not is_pair:
        raise InputError(
            "pairs", got=f"{pair!r}", wanted="pairs of names or numbers", hint=[Set("pairs"), '[("age", "income")]']
        )
    first, second = (_player(player, players, order) for player in pair)
    if first == second:
        raise InputError("pairs", got=f"{pair!r}", wanted="two different features")
    return first, second


def _player(player: Any, players: Players, order: Sequence[int]) -> int:
    names = [players.names[number] for number in order]
    if str(player) in names:
        return order[names.index(str(player))]
    if isinstance(player, (int, np.integer)) and not isinstance(player, bool) and 0 <= player < len(order):
        return order[int(player)]
    near = resembling(str(player), names)
    shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError("pairs", got=f"{player!r}", wanted=f"one of {shown}, or its number", hint=near)


@dataclass(frozen=True)
class InteractionResult:
    """The result of the runs.

    Attributes
    ----------
    pairs : (K, 2) players
    estimate : the estimate of interactions (L, K), with the model rows of all runs
    sage, shares : SAGE values and the lack of fit of their sums, for each loss
    """

    pairs: np.ndarray
    estimate: Estimate
    sage: Sequence[Explanation]
    shares: Sequence[UnexplainedShare | None]
    method: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class InteractionRun:
    """Runs that estimate the interactions of a game."""

    problem: Problem
    v: PredictivePower
    measure: str
    run: Run
    executor: Executor

    def choose(self, method: str, request: PairSelection) -> tuple[bool, list[Note]]:
        """Decides whether to enumerate all coalitions, with a note that says why for "auto"."""
        p, (players, pairs) = self.v.n_players, request.counts
        if method != "auto":
            return method == "exact", []
        if p > MAX_PLAYERS_EXACT:
            return False, [Note(f"Method 'random coalitions' was chosen: there are 2^{p} coalitions.")]
        exact = Exact().rows(self.v, 2**p)
        examples = int((self.v.weights > 0).sum())
        draws = max(TYPICAL_DRAWS * (0.025 / (self.run.tolerance or 0.025)) ** 2, 2 * examples)
        sampled = rows_per_unbiased_payoff(self.v, enlarged(self.v)) * draws * 2 * (1 + players + pairs)
        budget = np.inf if self.run.budget is None else self.run.budget
        is_within = self.run.seconds == np.inf and self.v.rows_spent + exact <= budget
        if is_within and exact <= sampled:
            return True, [chosen_note("exact", f"all coalitions take {exact:,} model rows")]
        return False, [
            Note(f"Method 'random coalitions' was chosen: all coalitions would take {exact:.3g} model rows.")
        ]

    def enumerate_all(self, request: PairSelection) -> InteractionResult:
        """Computes SAGE values, interactions and the lack of fit from the payoffs of all coalitions."""
        p, candidates = self.v.n_players, request.candidates
        result = self._estimate(ExactInteractions(candidates), self._rules(Converged(), 0, 1.0), self.problem.seed)
        assert result.payoffs is not None
        values = _part(result, np.arange(p))
        chosen = {frozenset(pair) for pair in request.select(values.values[0]).tolist()}
        selected = [k for k, pair in enumerate(candidates.tolist()) if frozenset(pair) in chosen]
        shares = [enumerated_share(table, phi) for table, phi in zip(result.payoffs.T, values.values, strict=True)]
        sage = self.problem.explanations(self.v, values, measure=self.measure, method="exact")
        return InteractionResult(candidates[selected], _part(result, p + np.array(selected)), sage, shares, "exact")

    def sample(self, request: PairSelection, sage_values: Sequence[Explanation] | None) -> InteractionResult:
        """Estimates SAGE values, unless they are given, then interactions, then the lack of fit."""
        rows, sage = (0, sage_values) if sage_values is not None else self._sage()
        values, covariances = _in_order(sage, self.v.players.names)
        chosen = request.select(values[0])
        scale = np.maximum(values.max(axis=1), 0.0) - np.minimum(values.min(axis=1), 0.0)
        rule = None if self.run.tolerance is None else ConvergedRelativeTo(self.run.tolerance, scale)
        bar = observer_of((rule or ConvergedRelativeTo(0.025, scale)).progress)
        interactions = self._estimate(
            SampledInteractions(chosen), self._rules(rule, rows, SHARE_OF_PAIRS), self._seed(PAIRS), bar
        )
        rows += interactions.model_rows - self.v.rows_spent
        shares: Sequence[UnexplainedShare | None] = [None] * len(values)
        if interactions.stopped is not StopReason.INTERRUPTED:
            shares, more = self._shares(values, covariances, rows)
            rows += more
        notes = _about_rows(rows_per_unbiased_payoff(self.v, enlarged(self.v)))
        total_estimate = replace(interactions, model_rows=self.v.rows_spent + rows)
        return InteractionResult(chosen, total_estimate, sage, shares, SampledInteractions(chosen).name, notes)

    def _sage(self) -> tuple[int, list[Explanation]]:
        """Returns how many model rows SAGE values take (without those of the ends of the game), and these values."""
        rules = self._rules(None if self.run.tolerance is None else Converged(self.run.tolerance), 0, SHARE_OF_SAGE)
        estimator, why = chosen_estimator("auto", self.v, rules)
        result = self._estimate(estimator, rules, self.problem.seed, observer_of(convergence_rule(rules).progress))
        if result.stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        sage = self.problem.explanations(self.v, result, measure=self.measure, method=estimator.name, notes=why)
        return result.model_rows - self.v.rows_spent, sage

    def _shares(
        self, values: np.ndarray, covariances: np.ndarray, rows: int
    ) -> tuple[Sequence[UnexplainedShare | None], int]:
        """Returns the lack of fit of SAGE values (None if budget or deadline do not suffice), and model rows."""
        blocks, unknown = Blocks(values), [None] * len(values)
        remaining = np.inf if self.run.budget is None else self.run.budget - self.v.rows_spent - rows
        needed = blocks.rows(self.v, MIN_BLOCKS)
        if self.run.left <= pace_of(self.v).at_least(needed) or needed > remaining:
            return unknown, 0
        rules = [ShareKnown(self.run.tolerance or 0.025, covariances), *self._rules(None, rows, 1.0)]
        rules.append(Budget(self.v.rows_spent + blocks.rows(self.v, MAX_BLOCKS)))
        estimate_of_blocks = self._estimate(blocks, rules, self._seed(PROXY))
        shares = [sampled_share(estimate_of_blocks, k, covariance) for k, covariance in enumerate(covariances)]
        return shares, estimate_of_blocks.model_rows - self.v.rows_spent

    def _estimate(self, estimator: Any, rules: Sequence[Any], seed: int, observer: Any = None) -> Estimate:
        return estimate(self.v, estimator, stop=rules, executor=self.executor, seed=seed, observer=observer)

    def _rules(self, rule: Any, rows: int, share: float) -> list[Any]:
        """Returns the rule with limits: a share of the budget that remains after ``rows``, and of the deadline."""
        rules = [] if rule is None else [rule]
        if self.run.budget is not None:
            remaining = self.run.budget - self.v.rows_spent - rows
            rules.append(Budget(max(1, int(self.v.rows_spent + share * remaining))))
        if self.run.seconds < np.inf:
            rules.append(Deadline(max(SHORTEST_RUN, share * self.run.left)))
        return rules

    def _seed(self, purpose: int) -> int:
        """Returns a separate seed for each run, so that their errors are independent."""
        return entropy_of(stream(self.problem.seed, purpose, 0))


def _about_rows(rows: int) -> tuple[str, ...]:
    """Returns a note on the cost of a large background if every payoff needs all of its rows."""
    if rows <= MANY_ROWS:
        return ()
    return (
        f"Each payoff took all {rows:,} background rows, since subsamples are unbiased only for squared error and the "
        "Brier score: a smaller background costs less.",
    )


def known_values(of: Any, problem: Problem, v: PredictivePower, measure: str) -> list[Explanation]:
    """Checks that given SAGE values, one explanation for each loss, belong to the game."""
    explanations = list(of) if isinstance(of, (list, tuple)) else [of]
    if not all(isinstance(explanation, Explanation) for explanation in explanations):
        raise InputError("of", got=type(of).__name__, wanted="the result of cs.sage for the same model and data")
    losses = [loss.name for loss in v.losses]
    measures = {explanation.measure for explanation in explanations}
    if [explanation.loss for explanation in explanations] != losses or measures != {measure}:
        got = ", ".join(f"{explanation.measure!r} under {explanation.loss!r}" for explanation in explanations)
        raise InputError("of", got=got, wanted=f"{measure!r} under {', '.join(map(repr, losses))}")
    if any(set(explanation.feature_names) != set(v.players.names) for explanation in explanations):
        raise InputError("of", got="values of other features", wanted=f"those of {', '.join(v.players.names[:8])}")
    fingerprints = provenance_of(problem, v)["fingerprints"]
    if any(explanation.provenance.get("fingerprints", fingerprints) != fingerprints for explanation in explanations):
        raise InputError(
            "of",
            got="values of other data",
            wanted="those of the same X, y, weights and background",
            hint=["giving ", Set("background"), " to both calls"],
        )
    return explanations


def _in_order(sage: Sequence[Explanation], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Returns values (L, p) and covariances (L, p, p), with players in the given order."""
    values, covariances = [], []
    for explanation in sage:
        positions = [explanation.feature_names.index(name) for name in names]
        covariance = np.diag(explanation.std_error**2) if explanation.covariance is None else explanation.covariance
        values.append(explanation.values[positions])
        covariances.append(covariance[np.ix_(positions, positions)])
    return np.array(values), np.array(covariances)


def _part(result: Estimate, indices: np.ndarray) -> Estimate:
    """Returns an estimate with only those of its values that have the given indices."""
    targets = {about: target.map(lambda array: array[:, indices]) for about, target in result.targets.items()}
    return replace(
        result,
        values=result.values[:, indices],
        covariance=result.covariance[:, indices][:, :, indices],
        dof=result.dof[:, indices],
        targets=targets,
        tails=None if result.tails is None else result.tails[:, :, indices],
    )
