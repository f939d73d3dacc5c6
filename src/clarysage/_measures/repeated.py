"""What both permutation tests do once it is known how a feature is drawn anew."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from clarysage._measures.best_constant import over_best_constant, with_constant
from clarysage._measures.checkpoint_identity import Kept
from clarysage._measures.problem import Setting
from clarysage._measures.rules import observer_of, rules_of
from clarysage._measures.run import explained_run
from clarysage.errors import InputError
from clarysage.estimators import estimate
from clarysage.estimators.permutation_importance import AfterRepeats, Repeats
from clarysage.execution.parallel import as_executor
from clarysage.games import SingleDraws
from clarysage.inference.estimate import Estimate
from clarysage.losses.choice import is_auto


def repeated(
    setting: Setting,
    *,
    measure: str,
    loss: Any,
    repeats: int | None,
    tolerance: float | None,
    budget: float | None,
    deadline: float | None,
    stop: Any,
    n_jobs: Any,
    kept: Kept,
    progress: bool | None,
) -> Any:
    """The explanation of a setting by repeats, or a list of them for a list of losses."""
    check_given(setting.y)
    count = None if repeats is None else _count(repeats)
    rules = rules_of(tolerance, budget, deadline, stop) if count is None else []
    executor = as_executor(n_jobs)
    f_S = setting.removal.restrict(setting.f, setting.X)
    v = SingleDraws.of(f_S, loss, setting.X, setting.y, players=setting.players,
                       sample_weight=setting.sample_weight)  # fmt: skip
    v = v.after(setting.rows_spent)
    if count is not None:
        made = AfterRepeats(count, int((v.weights > 0).sum()))
        given = stop if isinstance(stop, (list, tuple)) else [] if stop is None else [stop]
        rules = rules_of(None, budget, deadline, [made, *given])
    estimator = Repeats(count)
    notes = [*([f"Loss {v.power.losses[0].name!r} was chosen."] if is_auto(loss) else []), *v.power.remarks]

    def explanations(result: Estimate) -> Any:
        shown = over_best_constant(v.power)
        options: dict[str, Any] = {"measure": measure, "method": estimator.name, "notes": notes, "is_linear": True}
        found = with_constant(setting.explanations(shown, result, **options))
        return found if isinstance(loss, (list, tuple)) else found[0]

    point = kept.of(setting, v.power, measure=measure, estimator=estimator, rules=rules)

    def estimated() -> Estimate:
        return estimate(v, estimator, stop=rules, executor=executor, seed=setting.entropy,
                        observer=observer_of(progress, rules), checkpoint=point)  # fmt: skip

    return explained_run(estimated, explanations)


def check_given(y: Any) -> None:
    """Raise where there are no responses: losses are of predictions beside these."""
    if y is None:
        raise InputError("y", got="None", wanted="the responses to judge predictions by",
                         hint="cs.shapley_effects, which needs none")  # fmt: skip


def _count(repeats: Any) -> int:
    if isinstance(repeats, bool) or not isinstance(repeats, Integral) or repeats < 2:
        raise InputError("repeats", got=f"{repeats!r}", wanted="a whole number of two or more, or None",
                         hint="repeats=10; errors are found by comparing repeats")  # fmt: skip
    return int(repeats)
