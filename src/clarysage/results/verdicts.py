"""Verdicts: what contributions and inputs, each tested on its own, say together of a feature."""

from __future__ import annotations

import numpy as np

from clarysage.results.monitoring import ALONE, BOTH, FOLLOWS, INPUTS, UNCHANGED, Finding, Monitoring, hardly_moved

SURELY = 0.001  # of 1 - level, below which a p-value leaves no doubt that inputs shifted


def judged(monitoring: Monitoring) -> tuple[Finding, ...]:
    """Findings of all features, explanation by explanation."""
    comparison = monitoring.comparison
    low, high = (np.atleast_2d(end) for end in comparison.interval(comparison.level))
    chances, flags = (np.atleast_2d(one) for one in (comparison.p_values(), comparison.flags))
    found = []
    for place, name in enumerate(monitoring.names):
        strongest = _strongest(monitoring, place)
        chance = np.array([p for _, p in strongest])
        shifted, surely = (chance < share * (1 - comparison.level) for share in (1.0, SURELY))
        verdicts = verdicts_of(flags[place], shifted, surely)
        shares = _shares(monitoring, place)
        difference, values = comparison.differences[place].target.values, comparison.explanations[place + 1].values
        after_low, after_high = _interval_here(monitoring, place)
        found += [
            Finding(
                feature, name, verdicts[i], float(comparison.reference.values[i]), float(values[i]),
                float(difference[i]), float(low[place, i]), float(high[place, i]), float(after_low[i]),
                float(after_high[i]), float(chances[place, i]), strongest[i][1],
                None if shares is None else float(shares[i]), monitoring.shifts[place][strongest[i][0]],
                bool(shifted[i]),
            )
            for i, feature in enumerate(monitoring.feature_names)
        ]  # fmt: skip
    return tuple(found)


def verdicts_of(changed: np.ndarray, shifted: np.ndarray, surely: np.ndarray) -> list[str]:
    """One verdict a feature, from whether its contribution changed, its inputs shifted, and did so surely.

    One column that breaks does change contributions of others. Of these, columns whose inputs seem to have shifted by
    chance are in some 1 - level of all cases: beside a sure cause they are no causes.

    Examples
    --------
    >>> no, yes = np.zeros(3, dtype=bool), np.array([True, True, False])
    >>> verdicts_of(yes, shifted=yes, surely=np.array([True, False, False]))
    ['inputs and contribution', 'along with others', 'unchanged']
    >>> verdicts_of(yes, shifted=np.array([False, True, True]), surely=no)
    ['along with others', 'inputs and contribution', 'inputs alone']
    >>> verdicts_of(yes, shifted=no, surely=no)
    ['contribution alone', 'contribution alone', 'unchanged']
    """
    sure, likely = changed & surely, changed & shifted
    causes = sure if sure.any() else likely
    words = np.where(changed, FOLLOWS if causes.any() else ALONE, np.where(shifted, INPUTS, UNCHANGED))
    return [str(word) for word in np.where(causes, BOTH, words)]


def _interval_here(monitoring: Monitoring, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of intervals of the contributions here, about what the differences are about."""
    comparison = monitoring.comparison
    here, about = comparison.explanations[place + 1], comparison.differences[place].about
    return here.interval(comparison.level, about=about if about in here.targets else "data")


def _strongest(monitoring: Monitoring, place: int) -> list[tuple[int, float]]:
    """For each feature the place of its column that shifted most, and the adjusted p-value of that."""
    columns = {one.column: j for j, one in enumerate(monitoring.shifts[place])}
    chances = monitoring.shift_p_values[place]
    found = []
    for feature in monitoring.feature_names:
        places = [columns[column] for column in monitoring.columns_of(feature)]
        first = min(places, key=lambda j: (chances[j], -monitoring.shifts[place][j].distance))
        found.append((first, float(chances[first])))
    return found


def _shares(monitoring: Monitoring, place: int) -> np.ndarray | None:
    """Shares of the change in the mean loss that changes of contributions make.

    The loss is the loss without features less the sum of the values (Eq. 2 with S = D), so that shares and that of the
    loss without features add up to one. None where the loss hardly moved: shares of next to nothing are large and mean
    nothing.
    """
    losses = monitoring.losses
    if losses is None or hardly_moved(losses[0], losses[place + 1]):
        return None
    comparison = monitoring.comparison
    before, after = comparison.reference, comparison.explanations[place + 1]
    return np.asarray(-(after.values - before.values) / (losses[place + 1] - losses[0]))
