"""merge: pools explanations of the same game from runs with different random streams (pooling of replicates)."""

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
from clarysage.results.compare import MOST_NAMED, fingerprint_in, reordered
from clarysage.results.explanation import Explanation

ROUNDING = 1e-6  # share of the loss by which models in single precision differ between machines
# from the best outcome to the worst
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
WORDS = ("measure", "loss", "removal", "headline")  # attributes that must agree
DATA = {"X": "X", "y": "y", "weights": "sample_weight", "background": "background"}  # fingerprint: argument
# entries of the provenance that must agree
SETTINGS = ("model", "learner", "design", "examples", "columns", "background_rows")
SAME_BACKGROUND = Either(
    python="background= with the same rows in every run, since without it rows are drawn with the seed",
    shell="--background with the same rows in every run: a file with at most --background-rows rows, since from "
    "larger files, or without a file, rows are drawn with --seed",
)
DRAWN_ONCE = (
    "rows drawn once and saved in a file that every run reads completely, since ",
    Set("max_rows"),
    " draws them with the seed",
)
SAME_REMOVAL = Either(
    python="removal= as an object, such as cs.TreeConditional(X_train), which learns the same in every run",
    shell="cs.merge in Python, with removal= as an object, which learns the same in every run",
)
MERGED = "merged"  # topic of the note on the number of merged runs


def merge(explanations: Sequence[Explanation], *, tolerance: float | None = 0.025) -> Explanation:
    r"""Merge explanations of the same game from runs with different seeds, as if all draws were from one run.

    Several machines, or several sessions, each call :func:`~clarysage.sage` with the same model, data, background and
    settings but with different ``rng``, and save their results; ``merge`` pools them.

    Parameters
    ----------
    explanations : two or more, by the same measure, loss, removal and method, of the same features (in any order),
        groups, rows, weights and background. A single explanation is returned unchanged. Budgets, tolerances, deadlines
        and numbers of draws may differ. Merged explanations can be merged with further ones
    tolerance : the merged values count as converged where the largest standard error is below this share of their
        range, as in :func:`~clarysage.sage`, or where every run had converged; None for only the latter

    Returns
    -------
    Explanation. ``draws`` and ``model_rows`` are sums over the runs, including the model rows that each run spent on
    the empty and the full coalition; ``provenance`` has the seeds of all runs, and under ``"merged"`` the draws and
    model rows of each

    Raises
    ------
    InputError
        if games differ, or if two runs have the same seed, since repeated draws add no information. Without a
        ``background``, it is drawn from X with the seed, and a removal given by name draws or learns with the seed:
        pass the rows of the background, or the removal as an object. The rows to explain are drawn with the seed, too,
        by ``max_rows`` and from large tables on disk: draw them once, and pass them to every run

    Notes
    -----
    **Values.** Run r has a weight in proportion to its draws n_r,

    .. math:: \hat\phi = \sum_r w_r \hat\phi_r, \qquad \Sigma = \sum_r w_r^2 \Sigma_r, \qquad w_r = n_r / \sum_s n_s

    and not to its estimated precision. A run that missed the rare draws in which a feature matters underestimates both
    the value and the variance: weights by estimated variances would prefer such runs, and bias the merged values
    although each run is unbiased. Degrees of freedom are Satterthwaite's
    (:mod:`clarysage.inference.degrees_of_freedom`).

    **Rows and population.** Runs share their rows and background, so that the error due to these remains for any number
    of runs; only the sampling errors of the runs average out. With V_r the variance about a population in run r,
    including the sampling variance sigma_r^2 of the run,

    .. math:: V = \sum_r w_r (V_r - \sigma_r^2) + \sum_r w_r^2 \sigma_r^2

    Where all runs have the contributions of single rows (``parts``; in files as ``save`` describes), these are
    averaged, and the variance over the rows is that of the averages, which is more precise. See
    :class:`~clarysage.inference.pooling.Pool`.

    **Decisions.** ``signs`` and ``top(k)`` are corrected for one interim analysis, plus all but the first that a rule
    such as :class:`~clarysage.SignsKnown` made in each run. They hold for a single merge: adding runs until something
    is decided means more interim analyses than are counted.

    **Stopping.** The merged explanation has converged if all runs converged, or if the merged values meet the tolerance
    and every example was visited, as in a single run; otherwise its reason for stopping is the worst of the runs.

    **Exact values** have no sampling error: if one explanation is exact, it is returned with a note; the others still
    have to be of the same game. Runs in which no feature had any effect cannot be of the same game as runs in which one
    had, and are refused. Sampled values of "mean absolute shap" are refused: noise enlarges absolute values in every
    run, which does not average out.

    Examples
    --------
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, background = rng.normal(size=(200, 3)), rng.normal(size=(64, 3))
    >>> f = lambda X: X[:, 0] * X[:, 1] + X[:, 2]
    >>> options = {"background": background, "loss": "squared error", "method": "paired walks"}
    >>> first, second = (cs.sage(f, X, f(X), **options, rng=seed) for seed in (1, 2))
    >>> both = cs.merge([first, second])
    >>> both.draws == first.draws + second.draws, both.provenance["seed"]
    (True, [1, 2])
    >>> bool(both.std_error.max() < min(first.std_error.max(), second.std_error.max()))
    True
    """
    given = _given(explanations)
    rule = None if tolerance is None else Converged(tolerance)
    if len(given) == 1:
        return given[0]
    trusted = _check_same_game(given)
    runs = [reordered(run, given[0].feature_names) for run in given]
    if any(run.draws == 0 for run in runs):
        return _exact(runs)
    return _merged(runs, rule, (*trusted, *_check_streams(runs)))


def _given(explanations: Any) -> list[Explanation]:
    if isinstance(explanations, Explanation) or not isinstance(explanations, (list, tuple)):
        raise InputError(
            "explanations",
            got=type(explanations).__name__,
            wanted="a list of explanations",
            hint=Call("cs.merge", "[first, second]"),
        )
    for index, explanation in enumerate(explanations):
        if not isinstance(explanation, Explanation):
            of_lists = "[cs.merge(runs) for runs in zip(*lists)] for lists with one explanation for each loss"
            raise InputError(
                "explanations",
                got=f"{type(explanation).__name__} as number {index + 1}",
                wanted="explanations",
                hint=PythonOnly(of_lists if isinstance(explanation, (list, tuple)) else "results of cs.sage"),
            )
    if not explanations:
        raise InputError("explanations", got="none", wanted="one or more")
    return list(explanations)


def _exact(runs: Sequence[Explanation]) -> Explanation:
    """Returns the first exact explanation, after a check that all other exact ones agree with it."""
    exact = [index for index, run in enumerate(runs) if run.draws == 0]
    first = runs[exact[0]]
    size = max([abs(end) for end in (first.base, first.total) if end is not None] + [float(np.abs(first.values).max())])
    for index in exact[1:]:
        if np.abs(runs[index].values - first.values).max() > ROUNDING * size:
            raise InputError(
                "explanations",
                got=f"different values in numbers {exact[0] + 1} and {index + 1}, although "
                "nothing was sampled in either",
                wanted="the same game in all",
                hint="the same model and removal",
            )
    sampled = len(runs) - len(exact)
    if not sampled:
        return first
    sampled_runs = "one sampled run was" if sampled == 1 else f"{sampled:,} sampled runs were"
    return replace(first, notes=(*first.notes, Note(f"The values are exact: {sampled_runs} left out.")))


def _merged(runs: Sequence[Explanation], rule: Converged | None, trusted: Sequence[str]) -> Explanation:
    first, draws = runs[0], [run.draws for run in runs]
    weights = np.array(draws, dtype=np.float64) / sum(draws)
    pool = Pool(weights, np.stack([run.std_error**2 for run in runs]))
    total = _added(runs)
    constants = [np.asarray(run.constant) for run in runs if run.constant is not None]
    merged = replace(
        first,
        values=total.values[0],
        std_error=np.sqrt(total.variance[0]),
        dof=total.dof[0],
        covariance=_covariance(runs, weights),
        constant=float(pool.mean(constants)) if len(constants) == len(runs) else None,
        model_rows=sum(run.model_rows for run in runs),
        draws=sum(draws),
        targets=_targets(runs, pool),
        looks=1 + sum(run.looks - 1 for run in runs),
        confidence=min(run.confidence for run in runs),
        notes=_notes(runs, trusted),
        provenance=_provenance(runs),
        trace=_trace(runs),
        **_by_example(runs, weights),
        **_parts(runs, pool),
    )
    return replace(merged, stopped=_stopped(runs, merged, rule))


def _added(runs: Sequence[Explanation]) -> Estimated:
    """Returns the mean of the runs weighted by draws, with variances and degrees of freedom."""
    estimates = [Estimated(run.values[None], run.std_error[None] ** 2, _dof(run)[None]) for run in runs]
    draws = [run.draws for run in runs]
    return weighted_sum(estimates, [count / sum(draws) for count in draws])


def _dof(explanation: Explanation) -> np.ndarray:
    assert explanation.dof is not None
    return explanation.dof


def _covariance(runs: Sequence[Explanation], weights: np.ndarray) -> np.ndarray | None:
    covariances = [run.covariance for run in runs if run.covariance is not None]
    if len(covariances) < len(runs):
        return None
    return np.asarray(sum(weight**2 * covariance for weight, covariance in zip(weights, covariances, strict=True)))


def _targets(runs: Sequence[Explanation], pool: Pool) -> dict[str, Target]:
    """Pools the estimates about rows and population, where all runs have them."""
    rows, population = (
        [run.targets[about_rows] for run in runs if about_rows in run.targets] for about_rows in ("rows", "population")
    )
    if len(rows) < len(runs):
        return {}
    parts = _parts_of_runs(runs)
    about_rows = None if parts is None else pool.rows_by_contributions(rows, *parts)
    about_rows = pool.rows(rows) if about_rows is None else about_rows
    if len(population) < len(runs):
        return {"rows": about_rows}
    return {"rows": about_rows, "population": pool.population(population, rows, about_rows)}


def _parts_of_runs(runs: Sequence[Explanation]) -> tuple[list[np.ndarray], np.ndarray] | None:
    """Returns the contributions of rows in each run, and their weights; None unless all runs have them."""
    parts = [run.parts for run in runs if run.parts is not None]
    weights = [run.parts_weight for run in runs if run.parts_weight is not None]
    if len(parts) < len(runs) or len(weights) < len(runs) or len({each.shape for each in parts}) > 1:
        return None
    is_same = all(np.allclose(weights[0], each, rtol=1e-9, atol=0) for each in weights)
    return (parts, weights[0]) if is_same else None


def _parts(runs: Sequence[Explanation], pool: Pool) -> dict[str, Any]:
    pooled = _parts_of_runs(runs)
    errors = [run.parts_error for run in runs if run.parts_error is not None]
    if pooled is None or len(errors) < len(runs):
        return dict.fromkeys(("parts", "parts_weight", "parts_error"))
    error = np.sqrt(pool.weights**2 @ np.stack(errors) ** 2)
    return {"parts": pool.mean(pooled[0]), "parts_weight": pooled[1], "parts_error": error}


def _by_example(runs: Sequence[Explanation], weights: np.ndarray) -> dict[str, Any]:
    """Pools values of single examples and their standard errors, where all runs have them."""
    merged: dict[str, Any] = dict.fromkeys(("per_example", "per_example_error", "per_example_base"))
    for name in merged:
        arrays = [getattr(run, name) for run in runs if getattr(run, name) is not None]
        if len(arrays) < len(runs) or len({array.shape for array in arrays}) > 1:
            continue
        is_error = name == "per_example_error"
        total = sum((weight * array) ** (2 if is_error else 1) for weight, array in zip(weights, arrays, strict=True))
        merged[name] = np.sqrt(total) if is_error else np.asarray(total)
    return merged


def _trace(runs: Sequence[Explanation]) -> np.ndarray | None:
    """Returns the trace of the first run, with one more point for each further run."""
    if runs[0].trace is None:
        return None
    points = list(runs[0].trace)
    for count in range(2, len(runs) + 1):
        some = runs[:count]
        values, error = (total := _added(some)).values[0], float(np.sqrt(total.variance[0]).max())
        spent = [sum(run.draws for run in some), sum(run.model_rows for run in some)]
        points.append(np.array([*spent, error, float(values.max() - values.min())]))
    return np.array(points)


def _stopped(runs: Sequence[Explanation], merged: Explanation, rule: Converged | None) -> StopReason:
    reasons = [run.stopped for run in runs]
    if all(reason is StopReason.NO_EFFECT for reason in reasons):
        return StopReason.NO_EFFECT
    if all(reason.is_converged for reason in reasons):
        return min(reasons, key=REASONS.index)
    satisfied = None if rule is None else rule(_as_estimate(runs, merged))
    if satisfied is StopReason.NO_EFFECT:  # which requires a visit to every example
        return StopReason.EQUAL
    if satisfied is not None:
        return satisfied
    return max(reasons, key=REASONS.index)


def _as_estimate(runs: Sequence[Explanation], merged: Explanation) -> Estimate:
    """Returns the estimate for a stopping rule.

    Examples count as unvisited unless a run says otherwise or draws are enough for all of them.
    """
    count = float(merged.provenance.get("examples") or math.inf)
    to_see_all = count * (math.log(count) + 1) if count < math.inf else math.inf
    is_seen = merged.draws >= to_see_all or any(run.parts is not None or run.converged for run in runs)
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
    """Returns the notes of all runs, each once, and only the first of those on the same topic."""
    of_runs = [note for run in runs for note in run.notes if note.topic != MERGED]
    notes: dict[str, Note] = {}
    for note in [*of_runs, *map(Note, trusted), _about_merge(runs)]:
        notes.setdefault(note.topic or str(note), note)
    return tuple(notes.values())


def _about_merge(runs: Sequence[Explanation]) -> Note:
    """Returns the note on the number of merged runs, counting those of earlier merges."""
    draws = _of_runs(runs, "draws")
    few, many = f"{min(draws):,}", f"{max(draws):,}"
    each = f"{few} draws each" if few == many else f"{few} to {many} draws, weighted by them"
    return Note(f"Merged from {len(draws):,} runs of {each}.", topic=MERGED)


def _provenance(runs: Sequence[Explanation]) -> dict[str, Any]:
    """Merges provenances: seeds and costs of all runs; entries that differ, such as versions, are joined."""
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for run in runs for key in run.provenance):
        entries = [run.provenance[key] for run in runs if key in run.provenance]
        is_same = all(other == entries[0] for other in entries)
        merged[key] = entries[0] if is_same or key == "fingerprints" else ", ".join(_distinct(entries))
    seeds = [seed for run in runs for seed in _seeds_of(run)]
    merged |= {"seed": seeds} if seeds else {}
    merged |= {"fits": sum(run.fits for run in runs)} if "fits" in merged else {}
    return {**merged, "merged": {key: _of_runs(runs, key) for key in ("draws", "model_rows")}}


def _of_runs(runs: Sequence[Explanation], key: str) -> list[int]:
    """Returns the counts of the single runs, including those of earlier merges."""
    all_counts: list[int] = []
    for run in runs:
        before = run.provenance.get("merged")
        counts = before.get(key) if isinstance(before, Mapping) else None
        all_counts += counts if isinstance(counts, list) else [getattr(run, key)]
    return all_counts


def _distinct(values: Sequence[Any]) -> list[str]:
    """Returns distinct texts, after splitting those of earlier merges."""
    return list(dict.fromkeys(part for value in values for part in str(value).split(", ")))


def _check_same_game(explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Raises where values are not of the same game; returns notes on what could not be checked."""
    first, parts = explanations[0], _parts_to_see(explanations)
    for index, other in enumerate(explanations[1:], start=1):
        for part in WORDS:
            _demand_same(getattr(first, part), getattr(other, part), part, index)
        _check_features(first, other, index)
        _check_data(first, other, parts, index)
        _check_settings(first, other, index)
        _check_ends(first, other, index)
    _check_effect(explanations)
    if all(explanation.draws > 0 for explanation in explanations):
        _check_draws(explanations)
    if all(fingerprint_in(explanation, part) is not None for explanation in explanations for part in parts):
        return ()
    return (
        "Fingerprints of the data are missing in some of the merged explanations: it could not be checked that their "
        "data are the same.",
    )


def _check_streams(explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Raises where two runs have the same random stream; returns notes on what could not be checked."""
    for (i, first), (j, second) in combinations(enumerate(explanations), 2):
        common = sorted(set(_seeds_of(first)) & set(_seeds_of(second)))
        if common:
            raise InputError(
                "explanations",
                got=f"the same seed {common[0]}, and so the same draws, in numbers {i + 1} and {j + 1}",
                wanted="a different seed for each run",
                hint=[f"leaving out number {j + 1}", Or(), "another ", Set("rng")],
            )
        if not (_seeds_of(first) and _seeds_of(second)) and _is_same(first, second):
            raise InputError(
                "explanations",
                got=f"the same run twice, in numbers {i + 1} and {j + 1}",
                wanted="each run once",
                hint=f"leaving out number {j + 1}",
            )
    if all(_seeds_of(explanation) for explanation in explanations):
        return ()
    return (
        "Seeds are missing in some of the merged explanations: it could not be checked that their draws are "
        "independent.",
    )


def _seeds_of(explanation: Explanation) -> list[int]:
    """Returns the seeds of the runs behind an explanation; empty where they are unknown."""
    seeds = explanation.provenance.get("seed")
    seeds = seeds if isinstance(seeds, (list, tuple)) else [seeds]
    return [seed for seed in seeds if isinstance(seed, int) and not isinstance(seed, bool)]


def _demand_same(first: Any, other: Any, what: str, index: int, hint: Words = "") -> None:
    if first != other:
        raise InputError(
            "explanations",
            got=f"{what} {first!r} in number 1 and {other!r} in number {index + 1}",
            wanted=f"the same {what} in all",
            hint=hint,
        )


def _check_features(first: Explanation, other: Explanation, index: int) -> None:
    for here, there, without, having in ((first, other, 1, index + 1), (other, first, index + 1, 1)):
        missing = [name for name in there.feature_names if name not in set(here.feature_names)]
        if missing:
            shown = ", ".join(map(repr, missing[:MOST_NAMED])) + (" and others" if len(missing) > MOST_NAMED else "")
            raise InputError(
                "explanations",
                got=f"number {without} without {shown}, which number {having} has",
                wanted="the same features in all",
            )
    mine, its = (
        {name: sorted(inside) for name, inside in (explanation.groups or {}).items()} for explanation in (first, other)
    )
    _demand_same(mine, its, "groups", index)


def _check_data(first: Explanation, other: Explanation, parts: Sequence[str], index: int) -> None:
    for part in parts:
        mine, its = fingerprint_in(first, part), fingerprint_in(other, part)
        if mine is not None and its is not None and mine != its:
            hint: Words = f"the same {DATA[part]} in every run, in the same order"
            if part == "background":
                hint = SAME_BACKGROUND
            elif "rows_of_source" in first.provenance:
                hint = DRAWN_ONCE
            raise InputError(
                "explanations",
                got=f"a different {DATA[part]} in number {index + 1} than in number 1",
                wanted="the same in all, by its fingerprint",
                hint=hint,
            )


def _check_settings(first: Explanation, other: Explanation, index: int) -> None:
    for key in SETTINGS:
        if key in first.provenance and key in other.provenance:
            _demand_same(first.provenance[key], other.provenance[key], key.replace("_", " "), index)
    mine, its = (explanation.provenance.get("removal_seed") for explanation in (first, other))
    if mine is not None and its is not None and mine != its:
        raise InputError(
            "explanations",
            got=f"the removal {first.removal!r}, which was fitted with a different seed in number {index + 1} than in "
            "number 1",
            wanted="the same removal in all, since it is part of the game",
            hint=SAME_REMOVAL,
        )


def _check_ends(first: Explanation, other: Explanation, index: int) -> None:
    """Raises where v of the empty or the full coalition differs: the model or the fitted learners are not the same."""
    size = max((abs(end) for end in (first.base, first.total, other.base, other.total) if end is not None), default=0.0)
    for name, words in (("base", "loss without features"), ("total", "total of all features")):
        mine, its = getattr(first, name), getattr(other, name)
        if (mine is None) != (its is None) or (mine is not None and abs(mine - its) > ROUNDING * size):
            hint: Words = ("the same model", Or("; "), SAME_BACKGROUND)
            if first.held_fixed == "learners":
                hint = "the same folds, and learners with a random_state of their own"
            raise InputError(
                "explanations",
                got=f"the {words} {mine!r} in number 1 and {its!r} in number {index + 1}",
                wanted="the same in all, up to rounding",
                hint=hint,
            )


def _check_effect(explanations: Sequence[Explanation]) -> None:
    is_still = [explanation.stopped is StopReason.NO_EFFECT for explanation in explanations]
    if any(is_still) and not all(is_still):
        still, moves = is_still.index(True), is_still.index(False)
        raise InputError(
            "explanations",
            got=f"number {still + 1}, in which no feature changed any loss, and number {moves + 1}, in which some did",
            wanted="runs of the same game",
            hint="the same model and removal in every run",
        )


def _check_draws(explanations: Sequence[Explanation]) -> None:
    """Raises for sampled runs unless all draws are of one kind and values are means of draws."""
    first = explanations[0]
    if first.values_are == "heuristic":  # sampled values are absolute values, whose noise does not average out
        raise InputError(
            "explanations",
            got=f"sampled values of {first.measure!r}, which are absolute values: noise makes them larger in every run",
            wanted="values that are means of draws",
            hint=["one run with a smaller ", Set("tolerance")],
        )
    for index, other in enumerate(explanations[1:], start=1):
        _demand_same(first.method, other.method, "method", index, hint=["the same ", Set("method"), " in every run"])


def _parts_to_see(explanations: Sequence[Explanation]) -> list[str]:
    """Returns the fingerprints that have to agree: those that some explanation has, or all if none has any."""
    available = [
        part for part in DATA if any(fingerprint_in(explanation, part) is not None for explanation in explanations)
    ] or list(DATA)
    return [part for part in available if part != "y" or explanations[0].values_are != "variance"]


def _is_same(first: Explanation, second: Explanation) -> bool:
    is_sampled = bool((first.std_error > 0).any())  # without sampling errors, two runs may be equal to the last bit
    return (
        is_sampled and np.array_equal(first.values, second.values) and np.array_equal(first.std_error, second.std_error)
    )
