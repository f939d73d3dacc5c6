"""How near f_S comes to f: squared distances on pairs of a row and a coalition, the same pairs for every removal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from clarysage.coalitions import draw_by_size
from clarysage.errors import ClarysageError
from clarysage.players import Players
from clarysage.protocols import Removal
from clarysage.removal.background import bound_to, codes_of

MEMORY = 1e9  # bytes that the rows given to the model at once may take


@dataclass(frozen=True)
class Trial:
    """Numbers of n rows, and c coalitions of the p players for each of them: (n,), (n, c, p).

    Sizes are uniform on 1, ..., p - 1 and subsets of a size equally likely, so that every prefix of a walk, the ends
    aside, counts alike. Coalitions come in pairs, each with its complement, whose law is the same: where one leaves
    much of f unknown the other leaves little, so that their mean scatters less.

    ``share`` (n,) are the numbers of the draws of coalitions, which several rows may have in common: removals that are
    fitted once a coalition come cheaper then. Errors of such rows are not independent, those of others are.
    """

    rows: np.ndarray
    coalitions: np.ndarray
    share: np.ndarray

    @classmethod
    def draw(
        cls,
        weights: np.ndarray,
        rows: int,
        coalitions: int,
        p: int,
        rng: np.random.Generator,
        *,
        shares: int | None = None,
    ) -> Trial:
        """At most ``rows`` of the rows that weigh anything, drawn without replacement, with coalitions for each.

        Or, where given, so many draws of coalitions for as many rows each, or one more.
        """
        (there,) = np.nonzero(weights > 0)
        chosen = np.sort(rng.choice(there, min(rows, len(there)), replace=False))
        n, half = len(chosen), (coalitions + 1) // 2
        draws = n if shares is None else min(n, shares)
        drawn = draw_by_size(draws * half, np.full(p - 1, 1 / (p - 1)), rng).reshape(draws, half, p)
        both = np.stack([drawn, ~drawn], axis=2).reshape(draws, 2 * half, p)
        share = np.arange(n) if draws == n else rng.permutation(n) % draws  # rows may come in an order that matters
        return cls(chosen, both[share, :coalitions], share)


@dataclass(frozen=True)
class Judged:
    """What came of a trial: the mean of ||f_S(x) - f(x)||^2 over the coalitions of each row, (n,), and what it took."""

    errors: np.ndarray
    seconds: float
    model_rows: int


@dataclass(frozen=True)
class Panel:
    """All that removals are judged on: a model f, rows X and its predictions (n, k) for those of the trial."""

    f: Any
    X: Any
    outputs: np.ndarray
    trial: Trial
    players: Players

    @classmethod
    def of(cls, f: Any, X: Any, background: Any, trial: Trial, players: Players) -> Panel:
        """A panel that asks the model itself, in the dtypes of X and background together."""
        bound = bound_to(f, X, background, MEMORY)
        outputs = bound.predictor(bound.examples.codes[trial.rows])
        return cls(f, X, outputs, trial, players)

    def judge(self, removal: Removal, rng: np.random.Generator) -> Judged:
        """The squared distances of a removal's f_S from f."""
        begun = perf_counter()
        n, c, p = self.trial.coalitions.shape
        f_S = removal.restrict(self.f, self.X)
        x = np.repeat(codes_of(f_S, self.X)[self.trial.rows], c, axis=0)
        shown = f_S.predict(x, self.players.columns(self.trial.coalitions.reshape(n * c, p)), rng)
        errors = ((shown.reshape(n, c, -1) - self.outputs[:, None]) ** 2).sum(axis=2).mean(axis=1)
        return Judged(errors, perf_counter() - begun, f_S.rows_of_checks + n * c * f_S.rows_per_prediction)

    def judge_those_that_can(
        self, makers: Mapping[str, Callable[[], Removal]], rng: Callable[[], np.random.Generator]
    ) -> tuple[dict[str, Judged], dict[str, str]]:
        """Judges all removals that can be made and used; and why others cannot. An error where none can."""
        found: dict[str, Judged] = {}
        left_out: dict[str, str] = {}
        failure: ClarysageError | None = None
        for name, make in makers.items():
            try:
                found[name] = self.judge(make(), rng())
            except ClarysageError as error:
                left_out[name], failure = str(error), error
        if not found and failure is not None:
            raise failure
        return found, left_out


def mean_and_covariance(errors: np.ndarray, weights: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over rows of errors (n, r) by weight, (r,), and their covariance over draws of rows and coalitions, (r, r).

    Pairs of one row go together, since they are not independent, and so do rows that share their coalitions, ``share``
    (n,). Groups of rows are independent, and alike but for their weights.
    """
    mass, groups = weights / weights.sum(), int(share.max()) + 1
    means = mass @ errors
    parts = np.zeros((groups, errors.shape[1]))
    np.add.at(parts, share, mass[:, None] * (errors - means))
    return means, parts.T @ parts * (groups / (groups - 1))
