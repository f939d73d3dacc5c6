"""Agreement: correlation and R2 of the additive proxy u(S) with the power v(S) of subsets (paper, Table 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from clarysage.codec import Array, freeze_arrays, require
from clarysage.errors import InputError, Note, PythonOnly
from clarysage.execution.seeds import RESAMPLES, stream
from clarysage.inference.association import Association
from clarysage.results.explanation import Explanation
from clarysage.results.files import file_format
from clarysage.results.result import Result, plots, refuse_about
from clarysage.results.summary import Column, Record, Summary, Table
from clarysage.results.text import loss_words

if TYPE_CHECKING:
    import pandas as pd

FEWEST_DRAWN = 10  # subsets; bootstrap resamples of fewer are too similar for an interval


@file_format(
    "agreement",
    "correlation and R2 of the sum of the values with the power of subsets of features",
    shown={
        "correlation": lambda agreement: agreement.correlation,
        "r2": lambda agreement: agreement.r2,
        "intervals": lambda agreement: agreement.interval(),
    },
)
@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    r"""Additive proxies u(S) and powers v(S) of subsets S of features, and how well they agree.

    .. math:: u(S) = \phi_0 + \sum_{i \in S} \phi_i

    Attributes
    ----------
    subsets : (n, p) membership of each feature (in the order of ``names``) in each subset
    u, v : (n,) proxies, and powers
    std_error : (n,) standard error of each v(S), zero where it is exact
    weights : (n,) weights that add up to one: equal for sampled subsets; with all subsets, the probability of each
    names : names of the features
    is_complete : whether all subsets are included, so that there is no sampling of subsets
    is_in_units : whether u(S) is in units of the loss, with phi_0 known; other scores are only summed, and have no R2
    measure, loss : measure of the explanation, and loss of v
    model_rows, fits : cost of the values v(S), without those of the empty and the full set, which the game knew
    seed : seed of the subsets, and of the bootstrap resamples behind intervals

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> def model(X):
    ...     return X[:, 0] + X[:, 0] * X[:, 1]
    >>> agreement = cs.sage(model, X, model(X), rng=0).agreement(cs.game(model, X, model(X)))
    >>> len(agreement.u), agreement.is_complete, bool(agreement.correlation > 0.9)
    (4, True, True)
    """

    subsets: Annotated[np.ndarray, Array("n p", is_boolean=True)]
    u: Annotated[np.ndarray, Array("n")]
    v: Annotated[np.ndarray, Array("n")]
    std_error: Annotated[np.ndarray, Array("n", low=0)]
    weights: Annotated[np.ndarray, Array("n", low=0)]
    names: tuple[str, ...]
    is_complete: bool
    is_in_units: bool
    measure: str
    loss: str
    model_rows: int
    fits: int
    seed: int

    def __post_init__(self) -> None:
        freeze_arrays(self, p=len(self.names))
        total = float(self.weights.sum())
        require(abs(total - 1) < 1e-6, "weights", total, "weights that add up to one")

    @property
    def correlation(self) -> float | None:
        """Correlation of u(S) with v(S), corrected for the noise of v(S); None where one of them does not vary."""
        return _finite_or_none(self._association.numbers()[0])

    @property
    def r2(self) -> float | None:
        """Share of the variance of v(S) that u(S) predicts: 1 - E(v - u)^2 / Var(v), corrected for the noise of v(S).

        R2 is stricter than a correlation, since u has to equal v and not only to vary with it. None where scores are
        not in units of the loss, such as those of heuristics, and where v(S) does not vary.
        """
        return _finite_or_none(self._association.numbers()[1]) if self.is_in_units else None

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float] | None]:
        """Returns bootstrap intervals for "correlation" and "r2", by name; None where the interval is unknown.

        Intervals are about another sample of subsets, with the same importance values and data; fewer than ten sampled
        subsets are too few for an interval. With all subsets, the noise of v(S) is the only uncertainty.
        """
        rng = stream(self.seed, RESAMPLES, 0)
        low, high = self._association.interval(level, is_drawn=not self.is_complete, rng=rng)
        scores = {"correlation": self.correlation, "r2": self.r2}
        is_determined = np.isfinite(low + high) & (self.is_complete or len(self.v) >= FEWEST_DRAWN)
        return {
            name: None if value is None or not is_determined[i] else (float(low[i]), float(high[i]))
            for i, (name, value) in enumerate(scores.items())
        }

    def against(self, explanation: Explanation) -> Agreement:
        """Returns the agreement of another explanation with the same powers v(S), without further model rows."""
        indices = indices_of(explanation, self.names)
        return replace(
            self,
            u=additive_proxy(explanation, self.subsets, indices),
            is_in_units=is_in_units(explanation),
            measure=explanation.measure,
            model_rows=0,
            fits=0,
        )

    def to_frame(self) -> pd.DataFrame:
        """Returns a pandas DataFrame with a row for each subset: size, members, u, v, its std_error, and weight."""
        import pandas as pd

        members = [tuple(name for name, is_in in zip(self.names, row, strict=True) if is_in) for row in self.subsets]
        return pd.DataFrame(
            {
                "size": self.subsets.sum(axis=1),
                "members": members,
                "u": self.u,
                "v": self.v,
                "std_error": self.std_error,
                "weight": self.weights,
            }
        )

    def plot(self, **options: Any) -> Any:
        """Draws u(S) against v(S) on a matplotlib axis; see :func:`clarysage.plots.proxy` for the options."""
        return plots().proxy(self, **options)

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """Returns the agreement in brief: correlation and R2 with intervals, and the subsets behind them."""
        refuse_about(self, about)
        scores = f"{self.measure!r} values" if self.measure else "these values"
        loss = loss_words(self.loss) or "loss"
        return Summary(
            kind="agreement",
            title=f"How well {scores} predict by how much subsets reduce the {loss}",
            headline=f"How well u(S), the sum of {scores}, predicts v(S), by how much a subset S reduces the {loss}",
            tables=_tables(self, level),
            notes=_notes(self),
            pictures={"plot": self.plot},
            record=_record(self, level),
        )

    @property
    def _association(self) -> Association:
        return Association(self.u, self.v, self.std_error**2, self.weights)


def additive_proxy(explanation: Explanation, subsets: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Returns u(S) of subsets (n, p); ``indices`` are the players of the explanation that the columns stand for."""
    constant = 0.0 if explanation.constant is None else explanation.constant
    return np.asarray(constant + subsets @ explanation.values[indices])


def is_in_units(explanation: Explanation) -> bool:
    """Tells whether values are in units of the loss, so that together with phi_0 they predict v(S)."""
    return explanation.constant is not None and explanation.base is not None


def indices_of(explanation: Explanation, names: tuple[str, ...]) -> np.ndarray:
    """Returns the index of each name in the explanation; raises where the names are not those of its players."""
    if not isinstance(explanation, Explanation):
        raise InputError("explanation", got=type(explanation).__name__, wanted="an Explanation")
    if sorted(names) != sorted(explanation.feature_names):
        differing = sorted(set(names) ^ set(explanation.feature_names))
        raise InputError(
            "game",
            got=f"players that are not those of the explanation: only one of the two has {differing[0]!r}",
            wanted="the same features or groups",
            hint=PythonOnly("players=Players.of(feature_names, groups) for the game"),
        )
    return np.array([explanation.feature_names.index(name) for name in names])


def _finite_or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _tables(agreement: Agreement, level: float) -> tuple[Table, ...]:
    """Returns the table of correlation and R2 with their intervals, as far as they are known."""
    ends, is_exact = agreement.interval(level), agreement.is_complete and not agreement.std_error.any()
    scores = {"correlation": agreement.correlation, "r2": agreement.r2}
    rows = [(name, value, None if is_exact else ends[name]) for name, value in scores.items() if value is not None]
    if not rows:
        return ()
    intervals = ["" if pair is None else f"[{pair[0]:.4f}, {pair[1]:.4f}]" for *_, pair in rows]
    return (
        Table(
            (
                Column("", [name.replace("r2", "R2") for name, *_ in rows], "name"),
                Column("value", [f"{value:.4f}" for _, value, _ in rows]),
                Column(f"{100 * level:g}% interval" if any(intervals) else "", intervals, "interval"),
            )
        ),
    )


def _record(agreement: Agreement, level: float) -> Record:
    """Returns the numbers and words that tools for tracking experiments keep."""
    from clarysage import __version__

    numbers: dict[str, tuple[float | None]] = {}
    ends = agreement.interval(level)
    for name, value in (("correlation", agreement.correlation), ("r2", agreement.r2)):
        low, high = ends[name] or (None, None)
        numbers |= {name: (value,), f"{name}_low": (low,), f"{name}_high": (high,)}
    return Record(
        name="agreement",
        frame=agreement.to_frame,
        columns=(),
        numbers={
            **numbers,
            "subsets": (len(agreement.v),),
            "model_rows": (agreement.model_rows,),
            "fits": (agreement.fits,),
        },
        words={
            "version": __version__,
            "measure": agreement.measure,
            "loss": agreement.loss,
            "seed": str(agreement.seed),
            "intervals": f"{100 * level:g}% intervals about other subsets of the same features",
        },
        plot=agreement.plot,
        item=None,
    )


def _notes(agreement: Agreement) -> tuple[Note, ...]:
    """Returns notes on the subsets, on unknown scores, on the noise of v(S), and on the cost."""
    n, p = agreement.subsets.shape
    features = f"{p} feature{'s' if p > 1 else ''}"
    if agreement.is_complete:
        words = [f"Over all {n:,} subsets of {features}, all sizes with equal weight; no sampling of subsets."]
    else:
        words = [f"Over {n:,} random subsets of {features}, all sizes equally likely."]
    if agreement.correlation is None:
        words.append("No correlation, since u(S) or v(S) is the same for all subsets, as far as is known.")
    if not agreement.is_in_units:
        words.append("No R2, since the scores are not in units of the loss.")
    if agreement.std_error.any():
        words.append(
            f"v(S) has standard errors of at most {agreement.std_error.max():.2g} and a standard deviation of "
            f"{agreement.v.std():.2g}; correlation and R2 are corrected for this noise."
        )
    cost = f"{agreement.fits:,} fits, " if agreement.fits else ""
    return tuple(map(Note, [*words, f"{cost}{agreement.model_rows:,} model rows."]))
