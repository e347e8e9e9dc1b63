"""Normalization: the scores of a retriever on one scale in every query, as search engines do it.

What the engines compute is read from their sources: ``MinMaxScoreNormalizationTechnique`` of
opensearch-project/neural-search at 936d3c4 (August 2026), and ``MinMaxScoreNormalizer`` of
elastic/elasticsearch since pull request 128689 (June 2025), before which a single document kept its
score. Both are of single precision, and both begin the search for the largest score
at Java's ``Float.MIN_VALUE``, which is the smallest number above 0.
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, quote, refuse_rounded, refuse_where
from treerank.documents.queries import ByRow, QueryGroups
from treerank.parameters import Rule, check_arguments

#: Largest score: the sum of squares of scores is no overflow.
_LARGEST = 1e150


def _min_max(scores: np.ndarray) -> np.ndarray:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def _z_score(scores: np.ndarray) -> np.ndarray:
    if scores.min() == scores.max():  # whose standard deviation may be a rounding error above 0
        return np.zeros(len(scores))
    # A power of two changes no bit; with it, no square of a tiny score is 0.
    scores = np.ldexp(scores, -np.frexp(np.abs(scores).max())[1])
    ordered = np.sort(scores)  # so that no bit of a sum depends on the order of rows
    return (scores - ordered.mean()) / ordered.std()


def _l2(scores: np.ndarray) -> np.ndarray:
    largest = np.abs(scores).max()
    if largest == 0:
        return np.zeros(len(scores))
    scores = scores / largest  # some square is 1, so the norm is neither 0 nor infinite
    return scores / np.sqrt(np.sort(scores * scores).sum())


def _opensearch_min_max(scores: np.ndarray) -> np.ndarray:
    low, high = _range_in_java(scores)
    if low == high:
        return np.ones(len(scores), np.float32)
    normalized = (scores.astype(np.float32) - low) / (high - low)
    return np.where(normalized == 0, np.float32(0.001), normalized)


def _elasticsearch_min_max(scores: np.ndarray) -> np.ndarray:
    low, high = _range_in_java(scores)
    if high - low < np.float32(1e-6):
        return np.ones(len(scores), np.float32)
    return (scores.astype(np.float32) - low) / (high - low)


def _range_in_java(scores: np.ndarray) -> tuple[np.float32, np.float32]:
    """Return ``(smallest, largest)`` score in single precision, as the engines find them.

    The largest is at least the smallest number above 0.
    """
    singles = scores.astype(np.float32)
    return singles.min(), max(singles.max(), np.finfo(np.float32).smallest_subnormal)


#: By search engine: its min-max normalization of the scores of the documents that a query found.
ENGINES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "opensearch": _opensearch_min_max,
    "elasticsearch": _elasticsearch_min_max,
}
#: By name: what becomes of the scores of the documents that a retriever found for one query.
NORMALIZATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "min_max": _min_max,
    "z_score": _z_score,
    "l2": _l2,
}


#: A search engine whose normalization is emulated.
Engine = Annotated[str | None, Rule.one_of((None, *ENGINES))]


@check_arguments
def normalize_scores(
    scores: ArrayLike,
    qid: ByRow = None,
    *,
    method: Annotated[str, Rule.one_of(NORMALIZATIONS)] = "min_max",
    engine: Engine = None,
) -> np.ndarray:
    r"""Return the scores of one retriever, normalized within each query.

    Scores of BM25, of vectors and of cross-encoders have different units, and scores of one
    retriever differ from query to query. Normalize before you fit and in the same way, over lists
    of the same depth, before you predict.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Scores of a retriever, higher is better; NaN where it has not found the document.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    method : {"min_max", "z_score", "l2"}, default="min_max"
        Over the documents of the query that were found,

        * "min_max" is :math:`(s - \min) / (\max - \min)`, and 1 where all scores are equal or there
          is one. A document that was not found has 0.
        * "z_score" is the score less the mean, over the standard deviation; 0 where all are equal.
          A document that was not found has the lowest one.
        * "l2" is :math:`s / \sqrt{\sum s^2}`. A document that was not found has 0.

        A retriever that found nothing for a query has 0 there.
    engine : {None, "opensearch", "elasticsearch"}, default=None
        Search engine whose own "min_max" it is, in its single precision: OpenSearch writes .001
        where it is 0, and both squeeze negative scores, which no query of theirs can have.

    Returns
    -------
    ndarray of shape (n_documents,)

    See Also
    --------
    treerank.read_runs : Reads run files, with columns of normalized scores.
    fuse : Adds the normalized scores of several retrievers.

    Examples
    --------
    >>> normalize_scores([12.0, 9.0, np.nan, 6.0, 0.8], ["a", "a", "a", "a", "b"])
    array([1. , 0.5, 0. , 0. , 1. ])
    """
    if engine is not None and method != "min_max":
        raise ValueError(f"engine must be None for method={quote(method)}; got {quote(engine)}.")
    scores = check_scores("scores", scores)
    if engine is not None:
        _refuse_large("scores", scores, engine)
    return normalized_by_query(scores, QueryGroups.from_qid(qid, len(scores)), method, engine)


def normalized_by_query(
    scores: np.ndarray, groups: QueryGroups, method: str, engine: str | None = None
) -> np.ndarray:
    """Return scores normalized within each query; NaN, a document that was not found, becomes 0.

    ``method`` is a name of ``NORMALIZATIONS``, computed as ``engine`` does if there is one. With
    "z_score", documents that were not found get the lowest value of the query.

    Examples
    --------
    >>> normalized_by_query(np.array([2.0, np.nan]), QueryGroups.from_qid(None, 2), "l2")
    array([1., 0.])
    """
    normalize = NORMALIZATIONS[method] if engine is None else ENGINES[engine]
    normalized = np.zeros(len(scores))
    for rows in groups.rows:
        is_retrieved = ~np.isnan(scores[rows])
        if is_retrieved.any():
            values = normalize(scores[rows[is_retrieved]])
            if method == "z_score":
                normalized[rows] = values.min()
            normalized[rows[is_retrieved]] = values
    return normalized


def check_scores(name: str, values: ArrayLike) -> np.ndarray:
    """Return the scores of a retriever as float64, which may be NaN.

    Refuses sizes above 1e150, and integers that float64 rounds.

    Examples
    --------
    >>> check_scores("scores", [1, None])
    array([ 1., nan])
    """
    scores = as_numbers(name, values)
    if scores.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {scores.shape}.")
    refuse_where(np.abs(scores) > _LARGEST, scores, f"{name} must be at most {_LARGEST:g} in size")
    refuse_rounded(name, values, scores)
    return scores


def refuse_foreign(name: str, scores: np.ndarray, engine: str) -> None:
    """Refuse scores that no query of an engine has: negative ones, and larger than float32.

    Examples
    --------
    >>> refuse_foreign("runs['cross']", np.array([-3.5]), "opensearch")
    Traceback (most recent call last):
    ...
    ValueError: runs['cross'] must not be negative for 'opensearch', whose scores never are; got \
-3.5 in row 0. Write 1 / (1 + exp(-score)) for logits, and 1 / (1 + distance) for distances, here \
and in the engine.
    """
    advice = (
        " Write 1 / (1 + exp(-score)) for logits, and 1 / (1 + distance) for distances, here and "
        "in the engine."
    )
    rule = f"{name} must not be negative for {quote(engine)}, whose scores never are"
    refuse_where(scores < 0, scores, rule, advice)
    _refuse_large(name, scores, engine)


def _refuse_large(name: str, scores: np.ndarray, engine: str) -> None:
    """Refuse scores that no float of 32 bits holds."""
    largest = float(np.finfo(np.float32).max)
    rule = (
        f"{name} must be at most {largest:.3g} in size for {quote(engine)}, whose scores are floats"
    )
    refuse_where(np.abs(scores) > largest, scores, rule)
