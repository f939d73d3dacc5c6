"""Table of the libraries whose models are supported, one row each.

A new library needs a file of adapters in this folder and a row here. No library, and no adapter, is imported before a
model of that library is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clarysage.registry import Registry, loaded

if TYPE_CHECKING:
    from clarysage.models.adapter import ModelAdapter


@dataclass(frozen=True)
class ModelFile:
    """File format that stores a model without code.

    Attributes
    ----------
    kind : content of such a file, with its article
    suffixes : endings of the file names, in lower case
    load : function that reads a file, or its location as "module:name"
    """

    kind: str
    suffixes: tuple[str, ...]
    load: Callable[[Path], Any] | str

    def read(self, path: Path) -> Any:
        """Returns the model in a file."""
        return loaded(self.load)(path) if isinstance(self.load, str) else self.load(path)


@dataclass(frozen=True)
class ModelLibrary:
    """A library whose models become predictors.

    Attributes
    ----------
    name : its module
    summary : what it adds, such as "XGBoost models"
    adapters : for the name of each supported class, which includes its subclasses, a
        :class:`~clarysage.models.adapter.ModelAdapter`, or its location as "module:name"
    label : its title in sentences, if different from its name
    distribution : its name for pip, if different from its name
    extra : the extra of clarysage that installs it; None where there is none
    is_needed : whether clarysage requires it
    file : format of its model files, None where there is none
    takes_pandas_alone : whether its learners should get pandas frames only; some crash on frames of other libraries
    """

    name: str
    summary: str
    adapters: Mapping[str, Callable[[Any], ModelAdapter] | str]
    label: str = ""
    distribution: str = ""
    extra: str | None = None
    is_needed: bool = False
    file: ModelFile | None = None
    takes_pandas_alone: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Title of the library in sentences."""
        return self.label or self.name


LIBRARIES: Registry[ModelLibrary] = Registry(
    "library",
    (
        ModelLibrary(
            "xgboost",
            "XGBoost models",
            {
                "Booster": "clarysage.models.xgboost:XGBoostBooster",
                "XGBModel": "clarysage.models.xgboost:XGBoostEstimator",
            },
            label="XGBoost",
            extra="xgboost",
            file=ModelFile("an XGBoost model", (".json", ".ubj"), "clarysage.models.xgboost:load"),
            takes_pandas_alone=True,
        ),
        ModelLibrary(
            "lightgbm",
            "LightGBM models",
            {
                "Booster": "clarysage.models.lightgbm:LightGBMBooster",
                "LGBMModel": "clarysage.models.lightgbm:LightGBMEstimator",
            },
            label="LightGBM",
            extra="lightgbm",
            file=ModelFile("a LightGBM model", (".txt",), "clarysage.models.lightgbm:load"),
            takes_pandas_alone=True,
        ),
        ModelLibrary(
            "catboost",
            "CatBoost models",
            {"CatBoost": "clarysage.models.catboost:CatBoostModel"},
            label="CatBoost",
            extra="catboost",
            file=ModelFile("a CatBoost model", (".cbm",), "clarysage.models.catboost:load"),
            takes_pandas_alone=True,
        ),
        ModelLibrary(
            "torch",
            "PyTorch modules",
            {"Module": "clarysage.models.torch:TorchModule"},
            label="PyTorch",
            extra="torch",
        ),
        ModelLibrary(
            "onnxruntime",
            "ONNX models",
            {"InferenceSession": "clarysage.models.onnx:OnnxSession"},
            label="ONNX",
            extra="onnx",
            file=ModelFile("an ONNX model", (".onnx",), "clarysage.models.onnx:load"),
        ),
        ModelLibrary(
            "statsmodels",
            "statsmodels results",
            {"ResultsWrapper": "clarysage.models.statsmodels:StatsmodelsResults"},
            extra="statsmodels",
        ),
        ModelLibrary(
            "sklearn",
            "scikit-learn estimators, pipelines and searches",
            {"BaseEstimator": "clarysage.models.scikit_learn:ScikitLearnEstimator"},
            label="scikit-learn",
            distribution="scikit-learn",
            is_needed=True,
        ),
    ),
    entry_points="clarysage.model_libraries",
)


def library_of(kind: type) -> str:
    """Returns the name of the library that defines a class."""
    return kind.__module__.partition(".")[0]
