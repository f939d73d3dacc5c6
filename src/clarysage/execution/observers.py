"""Observers of a run: silent, or a progress bar with the estimated time to convergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.estimate import Estimate


class Silent:
    """Says nothing."""

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        """Nothing to say."""

    def close(self) -> None:
        """Nothing to close."""


class ProgressBar:
    """A tqdm bar on stderr, from 0 to 100 % of the draws that convergence is thought to need."""

    def __init__(self, progress: Callable[[Estimate], float], *, disable: bool | None = False) -> None:
        from tqdm.auto import tqdm

        self.progress = progress
        layout = "{desc}: {percentage:3.0f}% |{bar}| {elapsed}{postfix}"
        self.bar: Any = tqdm(total=100, desc="explaining", bar_format=layout, disable=disable)

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        share = 1.0 if estimate.stopped is not None else min(self.progress(estimate), 0.99)
        self.bar.n = round(100 * share)
        left = elapsed * (1 - share) / share if share > 1e-4 else None
        ahead = "done" if estimate.stopped else "about ? left" if left is None else f"about {clock(left)} left"
        self.bar.set_postfix_str(f"{ahead}, {estimate.model_rows:,} model rows")

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
