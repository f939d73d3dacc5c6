"""SAGE values: from a model and data to an Explanation, in five hops."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clarysage._measures.checkpoint_identity import Kept
from clarysage._measures.examples import with_rows_wanted
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.problem import Setting
from clarysage._measures.rules import observer_of, rules_of
from clarysage._measures.run import explained_run
from clarysage.estimators import SurrogateWalks, as_estimator, choose, estimate, nothing_moves
from clarysage.execution.parallel import as_executor
from clarysage.inference.estimate import Estimate
from clarysage.inference.stopping import Deadline

SLOW_RUN = 30.0  # seconds ...
SLOW_ROW = 2e-4  # ... at so many a model row, about twenty times what a surrogate takes


def sage(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    background: Any = None,
    removal: Any = "marginal",
    loss: Any = "auto",
    method: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    tolerance: float | None = 0.025,
    budget: float | None = None,
    deadline: float | None = None,
    stop: Any = None,
    n_jobs: Any = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    max_rows: int | None = None,
    memory_limit: float | None = None,
    batch_size: int | None = None,
    rng: Any = None,
) -> Any:
    """SAGE values: how much each feature adds to a model's predictive power (Shapley values of Eq. 2).

    Parameters
    ----------
    model : anything fitted, any callable of rows, or a :class:`~clarysage.Predictor`
    X, y : examples to judge the model on, best not those it was fitted on; ``y=None`` explains the variance of the
        model's output instead (Shapley effects), without labels. X is a table in memory, or one on disk, of which only
        drawn rows are read: the path of a Parquet file, of a folder of them or of an Arrow file, a list of
        Parquet files, or a dataset or file of pyarrow. Where columns have names, y may be the name of one
    background : rows that stand in for withheld features; default X itself, thinned to 512 rows
        (4,096 for a removal that learns from them). Of a path or a dataset so many rows are drawn
    removal : "marginal", "product of marginals", "baseline"; given the kept features "gaussian", "copula",
        "neighbours", "trees", "surrogate", or "auto conditional" for the one of these that comes nearest to E[f | x_S]
        on the data; or an object such as ``Copula(X_train)``
    loss : "auto", "squared error", "absolute error", "cross entropy", "zero one", "brier", a callable
        ``loss(y_true, y_pred)`` that returns one value per example, or a list of these, evaluated in one pass
    method : "auto" (exact where that is no dearer, else paired walks), "exact", "paired walks", "surrogate walks" (for
        slow models), "permutation" (Algorithm 1), "kernel", or an object such as ``SurrogateWalks(regressor)``
    groups : mapping of names to columns that play as one; columns not named stay players of their own
    sample_weight : one weight an example, or the name of a column
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values
        (Sec. 3.3), at this many model rows, or after this many seconds, whichever comes first
    stop : a further rule, or a list of them: called with the Estimate, it returns a StopReason or None
    n_jobs : workers: a number, -1 for all cores, or a cluster: a Dask client, ``Dask(address)`` or ``Ray(address)``;
        default as ``joblib.parallel_config`` says, else one. Results are the same bits for any of them
    checkpoint : a file to keep the run in, written at the end of every round and when the run is interrupted, so that
        the same call goes on where it was, with the bits of a run that was not interrupted. ``rng=None`` takes up the
        seed in it; a finer ``tolerance`` goes on from a run that had converged. A file of another run, or a damaged
        one, is refused
    progress : True for a bar on stderr
    feature_names : names for the columns, where X has none or others are wanted
    max_rows : rows of X to take at most, drawn at random without replacement. Default: all of a table in memory; of one
        on disk, or of an Arrow table too large for the memory limit, 100,000, or as many as the limit holds
    memory_limit : bytes, about, that the rows given to the model at once may take, in each worker, and that the rows
        of a table on disk may take in all; default 1e9. Where a removal object has a limit of its own, the lower holds
    batch_size : rows that the model gets at once, at most, and that a worker's batch holds; default 32,768, or what the
        memory limit allows. For a slow model and many workers, as many as take it a second or so
    rng : seed or Generator

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A value is in units of the loss. It can be negative: the feature then makes the model's predictions worse. Under
    marginal removal strongly correlated features lead to rows unlike any real one, and a note says so where there are
    many of them (:func:`~clarysage.off_manifold`); see ``removal``.

    Of a table on disk the features are the columns that the model was fitted on, or all but y and the weights where it
    does not say. The model gets pandas frames for a path, Arrow tables for an object of pyarrow, unless it takes others
    only. Rows are drawn with equal chances whatever their weights, which are then those of the rows drawn, adding up to
    one: values are ratios of sums, as survey statistics have them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = sage(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    called = time.monotonic()
    rules = rules_of(tolerance, budget, deadline, stop)
    executor, kept = as_executor(n_jobs), Kept.at(checkpoint)
    setting = Setting.of(
        model, X, y, sample_weight, background=background, removal=removal, groups=groups, feature_names=feature_names,
        rng=kept.rng(rng), max_rows=max_rows, memory_limit=memory_limit, batch_size=batch_size,
    )  # fmt: skip
    v, remarks = setting.game(loss)
    rules = [left_of(rule, time.monotonic() - called) for rule in rules]
    estimator = as_estimator(method, v, rules)
    remarks += [*v.remarks, *([choose(v, rules)[1]] if _is_auto(method) else [])]
    remarks += about_manifold(v, setting.removal, setting.entropy)

    measure = "shapley effects" if y is None else "sage"
    point = kept.of(setting, v, measure=measure, estimator=estimator, rules=rules)

    def explanations(result: Estimate) -> Any:
        notes = [*remarks, *_about_speed(time.monotonic() - begun, result, estimator.name)]
        found = setting.explanations(v, result, measure=measure, method=estimator.name, notes=notes)
        found = [with_rows_wanted(one, tolerance) for one in found]
        return found if isinstance(loss, (list, tuple)) else found[0]

    def estimated() -> Estimate:
        options: dict[str, Any] = {"executor": executor, "seed": setting.entropy}
        still, in_vain = nothing_moves(v, rules, **options) if estimator.limit(v) is None else (None, 0)
        game = replace(v, rows_in_vain=v.rows_in_vain + in_vain) if in_vain else v
        options |= {"observer": observer_of(progress, rules), "checkpoint": point}
        return still or estimate(game, estimator, stop=rules, **options)

    begun = time.monotonic()
    return explained_run(estimated, explanations)


def left_of(rule: Any, seconds: float) -> Any:
    """A rule when so many seconds have gone by, as in choosing a removal."""
    return Deadline(max(0.01, rule.seconds - seconds)) if isinstance(rule, Deadline) else rule


def _is_auto(method: Any) -> bool:
    return isinstance(method, str) and method.lower().strip() == "auto"


def _about_speed(seconds: float, result: Estimate, method: str) -> list[str]:
    """A word on surrogate walks, where a model is so slow that they would pay."""
    if method == SurrogateWalks().name or seconds < SLOW_RUN or seconds < SLOW_ROW * result.model_rows:
        return []
    return [f"The model took {1e3 * seconds / result.model_rows:.2g} ms a row: method=\"surrogate walks\" asks it for "
            "fewer rows."]  # fmt: skip
