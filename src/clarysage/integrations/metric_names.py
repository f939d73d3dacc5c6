"""Names of features as parts of the names that a tracking server takes, each of them still its own."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator

# what not every server takes in the name of a metric; a colon is for some of them, and a slash would open a section
REFUSED = re.compile(r"\s*[^\w.\- ]+\s*")
EDGES = " ."  # which paths and some file systems take away
LONGEST = 100  # bytes: of 250 letters that a name may have, and of 255 bytes of a file's
MARK = 8  # letters of a hash


def metric_names(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """For each name one that may be a part of the name of a metric; no two are alike, not even up to case.

    Letters of any language, digits, ``_``, ``-``, ``.`` and blanks stay, anything else becomes ``_``. A name that was
    cut, or comes out like another, ends in letters of its hash, whatever the order of the names.

    Examples
    --------
    >>> metric_names(["petal length (cm)", "a/b", "a_b"])
    {'petal length (cm)': 'petal length_cm', 'a/b': 'a_b-c14cddc0', 'a_b': 'a_b'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    names = list(names)
    for name in sorted(names, key=lambda name: (_cleaned(name) != name, name)):  # names that may stay come first
        found[name] = next(one for one in _candidates(name, longest) if _folded(one) not in taken)
        taken.add(_folded(found[name]))
    return {name: found[name] for name in names}


def allowed(name: str, longest: int = LONGEST) -> str:
    """What a name becomes where there is no other.

    Examples
    --------
    >>> allowed("../sage: run 1")
    'sage_run 1'
    """
    return metric_names([name], longest)[name]


def _cleaned(name: str) -> str:
    if name and name == name.strip(EDGES) and not REFUSED.search(name):
        return name
    return REFUSED.sub("_", name).strip(f"{EDGES}_") or "_"


def _candidates(name: str, longest: int) -> Iterator[str]:
    """Names to take, the plainest first, and no end of them."""
    cleaned = _cleaned(name)
    if len(cleaned.encode()) <= longest:
        yield cleaned
    stem = cleaned.encode()[: longest - MARK - 1].decode(errors="ignore").rstrip(EDGES)
    mark = name
    while True:
        mark = hashlib.sha256(mark.encode(errors="surrogatepass")).hexdigest()
        yield f"{stem}-{mark[:MARK]}"


def _folded(name: str) -> str:
    """What some file systems and databases take a name for."""
    return unicodedata.normalize("NFKC", name).casefold()
