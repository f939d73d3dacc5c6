"""Results in the tools that people keep their work in; a tool is imported when something is handed to it."""

from clarysage.integrations import mlflow

__all__ = ["mlflow"]
