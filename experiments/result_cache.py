"""A cache of results by name in a JSON file, so that an interrupted run can be continued."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from tqdm import tqdm

from clarysage._utils.atomic import write_atomically

SECONDS_BETWEEN_SAVES = 20


@dataclass
class ResultCache:
    """Results by name, in a JSON file.

    Attributes
    ----------
    path : of the file, which is saved every few seconds and at the end, also if the run is interrupted
    made : what the results depend on, such as the seed and a learner's parameters; another file is refused
    results : results by name
    """

    path: Path
    made: Mapping[str, Any]
    results: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, **made: Any) -> ResultCache:
        """Reads the file if it exists, and checks that its results depend on the same things."""
        cache = cls(path, made)
        if path.exists():
            stored = json.loads(path.read_text())
            if stored["made"] != made:
                raise ValueError(
                    f"{path} has results of {stored['made']}, wanted {made}. Try another --out, or remove it."
                )
            cache.results = stored["found"]
        return cache

    def compute(self, names: Sequence[str], make: Callable[[str], Any], *, title: str, jobs: int = 1) -> list[Any]:
        """Returns the results of these names; those that are not in the file are computed by ``jobs`` processes."""
        missing = [name for name in dict.fromkeys(names) if name not in self.results]
        if missing:
            work = (delayed(make)(name) for name in missing)
            results: Iterable[Any] = Parallel(n_jobs=jobs, return_as="generator")(work)
            done = len(self.results)
            bar = tqdm(zip(missing, results, strict=True), title, len(missing), unit="", smoothing=0.1, mininterval=5)
            saved = time.monotonic()
            try:
                for name, result in bar:
                    self.results[name] = result
                    if time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                        self.save()
                        saved = time.monotonic()
            finally:
                if len(self.results) > done:
                    self.save()
        return [self.results[name] for name in names]

    def save(self) -> None:
        """Writes the file, one line per result."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in self.results.items())
        write_atomically(f'{{"made": {json.dumps(self.made)},\n"found": {{\n{lines}\n}}}}\n', self.path)
