"""Atomic writes: files are written completely or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from clarysage.errors import InputError


def write_atomically(text: str, path: str | Path) -> None:
    """Writes text to a temporary file, which then replaces the file; symbolic links stay and point to the new file.

    Pipes and devices are written to directly.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_text(text, encoding="utf-8", newline="\n")  # a file must not replace /dev/null
        return
    write_bytes_atomically([text.encode("utf-8")], resolved_file(path))


def resolved_file(path: Path, argument: str = "path") -> Path:
    """Returns the file that a path points to, which need not exist yet; raises an error if it cannot be a file."""
    file = path.resolve()
    if not path.name or file.is_dir() or not file.parent.is_dir():
        raise InputError(argument, got=f"{path}", wanted="a file in a folder that exists")
    return file


def write_bytes_atomically(pieces: Iterable[bytes | memoryview], file: Path) -> None:
    """Writes pieces of bytes to a temporary file in the same folder, which replaces the file once it is on the disk."""
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
    """Raises OSError if no temporary file can be written in the folder; removes those left by killed processes."""
    for abandoned in file.parent.glob(f".{_escaped(file.name)}.*.part"):
        host, _, process = abandoned.name.removesuffix(".part").removeprefix(f".{file.name}.").partition("~")
        process = process.partition("-")[0]
        if host == _host() and process.isdecimal() and has_ended(int(process)):
            with contextlib.suppress(OSError):
                abandoned.unlink()
    draft = _draft(file)
    try:
        draft.touch(exist_ok=False)
    finally:
        draft.unlink(missing_ok=True)


def _draft(file: Path) -> Path:
    """Returns a unique name of a temporary file; processes in two containers may have the same id."""
    return file.with_name(f".{file.name}.{_host()}~{os.getpid()}-{secrets.token_hex(4)}.part")


def _host() -> str:
    """Returns an id of this machine among those that share a folder; only processes of this machine can be checked."""
    return sha256(socket.gethostname().encode()).hexdigest()[:8]


def has_ended(process: int) -> bool:
    """Tells whether a process of this machine has ended; False if that cannot be determined."""
    if os.name != "posix":
        return False  # on Windows, signal 0 is Ctrl-C
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False


def _escaped(name: str) -> str:
    """Returns a glob pattern that matches only the name itself."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _sync_folder(folder: Path) -> None:
    """Makes sure that the new name is on the disk, on systems where folders can be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
