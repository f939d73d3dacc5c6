"""The result of a run: the object, its text, its file."""

from clarysage.explanation.agreement import Agreement
from clarysage.explanation.explanation import ABOUT, Explanation
from clarysage.explanation.interactions import Interactions
from clarysage.explanation.json_file import load
from clarysage.explanation.removal_quality import RemovalQuality

__all__ = ["ABOUT", "Agreement", "Explanation", "Interactions", "RemovalQuality", "load"]
