"""Calls as the documentation of scikit-learn, shap, sage-importance and hidimstat has them, with ``cs`` in their place.

Each of them works, or fails with a message that names the right call.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.metrics import get_scorer, log_loss, make_scorer, mean_pinball_loss, mean_squared_error

import clarysage as cs
from clarysage import synonyms
from clarysage._measures.options import DEFAULTS, options_of
from clarysage._measures.table import MEASURES

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
Y = X["a"] - 2 * X["b"] + RNG.normal(size=60)
WEIGHTS = RNG.random(60)
MODEL, CLASSIFIER = LinearRegression().fit(X, Y), LogisticRegression().fit(X, Y > 0)
RESULT, SAGE = cs.permutation_importance(MODEL, X, Y, rng=0), cs.sage(MODEL, X, Y, rng=0)
RESULTS = (
    SAGE,
    cs.compare(SAGE, SAGE),
    cs.importances(MODEL, X, Y, measures=["sage"], rng=0),
    cs.interactions(MODEL, X, Y, rng=0),
)
OF_EXAMPLES = cs.mean_loss_shap(MODEL, X, Y, rng=0)
importance = partial(cs.permutation_importance, MODEL, X, Y)
importance_of_classes = partial(cs.permutation_importance, CLASSIFIER, X, Y > 0)
local = partial(cs.mean_absolute_shap, MODEL, X)
values = partial(cs.sage, MODEL, X, Y)


@dataclass(frozen=True)
class Row:
    """A call of another library: it works if there is no ``message``; ``needs`` is a library that it needs."""

    library: str
    call: Callable[[], Any]
    message: str = ""
    needs: str = ""


def rows(library: str, *calls: tuple[Callable[[], Any], str] | Callable[[], Any]) -> list[Row]:
    return [Row(library, call) if callable(call) else Row(library, *call) for call in calls]


SCIKIT_LEARN = rows(
    "scikit-learn",
    (lambda: importance(n_repeats=30, random_state=0), "did you mean repeats?"),
    (lambda: importance(max_samples=0.5, random_state=0), "did you mean max_rows?"),
    (lambda: cs.permutation_importance(estimator=MODEL, X=X, y=Y), "did you mean model?"),
    lambda: importance(random_state=0),
    lambda: importance(random_state=np.random.RandomState(42)),
    lambda: importance(random_state=0, n_jobs=2),
    lambda: importance(sample_weight=WEIGHTS),
    lambda: importance(scoring=None),
    lambda: importance(scoring="neg_mean_squared_error", random_state=42),
    lambda: importance(scoring="neg_mean_absolute_error"),
    lambda: importance(scoring=["neg_mean_squared_error", "neg_mean_absolute_error"]),
    (lambda: importance(scoring=["r2", "neg_mean_squared_error"]), 'Try loss="squared error"'),
    (lambda: importance(scoring="neg_root_mean_squared_error"), 'Try loss="squared error"'),
    (lambda: importance(scoring="neg_mean_absolute_percentage_error"), "Try loss=lambda y, p: "),
    lambda: importance(scoring=make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False)),
    lambda: importance(scoring=make_scorer(mean_squared_error, greater_is_better=False)),
    lambda: importance_of_classes(scoring="accuracy", random_state=0),
    lambda: importance_of_classes(scoring="neg_log_loss"),
    lambda: importance_of_classes(scoring=get_scorer("neg_brier_score")),
    lambda: importance_of_classes(scoring=make_scorer(log_loss, response_method="predict_proba", labels=[0, 1])),
    (lambda: importance_of_classes(scoring="roc_auc"), 'Try loss="cross entropy"'),
    (lambda: importance_of_classes(scoring="f1"), 'Try loss="cross entropy", or loss="zero one"'),
    (lambda: importance_of_classes(scoring="balanced_accuracy"), 'loss="zero one" with a sample_weight='),
    (lambda: importance_of_classes(response_method="predict_proba"), r"use cs.as_predictor\(model, output="),
    lambda: RESULT.importances_mean.argsort()[::-1],
    lambda: RESULT.importances_mean - 2 * RESULT.importances_std > 0,
    (lambda: RESULT.importances, "No Explanation attribute importances; use values"),
    (lambda: RESULT["importances_mean"], "Try explanation.importances_mean"),
    lambda: pd.Series(RESULT.feature_importances_, index=X.columns).sort_values(),
    lambda: [
        f"{mean:.3f} +/- {std:.3f}" for mean, std in zip(RESULT.importances_mean, RESULT.importances_std, strict=True)
    ],
    (lambda: cs.partial_dependence(MODEL, X, ["a"]), "use sklearn.inspection"),
    (lambda: cs.drop_column_importance(MODEL, X, Y, cv=5), "did you mean folds?"),
    lambda: cs.permutation_importance(MODEL, X.to_numpy(), Y.to_numpy(), random_state=0),
)
SHAP = rows(
    "shap",
    (lambda: cs.Explainer(MODEL, X), r"use cs.mean_absolute_shap\(model, X, background=X_train\)"),
    (lambda: cs.TreeExplainer(MODEL), r"use cs.mean_absolute_shap\(model, X, background=X_train\)"),
    (lambda: cs.TreeExplainer(MODEL).shap_values(X), "per_example has the values of single examples"),
    (lambda: cs.KernelExplainer(MODEL.predict, cs.sample(X, 100)), r"cs.mean_loss_shap\(model, X, y\)"),
    (lambda: cs.LinearExplainer(MODEL, X), "use cs.mean_absolute_shap"),
    (lambda: cs.DeepExplainer(MODEL, X), "use cs.mean_absolute_shap"),
    (lambda: cs.sample(X, 100), "background=X_train, which is sampled"),
    (lambda: cs.kmeans(X, 10), "background=X_train"),
    (lambda: cs.maskers.Independent(X), "background=X_train"),
    (lambda: cs.initjs(), r"explanation.plot\(\)"),
    (lambda: cs.summary_plot(OF_EXAMPLES.values, X), r"shap.plots.beeswarm\(explanation.to_shap\(X\)\)"),
    (lambda: cs.force_plot(0.0, OF_EXAMPLES.values), r"explanation.to_shap\(X\)"),
    (lambda: cs.dependence_plot("a", OF_EXAMPLES.values, X), r"explanation.to_shap\(X\)"),
    (lambda: cs.plots.bar(SAGE, max_display=12), r"use cs.plots.bars\(explanation, top=10\)"),
    (lambda: cs.plots.beeswarm(OF_EXAMPLES), r"explanation.to_shap\(X\)"),
    (lambda: cs.plots.waterfall(OF_EXAMPLES[0]), r"explanation.to_shap\(X\)"),
    (lambda: cs.plots.scatter(OF_EXAMPLES[:, "a"]), r"explanation.to_shap\(X\)"),
    lambda: SAGE.plot(max_display=12),
    lambda: cs.plots.bars(SAGE, max_display=2),
    (lambda: SAGE.plot(show=False), r"use matplotlib.pyplot.show\(\)"),
    (lambda: SAGE.plot(figsize=(8, 4)), "use ax="),
    lambda: SAGE.values,
    (lambda: SAGE.base_values, "use base, the loss without features"),
    (lambda: SAGE.data, r"use to_shap\(X\)"),
    (lambda: SAGE.abs.mean(0), r"use to_shap\(X\)"),
    (lambda: SAGE[0], r"wanted the name of a feature. Try explanation.values\[0\]"),
    (lambda: SAGE[:, "a"], "wanted the name of a feature"),
    lambda: SAGE["a"],
    (lambda: local(masker=X), "did you mean background?"),
    (lambda: local(feature_perturbation="interventional"), "did you mean removal?"),
    (lambda: local(nsamples=100), "did you mean budget?"),
    (lambda: local(max_evals=500), "did you mean budget?"),
    (lambda: local(model_output="probability"), r"use cs.as_predictor\(model, output="),
    lambda: local(seed=0),
)
PLOTS_OF_SHAP = [
    Row("shap", lambda: drawn("bar", SAGE.to_shap(), max_display=2), needs="shap"),
    Row("shap", lambda: drawn("bar", OF_EXAMPLES.to_shap(X)), needs="shap"),
    Row("shap", lambda: drawn("beeswarm", OF_EXAMPLES.to_shap(X)), needs="shap"),
    Row("shap", lambda: drawn("waterfall", OF_EXAMPLES.to_shap(X)[0]), needs="shap"),
    Row("shap", lambda: drawn("scatter", OF_EXAMPLES.to_shap(X)[:, "a"]), needs="shap"),
]
SAGE_IMPORTANCE = rows(
    "sage-importance",
    (lambda: cs.MarginalImputer(MODEL, X[:512]), r"cs.sage\(model, X, y, background=X_train\[:512\]\)"),
    (lambda: cs.GroupedMarginalImputer(MODEL, X, [[0, 1], [2]]), "groups="),
    (lambda: cs.DefaultImputer(MODEL, np.zeros(3)), 'removal="baseline"'),
    (lambda: cs.PermutationEstimator(None, "mse"), r'cs.sage\(model, X, y, method="permutation"\)'),
    (lambda: cs.IteratedEstimator(None, "mse"), r"cs.sage\(model, X, y"),
    (lambda: cs.KernelEstimator(None, "cross entropy"), r'cs.sage\(model, X, y, method="kernel"\)'),
    (lambda: cs.SignEstimator(None, "mse"), r"stop=cs.SignsKnown\(\)"),
    lambda: values(loss="mse"),
    lambda: cs.sage(CLASSIFIER, X, Y > 0, loss="cross entropy", random_state=0),
    lambda: values(batch_size=512),
    (lambda: values(imputer=None), "did you mean removal?"),
    (lambda: values(thresh=0.05), "did you mean tolerance?"),
    (lambda: values(detect_convergence=True), "did you mean tolerance?"),
    (lambda: values(n_permutations=1000), "did you mean tolerance?"),
    (lambda: values(n_samples=10_000), "did you mean budget?"),
    (lambda: values(bar=False), "did you mean progress?"),
    (lambda: values(verbose=True), "did you mean progress?"),
    (lambda: cs.sage(MODEL, X, Y=Y), "did you mean y?"),
    lambda: SAGE.plot(["first", "second", "third"]),
    (lambda: SAGE.plot(["first", "second"]), "feature_names: got 2 names; wanted one for each of the 3"),
    (lambda: SAGE.plot(max_features=2), "did you mean top?"),
    (lambda: SAGE.std, "use std_error"),
    (lambda: SAGE.plot_sign(["first", "second", "third"]), r"use signs, or cs.plots.signs\(explanation\)"),
    (lambda: SAGE.comparison([RESULT], ["first", "second"]), r"use cs.compare\(first, second\).plot\(\)"),
    (lambda: cs.comparison_plot([SAGE, RESULT]), r"cs.compare\(first, second\).plot\(\)"),
)
HIDIMSTAT = rows(
    "hidimstat",
    (lambda: cs.PFI(MODEL, n_permutations=50, random_state=0), r"cs.permutation_importance\(model, X, y\)"),
    (lambda: cs.PFI(MODEL).fit_importance(X, Y), r"cs.permutation_importance\(model, X, y\)"),
    (lambda: cs.CFI(MODEL, imputation_model_continuous=RidgeCV()), "cs.conditional_permutation_importance"),
    (lambda: cs.LOCO(MODEL).fit(X, Y), r"cs.drop_column_importance\(learner, X, y, train=\(X_train, y_train\)\)"),
    (lambda: cs.LOCI(MODEL), "cs.univariate_predictors"),
    lambda: cs.conditional_permutation_importance(MODEL, X, Y, loss=mean_squared_error, random_state=0),
    lambda: cs.conditional_permutation_importance(CLASSIFIER, X, Y > 0, loss=log_loss, random_state=0),
    (lambda: importance(n_permutations=50), "did you mean repeats?"),
    (lambda: importance(features_groups={"both": ["a", "b"]}), "did you mean groups?"),
    (
        lambda: cs.conditional_permutation_importance(MODEL, X, Y, imputation_model_continuous=RidgeCV()),
        "did you mean removal?",
    ),
    (lambda: RESULT["importance"], "Try explanation.values"),
    (lambda: RESULT.importances_, "use values"),
    (lambda: RESULT.pvalues_, r"use p_values\(\)"),
    (lambda: RESULT.pvalue_selection(threshold_max=0.05), r"use p_values\(\) < 0.05"),
    (lambda: RESULT.fdr_selection(fdr=0.1), r'use p_values\(adjust="benjamini hochberg"\)'),
    (lambda: RESULT.fwer_selection(fwer=0.1), r'use p_values\(adjust="holm"\)'),
    (lambda: RESULT.plot_importance(), r"use plot\(\)"),
)
ROWS = [*SCIKIT_LEARN, *SHAP, *PLOTS_OF_SHAP, *SAGE_IMPORTANCE, *HIDIMSTAT]


def drawn(plot: str, explanation: Any, **options: Any) -> Any:
    import shap

    return getattr(shap.plots, plot)(explanation, show=False, **options)


def parameters() -> list[Any]:
    counts: Counter[str] = Counter()
    found = []
    for row in ROWS:
        counts[row.library] += 1
        marks = [pytest.mark.needs(row.needs)] if row.needs else []
        found.append(pytest.param(row, id=f"{row.library} {counts[row.library]}", marks=marks))
    return found


@pytest.mark.parametrize("row", parameters())
def test_a_call_works_or_its_error_names_the_right_call(row: Row) -> None:
    if not row.message:
        assert row.call() is not None
        return
    with pytest.raises((TypeError, AttributeError, cs.InputError), match=row.message):
        row.call()


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("to_html", r"report\(path\)"),
        ("to_csv", r"to_frame\(\).to_csv\(path\)"),
        ("to_json", r"save\(path\)"),
        ("summary_plot", r"plot\(\)"),
    ],
)
def test_a_way_to_write_a_result_has_its_name_here(name: str, ours: str) -> None:
    for result in RESULTS:
        with pytest.raises(AttributeError, match=rf"^No {type(result).__name__} attribute {name}; use {ours}"):
            getattr(result, name)
        with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
            result.nothing  # noqa: B018
        assert not hasattr(result, name)


def test_there_are_calls_of_every_library() -> None:
    assert len(ROWS) >= 60
    assert min(Counter(row.library for row in ROWS).values()) >= 15


def test_what_errors_name_exists() -> None:
    tables = (
        synonyms.IN_PLACE_OF_NAMES,
        synonyms.IN_PLACE_OF_PLOTS,
        synonyms.IN_PLACE_OF_ATTRIBUTES,
        synonyms.IN_PLACE_OF_METHODS,
        synonyms.IN_PLACE_OF_OPTIONS,
    )
    text = " ".join(words for table in tables for words in table.values())
    for name in re.findall(r"cs\.(\w+)\b(?!\.)", text):
        assert hasattr(cs, name), name
    for name in re.findall(r"cs\.plots\.(\w+)", text):
        assert hasattr(cs.plots, name), name
    for name in re.findall(r"explanation\.(\w+)", text):
        assert hasattr(cs.Explanation, name), name
    for words in (*synonyms.IN_PLACE_OF_ATTRIBUTES.values(), *synonyms.IN_PLACE_OF_METHODS.values()):
        name = re.match(r"\w+", words)[0]  # type: ignore[index]
        assert name == "cs" or hasattr(SAGE, name), name
    options = {*DEFAULTS, *(name for row in MEASURES.values() for name in options_of(row.function))}
    options |= {"model", "X", "y", *inspect.signature(cs.plots.bars).parameters}
    for names in (*synonyms.COUNTERPARTS.values(), *((name,) for name in synonyms.SYNONYMS.values())):
        assert set(names) <= options, names


def test_no_name_of_ours_is_taken_for_one_of_another_library() -> None:
    assert not set(synonyms.IN_PLACE_OF_NAMES) & set(cs.__all__)
    assert not set(synonyms.IN_PLACE_OF_PLOTS) & set(cs.plots.__all__)
    ours = {*vars(cs.Explanation), *cs.Explanation.__dataclass_fields__} - {"feature_importances_"}
    assert not {*synonyms.IN_PLACE_OF_ATTRIBUTES, *synonyms.IN_PLACE_OF_METHODS} & ours
    assert not any(hasattr(kind, name) for kind in map(type, RESULTS) for name in synonyms.IN_PLACE_OF_METHODS)
    options = {*DEFAULTS, *(name for row in MEASURES.values() for name in options_of(row.function))}
    assert not {*synonyms.SYNONYMS, *synonyms.COUNTERPARTS} & options
