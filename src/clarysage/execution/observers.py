"""Observers of a run: silent, or a progress bar with the estimated time to convergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.inference.estimate import Estimate


class Silent:
    """Says nothing."""

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        """Nothing to say."""

    def count(self, share: float, elapsed: float) -> None:
        """Nothing to say."""

    def close(self) -> None:
        """Nothing to close."""


class ProgressBar:
    """A tqdm bar on stderr, from 0 to 100 % of the draws that convergence is thought to need."""

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

    def _show(self, share: float, elapsed: float, more: str) -> None:
        self.bar.n = round(100 * share)
        left = f"about {clock(elapsed * (1 - share) / share)} left" if share > 1e-4 else "about ? left"
        self.bar.set_postfix_str(("done" if share == 1 else left) + more)

    def close(self) -> None:
        self.bar.close()


def clock(seconds: float) -> str:
    """Seconds as people say them.

    Examples
    --------
    >>> clock(75)
    '1 min 15 s'
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
