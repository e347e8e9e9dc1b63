"""Waiting: how long the threads of OpenMP stay awake when there is nothing for them to do.

A thread that waits for the others at the end of a parallel loop spins: it asks again and again
whether they are done. That is quick as long as each thread has a core of its own. Beside other
programs, the waiting thread takes the core that the thread it waits for needs, and a fit takes
many times as long. So threads spin briefly, and then sleep.

The runtimes of LightGBM, XGBoost, torch and numba read the number of spins when they are loaded, so
those that are loaded before treerank spin for long. Importing treerank sets the number, unless the
user has set ``GOMP_SPINCOUNT`` or ``OMP_WAIT_POLICY``.
``OMP_WAIT_POLICY=active`` lets threads spin for as long as they wait.
"""

import os
from collections.abc import MutableMapping

#: Number of times that a waiting thread asks before it sleeps.
SPINS = 1000
#: Variables of the environment by which users decide themselves.
VARIABLES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def spin_briefly(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set how long idle threads spin before they sleep, for OpenMP runtimes loaded from now on.

    It does nothing if ``environment`` has a setting of the user's.
    """
    if not any(environment.get(name) for name in VARIABLES):
        environment["GOMP_SPINCOUNT"] = str(SPINS)
