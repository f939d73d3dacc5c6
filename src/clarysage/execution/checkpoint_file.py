"""The file of a checkpoint: a line that says what it is, a checksum, a header, and the bytes of arrays.

::

    clarysage checkpoint 2\\n | sha256 of all that follows, 32 bytes | length of the header, 8 bytes | header | arrays

The header is JSON: trees that stand for values (:mod:`clarysage.execution.coded`). Nothing in the file is code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clarysage._utils.atomic import check_drafts, file_at, write_bytes_whole
from clarysage.errors import FormatError, InputError
from clarysage.execution.coded import DamagedError, Decoder, Encoder

BEGINNING, VERSION = b"clarysage checkpoint ", 2
FIRST_LINE = BEGINNING + b"%d\n" % VERSION
DIGEST, LENGTH = 32, 8
ANEW = "another path, or deleting the file to start anew"
BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError, RecursionError)


@dataclass(frozen=True)
class Saved:
    """What a file holds: who it belongs to, and how far that run had come, which is decoded when it is asked for."""

    path: Path
    identity: dict[str, Any]
    tree: Any
    decoder: Decoder

    def progress(self, classes: Mapping[str, type]) -> Any:
        """How far the run had come, made of the given classes; to be asked for once."""
        self.decoder.classes = classes
        try:
            found = self.decoder.value(self.tree)
            if not self.decoder.is_at_the_end:
                raise DamagedError("too many bytes")
        except BROKEN as error:
            raise damaged(self.path, f"{error}") from error
        return found


def file_for(path: Any) -> Path:
    """The file for a checkpoint, at the door; an error where it could not be written."""
    if not isinstance(path, (str, Path)) or not str(path):
        raise InputError("checkpoint", got=f"{path!r}", wanted="the path of a file", hint='checkpoint="run.checkpoint"')
    file = file_at(Path(path), "checkpoint")
    if file.exists() and not file.is_file():
        raise InputError("checkpoint", got=f"{path}, which is no file", wanted="the path of a file")
    try:
        check_drafts(file)
    except OSError as error:
        got = f"{path}, beside which nothing can be written ({error.strerror or error})"
        raise InputError("checkpoint", got=got, wanted="a folder that may be written to") from error
    return file


def write_checkpoint(file: Path, identity: Mapping[str, Any], progress: Any, classes: Mapping[str, type]) -> None:
    """Writes a file whole, or leaves the one that was there."""
    encoder = Encoder(classes)
    trees = {"identity": encoder.tree(dict(identity)), "progress": encoder.tree(progress)}
    header = json.dumps(trees, allow_nan=False).encode()
    pieces = [len(header).to_bytes(LENGTH, "little"), header, *encoder.blocks]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    write_bytes_whole([FIRST_LINE, digest.digest(), *pieces], file)


def read_checkpoint(file: Path) -> Saved:
    """What a file holds; an error for a file that is not ours, of another version, or damaged."""
    try:
        data = memoryview(file.read_bytes())
    except OSError as error:
        raise FormatError(
            "checkpoint",
            got=f"{file}, which cannot be read ({error.strerror or error})",
            wanted="a file that may be read",
            hint=ANEW,
        ) from error
    content = _content(file, data)
    digest, length = content[:DIGEST], int.from_bytes(content[DIGEST : DIGEST + LENGTH], "little")
    if len(content) < DIGEST + LENGTH or length > len(content) - DIGEST - LENGTH:
        raise damaged(file, "it ends too early")
    if hashlib.sha256(content[DIGEST:]).digest() != digest:
        raise damaged(file, "its checksum is another")
    blocks = content[DIGEST + LENGTH :]
    try:
        trees = json.loads(bytes(blocks[:length]))
        decoder = Decoder(blocks[length:], {})
        identity = decoder.value(trees["identity"])
        if not isinstance(identity, dict) or not all(isinstance(name, str) for name in identity):
            raise DamagedError("no words on which run it is of")
        return Saved(file, identity, trees["progress"], decoder)
    except BROKEN as error:
        raise damaged(file, f"{error}") from error


def damaged(file: Path, how: str) -> FormatError:
    """The error for a file that is not to be trusted."""
    return FormatError(
        "checkpoint", got=f"{file}, which is damaged: {how}", wanted="a checkpoint as it was written", hint=ANEW
    )


def _content(file: Path, data: memoryview) -> memoryview:
    """What follows the first line."""
    line = bytes(data[: len(FIRST_LINE)])
    if line == FIRST_LINE:
        return data[len(FIRST_LINE) :]
    if not line.startswith(BEGINNING):
        raise FormatError(
            "checkpoint", got=f"{file}, which is no checkpoint of clarysage", wanted="one, or no file", hint=ANEW
        )
    version = line[len(BEGINNING) :].decode("ascii", "replace").strip()
    raise FormatError("checkpoint", got=f"{file}, of format {version!r}", wanted=f"format {VERSION}", hint=ANEW)
