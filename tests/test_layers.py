"""Networks whose first layer alone is followed: each against its own predictions of hybrid rows."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor

import clarysage as cs
from clarysage.structure import layers
from clarysage.structure.base import Structure, apply_link
from clarysage.structure.layers import FUNCTIONS, Activation, Affine, Layers
from oracle import RowByRow

D = 6
OWNERS = {"columns": np.arange(D), "groups": np.array([0, 0, 1, 2, 2, 2]), "some of none": np.array([0, 0, 1, 3, 3, 5])}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that tie in every other column."""
    z = rng.normal(size=(count, D))
    z[:, ::2] = np.round(z[:, ::2])
    return z


def arrivals_of(count: int, owner: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 1 + np.argsort(rng.random((count, owner.max() + 1)), axis=1)


def assert_followed(structure: Structure, own: Any, players: str, rng: np.random.Generator, rtol: float = 1e-9) -> None:
    """Margins along walks, at coalitions, and beside all rows are those of hybrid rows that the model is asked for."""
    owner = OWNERS[players]
    x, b, picks = rows(5, rng), rows(9, rng), rng.integers(9, size=(5, 4))
    arrivals, mass = arrivals_of(5, owner, rng), rng.dirichlet(np.ones(9))
    form, steps = structure.representation.with_owner(owner), owner.max() + 1
    x_seen, b_seen = form.encode(x), form.encode(b)
    kept = arrivals[:, None, :] <= np.arange(1, steps)[:, None]  # (n, p - 1, d)
    hybrid = np.where(kept[:, :, None, owner], x[:, None, None], b)  # (n, p - 1, m, D)
    truth = own(hybrid.reshape(-1, D)).reshape(*hybrid.shape[:3], -1)
    atol = rtol * max(1, np.abs(truth).max())
    found = apply_link(form.prefix_margins(x_seen, b_seen, picks, arrivals, steps), structure.link)
    wanted = np.take_along_axis(truth, picks[:, None, :, None], axis=2).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
    each = apply_link(form.hybrid_margins(x_seen, b_seen, kept[:, 0]), structure.link)
    np.testing.assert_allclose(each, truth[:, 0], rtol=rtol, atol=atol)
    means = form.with_background(b_seen, mass, structure.link).walk(x_seen, arrivals, steps)
    np.testing.assert_allclose(means, np.einsum("npmk,m->npk", truth, mass), rtol=rtol, atol=atol)
    twin = RowByRow(form, b_seen, mass, structure.link).walk(x_seen, arrivals, steps)
    np.testing.assert_allclose(means, twin, rtol=rtol, atol=atol)


def response(X: np.ndarray, kind: str) -> np.ndarray:
    y = X[:, 0] - X[:, 1] * X[:, 2]
    responses = {"one": y, "two": np.column_stack([y, X[:, 3]]), "binary": y > 0, "three": np.digitize(y, [-0.5, 0.5])}
    return responses[kind]


def fitted(kind: str, **options: Any) -> Any:
    X, make = rows(80, np.random.default_rng(1)), MLPRegressor if kind in ("one", "two") else MLPClassifier
    options = {"hidden_layer_sizes": (7, 5), "max_iter": 20, "random_state": 0, **options}
    return make(**options).fit(X, response(X, kind))


def predictions(model: Any) -> Any:
    return lambda z: getattr(model, "predict_proba", model.predict)(z).reshape(len(z), -1)


# --------------------------------------------------------------------------------------------------------- the form


@pytest.mark.parametrize("players", OWNERS)
@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize(
    ("kind", "link"), [("one", "identity"), ("two", "identity"), ("binary", "logistic"), ("three", "softmax")]
)
def test_the_form_of_a_fitted_network_agrees_with_its_predictions_of_hybrid_rows(kind, link, activation, players, seed):
    model = fitted(kind, activation=activation)
    structure = cs.as_predictor(model).structure()
    assert structure.link == link
    assert_followed(structure, predictions(model), players, np.random.default_rng(seed))


@pytest.mark.parametrize("sizes", [(), (4,), (9, 3, 6)])
def test_any_number_of_layers_is_followed(sizes, seed):
    model = fitted("three", hidden_layer_sizes=sizes)
    assert_followed(cs.as_predictor(model).structure(), predictions(model), "groups", np.random.default_rng(seed))


def some_layers(rng: np.random.Generator) -> Layers:
    return Layers(
        Affine(rng.normal(size=(D, 8)), rng.normal(size=8)),
        (Activation("tanh"), Affine(rng.normal(size=(8, 3)), rng.normal(size=3))),
    )


@pytest.mark.parametrize(("n", "q"), [(200, 3), (1, 300)])
def test_margins_do_not_depend_on_how_examples_are_split(n, q, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    form, x, b = some_layers(rng), rows(n, rng), rows(50, rng)
    arguments = x, b, rng.integers(50, size=(n, q)), arrivals_of(n, OWNERS["columns"], rng), D
    kept = rng.random((n, D)) < 0.5
    whole, each = form.prefix_margins(*arguments), form.hybrid_margins(x, b, kept)
    monkeypatch.setattr(layers, "CELLS_AT_ONCE", 500)
    np.testing.assert_allclose(form.prefix_margins(*arguments), whole, atol=1e-12)
    np.testing.assert_allclose(form.hybrid_margins(x, b, kept), each, atol=1e-12)


def test_columns_that_arrive_together_in_some_walks_only_are_followed(seed):
    rng = np.random.default_rng(seed)
    form, x, b = some_layers(rng), rows(20, rng), rows(9, rng)
    picks, arrivals = rng.integers(9, size=(20, 3)), rng.integers(1, 5, size=(20, D))
    kept = arrivals[:, None, None, :] <= np.arange(1, 4)[:, None]  # (n, 1, p - 1, D)
    truth = form.margins(np.where(kept, x[:, None, None], b[picks][:, :, None]).reshape(-1, D))
    np.testing.assert_allclose(form.prefix_margins(x, b, picks, arrivals, 4), truth.reshape(20, 3, 3, -1), atol=1e-12)


def test_a_column_without_weights_changes_nothing_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    form = some_layers(rng)
    form.first.weights[3] = 0
    assert form.is_used.tolist() == [True, True, True, False, True, True]
    x, b, arrivals = rows(30, rng), rows(40, rng), arrivals_of(30, OWNERS["columns"], rng)
    margins = form.prefix_margins(x, b, rng.integers(40, size=(30, 5)), arrivals, D)
    means = form.with_background(b, np.full(40, 1 / 40), "softmax").walk(x, arrivals, D)
    for i in np.flatnonzero((arrivals[:, 3] > 1) & (arrivals[:, 3] < D)):
        place = arrivals[i, 3] - 1
        np.testing.assert_array_equal(margins[i, :, place], margins[i, :, place - 1])
        np.testing.assert_array_equal(means[i, place], means[i, place - 1])


def test_rows_that_do_not_change_keep_their_margins_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    form, x, b = some_layers(rng), rows(30, rng), rows(40, rng)
    picks, arrivals = rng.integers(40, size=(30, 5)), arrivals_of(30, OWNERS["columns"], rng)
    margins, order = form.prefix_margins(x, b, picks, arrivals, D), np.argsort(arrivals, axis=1)
    is_tied = np.take_along_axis((x[:, None] == b[picks]), order[:, None], axis=2)[:, :, 1 : D - 1]
    assert is_tied.any()
    np.testing.assert_array_equal(margins[:, :, 1:][is_tied], margins[:, :, :-1][is_tied])


def test_a_form_survives_the_way_to_another_process():
    structure = cs.as_predictor(fitted("three")).structure()
    z = rows(5, np.random.default_rng(0))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(structure))(z), structure(z))


# ------------------------------------------------------------------------------------------------------ scikit-learn


def enough(estimate: Any) -> bool:
    return bool(estimate.draws >= 100)


def explained(model: Any, y: np.ndarray, **options: Any) -> Any:
    rng = np.random.default_rng(2)
    X, background = rows(len(y), rng), rows(8, rng)  # so few that paired walks take all of them, native or not
    same = {"rng": 0, "batch_size": 4096}  # or rounds of a model that is asked are cut into more chunks
    return cs.sage(model, X, y, background=background, stop=enough, tolerance=None, **same, **options)


@pytest.mark.parametrize("kind", ["one", "two", "binary", "three"])
@pytest.mark.parametrize("method", ["permutation", "paired walks", "kernel", "exact"])
def test_the_native_walk_equals_the_walk_of_a_black_box(kind, method):
    model, y = fitted(kind), response(rows(40, np.random.default_rng(2)), kind)
    native = explained(model, y, method=method)
    own = getattr(model, "predict_proba", model.predict)
    black = explained(lambda z: own(z), y, method=method, loss=native.loss)
    assert not [note for note in native.notes if "row by row" in note]
    assert np.abs(native.values).max() > 1e-3
    np.testing.assert_allclose(native.values, black.values, rtol=0, atol=1e-9)


def test_a_network_fitted_in_single_precision_is_followed(seed):
    X = rows(80, np.random.default_rng(1)).astype(np.float32)
    model = MLPRegressor(hidden_layer_sizes=(7,), max_iter=20, random_state=0).fit(X, response(X, "one"))
    structure = cs.as_predictor(model).structure()
    assert structure.representation.first.weights.dtype == np.float32
    assert_followed(structure, predictions(model), "columns", np.random.default_rng(seed), rtol=1e-5)


def test_groups_of_columns_arrive_together():
    y = response(rows(40, np.random.default_rng(2)), "three")
    model, groups = fitted("three"), {"a": [0, 3], "b": [1], "c": [2, 4, 5]}
    native = explained(model, y, method="permutation", groups=groups)
    black = explained(lambda z: model.predict_proba(z), y, method="permutation", groups=groups, loss=native.loss)
    np.testing.assert_allclose(native.values, black.values, rtol=0, atol=1e-9)


def test_a_network_of_several_labels_at_once_is_not_followed():
    X = rows(80, np.random.default_rng(1))
    model = MLPClassifier((4,), max_iter=5).fit(X, np.column_stack([X[:, 0] > 0, X[:, 1] > 0]))
    found = cs.sage(model, X[:20], X[:20, :2], background=X[:5], loss="squared error", method="exact")
    assert any("MLPClassifier was called row by row: multilabel outputs" in note for note in found.notes)


def test_the_answer_does_not_depend_on_the_number_of_jobs():
    y = response(rows(40, np.random.default_rng(2)), "three")
    one, two = (explained(fitted("three"), y, method="permutation", n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)


# ----------------------------------------------------------------------------------------------------------- PyTorch


def between(name: str) -> Any:
    """An activation of PyTorch, with settings that are not its usual ones."""
    from torch import nn

    made = {
        "relu": nn.ReLU,
        "tanh": nn.Tanh,
        "logistic": nn.Sigmoid,
        "gelu": nn.GELU,
        "silu": nn.SiLU,
        "gelu by tanh": lambda: nn.GELU(approximate="tanh"),
        "elu": lambda: nn.ELU(0.7),
        "leaky relu": lambda: nn.LeakyReLU(0.2),
        "softplus": lambda: nn.Softplus(2.0, 1.5),
    }
    return made[name]()


def sequence(*parts: Any, outputs: int = 1, precision: str = "float64") -> Any:
    """Linear, the given parts, Linear."""
    import torch

    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(D, 8), *parts, torch.nn.Linear(8, outputs))
    return network.to(getattr(torch, precision))


def forward(network: Any) -> Any:
    """The network as a plain callable, evaluated in its own precision."""
    import torch

    def call(z):
        twin = copy.deepcopy(network).eval()
        dtype = next(twin.parameters()).dtype
        with torch.no_grad():
            return twin(torch.tensor(np.asarray(z)).to(dtype)).double().numpy()

    return call


@pytest.mark.needs("torch")
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_activations_are_those_of_torch(activation, precision, seed):
    network = sequence(between(activation), outputs=2, precision=precision)
    structure = cs.as_predictor(network).structure()
    assert structure.representation.first.weights.dtype == precision
    rtol = 1e-9 if precision == "float64" else 1e-5
    assert_followed(structure, forward(network), "groups", np.random.default_rng(seed), rtol)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_activations_of_large_and_small_numbers_are_those_of_torch(activation):
    import torch

    z = np.concatenate([np.linspace(-30, 30, 601), [-1e3, 1e3, 1e-300, -1e-300, 0.0]])
    wanted = between(activation)(torch.tensor(z)).numpy()
    module = between(activation)
    structure = cs.as_predictor(torch.nn.Sequential(torch.nn.Linear(1, 1).double(), module)).structure()
    found = z if structure.link == "positive" else structure.representation.later[0](z.copy())
    np.testing.assert_allclose(apply_link(found, structure.link), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    ("end", "outputs", "output", "link"),
    [
        (None, 1, "sigmoid", "logistic"),
        (None, 3, "softmax", "softmax"),
        ("Sigmoid", 1, None, "positive"),
        ("Softmax", 3, None, "softmax"),
        ("Sigmoid", 2, None, "identity"),
        ("Tanh", 2, "softmax", "softmax"),
        ("Tanh", 2, None, "identity"),
    ],
)
def test_what_follows_the_last_layer_is_a_link(end, outputs, output, link, seed):
    import torch

    network = sequence(torch.nn.ReLU(), outputs=outputs)
    if end is not None:
        network.append(torch.nn.Softmax(dim=1) if end == "Softmax" else getattr(torch.nn, end)())
    f = cs.as_predictor(network, output=output)
    assert f.structure().link == link
    assert_followed(f.structure(), f, "columns", np.random.default_rng(seed))


@pytest.mark.needs("torch")
@pytest.mark.parametrize("place", ["first", "after a Linear", "after an activation", "between activations", "last"])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norms_are_followed_as_they_evaluate(place, affine, seed):
    import torch
    from torch import nn

    def norm(width):
        made = nn.BatchNorm1d(width, affine=affine)
        made.running_mean, made.running_var = torch.randn(width), torch.rand(width) + 0.5
        if affine:
            nn.init.normal_(made.weight)
            nn.init.normal_(made.bias)
        return made

    torch.manual_seed(0)
    parts = {
        "first": [norm(D), nn.Linear(D, 8), nn.Tanh()],
        "after a Linear": [nn.Linear(D, 8), nn.Dropout(), norm(8), nn.Tanh()],
        "after an activation": [nn.Linear(D, 8), nn.Tanh(), norm(8)],
        "between activations": [nn.Linear(D, 8), nn.Tanh(), norm(8), nn.Tanh()],
        "last": [nn.Linear(D, 8), nn.Tanh(), nn.Linear(8, 8), norm(8)],
    }[place]
    network = nn.Sequential(*parts, nn.Linear(8, 2)).double()
    assert_followed(cs.as_predictor(network).structure(), forward(network), "columns", np.random.default_rng(seed))


@pytest.mark.needs("torch")
def test_sequences_inside_sequences_are_followed_in_turn(seed):
    from torch import nn

    inner = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Identity(), nn.Sequential(nn.ReLU(), nn.Dropout(0.5)))
    network = nn.Sequential(nn.Flatten(1), sequence(nn.Tanh(), inner, outputs=2), nn.Sequential()).double()
    assert_followed(cs.as_predictor(network).structure(), forward(network), "columns", np.random.default_rng(seed))


@pytest.mark.needs("torch")
@pytest.mark.parametrize("method", ["permutation", "paired walks"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_native_walk_of_a_module_equals_that_of_a_black_box(precision, method):
    from torch import nn

    network = sequence(nn.ReLU(), nn.Dropout(), precision=precision)
    y = response(rows(40, np.random.default_rng(2)), "one")
    network.train()
    network[2].eval()
    modes, weights = [part.training for part in network.modules()], copy.deepcopy(network.state_dict())
    native, black = (explained(f, y, method=method, loss="squared error") for f in (network, forward(network)))
    assert not [note for note in native.notes if "row by row" in note]
    np.testing.assert_allclose(native.values, black.values, rtol=0, atol=1e-9 if precision == "float64" else 1e-5)
    assert [part.training for part in network.modules()] == modes
    assert all((value == weights[name]).all() for name, value in network.state_dict().items())


@pytest.mark.needs("torch")
def test_weights_are_read_when_a_run_needs_them():
    import torch

    network = sequence(torch.nn.ReLU())
    f, z = cs.as_predictor(network), rows(5, np.random.default_rng(0))
    before = f.structure()
    with torch.no_grad():
        network[0].weight.mul_(2)
    np.testing.assert_allclose(f.structure()(z), f(z), atol=1e-12)
    assert np.abs(before(z) - f(z)).max() > 1e-3  # and what was read is a copy


def strange(name: str) -> tuple[Any, str]:
    import torch
    from torch import nn

    class Own(nn.Module):
        def forward(self, z):
            return 2 * z

    made = {
        "own": (sequence(Own()), "its layer Own is not supported"),
        "norm": (sequence(nn.LayerNorm(8)), "its layer LayerNorm is not supported"),
        "no statistics": (sequence(nn.BatchNorm1d(8, track_running_stats=False)), "its layer BatchNorm1d is not"),
        "softmax inside": (sequence(nn.Softmax(dim=1)), "its layer Softmax is not supported"),
        "activation first": (nn.Sequential(nn.Tanh(), *sequence(nn.ReLU())), "its first layer is not Linear"),
        "half": (sequence(nn.ReLU(), precision="bfloat16"), "its weights are bfloat16, not float32 or float64"),
        "no weights": (nn.Sequential(nn.Tanh(), nn.Flatten(1), nn.AdaptiveAvgPool1d(1)), "it has no weights"),
    }
    assert torch.is_grad_enabled()
    return made[name]


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "name", ["own", "norm", "no statistics", "softmax inside", "activation first", "half", "no weights"]
)
def test_layers_that_are_not_known_are_asked_row_by_row_and_a_note_says_why(name):
    network, reason = strange(name)
    y = response(rows(40, np.random.default_rng(2)), "one")
    found = explained(network, y, method="permutation", loss="squared error")
    assert any(f"Sequential was called row by row: {reason}" in note for note in found.notes)


@pytest.mark.needs("torch")
def test_a_module_of_any_other_kind_has_no_structure_and_no_remark():
    import torch

    class Own(torch.nn.Sequential):
        def forward(self, z):
            return super().forward(z) * 2

    network = Own(torch.nn.Linear(D, 1))
    assert cs.as_predictor(network).structure is None
    found = explained(network, response(rows(40, np.random.default_rng(2)), "one"), loss="squared error")
    assert not [note for note in found.notes if "row by row" in note]
