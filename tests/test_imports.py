"""What importing clarysage costs, and what its public face is."""

from __future__ import annotations

import subprocess
import sys

import pytest

import clarysage as cs

HEAVY = [
    "sklearn",
    "pandas",
    "numba",
    "matplotlib",
    "torch",
    "scipy",
    "joblib",
    "polars",
    "pyarrow",
    "typer",
    "jinja2",
    "mlflow",
    "narwhals",
]


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(shown.stdout.split())


@pytest.mark.subprocess
def test_importing_clarysage_loads_no_heavy_library():
    assert not modules_after("import clarysage") & set(HEAVY)


@pytest.mark.subprocess
def test_explaining_a_callable_on_arrays_loads_no_model_library_and_no_frames():
    code = (
        "import clarysage as cs, numpy as np\nX = np.eye(4)\ncs.sage(lambda Z: Z[:, 0] / 2, X, X[:, 0], loss='brier')"
    )
    loaded = modules_after(code)
    assert not loaded & {"sklearn", "pandas", "numba", "matplotlib", "torch", "xgboost", "lightgbm", "catboost"}


@pytest.mark.parametrize("name", cs.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(cs, name) is not None
    assert name in dir(cs)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No clarysage attribute sagee"):
        _ = cs.sagee


def test_only_what_is_public_is_listed():
    assert sorted(dir(cs)) == sorted(cs.__all__)
    assert not [name for name in dir(cs) if name.startswith("_")]
