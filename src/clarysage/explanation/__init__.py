"""The result of a run: the object, its text, its file."""

from clarysage.explanation.agreement import Agreement
from clarysage.explanation.comparing import compare
from clarysage.explanation.comparison import Comparison
from clarysage.explanation.explanation import ABOUT, Explanation
from clarysage.explanation.importances import Importances, Traits
from clarysage.explanation.interactions import Interactions
from clarysage.explanation.removal_quality import RemovalQuality
from clarysage.explanation.saved import load

__all__ = [
    "ABOUT",
    "Agreement",
    "Comparison",
    "Explanation",
    "Importances",
    "Interactions",
    "RemovalQuality",
    "Traits",
    "compare",
    "load",
]
