"""f_S by few background rows, which are chosen and weighed by what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage.models import BoundPredictor
from clarysage.protocols import Check, ModelFacts, Singles
from clarysage.removal.background import KnownRows
from clarysage.removal.background_draws import at_levels
from clarysage.removal.restricted.hybrid import COALITIONS_AT_ONCE, DRAWS_OF_CONDITIONAL, mean_over
from clarysage.removal.restricted.prefixes import at_prefixes, put_in
from clarysage.tables import EncodedTable, Schema

FOLLOWS = "Withheld features follow the kept ones, by {}: intervals are about rows with the removal as it was fitted."


class RowChoice(Protocol):
    """Which K rows of the background stand in for what is withheld, and with which weights."""

    @property
    def rows(self) -> int:
        """K."""
        ...

    def __call__(self, x: np.ndarray, is_kept: np.ndarray, self_match: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of rows (n, K) and their weights (n, K), adding up to one, for rows of codes and kept columns (n, d).

        ``self_match`` (n,) is the background row that x is, which is not to be chosen; -1 for none.
        """
        ...


@dataclass(frozen=True)
class WeightedModel:
    r"""The restricted model with withheld columns from K background rows whose weights depend on what is kept.

    .. math:: f_S(x_S) = \sum_k w_k(x_S) f(x_S, b_{k, \bar S})

    With nothing kept all rows count by their mass; with everything kept it is f(x).
    """

    predictor: BoundPredictor
    background: np.ndarray
    background_weights: np.ndarray
    choice: RowChoice
    known: KnownRows
    remarks: tuple[str, ...] = ()
    encoded: EncodedTable | None = None  # the examples it was made for, until a game has them

    @property
    def schema(self) -> Schema:
        return self.predictor.schema

    @property
    def facts(self) -> ModelFacts:
        return self.predictor.facts

    @property
    def rows_per_prediction(self) -> int:
        return self.choice.rows

    @property
    def rows_of_checks(self) -> int:
        """Beside those of the door: the empty coalition takes all background rows, and is counted as taking K."""
        return self.predictor.rows_asked + len(self.background) - self.choice.rows

    def guarded(self, checks: tuple[Check, ...]) -> WeightedModel:
        return replace(self, predictor=self.predictor.guarded(checks), encoded=None)

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x)

    @cached_property
    def nothing(self) -> np.ndarray:
        """The mean of f over the background, (k,)."""
        return np.asarray(mean_over(self.predictor(self.background)[None], self.background_weights)[0])

    def empty(self) -> np.ndarray:
        return self.nothing

    def predict(self, x: np.ndarray, is_kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """f_S(x); the generator is not used, since nothing is drawn."""
        size = is_kept.sum(axis=1)
        inner = np.flatnonzero((size > 0) & (size < is_kept.shape[1]))
        if len(inner) == len(x):
            return self._means(x, is_kept)
        outputs = np.repeat(self.empty()[None], len(x), axis=0)
        whole = size == is_kept.shape[1]
        if whole.any():
            outputs[whole] = self.full(x[whole])
        if len(inner):
            outputs[inner] = self._means(x[inner], is_kept[inner])
        return outputs

    def walk(self, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return at_prefixes(self.predict, x, entry_position, rng, coalitions_at_once=COALITIONS_AT_ONCE)

    @property
    def draws_at_once(self) -> int:
        return DRAWS_OF_CONDITIONAL

    def singly(self) -> WeightedModel:
        return self

    def single(self, x: np.ndarray, full: np.ndarray, is_kept: np.ndarray, levels: np.ndarray) -> Singles:
        """f(x_S, b_k) with single rows b_k, at quantile levels of the weights."""
        background_index, columns = at_levels(self.background_weights, levels), np.flatnonzero(~is_kept)
        if is_kept.any():
            self_match = self.known.places(x)
            for part in _slices(len(x), COALITIONS_AT_ONCE):
                background_index[part] = self._chosen(x[part], is_kept, self_match[part], levels[part])
        cells = self.background[background_index[:, :, None], columns]
        return Singles(*put_in(x, columns, cells, full, self.predictor), background_index=background_index)

    def _chosen(self, x: np.ndarray, is_kept: np.ndarray, self_match: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """The rows (n, q) at quantile levels of the weights of those that stand in."""
        rows, weights = self.choice(x, np.broadcast_to(is_kept, x.shape), self_match)
        ends = np.cumsum(weights, axis=1)
        which = (levels[:, :, None] * ends[:, None, -1:] >= ends[:, None]).sum(axis=2)
        return np.take_along_axis(rows, np.minimum(which, rows.shape[1] - 1), axis=1)

    def _means(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Weighted means over the chosen rows, in calls of bounded size."""
        self_match, parts = self.known.places(x), []
        for many in _slices(len(x), COALITIONS_AT_ONCE):
            background_index, weights = self.choice(x[many], is_kept[many], self_match[many])
            for few in _slices(len(background_index), max(1, self.predictor.rows_per_call // self.choice.rows)):
                shown = np.where(
                    is_kept[many][few][:, None], x[many][few][:, None], self.background[background_index[few]]
                )
                outputs = self.predictor(shown.reshape(-1, x.shape[1])).reshape(
                    *background_index[few].shape, -1
                )  # (n, K, k)
                parts.append(weighted_mean(outputs, weights[few]))
        return np.concatenate(parts)


def weighted_mean(outputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means of (n, K, k) over K by weights (n, K); that of equal predictions is that prediction to the last bit."""
    first = outputs[:, 0]
    return np.asarray(first + np.einsum("nbk,nb->nk", outputs - first[:, None], weights))


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))
