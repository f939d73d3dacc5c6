"""A progress bar appears by itself where somebody watches, and knows the deadline; it is silent elsewhere."""

from __future__ import annotations

import re
import sys
import threading
import time
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import clarysage as cs
from clarysage._utils.pace import Pace
from clarysage.execution import observers
from clarysage.execution.observers import ProgressBar, is_interactive, shown
from tests.test_deadlines import Clock, SlowModel, tables


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observers, "is_interactive", lambda: True)


def explain(model: Any, **options: Any) -> Any:
    X, y, background = tables(6)
    return cs.sage(model, X, y, background=background, method="paired walks", tolerance=0.1, rng=1, **options)


def frames(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Returns what was shown on stderr, one text after the other."""
    captured = capsys.readouterr()
    assert captured.out == ""
    return [frame.strip() for frame in captured.err.split("\r") if frame.strip()]


@pytest.mark.usefixtures("watched")
def test_bar_appears_by_itself_after_two_seconds(clock, capsys):
    explain(SlowModel(clock, 1e-5))
    assert frames(capsys) == []
    explain(SlowModel(clock, 2e-2))
    shown_texts = frames(capsys)
    assert shown_texts[-1].startswith("explaining: 100%")
    assert "model rows" in shown_texts[-1]
    assert "left" in shown_texts[0]


def test_notebook_without_widgets_has_a_bar_of_text_and_no_warning(monkeypatch, capsys):
    shell = SimpleNamespace(kernel=object(), config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", ModuleType("ipykernel.zmqshell"))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    for name in ("auto", "autonotebook", "notebook"):  # are chosen when they are imported
        monkeypatch.delitem(sys.modules, f"tqdm.{name}", raising=False)
    with warnings.catch_warnings(record=True) as caught:  # tqdm would swallow them as errors
        warnings.simplefilter("always")
        bar = ProgressBar()
        bar.tick()
        bar.close()
    assert not caught
    assert frames(capsys)[-1].startswith("explaining: 100%")


def test_nothing_is_shown_in_scripts_pipes_and_logs(clock, capsys):
    explain(SlowModel(clock, 2e-2))
    assert frames(capsys) == []


@pytest.mark.usefixtures("watched")
def test_false_is_silent(clock, capsys):
    explain(SlowModel(clock, 2e-2), progress=False)
    explain(SlowModel(clock, 2e-2), run=cs.Run(progress=False))
    assert frames(capsys) == []


def test_terminal_and_notebook_are_watched_and_a_pipe_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: False))
    assert not is_interactive()
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    assert is_interactive()
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    assert not is_interactive()
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert is_interactive()


def test_preparations_show_how_many_rows_the_model_was_asked(clock, capsys):
    bar = ProgressBar(wait=2.0)
    bar.pace = Pace()
    bar.pace.record(1234, 1.5)
    clock.now += 1.5
    bar.tick()
    clock.now += 1.0
    bar.tick()
    bar.close(is_done=False)
    (text, *_) = frames(capsys)
    assert "0%" in text
    assert "00:02" in text
    assert "preparing, about ? left, 1,234 model rows" in text


def test_time_that_is_left_knows_the_deadline(clock, capsys):
    bar = ProgressBar()
    bar.pace = Pace(20.0, clock.now + 20.0)
    clock.now += 5.0
    bar.show(0.01, 5.0, "")
    assert "about 15 s left" in frames(capsys)[-1]
    bar.show(0.5, 5.0, "")
    clock.now += 2.0
    bar.tick()
    assert "about 3 s left" in frames(capsys)[-1]
    clock.now += 10.0
    bar.show(0.5, 15.0, "")
    (text,) = frames(capsys)
    assert "85%" in text
    assert "about 3 s left" in text
    bar.close()


@pytest.mark.usefixtures("watched")
def test_time_that_is_left_is_never_longer_than_the_deadline_of_a_run(clock, capsys):
    model = SlowModel(clock, 5e-3)
    X, y, background = tables(6)
    cs.sage(model, X, y, background=background, tolerance=1e-6, deadline=30.0, rng=1)
    left = [int(match[1]) for text in frames(capsys) if (match := re.search(r"about (\d+) s left", text))]
    assert len(left) > 2
    assert max(left) <= 30
    assert left[-1] <= 5


def test_several_measures_share_a_bar_that_names_them(clock, capsys):
    X, y, background = tables(4)
    options = {"background": background, "tolerance": 0.3, "progress": True, "rng": 1}
    cs.importances(SlowModel(clock, 1e-4), X, y, measures=["sage", "permutation importance"], **options)
    texts = frames(capsys)
    assert any(text.startswith("sage:") for text in texts)
    assert any(text.startswith("permutation importance:") for text in texts)
    assert sum("100%" in text for text in texts[:-1]) >= 1
    assert "100%" in texts[-1]


def test_bar_of_a_failed_call_does_not_end_at_100_percent_and_leaves_no_thread(capsys):
    before = threading.active_count()
    with pytest.raises(cs.ModelError):
        explain(lambda rows: 1 / 0, progress=True)
    assert "100%" not in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt), shown(True):
        raise KeyboardInterrupt
    assert threading.active_count() == before


def test_bar_goes_on_while_the_model_is_busy(capsys):
    """A thread shows the bar, and not only the ends of rounds."""
    bar, seconds = ProgressBar(wait=1e-9), 0.0
    while bar._bar is None and seconds < 30:
        time.sleep(0.01)
        seconds += 0.01
    bar.close(is_done=False)
    assert "preparing" in capsys.readouterr().err
