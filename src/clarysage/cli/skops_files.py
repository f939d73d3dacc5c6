"""skops files: which types they may hold. The list is ours, never what the file asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clarysage.cli.tree_bounds import check_trees
from clarysage.errors import FormatError

KERNELS = (
    "CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "Product", "RBF",
    "RationalQuadratic", "Sum", "WhiteKernel",
)  # fmt: skip
LOSSES = (
    "AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfGammaLoss", "HalfMultinomialLoss", "HalfPoissonLoss",
    "HalfSquaredError", "HalfTweedieLoss", "HalfTweedieLossIdentity", "HuberLoss", "PinballLoss",
)  # fmt: skip
LINKS = ("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit")

# Insides of ordinary scikit-learn models beside the estimators that skops itself trusts. Each is a known class or
# function that holds numbers and settings; none runs code that a file could bring along. Node tables of trees are the
# one thing that could still point outside its memory, and ``check_trees`` looks at them.
ALLOWED = frozenset({
    "numpy.dtype",  # of what an encoder or imputer was fitted on
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    *(f"sklearn._loss.loss.{name}" for name in LOSSES),
    *(f"sklearn._loss._loss.Cy{name}" for name in LOSSES),
    *(f"sklearn._loss.link.{name}" for name in LINKS),
    *(f"sklearn.gaussian_process.kernels.{name}" for name in KERNELS),
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils.validation.check_array",  # with functools.partial: how histogram boosting reads categories
    "functools.partial",  # of functions that are allowed themselves
})  # fmt: skip


def load(skops: Any, path: Path, trusted: tuple[str, ...]) -> Any:
    """The model in a file all of whose types are allowed, by us or by the user; else nothing of it is made."""
    found = skops.get_untrusted_types(file=path)
    strange = sorted(set(found) - ALLOWED - set(trusted))
    if strange:
        shown = ", ".join(strange[:3]) + (", ..." if len(strange) > 3 else "")
        flags = " ".join(f"--trust {name}" for name in strange[:3])
        raise FormatError(
            "MODEL", got=f"{path.name}, which holds types that clarysage does not vouch for: {shown}",
            wanted="a scikit-learn model", hint=f"{flags} if you vouch for them",
        )  # fmt: skip
    model = skops.load(path, trusted=sorted(ALLOWED.union(trusted)))
    check_trees(model, path.name)
    return model
