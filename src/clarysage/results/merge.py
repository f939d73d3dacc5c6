"""merge: explanations that were made apart, with different random streams, as one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from clarysage.errors import Call, Either, InputError, Note, Or, PythonOnly, Set, Words
from clarysage.inference.degrees_of_freedom import Estimated, weighted_sum
from clarysage.inference.estimate import Coverage, Estimate, StopReason, Target
from clarysage.inference.pooling import Pool
from clarysage.inference.stopping import Converged
from clarysage.results.compare import MOST_NAMED, fingerprint, reordered
from clarysage.results.explanation import Explanation

ROUNDING = 1e-6  # of the loss: models in single precision differ by so much from one machine to another
# from what was most wanted to what was least
REASONS = (
    StopReason.CONVERGED,
    StopReason.EQUAL,
    StopReason.SIGNS_KNOWN,
    StopReason.TOP_KNOWN,
    StopReason.REPEATED,
    StopReason.NO_EFFECT,
    StopReason.RULE,
    StopReason.BUDGET,
    StopReason.DEADLINE,
    StopReason.INTERRUPTED,
    StopReason.FAILED,
)
WORDS = ("measure", "loss", "removal", "headline")  # of an explanation, that are the same in all
DATA = {"X": "X", "y": "y", "weights": "sample_weight", "background": "background"}  # fingerprints, and arguments
SETTINGS = ("model", "learner", "design", "examples", "columns", "background_rows")  # of the provenance
SAME_BACKGROUND = Either(
    python="background= with the same rows in every run, since without it rows are drawn with the seed",
    shell="--background with the same rows in every run: a file of no more rows than --background-rows, since rows are "
    "drawn with --seed where there are more, or no file",
)
DRAWN_ONCE = (
    "rows drawn once, and kept in a file that every run reads whole, since ",
    Set("max_rows"),
    " draws them with the seed",
)
SAME_REMOVAL = Either(
    python="removal= as an object, such as cs.TreeConditional(X_train), which learns the same in every run",
    shell="cs.merge in Python, with removal= as an object, which learns the same in every run",
)
MERGED = "merged"  # the topic of notes on how many runs went into an explanation


def merge(explanations: Sequence[Explanation], *, tolerance: float | None = 0.025) -> Explanation:
    r"""Explanations of the same game, made apart with different seeds, as if their draws had been made in one run.

    Several machines, or several evenings, each call :func:`~clarysage.sage` with the same model, data, background and
    settings and an ``rng`` of their own, save what they find, and here it comes together.

    Parameters
    ----------
    explanations : two or more, by the same measure, loss, removal and method, of the same features (in any order),
        groups, rows, weights and background. One alone is returned as it is. Budgets, tolerances and deadlines may
        differ, and so may the number of draws. Merged explanations can be merged with further ones
    tolerance : the merged values count as converged where the largest standard error is below this share of their
        range, as in :func:`~clarysage.sage`, or where every run had converged; None for the latter alone

    Returns
    -------
    Explanation. ``draws`` and ``model_rows`` are sums, those of the ends of the game included, which each run paid for;
    ``provenance`` has the seeds of all runs, and with ``"merged"`` the draws and model rows of each

    Raises
    ------
    InputError
        where anything differs that makes another game, and where two runs have the same seed, since the same draws
        twice are no new information. A ``background`` that is not given is drawn from X with the seed, and so is what
        a removal that has an ``rng`` draws or learns where it is asked for by name: give the rows, or the removal as an
        object. So are the rows themselves, by ``max_rows`` and of large tables on disk: draw them once, and give them
        to every run

    Notes
    -----
    **Values.** Run r has a weight in proportion to its draws n_r,

    .. math:: \hat\phi = \sum_r w_r \hat\phi_r, \qquad \Sigma = \sum_r w_r^2 \Sigma_r, \qquad w_r = n_r / \sum_s n_s

    and not to its precision as it has estimated that itself. A run that has missed the rare draws by which a feature
    matters finds a value too small and a variance too small along with it: weights by estimated variances would prefer
    such runs, and bias what each run estimates without bias. Degrees of freedom are Satterthwaite's
    (:mod:`clarysage.inference.degrees_of_freedom`).

    **Rows and population.** Runs share their rows and background, so that what these are off by stays, however many
    runs there are; their sampling alone averages out. With V_r what run r says of a population, and its own sampling
    in it,

    .. math:: V = \sum_r w_r (V_r - \sigma_r^2) + \sum_r w_r^2 \sigma_r^2

    Where all runs know what single rows contribute (``parts``; in files by ``save(path, rows=True)``), these are
    averaged, and the variance over the rows is that of the averages, which is sharper. See
    :class:`~clarysage.inference.pooling.Pool`.

    **Decisions.** ``signs`` and ``top(k)`` count one look, and one more for each that a rule such as
    :class:`~clarysage.SignsKnown` had at a run beyond its first. They hold for one merge: who goes on adding runs until
    something is decided looks more often than is counted.

    **How it ended.** If all runs converged, or the merged values meet the tolerance and every example was looked at, as
    in a run, this has converged; else it ended as the least satisfied of the runs did.

    **Exact values** have no error that draws could make smaller: an exact explanation among the others, which must be
    of the same game all the same, is returned with a note. Where in some runs no feature had any effect and in others
    one had, they cannot be of the same game, and are refused. Sampled values of "mean absolute shap" are refused:
    noise makes sizes larger in every run alike, which does not average out.

    Examples
    --------
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, background = rng.normal(size=(200, 3)), rng.normal(size=(64, 3))
    >>> f = lambda X: X[:, 0] * X[:, 1] + X[:, 2]
    >>> options = {"background": background, "loss": "squared error", "method": "paired walks"}
    >>> one, other = (cs.sage(f, X, f(X), **options, rng=seed) for seed in (1, 2))
    >>> both = cs.merge([one, other])
    >>> both.draws == one.draws + other.draws, both.provenance["seed"]
    (True, [1, 2])
    >>> bool(both.std_error.max() < min(one.std_error.max(), other.std_error.max()))
    True
    """
    found = _given(explanations)
    rule = None if tolerance is None else Converged(tolerance)
    if len(found) == 1:
        return found[0]
    trusted = _check_same_game(found)
    runs = [reordered(one, found[0].feature_names) for one in found]
    if any(one.draws == 0 for one in runs):
        return _exact(runs)
    return _merged(runs, rule, (*trusted, *_check_streams(runs)))


def _given(explanations: Any) -> list[Explanation]:
    if isinstance(explanations, Explanation) or not isinstance(explanations, (list, tuple)):
        raise InputError(
            "explanations",
            got=type(explanations).__name__,
            wanted="a list of explanations",
            hint=Call("cs.merge", "[one, other]"),
        )
    for place, one in enumerate(explanations):
        if not isinstance(one, Explanation):
            of_lists = "[cs.merge(runs) for runs in zip(*lists)] for lists, one explanation a loss in each"
            raise InputError(
                "explanations",
                got=f"{type(one).__name__} as number {place + 1}",
                wanted="explanations",
                hint=PythonOnly(of_lists if isinstance(one, (list, tuple)) else "results of cs.sage"),
            )
    if not explanations:
        raise InputError("explanations", got="none", wanted="one or more")
    return list(explanations)


def _exact(runs: Sequence[Explanation]) -> Explanation:
    """The first that is exact, with which the others that are have to agree."""
    places = [place for place, one in enumerate(runs) if one.draws == 0]
    first = runs[places[0]]
    size = max([abs(end) for end in (first.base, first.total) if end is not None] + [float(np.abs(first.values).max())])
    for place in places[1:]:
        if np.abs(runs[place].values - first.values).max() > ROUNDING * size:
            raise InputError(
                "explanations",
                got=f"other values in number {place + 1} than in number {places[0] + 1}, though "
                "nothing was sampled in either",
                wanted="the same game in all",
                hint="the same model and removal",
            )
    beside = len(runs) - len(places)
    if not beside:
        return first
    were = "one sampled run was" if beside == 1 else f"{beside:,} sampled runs were"
    return replace(first, notes=(*first.notes, Note(f"The values are exact: {were} left out, and had nothing to add.")))


def _merged(runs: Sequence[Explanation], rule: Converged | None, trusted: Sequence[str]) -> Explanation:
    first, draws = runs[0], [one.draws for one in runs]
    weights = np.array(draws, dtype=np.float64) / sum(draws)
    pool = Pool(weights, np.stack([one.std_error**2 for one in runs]))
    whole = _added(runs)
    constants = [np.asarray(one.constant) for one in runs if one.constant is not None]
    merged = replace(
        first,
        values=whole.values[0],
        std_error=np.sqrt(whole.variance[0]),
        dof=whole.dof[0],
        covariance=_covariance(runs, weights),
        constant=float(pool.mean(constants)) if len(constants) == len(runs) else None,
        model_rows=sum(one.model_rows for one in runs),
        draws=sum(draws),
        targets=_targets(runs, pool),
        looks=1 + sum(one.looks - 1 for one in runs),
        confidence=min(one.confidence for one in runs),
        notes=_notes(runs, trusted),
        provenance=_provenance(runs),
        trace=_trace(runs),
        **_by_example(runs, weights),
        **_parts(runs, pool),
    )
    return replace(merged, stopped=_stopped(runs, merged, rule))


def _added(runs: Sequence[Explanation]) -> Estimated:
    """The sum of runs, by their draws; variances alone."""
    found = [Estimated(one.values[None], one.std_error[None] ** 2, _dof(one)[None]) for one in runs]
    draws = [one.draws for one in runs]
    return weighted_sum(found, [count / sum(draws) for count in draws])


def _dof(explanation: Explanation) -> np.ndarray:
    assert explanation.dof is not None
    return explanation.dof


def _covariance(runs: Sequence[Explanation], weights: np.ndarray) -> np.ndarray | None:
    known = [one.covariance for one in runs if one.covariance is not None]
    if len(known) < len(runs):
        return None
    return np.asarray(sum(weight**2 * one for weight, one in zip(weights, known, strict=True)))


def _targets(runs: Sequence[Explanation], pool: Pool) -> dict[str, Target]:
    """About rows and population, where all runs have something to say of them."""
    rows, population = (
        [one.targets[about] for one in runs if about in one.targets] for about in ("rows", "population")
    )
    if len(rows) < len(runs):
        return {}
    parts = _known_parts(runs)
    about = None if parts is None else pool.rows_by_contributions(rows, *parts)
    about = pool.rows(rows) if about is None else about
    if len(population) < len(runs):
        return {"rows": about}
    return {"rows": about, "population": pool.population(population, rows, about)}


def _known_parts(runs: Sequence[Explanation]) -> tuple[list[np.ndarray], np.ndarray] | None:
    """What rows contribute in each run, and their weights; None where some run does not know."""
    parts = [one.parts for one in runs if one.parts is not None]
    weights = [one.parts_weight for one in runs if one.parts_weight is not None]
    if len(parts) < len(runs) or len(weights) < len(runs) or len({one.shape for one in parts}) > 1:
        return None
    is_same = all(np.allclose(weights[0], one, rtol=1e-9, atol=0) for one in weights)
    return (parts, weights[0]) if is_same else None


def _parts(runs: Sequence[Explanation], pool: Pool) -> dict[str, Any]:
    known = _known_parts(runs)
    errors = [one.parts_error for one in runs if one.parts_error is not None]
    if known is None or len(errors) < len(runs):
        return dict.fromkeys(("parts", "parts_weight", "parts_error"))
    error = np.sqrt(pool.weights**2 @ np.stack(errors) ** 2)
    return {"parts": pool.mean(known[0]), "parts_weight": known[1], "parts_error": error}


def _by_example(runs: Sequence[Explanation], weights: np.ndarray) -> dict[str, Any]:
    """Values of single examples, and their errors, where all runs have them."""
    found: dict[str, Any] = dict.fromkeys(("per_example", "per_example_error"))
    for name in found:
        known = [getattr(one, name) for one in runs if getattr(one, name) is not None]
        if len(known) < len(runs) or len({one.shape for one in known}) > 1:
            continue
        is_error = name == "per_example_error"
        total = sum((weight * one) ** (2 if is_error else 1) for weight, one in zip(weights, known, strict=True))
        found[name] = np.sqrt(total) if is_error else np.asarray(total)
    return found


def _trace(runs: Sequence[Explanation]) -> np.ndarray | None:
    """The first run on its way, and a point for each run that comes in after it."""
    if runs[0].trace is None:
        return None
    points = list(runs[0].trace)
    for count in range(2, len(runs) + 1):
        some = runs[:count]
        values, error = (whole := _added(some)).values[0], float(np.sqrt(whole.variance[0]).max())
        spent = [sum(one.draws for one in some), sum(one.model_rows for one in some)]
        points.append(np.array([*spent, error, float(values.max() - values.min())]))
    return np.array(points)


def _stopped(runs: Sequence[Explanation], merged: Explanation, rule: Converged | None) -> StopReason:
    reasons = [one.stopped for one in runs]
    if all(reason is StopReason.NO_EFFECT for reason in reasons):
        return StopReason.NO_EFFECT
    if all(reason.is_converged for reason in reasons):
        return min(reasons, key=REASONS.index)
    said = None if rule is None else rule(_as_estimate(runs, merged))
    if said is not None:
        return StopReason.EQUAL if said is StopReason.NO_EFFECT else said  # which takes a look at every example
    return max(reasons, key=REASONS.index)


def _as_estimate(runs: Sequence[Explanation], merged: Explanation) -> Estimate:
    """What a rule for stopping is to judge; an example may be unseen unless runs tell, or have draws enough for all."""
    count = float(merged.provenance.get("examples") or math.inf)
    to_see_all = count * (math.log(count) + 1) if count < math.inf else math.inf
    is_seen = merged.draws >= to_see_all or any(one.parts is not None or one.converged for one in runs)
    size = float(np.abs(merged.values).max()) if merged.base is None else abs(merged.base)
    return Estimate(
        values=merged.values[None],
        covariance=merged.std_error[None] ** 2,
        dof=_dof(merged)[None],
        draws=merged.draws,
        model_rows=merged.model_rows,
        scale=np.array([size]),
        coverage=Coverage(unvisited=0 if is_seen else 1, draws_to_see_all=to_see_all),
    )


def _notes(runs: Sequence[Explanation], trusted: Sequence[str]) -> tuple[Note, ...]:
    """Notes of all runs, each once; of those on the same topic, such as the share of examples seen, the first."""
    of_runs = [note for run in runs for note in run.notes if note.topic != MERGED]
    notes: dict[str, Note] = {}
    for note in [*of_runs, *map(Note, trusted), _about_merge(runs)]:
        notes.setdefault(note.topic or str(note), note)
    return tuple(notes.values())


def _about_merge(runs: Sequence[Explanation]) -> Note:
    """How many runs went into these explanations, of which some may have been merged before."""
    draws = _of_runs(runs, "draws")
    few, many = f"{min(draws):,}", f"{max(draws):,}"
    each = f"{few} draws each" if few == many else f"{few} to {many} draws, weighted by them"
    return Note(f"Merged from {len(draws):,} runs of {each}.", topic=MERGED)


def _provenance(runs: Sequence[Explanation]) -> dict[str, Any]:
    """That of the first run, with all seeds and costs of all runs; what else differs, as versions may, is listed."""
    found: dict[str, Any] = {}
    for key in dict.fromkeys(key for one in runs for key in one.provenance):
        known = [one.provenance[key] for one in runs if key in one.provenance]
        is_same = all(other == known[0] for other in known)
        found[key] = known[0] if is_same or key == "fingerprints" else ", ".join(_distinct(known))
    seeds = [seed for one in runs for seed in _seeds_of(one)]
    found |= {"seed": seeds} if seeds else {}
    found |= {"fits": sum(one.fits for one in runs)} if "fits" in found else {}
    return {**found, "merged": {key: _of_runs(runs, key) for key in ("draws", "model_rows")}}


def _of_runs(runs: Sequence[Explanation], key: str) -> list[int]:
    """Counts of the single runs, of which some may have been merged before."""
    found: list[int] = []
    for one in runs:
        before = one.provenance.get("merged")
        counts = before.get(key) if isinstance(before, Mapping) else None
        found += counts if isinstance(counts, list) else [getattr(one, key)]
    return found


def _distinct(values: Sequence[Any]) -> list[str]:
    """Texts, each once; those of an earlier merge taken apart."""
    return list(dict.fromkeys(part for value in values for part in str(value).split(", ")))


def _check_same_game(explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Raise where values are not of the same game; what could not be seen, and was taken on trust, is returned."""
    first, parts = explanations[0], _parts_to_see(explanations)
    for place, other in enumerate(explanations[1:], start=1):
        for part in WORDS:
            _demand_same(getattr(first, part), getattr(other, part), part, place)
        _check_features(first, other, place)
        _check_data(first, other, parts, place)
        _check_settings(first, other, place)
        _check_ends(first, other, place)
    _check_effect(explanations)
    if all(one.draws > 0 for one in explanations):
        _check_draws(explanations)
    if all(fingerprint(one, part) is not None for one in explanations for part in parts):
        return ()
    return (
        "Fingerprints of the data are not in all of the merged explanations: that their data are the same was "
        "taken on trust.",
    )


def _check_streams(explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Raise where two runs have the same stream, and so say nothing new; what was taken on trust is returned."""
    for (i, one), (j, other) in combinations(enumerate(explanations), 2):
        common = sorted(set(_seeds_of(one)) & set(_seeds_of(other)))
        if common:
            raise InputError(
                "explanations",
                got=f"the seed {common[0]} in numbers {i + 1} and {j + 1}, whose draws are then the same",
                wanted="a seed of its own for each run",
                hint=[f"leaving out number {j + 1}", Or(), "another ", Set("rng")],
            )
        if not (_seeds_of(one) and _seeds_of(other)) and _is_same(one, other):
            raise InputError(
                "explanations",
                got=f"the same values and errors in numbers {i + 1} and {j + 1}, which is the same run twice",
                wanted="each run once",
                hint=f"leaving out number {j + 1}",
            )
    if all(_seeds_of(one) for one in explanations):
        return ()
    return ("Seeds are not in all of the merged explanations: that their draws are independent was taken on trust.",)


def _seeds_of(explanation: Explanation) -> list[int]:
    """Seeds of the runs that an explanation was made of; none where they are not known."""
    found = explanation.provenance.get("seed")
    found = found if isinstance(found, (list, tuple)) else [found]
    return [seed for seed in found if isinstance(seed, int) and not isinstance(seed, bool)]


def _demand_same(mine: Any, its: Any, what: str, place: int, hint: Words = "") -> None:
    if mine != its:
        raise InputError(
            "explanations",
            got=f"{what} {mine!r} in number 1 and {its!r} in number {place + 1}",
            wanted=f"the same {what} in all",
            hint=hint,
        )


def _check_features(first: Explanation, other: Explanation, place: int) -> None:
    for here, there, without, having in ((first, other, 1, place + 1), (other, first, place + 1, 1)):
        missing = [name for name in there.feature_names if name not in set(here.feature_names)]
        if missing:
            shown = ", ".join(map(repr, missing[:MOST_NAMED])) + (" and others" if len(missing) > MOST_NAMED else "")
            raise InputError(
                "explanations",
                got=f"number {without} without {shown}, which number {having} has",
                wanted="the same features in all",
            )
    mine, its = ({name: sorted(inside) for name, inside in (one.groups or {}).items()} for one in (first, other))
    _demand_same(mine, its, "groups", place)


def _check_data(first: Explanation, other: Explanation, parts: Sequence[str], place: int) -> None:
    for part in parts:
        mine, its = fingerprint(first, part), fingerprint(other, part)
        if mine is not None and its is not None and mine != its:
            hint: Words = f"the same {DATA[part]} in every run, in the same order"
            if part == "background":
                hint = SAME_BACKGROUND
            elif "rows_of_source" in first.provenance:
                hint = DRAWN_ONCE
            raise InputError(
                "explanations",
                got=f"another {DATA[part]} in number {place + 1} than in number 1",
                wanted="the same in all, by its fingerprint",
                hint=hint,
            )


def _check_settings(first: Explanation, other: Explanation, place: int) -> None:
    for key in SETTINGS:
        if key in first.provenance and key in other.provenance:
            _demand_same(first.provenance[key], other.provenance[key], key.replace("_", " "), place)
    mine, its = (one.provenance.get("removal_seed") for one in (first, other))
    if mine is not None and its is not None and mine != its:
        raise InputError(
            "explanations",
            got=f"the removal {first.removal!r}, which learned with another seed in number {place + 1} than in "
            "number 1",
            wanted="the same removal in all, since it is part of the game",
            hint=SAME_REMOVAL,
        )


def _check_ends(first: Explanation, other: Explanation, place: int) -> None:
    """The ends of the game are known without sampling: they show a model that is another, or learners fitted anew."""
    size = max((abs(end) for end in (first.base, first.total, other.base, other.total) if end is not None), default=0.0)
    for name, words in (("base", "loss without features"), ("total", "total of all features")):
        mine, its = getattr(first, name), getattr(other, name)
        if (mine is None) != (its is None) or (mine is not None and abs(mine - its) > ROUNDING * size):
            hint: Words = ("the same model", Or("; "), SAME_BACKGROUND)
            if first.held_fixed == "learners":
                hint = "the same folds, and learners with a random_state of their own"
            raise InputError(
                "explanations",
                got=f"the {words} {mine!r} in number 1 and {its!r} in number {place + 1}",
                wanted="the same in all, up to rounding",
                hint=hint,
            )


def _check_effect(explanations: Sequence[Explanation]) -> None:
    is_still = [one.stopped is StopReason.NO_EFFECT for one in explanations]
    if any(is_still) and not all(is_still):
        still, moves = is_still.index(True), is_still.index(False)
        raise InputError(
            "explanations",
            got=f"number {still + 1}, in which no feature changed any loss, and number {moves + 1}, in which some did",
            wanted="runs of the same game",
            hint="the same model and removal in every run",
        )


def _check_draws(explanations: Sequence[Explanation]) -> None:
    """Of sampled runs alone: draws must be of one kind, or counting them would mean nothing, and values be means."""
    first = explanations[0]
    if first.values_are == "heuristic":  # whose sampled values are sizes, which do not average out
        raise InputError(
            "explanations",
            got=f"sampled values of {first.measure!r}, which are sizes: noise makes them larger in every run alike",
            wanted="values that are means of draws",
            hint=["one run with a smaller ", Set("tolerance")],
        )
    for place, other in enumerate(explanations[1:], start=1):
        _demand_same(first.method, other.method, "method", place, hint=["the same ", Set("method"), " in every run"])


def _parts_to_see(explanations: Sequence[Explanation]) -> list[str]:
    """Fingerprints that have to be the same: those that some explanation has, or all where none has any."""
    known = [part for part in DATA if any(fingerprint(one, part) is not None for one in explanations)] or list(DATA)
    return [part for part in known if part != "y" or explanations[0].values_are != "variance"]


def _is_same(one: Explanation, other: Explanation) -> bool:
    is_sampled = bool((one.std_error > 0).any())  # without errors, two runs may well agree to the last bit
    return is_sampled and np.array_equal(one.values, other.values) and np.array_equal(one.std_error, other.std_error)
