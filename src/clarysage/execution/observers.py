"""Observers of a run: one that is silent, and a progress bar with the time that is left.

A call has one bar, for its preparations and for all its runs; :func:`shown` opens it. In a terminal or a notebook it
appears by itself once a call has taken two seconds. A thread keeps it going, since a call of a slow model may take
minutes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from threading import Event, Lock, Thread
from typing import Any

from clarysage._utils.pace import Pace
from clarysage.inference.estimate import Estimate
from clarysage.protocols import Observer

SECONDS_OF_SILENCE = 2.0  # before a bar appears by itself
SECONDS_PER_TICK = 1.0
LEAST_SHARE = 1e-4  # of the draws, below which the time that is left is unknown


class Silent:
    """An observer that shows nothing."""

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        """Shows nothing."""

    def count(self, share: float, elapsed: float) -> None:
        """Shows nothing."""

    def close(self) -> None:
        """Has nothing to close."""


class ProgressBar:
    """A tqdm bar on stderr, from 0 to 100 % of the draws expected to be needed, or of the time until a deadline.

    Attributes
    ----------
    wait : seconds until it appears
    text : what it is about
    pace : the pace of the model that is called, once there is one
    share : the share of the draws that has been made; None before the first
    ends_at : the time at which the run is expected to end
    """

    def __init__(self, wait: float = 0.0) -> None:
        self.wait, self.text, self.suffix = wait, "explaining", ""
        self.began, self.ends_at = time.monotonic(), float("inf")
        self.pace = Pace()
        self.share: float | None = None
        self._bar: Any = None
        self._lock, self._is_over = Lock(), Event()
        self._thread = Thread(target=self._keep_going, name="clarysage progress", daemon=True)
        self._thread.start()

    def about(self, text: str) -> None:
        """Begins another part of a call, with a text that says what it is about."""
        self.text, self.pace, self.ends_at, self.share = text, Pace(), float("inf"), None
        self.tick()

    def show(self, share: float, elapsed: float, suffix: str) -> None:
        """Shows the share of the draws that was made in so many seconds."""
        left = elapsed * (1 - share) / share if share > LEAST_SHARE else float("inf")
        self.share, self.suffix, self.ends_at = share, suffix, time.monotonic() + left
        self.tick()

    def tick(self) -> None:
        """Shows the present state, once the bar has appeared."""
        if time.monotonic() - self.began < self.wait:
            return
        with self._lock:
            if self._bar is None:
                self._bar = self._opened()
            self._bar.n = round(100 * self._shown_share())
            self._bar.set_description_str(self.text, refresh=False)
            self._bar.set_postfix_str(self._words())

    def close(self, *, is_done: bool = True) -> None:
        """Ends the bar, at 100 % if the call has ended well."""
        self._is_over.set()
        self._thread.join()
        if self._bar is None:
            return
        if is_done:
            self.share = 1.0
            self.tick()
        self._bar.close()

    def _opened(self) -> Any:
        if find_spec("ipywidgets") is None:
            from tqdm import tqdm  # in a notebook, tqdm.auto would warn
        else:
            from tqdm.auto import tqdm

        layout = "{desc}: {percentage:3.0f}% |{bar}| {elapsed}{postfix}"
        bar = tqdm(total=100, desc=self.text, bar_format=layout, delay=1e-9)  # a delay leaves out an empty first line
        bar.start_t -= time.monotonic() - self.began
        return bar

    def _shown_share(self) -> float:
        """Returns the share of the draws, or that of the time until a deadline if it is larger."""
        share = 0.0 if self.share is None else self.share
        if share < 1 and self.pace.seconds < float("inf"):
            share = max(share, min(1 - self.pace.left / self.pace.seconds, 0.99))
        return share

    def _words(self) -> str:
        rows = f", {self.pace.asked:,} model rows" if self.pace.asked else ""
        if self.share == 1:
            return f"done{self.suffix or rows}"
        left = max(0.0, min(self.ends_at - time.monotonic(), self.pace.final_at - time.monotonic()))
        text = f"about {clock(left)} left" if left < float("inf") else "about ? left"
        return f"preparing, {text}{rows}" if self.share is None else f"{text}{self.suffix}"

    def _keep_going(self) -> None:
        seconds = self.wait
        while not self._is_over.wait(seconds):
            seconds = SECONDS_PER_TICK
            try:
                self.tick()
            except (OSError, ValueError):  # stderr was closed
                return


class RunObserver:
    """An observer that shows a run on the bar of a call, by the share of draws that ``progress`` estimates."""

    def __init__(self, bar: ProgressBar, progress: Callable[[Estimate], float]) -> None:
        self.bar, self.progress = bar, progress

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        share = 1.0 if estimate.stopped is not None else min(self.progress(estimate), 0.99)
        self.bar.show(share, elapsed, f", {estimate.model_rows:,} model rows")

    def count(self, share: float, elapsed: float) -> None:
        self.bar.show(share, elapsed, "")

    def close(self) -> None:
        """Leaves the bar open, which belongs to the call."""


_bar_of_call: ContextVar[ProgressBar | Silent | None] = ContextVar("_bar_of_call", default=None)


@contextmanager
def shown(progress: bool | None) -> Iterator[None]:
    """Shows the progress of what is done within the context, unless a context around it does.

    True shows a bar at once, None one that appears by itself in a terminal or a notebook, False nothing.
    """
    if _bar_of_call.get() is not None:
        yield
        return
    is_wanted = is_interactive() if progress is None else progress
    bar = ProgressBar(SECONDS_OF_SILENCE if progress is None else 0.0) if is_wanted else Silent()
    token, is_done = _bar_of_call.set(bar), False
    try:
        yield
        is_done = True
    finally:
        _bar_of_call.reset(token)
        if isinstance(bar, ProgressBar):
            bar.close(is_done=is_done)


def say_what(text: str) -> None:
    """Says on the bar of the call, if there is one, what is being computed."""
    bar = _bar_of_call.get()
    if isinstance(bar, ProgressBar):
        bar.about(text)


def follow(pace: Pace) -> None:
    """Lets the bar of the call, if there is one, know how many rows a model was asked, and the deadline."""
    bar = _bar_of_call.get()
    if isinstance(bar, ProgressBar):
        bar.pace = pace


def observer_of(progress: Callable[[Estimate], float]) -> Observer:
    """Returns an observer that shows a run on the bar of the call; a silent one if there is no bar."""
    bar = _bar_of_call.get()
    return RunObserver(bar, progress) if isinstance(bar, ProgressBar) else Silent()


def is_interactive() -> bool:
    """Tells whether somebody watches: stderr is a terminal, or the code runs in a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


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
