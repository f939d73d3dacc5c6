"""Libraries as they are installed, without importing them: versions, and the lowest that clarysage says it needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec
from itertools import zip_longest

from clarysage.models.libraries import LIBRARIES

# what clarysage cannot do without, as distributions are called
NEEDED = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "numba",
    "joblib",
    "threadpoolctl",
    "lazy-loader",
    "matplotlib",
    "jinja2",
    "typer",
    "tqdm",
)


@dataclass(frozen=True)
class Library:
    """A library, needed or optional.

    Attributes
    ----------
    name : as its distribution is called
    version : the one that is installed, None where none is or that is not known
    lowest : the lowest version that is known to do, None where that is not known
    is_installed : whether it is there, be its version known or not
    """

    name: str
    version: str | None
    lowest: str | None
    is_installed: bool

    @property
    def is_old(self) -> bool:
        """Whether the version is below the lowest that does."""
        return self.version is not None and self.lowest is not None and is_below(self.version, self.lowest)


@dataclass(frozen=True)
class Part:
    """What an optional library brings.

    Attributes
    ----------
    module : what is imported of it
    extra : of clarysage, with which it comes
    purpose : what it is for
    distribution : what it is installed by, where that is not the name of the module
    """

    module: str
    extra: str
    purpose: str
    distribution: str = ""

    @property
    def library(self) -> Library:
        """The library as it is installed, under the name that clarysage asks for, its own or that of the module."""
        asked = next((key for key in bounds() if key[1] == self.extra), None)
        lowest = None if asked is None else bounds()[asked]
        names = (*([] if asked is None else [asked[0]]), self.distribution, self.module)
        versions = (version_of(name) for name in names if name)
        is_installed = is_there(self.module)
        version = next((version for version in versions if version is not None), None)
        return Library(self.module, version if is_installed else None, lowest, is_installed)

    @property
    def install(self) -> str:
        """How to get it."""
        is_extra = any(extra == self.extra for _, extra in bounds())
        return (
            f'pip install "clarysage[{self.extra}]"' if is_extra else f"pip install {self.distribution or self.module}"
        )


def optional() -> list[Part]:
    """What optional libraries bring, those of models among them."""
    of_models = [
        Part(library.name, library.extra or library.name, library.summary, library.distribution)
        for library in LIBRARIES.values()
        if not library.is_needed
    ]
    return [
        Part("polars", "polars", "data in polars frames"),
        Part("pyarrow", "arrow", "Parquet files and Arrow tables"),
        *of_models,
        Part("skops", "skops", "scikit-learn models in files that run no code"),
        Part("shap", "shap", "mean absolute SHAP by its fast explainers"),
        Part("mlflow", "mlflow", "results logged to MLflow"),
    ]


def needed() -> list[Library]:
    """The libraries that clarysage cannot do without."""
    versions = {name: version_of(name) for name in NEEDED}
    return [
        Library(name, version, bounds().get((name, None)), is_installed=version is not None)
        for name, version in versions.items()
    ]


def is_there(module: str) -> bool:
    """Whether a module can be found. Nothing is imported, not even the packages that it is in.

    Examples
    --------
    >>> is_there("xml.dom.minidom"), is_there("xml.nothing"), is_there("nothing.minidom"), is_there("json.tool.main")
    (True, False, False, False)
    """
    package, *parts = module.split(".")
    try:
        spec = find_spec(package)
    except ValueError:  # of a module that is loaded and was made by hand
        return not parts
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return False
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    return spec is not None


def version_of(distribution: str) -> str | None:
    """The version of a distribution, None where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@cache
def bounds() -> dict[tuple[str, str | None], str | None]:
    """The lowest version of each library by its name and its extra, as clarysage's own metadata have them.

    Empty where clarysage is not installed but run from a folder.
    """
    try:
        asked = metadata.requires("clarysage") or []
    except metadata.PackageNotFoundError:
        return {}
    return dict(map(requirement, asked))


def requirement(text: str) -> tuple[tuple[str, str | None], str | None]:
    """A line of metadata, read: name, extra, lowest version.

    Examples
    --------
    >>> requirement('polars>=1.0; extra == "polars"')
    (('polars', 'polars'), '1.0')
    >>> requirement("numpy<3,>=1.26")
    (('numpy', None), '1.26')
    """
    wanted, _, marker = text.partition(";")
    name = re.split(r"[^\w.-]", wanted.strip(), maxsplit=1)[0]
    lowest, extra = re.search(r">=\s*([\w.]+)", wanted), re.search(r"extra\s*==\s*[\"']([\w-]+)", marker)
    return (name.lower(), extra and extra.group(1)), lowest and lowest.group(1)


def is_below(version: str, lowest: str) -> bool:
    """Whether a version comes before another, by the numbers in them.

    Examples
    --------
    >>> is_below("1.9.3", "1.26"), is_below("2.0", "2.0.0"), is_below("3.1.0rc1", "3.1")
    (True, False, False)
    """
    pairs = zip_longest(_numbers(version), _numbers(lowest), fillvalue=0)
    return next((one < other for one, other in pairs if one != other), False)


def _numbers(version: str) -> list[int]:
    public = version.partition("+")[0].partition("!")  # without a local label; with the epoch apart
    return [int(found.group()) for part in (public[2] or public[0]).split(".") if (found := re.match(r"\d+", part))]
