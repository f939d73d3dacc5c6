"""The result of a run: the object, its text, its file."""

from clarysage.explanation.explanation import ABOUT, Explanation
from clarysage.explanation.json_file import load

__all__ = ["ABOUT", "Explanation", "load"]
