"""Workers: those that fit one model together, and what they add up.

Each worker holds whole queries. What depends on all documents (the position of a document in
canonical order, the step of rounding, the sample for bins, the size of a typical query) is agreed
on by all workers, so the model is the same for any number of them. The documents of a fit carry
the workers along: only :class:`treerank.documents.rows.Rows` asks them, and passes numbers on.
"""

import numpy as np


class Workers:
    """The only worker of a fit; the base class of one of several, which replaces most methods.

    Every worker calls the same methods in the same order, with arrays of the same dtype
    and shape (but for the length, where a method says so), even if a worker has no rows.

    Attributes
    ----------
    rank : int
        Number of this worker, from 0.
    world_size : int
        Number of workers.

    Examples
    --------
    >>> ALONE.sum(np.array([1, 2]))
    array([1, 2])
    """

    rank, world_size = 0, 1

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """Return a list with the array of each worker, by rank; only their lengths may differ."""
        return [values]

    def join(self, values: np.ndarray) -> np.ndarray:
        """Return the arrays of all workers as one, by rank; only their lengths may differ."""
        return values

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the elementwise maximum of the workers' arrays."""
        return values

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the elementwise sum of the workers' arrays.

        The order of the terms is not defined: floats must have sums that are exact in any order.
        """
        return values

    def sum_and_max(self, terms: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what :meth:`sum` returns for ``terms`` and :meth:`max` for ``sizes``, of floats.

        One message has both: the sizes of each worker are added to zeros of the others.
        """
        of_workers = np.zeros((self.world_size, len(sizes)))
        of_workers[self.rank] = sizes
        joined = self.sum(np.append(terms, of_workers))
        return joined[: len(terms)], joined[len(terms) :].reshape(of_workers.shape).max(axis=0)


#: The worker of a fit on one machine.
ALONE = Workers()
