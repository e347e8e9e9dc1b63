"""Joining: comparisons of different rankers on the same splits become one."""

from dataclasses import replace

from treerank.evaluation.ranker_comparison import Comparison


def join(*comparisons: Comparison) -> Comparison:
    """Return one comparison of the rankers of several, which are on the same splits.

    Parameters
    ----------
    *comparisons : Comparison
        Comparisons of different rankers on the same data, splits, metrics and convention.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> from treerank.datasets.web_search import make_web_search
    >>> from treerank.evaluation import compare
    >>> data = make_web_search(60, random_state=0)
    >>> rankers = {"line": LinearRegression()}, {"ridge": Ridge()}
    >>> join(*(compare(ranker, data) for ranker in rankers)).rankers
    ('line', 'ridge')
    """
    joined = comparisons[0]
    for other in comparisons[1:]:
        _check_joinable(joined, other)
        joined = replace(
            joined,
            rankers=joined.rankers + other.rankers,
            outcomes=joined.outcomes | other.outcomes,
            failures=joined.failures + other.failures,
        )
    return joined


def _check_joinable(first, other):
    """Refuse comparisons that differ in more than the rankers."""
    for name in ("splits", "metrics", "convention"):
        mine, theirs = getattr(first, name), getattr(other, name)
        if mine != theirs:
            raise ValueError(f"comparisons must have the same {name}; got {mine} and {theirs}.")
    shared = set(first.rankers) & set(other.rankers)
    if shared:
        raise ValueError(f"comparisons must be of different rankers; got {shared} twice.")
    mine, theirs = _folds_of(first), _folds_of(other)
    if any(mine[split] != theirs[split] for split in mine.keys() & theirs.keys()):
        raise ValueError("comparisons must be on the same folds; got different data in them.")


def _folds_of(comparison):
    """Return the digest of the data of each split."""
    return {outcome.split: outcome.fingerprint for outcome in comparison.outcomes.values()}
