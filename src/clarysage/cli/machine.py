"""The machine as clarysage finds it: cores, threads, and where compiled code is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass

LIMITS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMBA_CACHE_DIR",
    "NUMBA_DISABLE_JIT", "LOKY_MAX_CPU_COUNT",
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """What a run has to work with.

    Attributes
    ----------
    cores : of the machine
    allowed : of those, the ones that this process may use by its affinity and limits of its container
    pools : threads of each numerical library that is loaded; the most, where it is loaded more than once
    limits : variables of the environment that say something about threads and compiled code
    cache : the folder where compiled code is kept, None where there is none that can be written
    """

    cores: int | None
    allowed: int
    pools: dict[str, int]
    limits: dict[str, str]
    cache: str | None

    @classmethod
    def found(cls) -> Machine:
        """This one. Loads numba and numpy."""
        import joblib
        import threadpoolctl

        from clarysage.structure.kernels.compiled import kept_in

        found = sorted((pool["num_threads"], pool["internal_api"]) for pool in threadpoolctl.threadpool_info())
        limits = {name: os.environ[name] for name in LIMITS if name in os.environ}
        return cls(os.cpu_count(), joblib.cpu_count(), {name: threads for threads, name in found}, limits, kept_in())
