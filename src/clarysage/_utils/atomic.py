"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from clarysage.errors import InputError


def write_whole(text: str, path: str | Path) -> None:
    """Write text to a draft beside the file, which then takes its place; links stay, and lead to the new file.

    What is no file, such as a pipe or a device, is written to as it is.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_text(text, encoding="utf-8", newline="\n")  # a file in its place would be the end of /dev/null
        return
    write_bytes_whole([text.encode("utf-8")], file_at(path))


def file_at(path: Path, argument: str = "path") -> Path:
    """The file that a path leads to, there or not yet; an error for what can be none."""
    file = path.resolve()
    if not path.name or file.is_dir() or not file.parent.is_dir():
        raise InputError(argument, got=f"{path}", wanted="a file in a folder that exists")
    return file


def write_bytes_whole(pieces: Iterable[bytes | memoryview], file: Path) -> None:
    """Write pieces, one after the other, to a draft beside the file, which takes its place once it is on the disk."""
    draft = _draft(file)
    try:
        with open(draft, "xb") as stream:
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(file.parent)


def check_drafts(file: Path) -> None:
    """Raise OSError where no draft can be written beside the file; drafts that killed processes left are removed."""
    for left in file.parent.glob(f".{_escaped(file.name)}.*.part"):
        host, _, owner = left.name.removesuffix(".part").removeprefix(f".{file.name}.").partition("~")
        owner = owner.partition("-")[0]
        if host == _host() and owner.isdecimal() and is_gone(int(owner)):
            with contextlib.suppress(OSError):
                left.unlink()
    draft = _draft(file)
    try:
        draft.touch(exist_ok=False)
    finally:
        draft.unlink(missing_ok=True)


def _draft(file: Path) -> Path:
    """A name of its own for each draft: processes in two containers may have the same number."""
    return file.with_name(f".{file.name}.{_host()}~{os.getpid()}-{secrets.token_hex(4)}.part")


def _host() -> str:
    """This machine among those that share a folder: of processes elsewhere it cannot tell whether they are gone."""
    return sha256(socket.gethostname().encode()).hexdigest()[:8]


def is_gone(process: int) -> bool:
    if os.name != "posix":
        return False  # there signal 0 is no question but Ctrl-C
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False


def _escaped(name: str) -> str:
    """A name as a pattern for itself."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, where folders can be opened for that."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
