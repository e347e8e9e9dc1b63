"""Waiting: how long the threads of OpenMP stay awake when there is nothing for them to do.

A thread that waits for the others at the end of a parallel loop spins: it asks again and again
whether they are done. That is quick as long as each thread has a core of its own. Beside other
programs, the waiting thread takes the core that the thread it waits for needs, and a fit takes
many times as long. So threads spin briefly, and then sleep.

The runtimes of LightGBM, XGBoost, torch and numba read the number of spins when they are loaded.
Importing treerank sets it, unless the user has set ``GOMP_SPINCOUNT`` or ``OMP_WAIT_POLICY``.
``OMP_WAIT_POLICY=active`` lets threads spin for as long as they wait.
"""

import os
import sys
from collections.abc import MutableMapping

#: Number of times that a waiting thread asks before it sleeps.
SPINS = 1000
#: Variables of the environment by which users decide themselves.
VARIABLES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
#: Modules that load a runtime, which then reads these variables no more.
LOADERS = ("lightgbm", "numba.np.ufunc.omppool", "torch", "xgboost")
#: Modules of ``LOADERS`` that were loaded before treerank.
_loaded_before: list[str] = []


def spin_briefly(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set how long waiting threads spin, for the runtimes that are loaded from now on."""
    if not any(environment.get(name) for name in VARIABLES):
        environment["GOMP_SPINCOUNT"] = str(SPINS)
        _loaded_before[:] = [name for name in LOADERS if name in sys.modules]


def runtimes_in_the_way() -> list[str]:
    """Return, once, what was loaded before and spins for long, if others need the processors."""
    late = _loaded_before.copy() if _is_crowded() else []
    if late:
        _loaded_before.clear()
    return late


def _is_crowded() -> bool:
    """Tell whether more threads want to run than there are processors, where systems say it."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1)
