r"""Web search: synthetic data with the shape and about the difficulty of MSLR-WEB30K.

A *search* (query) has a number of terms, a rarity of its terms, an intent (from 0, looking for
text, to 1, looking for a certain site) and a difficulty. A *page* (document) has a match, a
popularity and a quality, all with a standard normal distribution. The utility of a page for a
search is not linear:

.. math:: u = a\,m\,(1 - i)(1 + \tfrac12 g) + \sigma(2m)\,(3\,i\,p + g)
              - 1.5\,[g < -1] + b + 2.3\,\varepsilon

with match m, popularity p, quality g, intent i, standard normal noise, and the sharpness a and the
ease b of the search. Popularity counts if the intent is high, as in short queries, and the text
matches. Pages of low quality are spam. The labels are bins of u with given shares, so that a
difficult search may have no relevant page. The features show m, p and g with noise; see
:mod:`treerank.datasets.web_search_features`.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.checks import check_count, is_whole, shown
from treerank.datasets.web_search_features import FEATURE_NAMES, STREAMS, feature_columns

#: Most numbers of a data set: 32 GB.
MOST_CELLS = 2**32
#: What the generators take as ``random_state``.
RandomState = int | np.random.Generator | np.random.RandomState | None


def _as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator; NumPy's global random state is neither read nor changed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if is_whole(random_state):
        check_count("random_state", random_state, at_least=0)
    elif random_state is not None and not isinstance(random_state, np.random.Generator):
        raise TypeError(
            "random_state must be an int, a Generator, a RandomState or None; "
            f"got {shown(random_state)}."
        )
    return np.random.default_rng(random_state)


def check_cells(**counts: Any) -> None:
    """Refuse what is no count, and counts whose product is beyond any memory.

    Examples
    --------
    >>> check_cells(n_documents=10**9, n_features=70)
    Traceback (most recent call last):
    ...
    ValueError: n_documents times n_features must be at most 4294967296; got 70000000000.
    """
    for name, count in counts.items():
        check_count(name, count)
    n_cells = math.prod(map(int, counts.values()))
    if n_cells > MOST_CELLS:
        names = " times ".join(counts)
        raise ValueError(f"{names} must be at most {MOST_CELLS}; got {shown(n_cells)}.")


#: Approximate shares of the labels 0 to 4 in MSLR-WEB30K.
_LABEL_SHARES = np.array([0.52, 0.32, 0.13, 0.02, 0.01])


def make_web_search(
    n_queries: int = 1000,
    *,
    documents_per_query: int = 120,
    n_features: int = 136,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make data of the shape of MSLR-WEB30K: 136 features, five labels, queries of many sizes.

    Columns come in rows of five, one per stream (body, anchor, title, url, whole page), as in
    MSLR, and are named by :func:`web_search_feature_names`:

    =========  ===========================================================================
    columns    what they hold
    =========  ===========================================================================
    0-9        covered query terms, a small count, and their share of the query
    10-14      stream length, a heavy-tailed count; most pages have no anchor text
    15-19      inverse document frequency, constant within a query
    20-44      term frequency: sum, min, max, mean, variance (sum = mean x terms)
    45-69      the same by stream length; columns 66 and 68 are constant zero
    70-94      the same times inverse document frequency: scaled by the query
    95-99      1 where all query terms are covered
    100-109    vector space model, BM25
    110-124    three language models, nearly the same; negative
    125-129    url slashes, url length, inlinks, outlinks, page rank
    130-132    site rank, and two quality scores
    133-135    clicks for the query and on the page, dwell time: zero for most pages
    =========  ===========================================================================

    About three pages of a hundred have the same features as the page before them.

    Parameters
    ----------
    n_queries : int, default=1000
        Number of queries.
    documents_per_query : int, default=120
        Mean number of rows of a query. Sizes follow a gamma distribution of shape 2, at least
        1, and sum to ``n_queries * documents_per_query`` exactly.
    n_features : int, default=136
        Number of columns, at most 136; fewer are chosen evenly from the 136.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same seed gives the same data.

    Returns
    -------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Labels.
    qid : ndarray of shape (n_documents,)
        Query of each row, from 0, in rising order.

    Examples
    --------
    >>> X, y, qid = make_web_search(n_queries=10, random_state=0)
    >>> X.shape, np.bincount(y)
    ((1200, 136), array([624, 384, 156,  24,  12]))
    """
    counts = {"n_queries": n_queries, "documents_per_query": documents_per_query}
    check_cells(**counts, n_features=n_features)
    check_count("n_features", n_features, at_most=len(FEATURE_NAMES))
    rng = _as_generator(random_state)
    qid = _query_of_each_page(n_queries, documents_per_query, rng)
    searches, pages = Searches.drawn(n_queries, rng).expanded(qid), Pages.drawn(qid, rng)
    signal = _utility(searches, pages)
    y = _labels(signal + 2.3 * rng.standard_normal(len(qid)))
    columns = feature_columns(searches, pages, signal)
    return _gather(columns, _chosen_columns(n_features), len(qid)), y, qid


def web_search_feature_names(n_features: int = 136) -> list[str]:
    """Return the names of the columns of :func:`make_web_search`.

    Parameters
    ----------
    n_features : int, default=136
        The ``n_features`` of :func:`make_web_search`.

    Returns
    -------
    list of str
        One name per column.

    Examples
    --------
    >>> web_search_feature_names()[10:12]
    ['stream_length_body', 'stream_length_anchor']
    """
    check_count("n_features", n_features, at_most=len(FEATURE_NAMES))
    return [FEATURE_NAMES[column] for column in _chosen_columns(n_features)]


@dataclass(frozen=True, eq=False)
class Searches:
    """Properties of queries; one entry per query or, after ``expanded``, per page."""

    n_terms: np.ndarray
    rarity: np.ndarray
    intent: np.ndarray
    sharpness: np.ndarray
    ease: np.ndarray

    @classmethod
    def drawn(cls, n_queries: int, rng: np.random.Generator) -> Self:
        """Draw queries."""
        n_terms = np.minimum(1 + rng.poisson(1.8, n_queries), 12).astype(np.float64)
        lean = 2.3 - n_terms + 0.7 * rng.standard_normal(n_queries)
        hopeless = rng.random(n_queries) < 0.03
        return cls(
            n_terms=n_terms,
            rarity=np.exp(0.4 * rng.standard_normal(n_queries)),
            intent=1 / (1 + np.exp(-1.5 * lean)),
            sharpness=np.exp(0.4 * rng.standard_normal(n_queries)),
            ease=0.9 * rng.standard_normal(n_queries) - 6.0 * hopeless,
        )

    def expanded(self, qid: np.ndarray) -> "Searches":
        """Repeat the entries of each query for each of its pages."""
        return Searches(*(getattr(self, name)[qid] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Pages:
    """Properties of pages, and the noise of their features."""

    match: np.ndarray
    popularity: np.ndarray
    quality: np.ndarray
    stream_noise: np.ndarray
    page_noise: np.ndarray

    @classmethod
    def drawn(cls, qid: np.ndarray, rng: np.random.Generator) -> Self:
        """Draw pages; some equal the page before them in the same query."""
        n_streams = len(STREAMS) - 1  # the whole page is the sum of the others
        draws = rng.standard_normal((3 + 4 * n_streams + 11, len(qid)))
        repeats = np.flatnonzero(rng.random(len(qid)) < 0.03)
        repeats = repeats[(repeats > 0) & (qid[repeats] == qid[repeats - 1])]
        draws[:, repeats] = draws[:, repeats - 1]
        match, popularity, quality = draws[:3]
        stream_noise = draws[3 : 3 + 4 * n_streams].reshape(n_streams, 4, len(qid))
        return cls(match, popularity, quality, stream_noise, draws[3 + 4 * n_streams :])


def _query_of_each_page(n_queries, documents_per_query, rng):
    """Draw the number of pages of each query; return the query of each page."""
    weights = np.cumsum(rng.gamma(2.0, size=n_queries))
    n_spare = n_queries * (documents_per_query - 1)
    ends = np.rint(n_spare * weights / weights[-1]).astype(np.int64)
    return np.repeat(np.arange(n_queries), 1 + np.diff(ends, prepend=0))


def _utility(searches, pages):
    """Return the utility without noise; the formula is in the module's docstring."""
    match, quality = pages.match, pages.quality
    matches = 1 / (1 + np.exp(-2 * match))
    text = searches.sharpness * match * (1 - searches.intent) * (1 + 0.5 * quality)
    site = matches * (3 * searches.intent * pages.popularity + quality)
    return text + site - 1.5 * (quality < -1) + searches.ease


def _labels(utility):
    """Return labels by the rank of the utility, so that the shares are exact."""
    ends = np.rint(np.cumsum(_LABEL_SHARES / _LABEL_SHARES.sum()) * len(utility)).astype(np.int64)
    ranks = np.empty(len(utility), dtype=np.int64)
    ranks[np.argsort(utility, kind="stable")] = np.arange(len(utility))
    return np.searchsorted(ends, ranks, side="right")


def _chosen_columns(n_features):
    """Return which of the 136 columns are chosen."""
    return np.rint(np.linspace(0, len(FEATURE_NAMES) - 1, n_features)).astype(np.int64)


def _gather(columns, chosen, n_documents):
    """Return a matrix of the chosen columns; ``columns`` may be in any order."""
    X = np.empty((n_documents, len(chosen)))
    wanted = {int(column): place for place, column in enumerate(chosen)}
    for column, values in columns:
        if column in wanted:
            X[:, wanted[column]] = values
    return X
