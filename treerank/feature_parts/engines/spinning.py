"""Spinning: tell users whose engines were loaded before treerank that waiting threads spin."""

from treerank.checks import warn_user
from treerank.numerics.waiting import runtimes_in_the_way


def warn_of_spinning() -> None:
    """Warn once if threads spin for long while other programs need the processors."""
    late = runtimes_in_the_way()
    if late:
        warn_user(
            f"Other programs use the processors, and threads of {', '.join(late)} spin while they "
            "wait, which slows down all of them. Import treerank first, or set "
            "GOMP_SPINCOUNT=1000 before Python starts."
        )
