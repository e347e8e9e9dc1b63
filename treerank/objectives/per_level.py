"""Per-level objectives: one output per threshold between neighboring levels of relevance.

Output ``c`` ranks the documents that reach level ``c`` above those that do not, over pairs of
its own. So the outputs differ, which vector-valued boosting needs: under one common gradient
all outputs would grow proportional trees. The head then weighs the outputs.

It is for those who want a score for each threshold, and perhaps for many labels
(``bench_vector_outputs.py --quick``, NDCG@10 against one score). With early stopping nothing is
gained on MQ2008 and OHSUMED, of two thresholds, nor on ClueWeb09, of four: -.002 ± .005, -.004 ±
.008 and -.001 ± .020, with leaves that are vectors -.001 ± .005, +.014 ± .008 and -.023 ± .026, in
1.1 to 2.0 times the CPU time. With 100 trees, no stopping and ``head_alpha=10``: +.003 ± .005,
+.019 ± .011 and +.017 ± .021, and +.018 on two folds of synthetic web search, of four thresholds.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treerank.inputs.grouping import QueryGroups


@dataclass(frozen=True, eq=False)
class PerLevelObjective:
    """Sum of one objective per threshold, each over its own column of scores.

    Parameters
    ----------
    parts : tuple of Objective
        One objective of a single output per threshold, over the same rows.
    """

    parts: tuple

    @property
    def n_outputs(self):
        """Number of thresholds."""
        return len(self.parts)

    @cached_property
    def groups(self) -> QueryGroups:
        """Which rows form a query."""
        return self.parts[0].groups

    def __call__(self, scores, *, iteration=0):
        """Return value, gradient and hessian, the last two with a column per output."""
        results = [part(s, iteration=iteration) for part, s in self._columns(scores)]
        values, gradients, hessians = zip(*results, strict=True)
        return float(sum(values)), np.column_stack(gradients), np.column_stack(hessians)

    def derivatives(self, scores, *, iteration=0):
        """Return gradient and hessian, with a column per output."""
        results = [part.derivatives(s, iteration=iteration) for part, s in self._columns(scores)]
        gradients, hessians = zip(*results, strict=True)
        return np.column_stack(gradients), np.column_stack(hessians)

    def restricted_to(self, queries):
        """Return the part of the given queries."""
        return PerLevelObjective(tuple(part.restricted_to(queries) for part in self.parts))

    def _columns(self, scores):
        scores = np.asarray(scores)
        if scores.ndim != 2 or scores.shape[1] != self.n_outputs:
            raise ValueError(
                f"scores must have {self.n_outputs} columns, one per threshold; "
                f"got shape {scores.shape}."
            )
        return zip(self.parts, scores.T, strict=True)
