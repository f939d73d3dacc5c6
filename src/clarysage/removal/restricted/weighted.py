"""f_S as a mean over few background rows, chosen and weighted given the kept columns (weighted imputation)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage._utils.pace import Pace
from clarysage.models import BoundPredictor
from clarysage.protocols import Check, Kind, ModelFacts, SingleImputations, ability
from clarysage.removal.background import SelfMatchLookup
from clarysage.removal.background_draws import inverse_cdf
from clarysage.removal.restricted.hybrid import COALITIONS_AT_ONCE, DRAWS_OF_CONDITIONAL, mean_over
from clarysage.removal.restricted.prefixes import at_prefixes, batches, impute
from clarysage.tables import EncodedTable, Schema

NOTE = (
    "Withheld features were drawn given the kept ones, from {}. Intervals cover the sampling of rows with the removal "
    "as it was fitted."
)


class RowChoice(Protocol):
    """A rule that chooses K background rows, with weights, to replace the withheld columns of an example."""

    @property
    def rows(self) -> int:
        """The number of rows, K."""
        ...

    def __call__(self, x: np.ndarray, is_kept: np.ndarray, self_match: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
        """Returns row numbers (n, K) and weights (n, K), adding up to one, for rows of codes and kept columns (n, d).

        ``self_match`` (n,) is the background row that x is, which must not be chosen; -1 for none.
        """
        ...


@dataclass(frozen=True)
class WeightedModel:
    r"""The restricted model with withheld columns from K background rows whose weights depend on the kept columns.

    .. math:: f_S(x_S) = \sum_k w_k(x_S) f(x_S, b_{k, \bar S})

    With nothing kept, all background rows count by their own weights; with everything kept it is f(x).
    """

    predictor: BoundPredictor
    background: np.ndarray
    background_weights: np.ndarray
    choice: RowChoice
    self_matches: SelfMatchLookup
    remarks: tuple[str, ...] = ()
    encoded: EncodedTable | None = None  # the examples the model was restricted to, until a game keeps them

    @property
    def schema(self) -> Schema:
        return self.predictor.schema

    @property
    def facts(self) -> ModelFacts:
        return self.predictor.facts

    def __conform__(self, kind: type[Kind]) -> object:
        """Returns the measured speed of the model."""
        return ability(self.predictor, Pace) if kind is Pace else None

    @property
    def rows_per_prediction(self) -> int:
        return self.choice.rows

    @property
    def rows_of_checks(self) -> int:
        """Rows of the first checks, and the m rows of the empty coalition beyond the K that it is counted as."""
        return self.predictor.rows_asked + len(self.background) - self.choice.rows

    def guarded(self, checks: tuple[Check, ...]) -> WeightedModel:
        return replace(self, predictor=self.predictor.guarded(checks), encoded=None)

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x)

    @cached_property
    def _mean_prediction(self) -> np.ndarray:
        return np.asarray(mean_over(self.predictor(self.background)[None], self.background_weights)[0])

    def empty(self) -> np.ndarray:
        return self._mean_prediction

    def predict(self, x: np.ndarray, is_kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns f_S(x); the generator is not used, since the rows are not drawn at random."""
        size = is_kept.sum(axis=1)
        inner = np.flatnonzero((size > 0) & (size < is_kept.shape[1]))
        if len(inner) == len(x):
            return self._means(x, is_kept)
        outputs = np.repeat(self.empty()[None], len(x), axis=0)
        is_full = size == is_kept.shape[1]
        if is_full.any():
            outputs[is_full] = self.full(x[is_full])
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

    def single(self, x: np.ndarray, full: np.ndarray, is_kept: np.ndarray, levels: np.ndarray) -> SingleImputations:
        """Returns f(x_S, b_k) for single background rows b_k, drawn at quantile levels (n, q) of the rows' weights."""
        background_index, columns = inverse_cdf(self.background_weights, levels), np.flatnonzero(~is_kept)
        if is_kept.any():
            self_match = self.self_matches.look_up(x)
            for part in batches(len(x), COALITIONS_AT_ONCE):
                background_index[part] = self._drawn(x[part], is_kept, self_match[part], levels[part])
        cells = self.background[background_index[:, :, None], columns]
        return SingleImputations(*impute(x, columns, cells, full, self.predictor), background_index=background_index)

    def _drawn(self, x: np.ndarray, is_kept: np.ndarray, self_match: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Returns the rows (n, q) at quantile levels of the weights of the chosen rows."""
        rows, weights = self.choice(x, np.broadcast_to(is_kept, x.shape), self_match)
        ends = np.cumsum(weights, axis=1)
        index = (levels[:, :, None] * ends[:, None, -1:] >= ends[:, None]).sum(axis=2)
        return np.take_along_axis(rows, np.minimum(index, rows.shape[1] - 1), axis=1)

    def _means(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns weighted means over the chosen rows, in calls of bounded size."""
        self_match, means = self.self_matches.look_up(x), []
        rows_per_batch = max(1, self.predictor.rows_per_call // self.choice.rows)
        for part in batches(len(x), COALITIONS_AT_ONCE):
            background_index, weights = self.choice(x[part], is_kept[part], self_match[part])
            for batch in batches(len(background_index), rows_per_batch):
                mask, index = is_kept[part][batch], background_index[batch]
                rows = np.where(mask[:, None], x[part][batch][:, None], self.background[index])
                outputs = self.predictor(rows.reshape(-1, x.shape[1])).reshape(*index.shape, -1)  # (n, K, k)
                means.append(weighted_mean(outputs, weights[batch]))
        return np.concatenate(means)


def weighted_mean(outputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns means of (n, K, k) over K by weights (n, K); exact to the last bit for equal predictions."""
    first = outputs[:, 0]
    return np.asarray(first + np.einsum("nbk,nb->nk", outputs - first[:, None], weights))
