"""Pairwise interactions of the SAGE game (Shapley interaction index), and how well SAGE values fit it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.explain import explained
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import SEVERAL_RUNS, Run, SharedOptions, apart, with_shared_options
from clarysage._measures.problem import Problem
from clarysage._measures.provenance import provenance_of
from clarysage._measures.run import as_asked, chosen_estimator, observer_of, rules_of
from clarysage.errors import InputError, Note, Set, Words, resembling
from clarysage.estimators import chosen_note, estimate
from clarysage.estimators.additive_fit import Blocks, Share, ShareKnown, enumerated_share, sampled_share
from clarysage.estimators.exact import Exact
from clarysage.estimators.interactions import ExactInteractions, Toggles, rows_at, wide
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import ProgressBar, Silent
from clarysage.execution.seeds import PAIRS, PROXY, entropy_of, stream
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Estimate, StopReason, Target
from clarysage.inference.stopping import Budget, Converged, ConvergedRelativeTo, Deadline
from clarysage.players import Players
from clarysage.protocols import Executor, LossLike, LossList, ModelLike, TableLike, TargetLike
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
MOST_PLAYERS = 20  # of which all coalitions are thought of at all
TYPICAL_DRAWS = 500  # of toggles at the default tolerance, or two passes over the examples
FOR_SAGE, FOR_PAIRS = 1 / 4, 7 / 8  # of what is left of a budget or a deadline
FEWEST_BLOCKS, MOST_BLOCKS = 16, 256  # to see what is left unexplained
MANY_ROWS = 128  # of background, that it is worth a word what they cost
ALL_PAIRS = 6  # players or fewer of whom all pairs are wanted, where nothing is said ...
EXAMPLE: Words = (Set("pairs"), '[("age", "income")]')
TOP = 5  # ... and else those among so many


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


@dataclass(frozen=True)
class PairsWanted:
    """Named pairs (K, 2), or None for all among ``top`` players; ``order`` has the players as the user counts them."""

    named: np.ndarray | None
    top: int
    order: tuple[int, ...]

    @classmethod
    def of(cls, pairs: Any, top: Any, players: Players, order: tuple[int, ...]) -> PairsWanted:
        """What the user asked for, checked; numbers count players as the user does."""
        p = len(players)
        if p < 2:
            raise InputError("X", got="one player", wanted="two features or groups, of which a pair can be made")
        if pairs is not None and top is not None:
            raise InputError("top", got=f"{top!r} beside pairs", wanted="one of the two")
        if pairs is not None:
            named = np.array([_pair(pair, players, order) for pair in _listed(pairs)], dtype=np.intp)
            if len({frozenset(pair) for pair in named.tolist()}) < len(named):
                raise InputError("pairs", got="a pair more than once", wanted="each at most once")
            return cls(named, p, order)
        if top is not None and (isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 2):
            raise InputError("top", got=f"{top!r}", wanted="a whole number of two or more", hint=Set("top", TOP))
        return cls(None, min(p, int(top) if top is not None else p if p <= ALL_PAIRS else TOP), order)

    @property
    def everyone(self) -> np.ndarray:
        """All that may be wanted, before it is known who matters most."""
        return self.among(self.order) if self.named is None else self.named

    def chosen(self, values: np.ndarray) -> np.ndarray:
        """The pairs, when the players' values (p,) are known."""
        if self.named is not None:
            return self.named
        by_user = values[list(self.order)]  # of equal values, the first that the user has
        places = np.sort(np.argsort(-by_user, kind="stable")[: self.top])
        return self.among([self.order[place] for place in places])

    @staticmethod
    def among(players: Sequence[int]) -> np.ndarray:
        return np.array(list(combinations(players, 2)), dtype=np.intp)

    @property
    def counts(self) -> tuple[int, int]:
        """How many players are in a pair, and how many pairs there are."""
        if self.named is not None:
            return len(np.unique(self.named)), len(self.named)
        return self.top, self.top * (self.top - 1) // 2


def _listed(pairs: Any) -> list[Any]:
    """The pairs, one by one; a single pair stands for a list of one."""
    if isinstance(pairs, (str, bytes)) or not hasattr(pairs, "__iter__"):
        raise InputError(
            "pairs", got=f"{pairs!r}", wanted="a list of pairs", hint=[Set("pairs"), '[("age", "income")]']
        )
    found = list(pairs)
    if len(found) == 2 and all(isinstance(one, (str, int, np.integer)) for one in found):
        found = [tuple(found)]
    if not found:
        raise InputError("pairs", got="an empty list", wanted="one pair or more")
    return found


def _pair(pair: Any, players: Players, order: Sequence[int]) -> tuple[int, int]:
    is_pair = hasattr(pair, "__iter__") and not isinstance(pair, (str, bytes, set, frozenset)) and len(list(pair)) == 2
    if not is_pair:
        raise InputError(
            "pairs", got=f"{pair!r}", wanted="pairs of names or numbers", hint=[Set("pairs"), '[("age", "income")]']
        )
    one, other = (_player(player, players, order) for player in pair)
    if one == other:
        raise InputError("pairs", got=f"{pair!r}", wanted="two different features")
    return one, other


def _player(player: Any, players: Players, order: Sequence[int]) -> int:
    names = [players.names[place] for place in order]
    if str(player) in names:
        return order[names.index(str(player))]
    if isinstance(player, (int, np.integer)) and not isinstance(player, bool) and 0 <= player < len(order):
        return order[int(player)]
    near = resembling(str(player), names)
    shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError("pairs", got=f"{player!r}", wanted=f"one of {shown}, or its number", hint=near)


@dataclass(frozen=True)
class Found:
    """What a run found.

    Attributes
    ----------
    pairs : (K, 2) players
    estimate : of the interactions (L, K), with the model rows of everything
    sage, shares : SAGE values and what these leave unexplained, for each loss
    """

    pairs: np.ndarray
    estimate: Estimate
    sage: Sequence[Explanation]
    shares: Sequence[Share | None]
    method: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class InteractionRun:
    """The runs on a game whose interactions are wanted."""

    problem: Problem
    v: PredictivePower
    measure: str
    run: Run
    executor: Executor

    @property
    def ends_at(self) -> float | None:
        """When a deadline is over, by the monotonic clock."""
        return None if self.run.deadline is None else self.run.called + self.run.deadline

    def choose(self, method: str, wanted: PairsWanted) -> tuple[bool, list[Note]]:
        """Whether to enumerate all coalitions, and why, where that was left open."""
        p, (players, pairs) = self.v.n_players, wanted.counts
        if method != "auto":
            return method == "exact", []
        if p > MOST_PLAYERS:
            return False, [Note(f"Method 'toggles' was chosen: there are 2^{p} coalitions.")]
        exact = Exact().rows(self.v, 2**p)
        examples = int((self.v.weights > 0).sum())
        draws = max(TYPICAL_DRAWS * (0.025 / (self.run.tolerance or 0.025)) ** 2, 2 * examples)
        toggles = rows_at(self.v, wide(self.v)) * draws * 2 * (1 + players + pairs)
        is_within = self.ends_at is None and (self.run.budget is None or self.v.rows_spent + exact <= self.run.budget)
        if is_within and exact <= toggles:
            return True, [chosen_note("exact", f"all coalitions take {exact:,} model rows")]
        return False, [Note(f"Method 'toggles' was chosen: all coalitions would take {exact:.3g} model rows.")]

    def exactly(self, wanted: PairsWanted) -> Found:
        """Everything from the payoffs of all coalitions."""
        p, everyone = self.v.n_players, wanted.everyone
        result = self._estimate(ExactInteractions(everyone), self._rules(Converged(), 0, 1.0), self.problem.seed)
        assert result.payoffs is not None
        values = _part(result, np.arange(p))
        chosen = {frozenset(pair) for pair in wanted.chosen(values.values[0]).tolist()}
        kept = [place for place, pair in enumerate(everyone.tolist()) if frozenset(pair) in chosen]
        shares = [enumerated_share(table, phi) for table, phi in zip(result.payoffs.T, values.values, strict=True)]
        sage = self.problem.explained(self.v, values, measure=self.measure, method="exact")
        return Found(everyone[kept], _part(result, p + np.array(kept)), sage, shares, "exact")

    def by_toggles(self, wanted: PairsWanted, known: Sequence[Explanation] | None) -> Found:
        """SAGE values first, unless they are known; then interactions; then what the first leave unexplained."""
        spent, sage = (0, known) if known is not None else self._sage()
        values, covariances = _in_order(sage, self.v.players.names)
        chosen = wanted.chosen(values[0])
        reach = np.maximum(values.max(axis=1), 0.0) - np.minimum(values.min(axis=1), 0.0)
        rule = None if self.run.tolerance is None else ConvergedRelativeTo(self.run.tolerance, reach)
        bar = ProgressBar((rule or ConvergedRelativeTo(0.025, reach)).progress) if self.run.progress else Silent()
        found = self._estimate(Toggles(chosen), self._rules(rule, spent, FOR_PAIRS), self._seed(PAIRS), bar)
        spent += found.model_rows - self.v.rows_spent
        shares: Sequence[Share | None] = [None] * len(values)
        if found.stopped is not StopReason.INTERRUPTED:
            shares, more = self._shares(values, covariances, spent)
            spent += more
        notes = _about_rows(rows_at(self.v, wide(self.v)))
        whole = replace(found, model_rows=self.v.rows_spent + spent)
        return Found(chosen, whole, sage, shares, Toggles(chosen).name, notes)

    def _sage(self) -> tuple[int, list[Explanation]]:
        """Model rows, but for those of the ends of the game, and SAGE values."""
        rules = self._rules(None if self.run.tolerance is None else Converged(self.run.tolerance), 0, FOR_SAGE)
        estimator, why = chosen_estimator("auto", self.v, rules)
        result = self._estimate(estimator, rules, self.problem.seed, observer_of(self.run.progress, rules))
        if result.stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        sage = self.problem.explained(self.v, result, measure=self.measure, method=estimator.name, notes=why)
        return result.model_rows - self.v.rows_spent, sage

    def _shares(self, values: np.ndarray, covariances: np.ndarray, spent: int) -> tuple[Sequence[Share | None], int]:
        """What SAGE values leave unexplained, None where too little is left of budget or deadline; and model rows."""
        blocks, nothing = Blocks(values), [None] * len(values)
        left = np.inf if self.run.budget is None else self.run.budget - self.v.rows_spent - spent
        is_late = self.ends_at is not None and time.monotonic() > self.ends_at
        if is_late or blocks.rows(self.v, FEWEST_BLOCKS) > left:
            return nothing, 0
        rules = [ShareKnown(self.run.tolerance or 0.025, covariances), *self._rules(None, spent, 1.0)]
        rules.append(Budget(self.v.rows_spent + blocks.rows(self.v, MOST_BLOCKS)))
        found = self._estimate(blocks, rules, self._seed(PROXY))
        shares = [sampled_share(found, place, one) for place, one in enumerate(covariances)]
        return shares, found.model_rows - self.v.rows_spent

    def _estimate(self, estimator: Any, rules: Sequence[Any], seed: int, observer: Any = None) -> Estimate:
        return estimate(self.v, estimator, stop=rules, executor=self.executor, seed=seed, observer=observer)

    def _rules(self, rule: Any, spent: int, share: float) -> list[Any]:
        """The rule, and a share of what is left of a budget and a deadline when so many model rows are spent."""
        rules = [] if rule is None else [rule]
        if self.run.budget is not None:
            left = self.run.budget - self.v.rows_spent - spent
            rules.append(Budget(max(1, int(self.v.rows_spent + share * left))))
        if self.ends_at is not None:
            rules.append(Deadline(max(0.01, share * (self.ends_at - time.monotonic()))))
        return rules

    def _seed(self, purpose: int) -> int:
        """A seed of its own for each run, so that none errs as another does."""
        return entropy_of(stream(self.problem.seed, purpose, 0))


def _about_rows(rows: int) -> tuple[str, ...]:
    """A word on what a large background costs where none of its rows can be spared."""
    if rows <= MANY_ROWS:
        return ()
    return (
        f"Each payoff took all {rows:,} background rows, since fewer are right on average for squared error and the "
        "Brier score alone: a smaller background costs less.",
    )


def known_values(of: Any, problem: Problem, v: PredictivePower, measure: str) -> list[Explanation]:
    """SAGE values that were handed in, one set for each loss, checked to be of the same game."""
    found = list(of) if isinstance(of, (list, tuple)) else [of]
    if not all(isinstance(one, Explanation) for one in found):
        raise InputError("of", got=type(of).__name__, wanted="the result of cs.sage for the same model and data")
    losses = [loss.name for loss in v.losses]
    if [one.loss for one in found] != losses or {one.measure for one in found} != {measure}:
        got = ", ".join(f"{one.measure!r} under {one.loss!r}" for one in found)
        raise InputError("of", got=got, wanted=f"{measure!r} under {', '.join(map(repr, losses))}")
    if any(set(one.feature_names) != set(v.players.names) for one in found):
        raise InputError("of", got="values of other features", wanted=f"those of {', '.join(v.players.names[:8])}")
    prints = provenance_of(problem, v)["fingerprints"]
    if any(one.provenance.get("fingerprints", prints) != prints for one in found):
        raise InputError(
            "of",
            got="values of other data",
            wanted="those of the same X, y, weights and background",
            hint=["giving ", Set("background"), " to both calls"],
        )
    return found


def _in_order(sage: Sequence[Explanation], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Values (L, p) and covariances (L, p, p), with players in the given order."""
    values, covariances = [], []
    for one in sage:
        place = [one.feature_names.index(name) for name in names]
        covariance = np.diag(one.std_error**2) if one.covariance is None else one.covariance
        values.append(one.values[place])
        covariances.append(covariance[np.ix_(place, place)])
    return np.array(values), np.array(covariances)


def _part(result: Estimate, places: np.ndarray) -> Estimate:
    """The estimate of some of the values alone."""
    known = {
        about: Target(*(getattr(one, part)[:, places] for part in ("values", "std_error", "dof", "skew")))
        for about, one in result.targets.items()
    }
    return replace(
        result,
        values=result.values[:, places],
        covariance=result.covariance[:, places][:, :, places],
        dof=result.dof[:, places],
        targets=known,
        tails=None if result.tails is None else result.tails[:, :, places],
    )
