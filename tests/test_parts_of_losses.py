"""Explanations of each class and of each target: those of the whole on fewer rows, or of a model with one output."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
import oracle
from clarysage.errors import InputError

WEIGHTS = np.linspace(1.0, 2.0, 40)


def three_classes(Z):
    margins = np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 2] - Z[:, 0], np.sin(Z[:, 1])])
    shares = np.exp(2 * margins)
    return shares / shares.sum(axis=1, keepdims=True)


def second_of_two(Z):
    return 1 / (1 + np.exp(-2 * Z[:, 0] * Z[:, 1] - Z[:, 2]))


def margin(Z):
    return 2 * Z[:, 0] * Z[:, 1] + Z[:, 2]


def drawn(model, X, rng):
    """Labels with the probabilities of a model of two or three classes."""
    outputs = model(X)
    if model is margin:
        outputs = 1 / (1 + np.exp(-outputs))
    if outputs.ndim == 1:
        return (rng.random(len(X)) < outputs).astype(int)
    return (rng.random(len(X))[:, None] > outputs.cumsum(axis=1)).sum(axis=1)


OF_CLASSES = {
    "cross entropy": three_classes,
    "cross entropy(0.1)": three_classes,
    "brier": three_classes,
    "zero one": three_classes,
    "hinge": margin,
}
CASES = [*OF_CLASSES.items(), ("cross entropy", second_of_two), ("brier", second_of_two)]


def same(ours, theirs, *, tolerance=1e-10, abouts=("data", "rows", "population")):
    """Asserts that two explanations have the same numbers about the data, the rows and the population."""
    assert ours.base == pytest.approx(theirs.base, abs=tolerance)
    assert ours.total == pytest.approx(theirs.total, abs=tolerance)
    assert set(ours.targets) == set(theirs.targets)
    for about in abouts:
        is_certain = theirs.target(about).std_error <= tolerance  # has no degrees of freedom but those of rounding
        for part in ("values", "std_error", "dof", "skew"):
            numbers = [getattr(each.target(about), part) for each in (ours, theirs)]
            if part in ("dof", "skew"):
                numbers = [np.where(is_certain, 0, each) for each in numbers]
            np.testing.assert_allclose(*numbers, rtol=1e-6, atol=tolerance, err_msg=f"{about}: {part}")


@pytest.mark.parametrize(("loss", "model"), CASES)
def test_an_explanation_of_a_class_is_that_of_its_rows(loss, model, seed):
    """Values, and intervals about the rows and the population, are those of a run on the class alone."""
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(40, 3)), rng.normal(size=(12, 3))
    y = drawn(model, X, rng)
    options = {"loss": loss, "background": background, "method": "exact", "check_manifold": False}
    whole = cs.sage(model, X, y, sample_weight=WEIGHTS, **options)
    of_classes = cs.sage(model, X, y, sample_weight=WEIGHTS, per_class=True, **options)
    assert [each.provenance["class"] for each in of_classes] == np.unique(y).tolist()
    together = 0
    for explanation in of_classes:
        rows = y == explanation.provenance["class"]
        share = WEIGHTS[rows].sum() / WEIGHTS.sum()
        together = together + share * explanation.values
        assert explanation.provenance["examples_of_class"] == rows.sum()
        classes = np.arange(3 if model is three_classes else 2)
        alone = cs.as_predictor(model, classes=classes)
        if rows.sum() > 1:
            same(explanation, cs.sage(alone, X[rows], y[rows], sample_weight=WEIGHTS[rows], **options))
        np.testing.assert_allclose(explanation.parts[~rows], 0, atol=1e-15)
    np.testing.assert_allclose(together, whole.values, atol=1e-10)


def test_an_explanation_of_a_class_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(20, 3)), rng.normal(size=(7, 3))
    y = drawn(three_classes, X, rng)
    for explanation in cs.sage(three_classes, X, y, background=background, per_class=True, method="exact"):
        rows = y == explanation.provenance["class"]
        truth = oracle.sage(three_classes, oracle.cross_entropy, X[rows], y[rows], background)
        np.testing.assert_allclose(explanation.values, truth, atol=1e-10)


@pytest.mark.parametrize("method", ["paired walks", "permutation", "kernel"])
@pytest.mark.parametrize(("loss", "model"), CASES)
def test_sampled_values_of_classes_are_those_of_enumeration(loss, model, method, seed):
    """Paired walks draw few of 60 background rows for each walk."""
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(40, 3)), rng.normal(size=(60, 3))
    y = drawn(model, X, rng)
    options = {"loss": loss, "background": background, "per_class": True, "check_manifold": False}
    truth = cs.sage(model, X, y, method="exact", **options)
    budget = 300_000 if method == "paired walks" else 150_000
    sampled = cs.sage(model, X, y, method=method, rng=seed, budget=budget, tolerance=None, **options)
    for exact, estimate in zip(truth, sampled, strict=True):
        assert exact.provenance["class"] == estimate.provenance["class"]
        assert (np.abs(estimate.values - exact.values) <= 6 * estimate.std_error + 1e-9).all()


@pytest.mark.parametrize(
    "model", [LogisticRegression(), RandomForestClassifier(5, random_state=0)], ids=["linear", "trees"]
)
def test_explanations_of_classes_of_a_model_of_known_structure_are_those_of_its_rows(model, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3))
    y = np.array(["a", "b", "c"])[drawn(three_classes, X, rng)]
    model.fit(X[:40], y[:40])
    options = {"background": X[:40], "method": "exact", "check_manifold": False}
    for explanation in cs.sage(model, X[40:], y[40:], per_class=True, **options):
        rows = y[40:] == explanation.provenance["class"]
        if rows.sum() > 1:
            alone = cs.sage(model, X[40:][rows], y[40:][rows], **options)
            same(explanation, alone, abouts=("data", "rows"))  # the influence of the background is sampled


def test_examples_that_are_background_rows_have_the_intervals_of_their_class(seed):
    """V_both, of examples that are background rows themselves, is that of the rows of the class, too."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = drawn(three_classes, X, rng)
    options = {"background": X, "method": "exact", "check_manifold": False}
    for explanation in cs.sage(three_classes, X, y, per_class=True, **options):
        rows = y == explanation.provenance["class"]
        alone = cs.as_predictor(three_classes, classes=[0, 1, 2])
        if 2 * rows.sum() >= 30:  # self-matches are recognised where most rows are matched
            same(explanation, cs.sage(alone, X[rows], y[rows], **options))


def test_a_class_without_rows_has_no_explanation_and_one_of_a_single_row_no_intervals_about_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    y = np.where(np.arange(20) == 7, 0, 1)
    model = cs.as_predictor(three_classes, classes=[0, 1, 2])
    single, others = cs.sage(model, X, y, background=X[:5], per_class=True, method="exact", check_manifold=False)
    assert (single.loss, others.loss) == ("cross entropy of class 0", "cross entropy of class 1")
    assert not single.targets
    assert "rows" in others.targets
    assert single.base == pytest.approx(-np.log(three_classes(X[:5]).mean(axis=0)[0]))


def test_classes_of_weight_zero_have_no_explanation(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    y = np.arange(20) % 3
    explanations = cs.sage(three_classes, X, y, sample_weight=y > 0, background=X[:5], per_class=True, method="exact")
    assert [explanation.provenance["class"] for explanation in explanations] == [1, 2]


def test_a_list_of_losses_has_explanations_of_each_class_by_each_loss(seed):
    X = np.random.default_rng(seed).normal(size=(20, 3))
    losses = ["cross entropy", "zero one"]
    result = cs.sage(second_of_two, X, np.arange(20) % 2, loss=losses, per_class=True, background=X[:5], method="exact")
    words = ("cross entropy", "zero-one loss")
    assert [each.loss for each in result] == [f"{word} of class {label}" for word in words for label in (0, 1)]


OTHERS = [
    cs.permutation_importance,
    cs.conditional_permutation_importance,
    cs.mean_importance,
    cs.interactions,
]


@pytest.mark.parametrize("measure", OTHERS)
def test_other_measures_have_values_of_classes_that_add_up(measure, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y = drawn(three_classes, X, rng)
    options = {"background": X[:12], "rng": seed, "loss": "brier"}
    if measure is cs.interactions:
        options["method"] = "exact"
    whole = measure(three_classes, X, y, **options)
    of_classes = measure(three_classes, X, y, **{**options, "loss": cs.PerClass("brier")})
    shares = np.bincount(y)[np.bincount(y) > 0] / len(y)
    together = sum(share * each.values for share, each in zip(shares, of_classes, strict=True))
    assert (np.abs(together - whole.values) <= 9 * whole.std_error + 1e-9).all()


def test_universal_power_has_values_of_classes_that_add_up(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(int)
    whole = cs.universal_power(LogisticRegression(), X, y, rng=0)
    of_classes = cs.universal_power(LogisticRegression(), X, y, loss=cs.PerClass(), rng=0)
    together = sum((y == label).mean() * each.values for label, each in enumerate(of_classes))
    np.testing.assert_allclose(together, whole.values, atol=1e-10)


def test_losses_that_have_no_classes_or_targets_are_errors():
    X = np.random.default_rng(0).normal(size=(20, 3))
    numbers, labels = X[:, 0], np.arange(20) % 2
    with pytest.raises(InputError, match="per_class: got the loss 'squared error'; wanted a loss of classes"):
        cs.sage(numbers_of, X, numbers, per_class=True)
    with pytest.raises(InputError, match=r"per_class: got y of shape \(20, 2\).*PerTarget"):
        cs.sage(two_targets, X, two_targets(X), per_class=True)
    with pytest.raises(InputError, match="per_class: got y with probabilities of classes"):
        cs.sage(second_of_two, X, second_of_two(X), per_class=True, loss="brier")
    with pytest.raises(InputError, match=r"per_target: got the loss 'cross entropy'.*PerClass"):
        cs.sage(second_of_two, X, labels, per_target=True)
    with pytest.raises(InputError, match="per_class: got per_class and per_target; wanted one of the two"):
        cs.sage(second_of_two, X, labels, per_class=True, per_target=True)
    with pytest.raises(InputError, match="loss: got a loss of each class; wanted a loss of all examples"):
        cs.mean_loss_shap(second_of_two, X, labels, loss=cs.PerClass())
    with pytest.raises(InputError, match="loss: got a loss of each class; wanted one loss to watch"):
        cs.monitor(second_of_two, (X, labels), (X, labels), loss=cs.PerClass())


def numbers_of(Z):
    return Z[:, 0]


def two_targets(Z):
    return np.column_stack([Z[:, 0] * Z[:, 1] + Z[:, 2] / 2, 300 * np.sin(Z[:, 2]) + 20 * Z[:, 0] + 30 * Z[:, 1]])


def amounts(Z):
    return np.exp(two_targets(Z) / [1, 200])


OF_TARGETS = {
    "squared error": two_targets,
    "squared error(0.5, 200.0)": two_targets,
    "absolute error": two_targets,
    "pinball(0.8)": two_targets,
    "huber": two_targets,
    "log cosh": two_targets,
    "poisson deviance": amounts,
    "gamma deviance": amounts,
}


@pytest.mark.parametrize("loss", OF_TARGETS)
def test_an_explanation_of_a_target_is_that_of_a_model_with_one_output(loss, seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(30, 3)), rng.normal(size=(12, 3))
    model = OF_TARGETS[loss]
    y = model(X) * rng.gamma(9.0, 1 / 9, size=(30, 2))
    options = {"background": background, "method": "exact", "check_manifold": False}
    of_targets = cs.sage(model, X, y, loss=loss, per_target=True, **options)
    assert [each.provenance["target"] for each in of_targets] == [0, 1]
    whole = cs.sage(model, X, y, loss=loss, **options)
    np.testing.assert_allclose(sum(each.values for each in of_targets), whole.values, rtol=1e-9, atol=1e-10)
    for number, explanation in enumerate(of_targets):
        single = f"squared error({(0.5, 200.0)[number]})" if loss == "squared error(0.5, 200.0)" else loss
        alone = cs.sage(lambda Z, j=number: model(Z)[:, j], X, y[:, number], loss=single, **options)
        same(explanation, alone, tolerance=1e-9 * (1 + abs(alone.base)))


@pytest.mark.parametrize("loss", OF_TARGETS)
def test_sampled_values_of_targets_are_those_of_enumeration(loss, seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(40, 3)), rng.normal(size=(60, 3))
    model = OF_TARGETS[loss]
    y = model(X) * rng.gamma(9.0, 1 / 9, size=(40, 2))
    options = {"loss": loss, "background": background, "per_target": True, "check_manifold": False}
    truth = cs.sage(model, X, y, method="exact", **options)
    sampled = cs.sage(model, X, y, method="paired walks", rng=seed, budget=300_000, tolerance=None, **options)
    for exact, estimate in zip(truth, sampled, strict=True):
        assert (np.abs(estimate.values - exact.values) <= 6 * estimate.std_error + 1e-9 * abs(exact.base)).all()


NATIVE = {
    "linear": LinearRegression(),
    "tree": DecisionTreeRegressor(max_depth=3, random_state=0),
    "forest": RandomForestRegressor(5, max_depth=2, random_state=0),
}


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("is_matched", [True, False], ids=["background of X", "other background"])
def test_targets_and_units_of_models_with_a_closed_form_are_those_of_a_plain_call(name, is_matched, seed):
    """Both ways to weight outputs: one target alone, and errors divided by numbers, against a callable."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 3))
    y = two_targets(X) + rng.normal(size=(70, 2)) * [0.3, 50]
    model = NATIVE[name].fit(X[:40], y[:40])
    background = X[40:] if is_matched else X[:40]
    options = {"background": background, "method": "exact", "check_manifold": False}
    for loss in ("squared error", "squared error(0.7, 250.0)"):
        for per_target in (True, False):
            ours, theirs = (
                cs.sage(f, X[40:], y[40:], loss=loss, per_target=per_target, **options) for f in (model, model.predict)
            )
            pairs = zip(ours, theirs, strict=True) if per_target else [(ours, theirs)]
            abouts = ("data", "rows", *(["population"] if name == "linear" else []))  # which trees have sampled
            for explanation, plain in pairs:
                same(explanation, plain, tolerance=1e-8 * (1 + abs(plain.base)), abouts=abouts)


def test_errors_divided_by_numbers_are_those_of_outputs_in_other_units(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    y, scale = two_targets(X) + rng.normal(size=(30, 2)) * [0.3, 50], np.array([0.5, 250.0])
    for method in ("exact", "paired walks"):
        options = {"background": background, "method": method, "rng": seed, "budget": 40_000, "check_manifold": False}
        scaled = cs.sage(two_targets, X, y, loss=cs.SquaredError((0.5, 250.0)), **options)
        plain = cs.sage(lambda Z: two_targets(Z) / scale, X, y / scale, loss="squared error", **options)
        same(scaled, plain)
    assert scaled.loss == "squared error(0.5, 250.0)"


# which loss is taken for several targets


def noted(explanation, words):
    return [note for note in explanation.notes if words in note]


def test_targets_in_different_units_are_divided_by_their_standard_deviations(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = pd.DataFrame(two_targets(X), columns=["kilograms", "euros"])
    chosen = cs.sage(two_targets, X, y, background=X[:9], method="exact")
    scale = tuple(float(f"{number:.2g}") for number in y.std(ddof=0))
    assert chosen.loss == cs.SquaredError(scale).name
    (note,) = noted(chosen, "was chosen")
    assert 'loss="squared error"' in note
    assert "PerTarget" in note
    total = cs.sage(two_targets, X, y, background=X[:9], loss="squared error", method="exact")
    (warning,) = noted(total, "added up in their own units")
    assert "those of target 'euros' are 100 % of the squared error without features" in warning
    assert warning.level == "warning"
    assert chosen.loss in warning
    absolute = cs.sage(two_targets, X, y, background=X[:9], loss="absolute error", method="exact")
    assert noted(absolute, "those of target 'euros' are")
    of_targets = cs.sage(two_targets, X, y, background=X[:9], per_target=True, method="exact")
    assert [each.loss for each in of_targets] == ["squared error of 'kilograms'", "squared error of 'euros'"]
    assert not noted(of_targets[0], "added up")


ALIKE = {
    "targets in like units": lambda X: X[:, :2] * [1.0, 1.8],
    "shares": lambda X: np.column_stack([np.abs(np.sin(X[:, 0])) / 50, np.abs(np.sin(X[:, 1]))]),
    "a constant target": lambda X: np.column_stack([np.full(len(X), 9.0), X[:, 1]]),
    "one target": lambda X: X[:, :1],
}


@pytest.mark.parametrize("name", ALIKE)
def test_squared_errors_of_other_targets_are_added_up_as_before(name, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    model = ALIKE[name]
    f = cs.Predictor(model, "f", task="regression")
    chosen = cs.sage(f, X, model(X), background=X[:9], method="exact")
    plain = cs.sage(f, X, model(X), background=X[:9], loss="squared error", method="exact")
    assert chosen.loss == "squared error"
    assert (chosen.values == plain.values).all()


def test_shapley_effects_of_outputs_in_different_units_do_not_hide_each_other(seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    together = cs.shapley_effects(two_targets, X, background=X[:9])
    assert together.loss.startswith("squared error(")
    first, second = cs.sage(two_targets, X, background=X[:9], per_target=True)
    assert first.measure == second.measure == "shapley effects"
    for number, explanation in enumerate((first, second)):
        alone = cs.shapley_effects(lambda Z, j=number: two_targets(Z)[:, j], X, background=X[:9])
        np.testing.assert_allclose(explanation.values, alone.values, rtol=1e-9, atol=1e-9)


def test_shapley_effects_of_probabilities_are_in_one_unit(seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    assert cs.shapley_effects(three_classes, X, background=X[:9]).loss == "squared error"


def test_slices_are_judged_in_the_units_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    X, later = rng.normal(size=(120, 3)), 2 * rng.normal(size=(120, 3))
    watched = cs.monitor(two_targets, (X, two_targets(X)), (later, two_targets(later)), background_rows=9, rng=0)
    assert len({each.loss for each in watched.comparison.explanations}) == 1
    assert "squared error(" in watched.comparison.explanations[0].loss


@pytest.mark.parametrize("scale", [0.0, (1.0, -2.0), (1.0, np.inf)])
def test_numbers_that_errors_cannot_be_divided_by_are_errors(scale):
    with pytest.raises(InputError, match=r"scale: got .* wanted positive numbers, one for each output"):
        cs.SquaredError(scale)


def test_a_number_is_needed_for_each_output():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InputError, match="scale: got 3 numbers; wanted one for each of 2 outputs"):
        cs.sage(two_targets, X, two_targets(X), loss=cs.SquaredError((1.0, 2.0, 3.0)))


# the run


@pytest.mark.parametrize("part", ["per_class", "per_target"])
def test_the_number_of_workers_changes_no_bit(part, seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    model, y = (three_classes, np.arange(40) % 3) if part == "per_class" else (two_targets, two_targets(X))
    options = {"background": X[:20], "method": "paired walks", "budget": 20_000, "rng": seed, part: True}
    first, second = (cs.sage(model, X, y, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    for one, other in zip(first, second, strict=True):
        assert (one.values == other.values).all()
        assert (one.std_error == other.std_error).all()


def test_an_explanation_of_a_class_can_be_saved_and_compared(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    y = np.arange(60) % 3
    options = {"background": X[:9], "method": "exact", "per_class": True}
    first, *_ = cs.sage(three_classes, X, y, **options)
    first.save(tmp_path / "first.json", rows=True)
    loaded = cs.load(tmp_path / "first.json")
    assert loaded.loss == "cross entropy of class 0"
    assert loaded.provenance["class"] == 0
    assert (loaded.parts == first.parts).all()
    other = cs.sage(lambda Z: three_classes(Z[:, ::-1]), X, y, **options)[0]
    assert cs.compare([loaded, other], names=["a", "b"]).is_paired
