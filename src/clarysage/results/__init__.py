"""Results: the objects that measures, comparisons and monitoring return, with their summaries, pages and files."""

from clarysage.results.agreement import Agreement
from clarysage.results.compare import compare
from clarysage.results.comparison import Comparison
from clarysage.results.explanation import Explanation
from clarysage.results.feature_value import FeatureValue
from clarysage.results.files import load
from clarysage.results.finding import Finding, Shift
from clarysage.results.importances import Importances, Traits
from clarysage.results.interactions import Interactions
from clarysage.results.merge import merge
from clarysage.results.monitoring import Monitoring
from clarysage.results.removal_quality import RemovalQuality

__all__ = [
    "Agreement",
    "Comparison",
    "Explanation",
    "FeatureValue",
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
