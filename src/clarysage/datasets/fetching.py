"""Published files of datasets: download, unpacking, checksums, and the user's cache.

A download is held in memory until its checksum is verified, so that no broken file is ever written; no file is larger
than ten megabytes. Its size is limited to the known one, and redirects to https. urllib does this without a further
library to install.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import threading
import warnings
import zipfile
from http.client import HTTPException
from io import BytesIO
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from clarysage.datasets.dataset import Address, PublicFile
from clarysage.errors import ClarysageWarning

CACHE_VARIABLE = "CLARYSAGE_CACHE"
TIMEOUT_SECONDS = 30.0  # without an answer
CHUNK_BYTES = 2**16
PROGRESS_BAR_BYTES = 2**20  # size of a file from which there is a progress bar
PACKING_BYTES = 2**16  # by which a packed file may be larger than what it holds


class DownloadError(Exception):
    """No address gave the file; the message has the reason for each."""


class PackingError(Exception):
    """An archive is damaged, lacks the file, or holds more than the file's size."""


def download(file: PublicFile) -> bytes:
    """Returns the content of a file from the first of its addresses that gives it."""
    reasons = []
    for address in file.addresses:
        try:
            return verified(unpacked(_response(address, file.size), address, file.size), file)
        except (OSError, HTTPException, ValueError, PackingError) as error:
            reasons.append(f"{urlsplit(address.url).hostname}: {_reason(error)}")
    raise DownloadError("; ".join(reasons))


def verified(content: bytes, file: PublicFile) -> bytes:
    """Returns the content if it has the file's size and checksum; otherwise raises an error."""
    if len(content) != file.size:
        raise ValueError(f"{len(content):,} bytes instead of {file.size:,}")
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ValueError(f"its SHA-256 is {digest} instead of {file.sha256}")
    return content


def _response(address: Address, size: int) -> bytes:
    _check_connection(address.url, is_local=_is_local(address.url))
    limit = size + PACKING_BYTES if address.is_packed else size
    request = Request(address.url, headers={"User-Agent": "clarysage"})
    with _opener(address.url).open(request, timeout=TIMEOUT_SECONDS) as response:
        announced = response.length
        if announced is not None and announced > limit:
            raise ValueError(f"announces {announced:,} bytes, more than the {limit:,} there can be")
        content = _read_response(response, address, announced or limit, limit)
    if len(content) > limit:
        raise ValueError(f"gives more than the {limit:,} bytes there can be")
    if announced is not None and len(content) < announced:
        raise ValueError(f"cut short after {len(content):,} of {announced:,} bytes")
    return content


def _read_response(response: Any, address: Address, total: int, limit: int) -> bytes:
    from tqdm.auto import tqdm

    content = bytearray()
    is_silent = None if total >= PROGRESS_BAR_BYTES else True  # None: silent unless on a terminal
    with tqdm(total=total, unit="B", unit_scale=True, desc=address.file_name, disable=is_silent) as bar:
        while len(content) <= limit and (chunk := response.read(CHUNK_BYTES)):
            content += chunk
            bar.update(len(chunk))
    return bytes(content)


class _Redirects(HTTPRedirectHandler):
    """Follows redirects only to https, and from this machine to itself."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_connection(newurl, is_local=_is_local(req.full_url))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(url: str) -> OpenerDirector:
    proxies = [ProxyHandler({})] if _is_local(url) else []  # no proxy is between this machine and itself
    return build_opener(_Redirects, *proxies)


def _check_connection(url: str, *, is_local: bool) -> None:
    scheme = urlsplit(url).scheme
    if scheme == "https" or (scheme == "http" and is_local and _is_local(url)):
        return
    raise URLError(f"leads to {url}, which is no https address")


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, URLError):
        return str(error.reason)
    return str(error) or type(error).__name__


# --- unpacking


def unpacked(content: bytes, address: Address, size: int) -> bytes:
    """Unpacks the file of an address, which has ``size`` bytes, from the content of that address.

    Examples
    --------
    >>> unpacked(gzip.compress(b"abc"), Address("https://example.org/letters.gz"), 3)
    b'abc'
    """
    try:
        if address.url.endswith(".gz"):
            content = _read_at_most(gzip.GzipFile(fileobj=BytesIO(content)), size)
        for member in address.members:
            with zipfile.ZipFile(BytesIO(content)) as archive, archive.open(member) as file:
                content = _read_at_most(file, size + PACKING_BYTES)
    except KeyError as error:
        raise PackingError(f"has no {member} in it") from error
    except PackingError:
        raise
    except Exception as error:  # zipfile and each compression method raise errors of their own for damaged files
        raise PackingError(f"cannot be unpacked ({error})") from error
    return content


def _read_at_most(file: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    content = file.read(limit + 1)
    if len(content) > limit:
        raise PackingError(f"holds more than {limit:,} bytes")
    return content


# --- the cache


def cache_directory() -> Path | None:
    """Returns the folder of CLARYSAGE_CACHE, or the platform's folder for caches; None without a home directory."""
    folder = os.environ.get(CACHE_VARIABLE)
    try:
        return (Path(os.path.expanduser(folder)) if folder else _platform_cache() / "clarysage") / "datasets"
    except RuntimeError:
        return None


def write_to_cache(content: bytes, path: Path) -> None:
    """Puts a file into the cache, as a whole or not at all; warns where that is not possible."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_bytes(content)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(
            f"{path} could not be written ({error.strerror or error}), so {path.name} is downloaded again next time. "
            f"Set {CACHE_VARIABLE} to a folder that can be written.",
            ClarysageWarning,
            stacklevel=2,
        )


def _platform_cache() -> Path:
    if sys.platform == "win32":
        return _absolute_path_in("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return _absolute_path_in("XDG_CACHE_HOME") or Path.home() / ".cache"


def _absolute_path_in(variable: str) -> Path | None:
    """Returns the folder in an environment variable; None if relative, which the XDG specification rules out."""
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else None
