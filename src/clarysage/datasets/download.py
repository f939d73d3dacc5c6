"""The door to the network: a published file, whole and as it should be, or an error that says what to do.

By urllib, since nothing larger than ten megabytes is fetched: it is held in memory until its checksum is right, so that
no broken file is ever written. What is wanted beyond that (sizes bounded by what is known, no redirect to a plain
connection) is in no library that would have to be installed for it.
"""

from __future__ import annotations

import hashlib
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from clarysage.datasets.packing import SLACK, PackingError, unpacked
from clarysage.datasets.row import Address, PublicFile

SECONDS_OF_SILENCE = 30.0
AT_ONCE = 2**16
LARGE = 2**20  # bytes from which there is a progress bar


class DownloadError(Exception):
    """Why a file could not be had, address by address."""


def download(file: PublicFile) -> bytes:
    """The content of a file from the first of its addresses that gives it."""
    reasons = []
    for address in file.addresses:
        try:
            return checked(unpacked(_answer(address, file.size), address, file.size), file)
        except (OSError, HTTPException, ValueError, PackingError) as error:
            reasons.append(f"{urlsplit(address.url).hostname}: {_reason(error)}")
    raise DownloadError("; ".join(reasons))


def checked(content: bytes, file: PublicFile) -> bytes:
    """The content, if it is that of the file."""
    if len(content) != file.size:
        raise ValueError(f"{len(content):,} bytes instead of {file.size:,}")
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise ValueError(f"its SHA-256 is {found} instead of {file.sha256}")
    return content


def _answer(address: Address, size: int) -> bytes:
    _check_connection(address.url, is_local=_is_local(address.url))
    limit = size + SLACK if address.is_packed else size
    request = Request(address.url, headers={"User-Agent": "clarysage"})
    with _opener(address.url).open(request, timeout=SECONDS_OF_SILENCE) as response:
        announced = response.length
        if announced is not None and announced > limit:
            raise ValueError(f"announces {announced:,} bytes, more than the {limit:,} there can be")
        content = _read(response, address, announced or limit, limit)
    if len(content) > limit:
        raise ValueError(f"gives more than the {limit:,} bytes there can be")
    if announced is not None and len(content) < announced:
        raise ValueError(f"cut short after {len(content):,} of {announced:,} bytes")
    return content


def _read(response: Any, address: Address, total: int, limit: int) -> bytes:
    from tqdm.auto import tqdm

    content = bytearray()
    silent = None if total >= LARGE else True  # None: silent unless on a terminal
    with tqdm(total=total, unit="B", unit_scale=True, desc=address.file_name, disable=silent) as bar:
        while len(content) <= limit and (part := response.read(AT_ONCE)):
            content += part
            bar.update(len(part))
    return bytes(content)


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to https alone, and from this machine to itself."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_connection(newurl, is_local=_is_local(req.full_url))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(url: str) -> OpenerDirector:
    proxies = [ProxyHandler({})] if _is_local(url) else []  # no proxy stands between this machine and itself
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
