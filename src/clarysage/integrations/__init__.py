"""Integrations: results in other tools, such as MLflow, which are imported only when a result is handed to them."""

from clarysage.integrations import mlflow

__all__ = ["mlflow"]
