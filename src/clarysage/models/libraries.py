"""The libraries whose models are understood, one row each. A further one is a file of this room and a row here.

Rows are light: nothing of a library, and no adapter, is imported before a model of that library turns up.
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
    """Files that hold a model and no code.

    Attributes
    ----------
    kind : what is in such a file, with its article
    suffixes : how names of such files end, in lower case
    load : reads a file, or where the function is, as "module:name"
    """

    kind: str
    suffixes: tuple[str, ...]
    load: Callable[[Path], Any] | str

    def read(self, path: Path) -> Any:
        """The model in a file."""
        return loaded(self.load)(path) if isinstance(self.load, str) else self.load(path)


@dataclass(frozen=True)
class ModelLibrary:
    """A library whose models become predictors.

    Attributes
    ----------
    name : its module
    summary : what it brings, such as "XGBoost models"
    adapters : by the names of its classes, each of which stands for its subclasses too, what reads a model of that
        class: a :class:`~clarysage.models.adapter.ModelAdapter`, or where it is, as "module:name"
    label : what sentences call it, where that is not its name
    distribution : what it is installed by, as pip calls it, where that is not its name
    extra : of clarysage, by which it is installed; None where it has none
    is_needed : whether clarysage cannot do without it
    file : files by which models are handed on, None where there are none
    takes_pandas_alone : whether its learners are better handed pandas frames than frames of other libraries, since
        some end the process on these
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
        """What sentences call it."""
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
    """The name of the library that a class is of."""
    return kind.__module__.partition(".")[0]
