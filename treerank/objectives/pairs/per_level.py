"""Per-level objectives: one output per threshold between neighboring levels of relevance.

Output ``c`` ranks the documents that reach level ``c`` above those that do not, over pairs of its
own. So the outputs differ, which vector-valued boosting needs: under one common gradient all
outputs would grow proportional trees. The head then weighs the outputs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.objectives.base import Derivatives, Objective, Priced, WrappedObjective
from treerank.objectives.pairs.objective import PairwiseObjective

#: More levels are refused: each is an output more of every tree.
MAX_LEVELS = 32


@dataclass(frozen=True, eq=False)
class PerLevelObjective(WrappedObjective):
    """The sum of one pairwise objective per threshold, each over its own column of scores.

    Attributes
    ----------
    objective : PairwiseObjective
        The objective over the labels themselves, of one output.
    parts : tuple of PairwiseObjective
        One objective per threshold, over the same rows.
    """

    objective: PairwiseObjective
    parts: tuple[PairwiseObjective, ...]

    @classmethod
    def of(cls, whole: PairwiseObjective) -> "PerLevelObjective":
        """Cut the labels of an objective at each level: a document reaches it or does not."""
        judgments, y = whole.judgments, whole.judgments.y
        levels = np.unique(y)
        if not 2 <= len(levels) <= MAX_LEVELS:
            raise ValueError(
                f"y must have 2 to {MAX_LEVELS} different labels when per_level=True; "
                f"got {len(levels)}."
            )
        binary = replace(whole, gain="linear", threshold=1.0, largest_label=1.0)
        cuts = [judgments.labeled((y >= level).astype(float)) for level in levels[1:]]
        return cls(whole, tuple(replace(binary, judgments=cut).checked() for cut in cuts))

    @property
    def n_outputs(self) -> int:
        """Number of thresholds."""
        return len(self.parts)

    def __call__(self, scores: np.ndarray, *, iteration: int = 0) -> Priced:
        """Return value, gradient and hessian, the last two with a column per output."""
        results = [part(s, iteration=iteration) for part, s in self._columns(scores)]
        values, gradients, hessians = zip(*results, strict=True)
        return float(sum(values)), np.column_stack(gradients), np.column_stack(hessians)

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian, with a column per output."""
        results = [part.derivatives(s, iteration=iteration) for part, s in self._columns(scores)]
        gradients, hessians = zip(*results, strict=True)
        return np.column_stack(gradients), np.column_stack(hessians)

    def taking(self, rows: np.ndarray, groups: QueryGroups) -> "PerLevelObjective":
        """Return the objective of the given rows alone, whose queries are ``groups``."""
        parts = tuple(part.taking(rows, groups) for part in self.parts)
        return PerLevelObjective(self.objective.taking(rows, groups), parts)

    def convex(self) -> PairwiseObjective:
        """Return the convex form of the objective over the labels themselves."""
        return self.objective.convex()

    def with_loss(self, loss: Any) -> Objective:
        """Return a loss without pairs of the labels themselves."""
        return self.objective.with_loss(loss)

    def has_anything_to_learn(self) -> bool:
        """Tell whether a pair has a weight."""
        return any(part.has_anything_to_learn() for part in self.parts)

    def _columns(self, scores: np.ndarray) -> Iterator[tuple[PairwiseObjective, np.ndarray]]:
        scores = np.asarray(scores)
        if scores.ndim != 2 or scores.shape[1] != self.n_outputs:
            raise ValueError(
                f"scores must have {self.n_outputs} columns, one per threshold; "
                f"got shape {scores.shape}."
            )
        return zip(self.parts, scores.T, strict=True)
