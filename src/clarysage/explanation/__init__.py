"""The result of a run: the object, its text, its file."""

from clarysage.explanation.agreement import Agreement
from clarysage.explanation.comparing import compare
from clarysage.explanation.comparison import Comparison
from clarysage.explanation.explanation import ABOUT, Explanation
from clarysage.explanation.importances import Importances, Traits
from clarysage.explanation.interactions import Interactions
from clarysage.explanation.merging import merge
from clarysage.explanation.monitoring import Finding, Monitoring
from clarysage.explanation.removal_quality import RemovalQuality
from clarysage.explanation.saved import load
from clarysage.explanation.shift import Shift

__all__ = [
    "ABOUT",
    "Agreement",
    "Comparison",
    "Explanation",
    "Finding",
    "Importances",
    "Interactions",
    "Monitoring",
    "RemovalQuality",
    "Shift",
    "Traits",
    "compare",
    "load",
    "merge",
]
