"""An objective of the user's own, without a base class."""


class Flat:
    """An objective with the members that it must have, and no slope at equal scores."""

    n_outputs = 1

    def __init__(self, groups):
        self.groups = groups

    def __call__(self, scores, *, iteration=0):
        return float((scores**4).sum()), *self.derivatives(scores)

    def derivatives(self, scores, *, iteration=0):
        return 4 * scores**3, 12 * scores**2

    def taking(self, rows, groups):
        return Flat(groups)
