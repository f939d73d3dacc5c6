"""Files out of gzip and zip, never more bytes than there should be."""

from __future__ import annotations

import gzip
import zipfile
from io import BytesIO
from typing import IO

from clarysage.datasets.row import Address

SLACK = 2**16  # bytes by which a packed file may be larger than what it holds


class PackingError(Exception):
    """An archive that is damaged, lacks what it should hold, or holds too much."""


def unpacked(content: bytes, address: Address, size: int) -> bytes:
    """What an address promises, out of what it gave; ``size`` is that of the file.

    Examples
    --------
    >>> unpacked(gzip.compress(b"abc"), Address("https://example.org/letters.gz"), 3)
    b'abc'
    """
    try:
        if address.url.endswith(".gz"):
            content = _at_most(gzip.GzipFile(fileobj=BytesIO(content)), size)
        for member in address.members:
            with zipfile.ZipFile(BytesIO(content)) as archive, archive.open(member) as file:
                content = _at_most(file, size + SLACK)
    except KeyError as error:
        raise PackingError(f"has no {member} in it") from error
    except PackingError:
        raise
    except Exception as error:  # what is damaged makes zipfile and each way to compress stumble in their own words
        raise PackingError(f"cannot be unpacked ({error})") from error
    return content


def _at_most(file: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    content = file.read(limit + 1)
    if len(content) > limit:
        raise PackingError(f"holds more than {limit:,} bytes")
    return content
