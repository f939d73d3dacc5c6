"""From this data and this background to the populations they were drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from clarysage.inference.degrees_of_freedom import Estimated, degrees, doubt_in
from clarysage.inference.estimate import Target
from clarysage.inference.influence import Leaning

ONE_ROW = 1 - 1e-9  # the sum of squared masses of a background of which one row has it all
FEWEST = 4.0  # degrees of freedom, however much hangs on one example: there is no more to be said of it
ROUNDING = 1e-12  # of the deviation over examples of another value of the same game, below which there is none
LEAST = 0.25  # of the variance over examples, that over both must be, lest a chance covariance take all of it


@dataclass(frozen=True)
class Reach:
    """What values rest on, example by example and background row by background row.

    Attributes
    ----------
    parts : (N, L, p) of the values that examples of positive weight contribute, each visited; None where some were not
    between : (L, p) the variance over examples where there are no parts, else zero
    rest : (L, p) variance of the values that parts do not show
    dof : degrees of freedom of the variance over examples
    leaning : on background rows; None where that is not known, or there is one row alone
    apart : values of single examples with their variances (:class:`~clarysage.inference.local.Apart`), where they were
        sampled and each has a game of its own
    mass : (m,) of these rows, adding up to one, where they are others than those of short walks
    """

    parts: np.ndarray | None
    between: np.ndarray
    rest: np.ndarray
    dof: float
    leaning: Leaning | None = None
    apart: Any = None
    mass: np.ndarray | None = None


def summed(found: Sequence[Reach | None], weights: Sequence[float]) -> Reach | None:
    """Of the weighted sum of sets of values of the same examples; None where that is not known. One has weight 1."""
    if len(found) == 1:
        return found[0]
    known = [one for one in found if one is not None and one.parts is not None]
    if len(known) < len(found):
        return None
    parts = [weight * one.parts for one, weight in zip(known, weights, strict=True) if one.parts is not None]
    rest = [weight**2 * one.rest for one, weight in zip(known, weights, strict=True)]
    lean = [one.leaning.times(weight) for one, weight in zip(known, weights, strict=True) if one.leaning is not None]
    whole = reduce(Leaning.plus, lean) if len(lean) == len(known) else None
    return Reach(np.sum(parts, axis=0), known[0].between, np.sum(rest, axis=0), known[0].dof, whole)


@dataclass(frozen=True)
class Sampled:
    """How the data were sampled.

    Attributes
    ----------
    weights : (N,) of examples of positive weight, adding up to one
    mass : (m,) of background rows, adding up to one
    own : (N,) the background row that each of these examples is, -1 for none; None where none is one
    """

    weights: np.ndarray
    mass: np.ndarray
    own: np.ndarray | None = None


def targets(found: Estimated, reach: Reach, sampled: Sampled) -> dict[str, Estimated]:
    r"""Estimates about the population of rows, and about those of rows and background, with their variances (L, p).

    With e_x the part of example x of weight w_x, and c_k = w_k (psi_k - mean) how values lean on background row k,

    .. math:: V_R = \frac{N}{N - 1} \sum_x (e_x - w_x \hat\phi)^2, \qquad
        V_B = \frac{m}{m - 1} \sum_k c_k^2 - noise, \qquad V_X = 2 \sum_x (e_x - w_x \hat\phi) c_{own(x)}

    and V = V_R + V_B + V_X, at least the variance of the run and a quarter of V_R. V_X is for examples that are
    background rows themselves. Degrees of freedom are Satterthwaite's; those of V_R are fewer than N - 1 where few
    examples make up much of it (:func:`~clarysage.inference.degrees_of_freedom.degrees`).
    """
    if len(sampled.weights) < 2:  # of which nothing can be learned about others
        return {}
    rows = _over_rows(found, reach, sampled)
    about = {"rows": rows}
    if reach.leaning is not None and (sampled.mass**2).sum() < ONE_ROW:
        about["population"] = _over_both(found, rows, reach, reach.leaning, sampled)
    return about


def about_rows(values: np.ndarray, parts: np.ndarray, weights: np.ndarray, rest: Any = 0.0) -> Target | None:
    """What values (p,), made of parts (N, p) of rows of the given weights, tell of the population of rows.

    None where there is one row alone. ``rest`` (p,) is the variance of what parts do not show.
    """
    nothing, sampled = np.zeros((1, len(values))), Sampled(weights, np.ones(1))
    reach = Reach(parts[:, None], nothing, nothing + rest, len(parts) - 1.0)
    rows = targets(Estimated(values[None], nothing, np.ones_like(nothing)), reach, sampled).get("rows")
    if rows is None:
        return None
    skew = skewness(reach, sampled, rows.variance)
    return Target(rows.values[0], np.sqrt(rows.variance[0]), rows.dof[0], skew[0])


def _over_rows(found: Estimated, reach: Reach, sampled: Sampled) -> Estimated:
    dof = np.full(found.values.shape, max(1.0, reach.dof))
    if reach.parts is None:
        return Estimated(found.values, found.variance + reach.between, dof)
    n, squares = len(reach.parts), _off(reach.parts, sampled) ** 2
    variance = squares.sum(axis=0) * (n / max(1, n - 1)) + reach.rest
    heavy = degrees(squares.sum(axis=0), doubt_in(squares, 1.0).sum(axis=0), unknown=dof)
    return Estimated(found.values, np.maximum(variance, found.variance), np.minimum(dof, np.maximum(heavy, FEWEST)))


def _over_both(found: Estimated, rows: Estimated, reach: Reach, leaning: Leaning, sampled: Sampled) -> Estimated:
    tied = float((sampled.mass**2).sum())  # 1 / m
    c = leaning.rows - sampled.mass[:, None, None] * leaning.rows.sum(axis=0)
    by_background = np.maximum(0.0, ((c**2).sum(axis=0) - leaning.noise) / (1 - tied))
    together = np.zeros_like(by_background)
    if sampled.own is not None and reach.parts is not None:
        is_row = sampled.own >= 0
        together = 2 * (_off(reach.parts, sampled)[is_row] * c[sampled.own[is_row]]).sum(axis=0)
    variance = np.maximum(rows.variance + by_background + together, np.maximum(found.variance, LEAST * rows.variance))
    variance = variance + np.maximum(leaning.gain_variance, 0.0)
    beside = (variance - by_background) ** 2 / rows.dof + by_background**2 * tied / (1 - tied)
    dof = np.divide(variance**2, beside, out=rows.dof.copy(), where=beside > 0)
    return Estimated(found.values + leaning.gain, variance, np.maximum(dof, 1.0))


def skewness(reach: Reach, sampled: Sampled, variance: np.ndarray) -> np.ndarray:
    """Third standardised moments (L, p) of values of the given variance, by what examples contribute to them."""
    if reach.parts is None:
        return np.zeros_like(variance)
    cubes = (_off(reach.parts, sampled) ** 3).sum(axis=0)
    found = np.divide(cubes, variance**1.5, out=np.zeros_like(cubes), where=variance > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _off(parts: np.ndarray, sampled: Sampled) -> np.ndarray:
    """Parts (N, L, p), less the share of the whole that examples of their weight have."""
    return np.asarray(parts - sampled.weights[:, None, None] * parts.sum(axis=0))


def tails(reach: Reach, sampled: Sampled) -> np.ndarray | None:
    """Shares of the variance over examples, and of the values, that the heaviest one in a hundred carry, (2, L, p)."""
    if reach.parts is None:
        return None
    squares = _off(reach.parts, sampled) ** 2
    heaviest = np.argsort(-squares, axis=0, kind="stable")[: max(1, len(squares) // 100)]
    spread = squares.sum(axis=0)
    is_there = spread > ROUNDING**2 * spread.max(axis=1, keepdims=True)  # a player without effect has rounding alone
    shares = []
    for numbers in (squares, reach.parts):
        few, whole = np.take_along_axis(numbers, heaviest, axis=0).sum(axis=0), numbers.sum(axis=0)
        shares.append(np.divide(few, whole, out=np.zeros_like(whole), where=(whole != 0) & is_there))
    return np.stack(shares)
