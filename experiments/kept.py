"""Work that is done once: pieces by name in a file, which a run that was ended finds again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from joblib import Parallel, delayed
from tqdm import tqdm

from clarysage._utils.atomic import write_atomically

Piece = TypeVar("Piece", bound=Hashable)
SAVED_EVERY = 20  # seconds


@dataclass
class Kept:
    """Results by name, in a JSON file.

    Attributes
    ----------
    path : of the file, which is written whole every so often and at the end, also of a run that is ended
    made : what the results depend on, such as the seed and a learner's parameters; a file of something else is refused
    """

    path: Path
    made: Mapping[str, Any]
    found: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, **made: Any) -> Kept:
        kept = cls(path, made)
        if path.exists():
            whole = json.loads(path.read_text())
            if whole["made"] != made:
                raise ValueError(
                    f"{path} has results of {whole['made']}, wanted {made}. Try another --out, or remove it."
                )
            kept.found = whole["found"]
        return kept

    def all(self, names: Sequence[str], make: Callable[[str], Any], *, title: str, jobs: int = 1) -> list[Any]:
        """The results of these names: those that are not in the file are made by so many processes, and kept."""
        missing = [name for name in dict.fromkeys(names) if name not in self.found]
        if missing:
            results: Iterable[Any] = Parallel(n_jobs=jobs, return_as="generator")(delayed(make)(one) for one in missing)
            done = len(self.found)
            bar = tqdm(zip(missing, results, strict=True), title, len(missing), unit="", smoothing=0.1, mininterval=5)
            saved = time.monotonic()
            try:
                for name, result in bar:
                    self.found[name] = result
                    if time.monotonic() - saved > SAVED_EVERY:
                        self.save()
                        saved = time.monotonic()
            finally:
                if len(self.found) > done:
                    self.save()
        return [self.found[name] for name in names]

    def save(self) -> None:
        """Writes the file, a line a result."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in self.found.items())
        write_atomically(f'{{"made": {json.dumps(self.made)},\n"found": {{\n{lines}\n}}}}\n', self.path)
