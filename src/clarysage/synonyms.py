"""Words of other libraries: options that are understood under their names, and what has another name here.

An option with exactly the same meaning as one of ours is understood; for any other word, the error names ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar

from clarysage.errors import InputError, resembling

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# names of an option that are understood; None leaves the choice to the library, as it does there
SYNONYMS = {"random_state": "rng", "seed": "rng", "scoring": "loss", "max_display": "top"}
# names of other options, and what is nearest here: the first that the function has
COUNTERPARTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("n_repeats", "n_permutations", "npermutations"), ("repeats", "tolerance")),
    **dict.fromkeys(("max_evals", "nsamples", "n_samples"), ("budget",)),
    **dict.fromkeys(("thresh", "detect_convergence"), ("tolerance",)),
    **dict.fromkeys(("estimator", "predictor"), ("model", "learner")),
    **dict.fromkeys(("metric", "scorer", "loss_function", "criterion"), ("loss",)),
    **dict.fromkeys(("masker", "background_data", "X_train", "X_background"), ("background", "train")),
    **dict.fromkeys(("imputer", "feature_perturbation", "imputation_model_continuous"), ("removal",)),
    **dict.fromkeys(("features_groups", "feature_groups"), ("groups",)),
    **dict.fromkeys(("algorithm", "sampler"), ("method",)),
    **dict.fromkeys(("verbose", "bar", "silent"), ("progress",)),
    **dict.fromkeys(("nthread", "num_threads", "n_workers", "workers"), ("n_jobs",)),
    **dict.fromkeys(("max_features", "num_features", "n_features"), ("top",)),
    **dict.fromkeys(("labels", "target"), ("y",)),
    "max_samples": ("max_rows",),
    "cv": ("folds",),
    "weights": ("sample_weight",),
}
# options that have no counterpart among the options of a function, and what to use here
IN_PLACE_OF_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(("model_output", "response_method", "link"), "cs.as_predictor(model, output=...) as the model"),
    "show": "matplotlib.pyplot.show(): a plot returns its axis, and shows nothing",
    "figsize": "ax=, an axis of a figure of that size",
    "feature_names": "cs.sage(model, X, y, feature_names=...), or another measure",
}
OF_EXAMPLES = (
    "cs.mean_absolute_shap(model, X, background=X_train) for the model's output, or cs.mean_loss_shap(model, X, y) for "
    "its loss; per_example has the values of single examples, and to_shap() makes an Explanation of shap"
)
IN_SHAP = "a plot of shap: shap.plots.beeswarm(explanation.to_shap(X)), or another one of shap.plots"
# names in other packages, and what to use here
IN_PLACE_OF_NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("Explainer", "TreeExplainer", "GPUTreeExplainer", "KernelExplainer", "LinearExplainer"), OF_EXAMPLES
    ),
    **dict.fromkeys(("DeepExplainer", "GradientExplainer", "PermutationExplainer", "ExactExplainer"), OF_EXAMPLES),
    **dict.fromkeys(("SamplingExplainer", "PartitionExplainer", "AdditiveExplainer", "shap_values"), OF_EXAMPLES),
    **dict.fromkeys(("summary_plot", "violin_plot", "force_plot", "waterfall_plot", "decision_plot"), IN_SHAP),
    **dict.fromkeys(("dependence_plot", "heatmap_plot", "beeswarm_plot"), IN_SHAP),
    **dict.fromkeys(("bar_plot", "plot"), "explanation.plot(top=10)"),
    **dict.fromkeys(("sample", "kmeans", "maskers"), "rows: background=X_train, which is sampled if it is large"),
    "initjs": "explanation.plot() or explanation.report(), which need no preparation",
    **dict.fromkeys(
        ("MarginalImputer", "GroupedMarginalImputer"),
        "cs.sage(model, X, y, background=X_train[:512]), with groups= for groups of columns, or "
        "removal=cs.Marginal(X_train[:512])",
    ),
    **dict.fromkeys(
        ("DefaultImputer", "GroupedDefaultImputer"),
        'cs.sage(model, X, y, removal="baseline"), or removal=cs.Baseline(values)',
    ),
    **dict.fromkeys(("PermutationEstimator", "IteratedEstimator"), 'cs.sage(model, X, y, method="permutation")'),
    "KernelEstimator": 'cs.sage(model, X, y, method="kernel")',
    "SignEstimator": "cs.sage(model, X, y, stop=cs.SignsKnown())",
    "comparison_plot": "cs.compare(first, second).plot()",
    **dict.fromkeys(
        ("PFI", "PermutationFeatureImportance", "PermutationImportance"), "cs.permutation_importance(model, X, y)"
    ),
    **dict.fromkeys(
        ("CFI", "CPI", "ConditionalFeatureImportance"), "cs.conditional_permutation_importance(model, X, y)"
    ),
    **dict.fromkeys(
        ("LOCO", "LeaveOneCovariateOut"), "cs.drop_column_importance(learner, X, y, train=(X_train, y_train))"
    ),
    **dict.fromkeys(("LOCI", "LeaveOneCovariateIn"), "cs.univariate_predictors(learner, X, y)"),
    **dict.fromkeys(
        ("partial_dependence", "PartialDependenceDisplay"),
        "sklearn.inspection, which has it: it shows the course of an effect rather than an importance",
    ),
}
IN_PLACE_OF_PLOTS: Mapping[str, str] = {
    "bar": "cs.plots.bars(explanation, top=10), or explanation.plot(top=10)",
    "image": "cs.plots.pixels(explanation)",
    **dict.fromkeys(("beeswarm", "waterfall", "scatter", "heatmap", "force", "decision", "violin"), IN_SHAP),
}
IN_PLACE_OF_ATTRIBUTES: Mapping[str, str] = {  # of explanations
    **dict.fromkeys(("shap_values", "sage_values"), "values, or per_example, the values of single examples"),
    **dict.fromkeys(("importance", "importances_"), "values"),
    "importances": "values; single repeats are not kept, std_error and interval() are made of them",
    **dict.fromkeys(("base_values", "expected_value"), "base, the loss without features, or to_shap().base_values"),
    "data": "to_shap(X), since results do not keep the rows",
    "std": "std_error",
    "feature_importances_": "values, one for each of feature_names, since columns are grouped",
    **dict.fromkeys(("pvalues", "pvalues_"), "p_values()"),
    "pvalue_selection": "p_values() < 0.05",
    "fwer_selection": 'p_values(adjust="holm") < 0.05',
    "fdr_selection": 'p_values(adjust="benjamini hochberg") < 0.05',
    "plot_importance": "plot()",
    "plot_sign": "signs, or cs.plots.signs(explanation)",
    "comparison": "cs.compare(first, second).plot()",
    **dict.fromkeys(("abs", "mean", "cohorts"), "to_shap(X), for what an Explanation of shap can do"),
}

IN_PLACE_OF_METHODS: Mapping[str, str] = {  # of all results
    **dict.fromkeys(("to_html", "save_html", "write_html"), "report(path)"),
    **{name: f"to_frame().{name}(path)" for name in ("to_csv", "to_excel", "to_parquet", "to_latex", "to_markdown")},
    **dict.fromkeys(("to_json", "dump"), "save(path)"),
    **dict.fromkeys(("to_pandas", "to_dataframe"), "to_frame()"),
    **dict.fromkeys(("summary_plot", "bar_plot", "plots", "show"), "plot()"),
}


def missing_attribute(owner: str, name: str, in_place_of: Mapping[str, str]) -> AttributeError:
    """Returns the error for an attribute that is not there, with what to use in place of one of another library.

    Examples
    --------
    >>> print(missing_attribute("Explanation", "std", IN_PLACE_OF_ATTRIBUTES))
    No Explanation attribute std; use std_error
    """
    use = f"; use {in_place_of[name]}" if name in in_place_of else ""
    return AttributeError(f"No {owner} attribute {name}{use}")


def counterpart(option: str, names: Collection[str]) -> str:
    """Returns our name of another library's option, or names like a misspelled one, quoted; an empty text for none.

    Examples
    --------
    >>> counterpart("n_repeats", ["X", "repeats"]), counterpart("tolerence", ["X", "tolerance"])
    ("'repeats'", "'tolerance'")
    """
    ours = (SYNONYMS[option],) if option in SYNONYMS else COUNTERPARTS.get(option, ())
    return next((repr(name) for name in ours if name in names), resembling(option, names))


def in_our_words(function: str, options: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns options under our names. Another word with the value None is left out.

    Raises an error for an option given twice, in our word and another, and for one that the function does not have.

    Examples
    --------
    >>> in_our_words("sage", {"random_state": 0, "scoring": None}, ["rng", "loss"])
    {'rng': 0}
    """
    given: dict[str, str] = {}
    for option in options:
        name = option if option in names else SYNONYMS.get(option, option)
        if name not in names:
            raise unexpected_option(function, option, names)
        if name in given:
            raise InputError(
                option, got=f"{given[name]}= and {option}=, which are the same", wanted="one of them", hint=f"{name}="
            )
        given[name] = option
    return {name: options[option] for name, option in given.items() if name == option or options[option] is not None}


def unexpected_option(function: str, option: str, names: Collection[str]) -> TypeError:
    """Returns the error for an option that a function does not have.

    Examples
    --------
    >>> print(unexpected_option("bars", "figsize", ["ax", "top"]))
    bars() got an unexpected keyword argument 'figsize'; use ax=, an axis of a figure of that size
    """
    close = counterpart(option, names).replace("'", "")
    if close:
        meant = f"did you mean {close}?"
    elif option in IN_PLACE_OF_OPTIONS:
        meant = f"use {IN_PLACE_OF_OPTIONS[option]}"
    else:
        meant = f"it takes {', '.join(names)}"
    return TypeError(f"{function}() got an unexpected keyword argument {option!r}; {meant}")


def with_synonyms(function: Decorated) -> Decorated:
    """Decorates a function or a dataclass so that it understands options under the names of other libraries."""
    if isinstance(function, type):
        initialise = _understanding(function.__init__, function.__name__)  # type: ignore[misc]
        function.__init__ = initialise  # type: ignore[misc]
        return function
    return _understanding(function, function.__name__)  # type: ignore[return-value]


def _understanding(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    names = [*inspect.signature(function).parameters]

    @wraps(function)
    def understanding(*args: Any, **options: Any) -> Any:
        return function(*args, **in_our_words(name, options, names))

    return understanding
