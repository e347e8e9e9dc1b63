"""Scored: all that follows once documents have scores, and the components of the score."""

from dataclasses import replace
from typing import TYPE_CHECKING

from treerank.rankers.calibrating import Calibrating
from treerank.rankers.comparing import Comparing

if TYPE_CHECKING:  # imported where they are used
    from treerank.documents.rows import Rows
    from treerank.feature_parts.components import Components
    from treerank.feature_parts.scorer import Scorer
    from treerank.forests.forest import Forest


class Scored(Comparing, Calibrating):
    """Rankings, comparisons, probabilities and components of an estimator that scores documents.

    A subclass has one method, ``_scores(X)``: see :class:`~treerank.rankers.scoring.Scoring`.
    """

    def components(self) -> "Components":
        """Return the ranker as a sum of trees, a linear model and networks.

        A ranker that is no such sum raises a ValueError. The sum gives the scores of ``predict``
        but for the last bits; a single component with a single output gives them bit for bit.
        """
        raise ValueError(
            f"ranker must be a sum of trees and linear models; got {type(self).__name__}."
        )

    def _expected_components(self, documents: "Rows") -> "Components":
        """Return what :func:`expected_components` does; a subclass may override it."""
        return Scored.components(self)

    def forest(self) -> "Forest":
        """Return the ranker as a sum of trees, which only some rankers are.

        The trees know the names of the columns and their categories, if ``fit`` got a data frame,
        and the queries that the ranker was trained on.
        """
        components = self.components()
        if components.kinds != ["trees"]:
            raise ValueError(
                f"ranker must be a sum of trees; got {components.kinds}. TreeDirectRanker() is one."
            )
        trees, columns = components.forest, self.columns_
        queries = self.training_queries_
        is_named = (trees.feature_names, trees.levels or {}) == (columns.names, columns.categories)
        if is_named and trees.training_queries is queries:
            return trees
        levels = trees.levels if is_named else columns.categories or trees.levels
        return replace(trees, feature_names=columns.names, levels=levels, training_queries=queries)

    def scorer(self) -> "Scorer":
        """Return a function that quickly scores the documents of one query after another.

        Only rankers that are sums of trees and a linear model have one; see
        :class:`~treerank.feature_parts.scorer.Scorer`. It takes numbers and data frames as
        ``predict`` does, but no sparse matrices; numbers are faster. Its scores are the scores
        of ``predict``, bit for bit if the ranker is one part of trees with a single output.
        """
        from treerank.feature_parts.scorer import Scorer

        return Scorer(self.components(), self.columns_)


def expected_components(ranker: Scored, documents: "Rows") -> "Components":
    """Return components of the kind that an unfitted ranker has after a fit to such documents.

    ``documents`` may have no row. See :func:`treerank.exports.formats_for`, which asks for it.
    """
    return ranker._expected_components(documents)
