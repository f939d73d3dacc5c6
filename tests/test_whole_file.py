"""Files that are written whole: what stands at the place already keeps its kind."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarysage._utils.atomic import write_atomically, write_bytes_atomically


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    write_atomically("{}\n", pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(20)
    assert read == ["{}\n"]


def test_a_link_stays_and_leads_to_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    link, file = tmp_path / "latest.json", tmp_path / "files" / "may.json"
    file.write_text("before")
    try:
        link.symlink_to(file)
    except OSError:
        pytest.skip("links may not be made here")
    write_atomically("after", link)
    assert link.is_symlink()
    assert file.read_text() == "after"
    assert [path.name for path in file.parent.iterdir()] == ["may.json"]


def test_what_breaks_off_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(b"before")

    def pieces() -> Iterator[bytes]:
        yield b"aft"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_bytes_atomically(pieces(), file)
    assert file.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
