"""Observers of a run: one that is silent, and a progress bar with the estimated time to convergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.inference.estimate import Estimate


class Silent:
    """An observer that shows nothing."""

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        """Shows nothing."""

    def count(self, share: float, elapsed: float) -> None:
        """Shows nothing."""

    def close(self) -> None:
        """Has nothing to close."""


class ProgressBar:
    """An observer that shows a tqdm bar on stderr, from 0 to 100 % of the draws expected to be needed."""

    def __init__(self, progress: Callable[[Estimate], float]) -> None:
        from tqdm.auto import tqdm

        self.progress = progress
        layout = "{desc}: {percentage:3.0f}% |{bar}| {elapsed}{postfix}"
        self.bar: Any = tqdm(total=100, desc="explaining", bar_format=layout)

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        share = 1.0 if estimate.stopped is not None else min(self.progress(estimate), 0.99)
        self._show(share, elapsed, f", {estimate.model_rows:,} model rows")

    def count(self, share: float, elapsed: float) -> None:
        self._show(share, elapsed, "")

    def _show(self, share: float, elapsed: float, suffix: str) -> None:
        self.bar.n = round(100 * share)
        left = f"about {clock(elapsed * (1 - share) / share)} left" if share > 1e-4 else "about ? left"
        self.bar.set_postfix_str(("done" if share == 1 else left) + suffix)

    def close(self) -> None:
        self.bar.close()


def clock(seconds: float) -> str:
    """Returns a number of seconds as text.

    Examples
    --------
    >>> clock(75)
    '1 min 15 s'
    """
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60} min"
