"""Classifier two-sample test of hybrid rows against real ones: does marginal removal leave the data's manifold?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage._measures.options import Run
from clarysage._measures.problem import Problem
from clarysage.catalogue import REMOVALS
from clarysage.errors import InputError, Note, Set
from clarysage.estimators.forecast import least_seconds
from clarysage.execution.seeds import MANIFOLD, entropy_of, stream
from clarysage.games import PredictivePower
from clarysage.players import Players
from clarysage.protocols import (
    Estimator,
    GroupsLike,
    HasBackground,
    HybridRows,
    Removal,
    Rule,
    Seed,
    TableLike,
    ability,
)
from clarysage.removal.background import match_by_cells
from clarysage.removal.off_manifold import (
    FEWEST,
    TREES,
    OffManifold,
    RowPairs,
    sampled_columns,
    seconds_of_test,
    trees_within,
    two_sample_test,
)
from clarysage.synonyms import with_synonyms
from clarysage.tables import as_table, schema_of

SHARE = 0.1  # of the seconds of a run, and of the time until a deadline, that the test takes at most


@with_synonyms
def off_manifold(
    X: TableLike, background: TableLike | None = None, *, groups: GroupsLike | None = None, rng: Seed = None
) -> OffManifold:
    """Estimates how many of the rows that marginal removal makes look unlike real ones (classifier two-sample test).

    A hybrid row has the columns of a random coalition from a row of X, and the other columns from a background row; all
    coalition sizes are equally likely. A classifier of extremely randomised trees tries to distinguish hybrid rows from
    real rows of X and the background, by their columns and by the residuals of each column given the others. Its AUC is
    that on test rows; if features are independent it is 0.5.

    Parameters
    ----------
    X, background : tables of rows; default background: X itself. At most 512 rows are used, and 1024 columns
    groups : mapping of names to columns that are withheld together
    rng : seed or Generator

    Returns
    -------
    OffManifold

    Notes
    -----
    A high share says that the model is evaluated on rows unlike those it was fitted on; whether that matters for its
    predictions is measured by :func:`~clarysage.removal_quality`. A low share says that this classifier found nothing:
    it may miss dependence that is not monotone, or that is among a few of many columns.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> off_manifold(np.hstack([x, x]), rng=0).is_high
    True
    """
    generator = stream(entropy_of(rng), MANIFOLD, 0)
    rows = as_table(X, "X")
    others = rows if background is None else as_table(background, "background")
    schema = schema_of(rows, others)
    players = Players.of(schema.names, groups)
    x, b = schema.encode(rows, "X"), schema.encode(others, "background")
    if len(players) < 2:
        raise InputError("X", got="one player", wanted="two or more, since a hybrid row mixes players of two rows")
    self_match = np.arange(len(x)) if background is None else match_by_cells(x, b)
    even = np.full(len(x), 1.0), np.full(len(b), 1.0)
    sample = _draw_sample(x, b, self_match, *even, players, schema.is_number, generator, is_product=False)
    result = sample.compare(generator)
    if result is None:
        raise InputError(
            "X",
            got=f"{len(x):,} rows and {len(b):,} background rows",
            wanted=f"enough for {FEWEST} pairs of a row of X and another one of background",
        )
    return result


def about_manifold(
    v: PredictivePower, problem: Problem, run: Run, estimator: Estimator[Any], rules: Sequence[Rule]
) -> list[Note | str]:
    """Returns a warning if many of the rows that the removal of a run makes look unlike real ones.

    The test has as many trees as fit into a tenth of the run, which is forecast by counts: the same on any machine.
    """
    row, f_S = REMOVALS.row_of(problem.removal), ability(v.restricted, HybridRows)
    if not run.check_manifold or row is None or row.mixes is None or f_S is None:
        return []
    name, rng = problem.removal_name, stream(problem.seed, MANIFOLD, 0)
    sample = _sample_of(v, f_S, problem.removal, rng, is_product=row.mixes == "columns")
    if not sample.is_testable:
        return []
    trees = sample.trees_within(SHARE * least_seconds(v, estimator, rules))
    is_late = seconds_of_test(v.X.shape[1]) > SHARE * run.left
    if is_late or not trees:
        why = "the deadline is near" if is_late else "that would take more than a tenth of so short a run"
        text = f"Whether rows made by {name} removal look like real ones was not tested, since {why}."
        return [Note(text, topic="manifold")]
    try:
        result = sample.compare(rng, trees)
    except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:  # of the classifier, for unusual data
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        text = f"Rows made by {name} removal could not be compared with real ones ({reason})."
        return [Note(text, ("Try ", Set("check_manifold", False), ", or other rows."), topic="manifold")]
    if result is None or not result.is_high:
        return []
    text = (
        f"At least {100 * result.share:.0f} % of the rows made by {name} removal look unlike real ones (a "
        f"classifier tells them apart with an AUC of {result.auc:.2f} ± {result.std_error:.2f}), since features "
        "depend on each other: for such rows the model extrapolates."
    )
    advice = ("Try ", Set("removal", "auto conditional"), ", or groups of correlated features.")
    return [Note(text, advice, topic="manifold")]


@dataclass(frozen=True)
class TestedRows:
    """Pairs of rows to test, their players, and which columns are numbers."""

    pairs: RowPairs
    players: Players
    is_number: np.ndarray
    is_product: bool

    @property
    def is_testable(self) -> bool:
        """True if there are several players, and enough pairs."""
        return len(self.players) > 1 and len(self.pairs) >= FEWEST

    def trees_within(self, seconds: float) -> int:
        """Returns the number of trees for a test of so many seconds; 0 if a test takes longer."""
        return trees_within(seconds, len(self.pairs), len(self.is_number))

    def compare(self, rng: np.random.Generator, trees: int = TREES) -> OffManifold | None:
        """Tests whether hybrid rows of the pairs are unlike real ones."""
        return two_sample_test(self.pairs, self.players, self.is_number, rng, is_product=self.is_product, trees=trees)


def _sample_of(
    v: PredictivePower, f_S: HybridRows, removal: Removal, rng: np.random.Generator, *, is_product: bool
) -> TestedRows:
    background, background_weights, self_match = f_S.background, f_S.background_weights, v.self_match
    made_of = ability(removal, HasBackground)
    if is_product and made_of is not None:  # rows of f_S are already mixtures
        background = f_S.schema.encode(made_of.background, "background")
        background_weights, self_match = np.ones(len(background)), match_by_cells(v.X, background)
    weights = v.weights, background_weights
    return _draw_sample(
        v.X, background, self_match, *weights, v.players, f_S.schema.is_number, rng, is_product=is_product
    )


def _draw_sample(
    X: np.ndarray,
    background: np.ndarray,
    self_match: np.ndarray | None,
    weights: np.ndarray,
    background_weights: np.ndarray,
    players: Players,
    is_number: np.ndarray,
    rng: np.random.Generator,
    *,
    is_product: bool,
) -> TestedRows:
    columns, players = sampled_columns(players, rng)
    pairs = RowPairs.draw(X, background, self_match, weights, background_weights, rng)
    return TestedRows(RowPairs(pairs.x[:, columns], pairs.b[:, columns]), players, is_number[columns], is_product)
