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
difficult search may have no relevant page.

The features show m, p and g with noise. A stream is a text of the page: body, anchor text, title or
url. The number of covered terms and their frequencies grow with the match, but less and less. The
stream of the whole page is the sum of the others. Popularity is visible in links and anchor text,
quality in scores, and all three in clicks, which few pages have.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from treerank.checks import check_count, quote
from treerank.parameters import check_arguments

#: Most numbers of a data set: 32 GB.
MOST_CELLS = 2**32
#: Columns; each of the 25 rows of them has one for each of the five streams.
_N_COLUMNS, _N_STREAM_ROWS, _N_STREAMS = 136, 25, 5
#: Columns that are zero for every page, as if their measurement had failed.
_ZERO_COLUMNS = (66, 68)
#: Approximate shares of the labels 0 to 4 in MSLR-WEB30K.
_LABEL_SHARES = np.array([0.52, 0.32, 0.13, 0.02, 0.01])
# Of each stream: logarithm of the usual length, its deviation, correlation with the match, share of
# terms covered by an average page (as a logit), occurrences per covered term (as a logarithm).
_STREAM_PARAMETERS = {
    "body": (6.0, 0.9, 0.65, 1.8, 1.4),
    "anchor": (1.8, 1.2, 0.75, 0.0, 0.6),
    "title": (1.9, 0.5, 0.7, 0.6, 0.0),
    "url": (2.0, 0.35, 0.6, -0.6, 0.0),
}


class Searches(NamedTuple):
    """Properties of queries, one row per document: each is repeated for all pages of the query.

    ``n_terms`` is the number of query terms and ``rarity`` how rare they are. ``intent`` is the
    degree, in (0, 1), to which a known site is sought and not a text; ``sharpness`` scales the
    effect of the text's match, and ``ease`` shifts the utility of all pages.
    """

    n_terms: np.ndarray
    rarity: np.ndarray
    intent: np.ndarray
    sharpness: np.ndarray
    ease: np.ndarray


class Pages(NamedTuple):
    """Standard normal properties of pages, and noise of their features.

    ``match`` (to the query), ``popularity`` and ``quality`` have shape (n_pages,).
    ``stream_noise``, of shape (n_streams, 4, n_pages), is for the features of each part of the
    text, and ``page_noise``, of shape (11, n_pages), for the features of the page as such.
    """

    match: np.ndarray
    popularity: np.ndarray
    quality: np.ndarray
    stream_noise: np.ndarray
    page_noise: np.ndarray


class Stream(NamedTuple):
    """Counts of one text field ("stream" in MSLR: body, anchor, title, url) of each page.

    ``length`` is its number of words and ``covered`` the number of query terms in it; ``total``,
    ``least`` and ``most`` are the sum, minimum and maximum of the terms' frequencies.
    ``usual_log_length`` is the typical logarithm of the length.
    """

    length: np.ndarray
    covered: np.ndarray
    total: np.ndarray
    least: np.ndarray
    most: np.ndarray
    usual_log_length: float


def check_cells(**counts: Any) -> None:
    """Refuse a count that is not a positive whole number, and counts whose product is too large.

    Each keyword argument names a count; the product is limited to ``MOST_CELLS``.

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
        raise ValueError(f"{names} must be at most {MOST_CELLS}; got {quote(n_cells)}.")


@check_arguments
def make_web_search(
    n_queries: int = 1000,
    *,
    documents_per_query: int = 120,
    n_features: int = 136,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generate data like MSLR-WEB30K: 136 features, five grades, and queries of many sizes.

    Columns come in groups of five, one per stream (body, anchor, title, url, whole page), as in
    MSLR:

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
    check_count("n_features", n_features, at_most=_N_COLUMNS)
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    if random_state is not None and not isinstance(random_state, np.random.Generator):
        check_count("random_state", random_state, at_least=0)
    rng = np.random.default_rng(random_state)
    qid = _query_of_each_page(n_queries, documents_per_query, rng)
    searches, pages = _drawn_searches(n_queries, qid, rng), _drawn_pages(qid, rng)
    signal = _utility(searches, pages)
    y = _labels(signal + 2.3 * rng.standard_normal(len(qid)))
    X = np.empty((len(qid), n_features))
    chosen = np.rint(np.linspace(0, _N_COLUMNS - 1, n_features)).astype(np.int64)
    for column, values in _feature_columns(searches, pages, signal):
        X[:, chosen == column] = values[:, np.newaxis]
    return X, y, qid


def _query_of_each_page(n_queries, documents_per_query, rng):
    """Draw how many pages each query has, ``documents_per_query`` on average; return query numbers.

    The result has one sorted entry per page; each query has at least one.
    """
    weights = np.cumsum(rng.gamma(2.0, size=n_queries))
    n_spare = n_queries * (documents_per_query - 1)
    ends = np.rint(n_spare * weights / weights[-1]).astype(np.int64)
    return np.repeat(np.arange(n_queries), 1 + np.diff(ends, prepend=0))


def _drawn_searches(n_queries, qid, rng):
    """Draw the properties of ``n_queries`` queries.

    Return them for the query ``qid`` of each page.
    """
    n_terms = np.minimum(1 + rng.poisson(1.8, n_queries), 12).astype(np.float64)
    lean = 2.3 - n_terms + 0.7 * rng.standard_normal(n_queries)
    hopeless = rng.random(n_queries) < 0.03
    rarity = np.exp(0.4 * rng.standard_normal(n_queries))
    intent = 1 / (1 + np.exp(-1.5 * lean))
    sharpness = np.exp(0.4 * rng.standard_normal(n_queries))
    ease = 0.9 * rng.standard_normal(n_queries) - 6.0 * hopeless
    return Searches(*(values[qid] for values in (n_terms, rarity, intent, sharpness, ease)))


def _drawn_pages(qid, rng):
    """Draw the properties of pages.

    About 3 % are copies of the page before them in the same query.
    """
    n_streams = len(_STREAM_PARAMETERS)
    draws = rng.standard_normal((3 + 4 * n_streams + 11, len(qid)))
    repeats = np.flatnonzero(rng.random(len(qid)) < 0.03)
    repeats = repeats[(repeats > 0) & (qid[repeats] == qid[repeats - 1])]
    draws[:, repeats] = draws[:, repeats - 1]
    match, popularity, quality = draws[:3]
    stream_noise = draws[3 : 3 + 4 * n_streams].reshape(n_streams, 4, len(qid))
    return Pages(match, popularity, quality, stream_noise, draws[3 + 4 * n_streams :])


def _utility(searches, pages):
    """Return the utility without noise; the formula is in the module's docstring."""
    match, quality = pages.match, pages.quality
    matches = 1 / (1 + np.exp(-2 * match))
    text = searches.sharpness * match * (1 - searches.intent) * (1 + 0.5 * quality)
    site = matches * (3 * searches.intent * pages.popularity + quality)
    return text + site - 1.5 * (quality < -1) + searches.ease


def _labels(utility):
    """Return labels 0 to 4 by the rank of the utility, in exactly the shares ``_LABEL_SHARES``."""
    ends = np.rint(np.cumsum(_LABEL_SHARES / _LABEL_SHARES.sum()) * len(utility)).astype(np.int64)
    labels = np.empty(len(utility), dtype=np.int64)
    order = np.argsort(utility, kind="stable")
    labels[order] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    return labels


def _feature_columns(
    searches: Searches, pages: Pages, signal: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield ``(column number, values)`` of each feature: of each text field, then of the page.

    ``signal`` is the utility without noise, on which the click features depend.
    """
    streams = [
        _stream(name, searches, pages, noise)
        for name, noise in zip(_STREAM_PARAMETERS, pages.stream_noise, strict=True)
    ]
    for number, stream in enumerate([*streams, _whole_page(streams)]):
        for row, values in enumerate(_rows_of_stream(stream, searches)):
            column = row * _N_STREAMS + number
            yield column, np.zeros(len(signal)) if column in _ZERO_COLUMNS else values
    yield from enumerate(_page_columns(searches, pages, signal), _N_STREAM_ROWS * _N_STREAMS)


def _stream(name, searches, pages, noise):
    """Draw the length and the occurrences of query terms in one part of the text of each page.

    ``name`` is the part: "body", "anchor", "title" or "url". ``noise`` has four standard normal
    numbers per page, of shape (4, n_pages).
    """
    usual, spread, correlation, coverage, repetition = _STREAM_PARAMETERS[name]
    visible = correlation * pages.match + np.sqrt(1 - correlation**2) * noise[1]
    length = np.floor(np.exp(usual + spread * noise[0]))
    if name == "anchor":  # only popular pages have links, whose texts these are
        length[pages.popularity + 0.5 * noise[1] < 0.6] = 0.0
    share = 1 / (1 + np.exp(-(coverage + 1.2 * visible + 0.4 * noise[2])))
    covered = np.minimum(np.rint(searches.n_terms * share), length)
    repeats = np.exp(repetition + 0.5 * visible + 0.3 * spread * noise[0] + 0.5 * noise[3])
    total = np.minimum(covered + np.floor(covered * repeats / 2), length)
    per_term = total / np.maximum(covered, 1)
    least = np.where(covered == searches.n_terms, np.floor(0.7 * per_term), 0.0)
    most = np.where(covered > 1, np.minimum(np.ceil(1.3 * per_term), total), total)
    return Stream(length, covered, total, least, most, usual)


def _whole_page(streams):
    """Return the counts of the whole page from the counts of its four text fields.

    Lengths and frequencies are summed; ``covered`` is the largest of the fields.
    """
    length, _, total, least, most, _ = map(np.add.reduce, zip(*streams, strict=True))
    covered = np.maximum.reduce([stream.covered for stream in streams])
    return Stream(length, covered, total, least, most, streams[0].usual_log_length)


def _rows_of_stream(stream, searches):
    """Yield the 25 features of one text field, in the order of :func:`make_web_search`."""
    length, n_terms = np.maximum(stream.length, 1), searches.n_terms
    # More of the longer texts contain a term.
    rarity = searches.rarity * (14 - stream.usual_log_length)
    # Sum, min, max, mean and variance of the frequencies of the query's terms.
    variance = (stream.most - stream.least) ** 2 / 4
    statistics = stream.total, stream.least, stream.most, stream.total / n_terms, variance
    yield stream.covered
    yield stream.covered / n_terms
    yield stream.length
    yield rarity * n_terms
    yield from statistics
    yield from (values / length for values in statistics[:4])
    yield statistics[4] / length**2
    yield from (values * rarity for values in statistics[:4])
    yield statistics[4] * rarity**2
    yield (stream.covered == n_terms).astype(np.float64)
    yield stream.covered / n_terms * np.sqrt(stream.total / (stream.total + np.sqrt(length)))
    slowness = 0.3 + 0.9 * stream.length / np.exp(stream.usual_log_length)
    per_term = stream.total / np.maximum(stream.covered, 1)
    yield rarity * stream.covered * 2.2 * per_term / (per_term + slowness)
    for smoothing in (0.5, 2.0, 10.0):
        yield n_terms * np.log((statistics[3] + 0.01 * smoothing) / (length + smoothing))


def _page_columns(searches, pages, signal):
    """Yield the eleven features of the page as such: links, quality and clicks, not its text."""
    noise, popularity = pages.page_noise, pages.popularity
    yield np.floor(1 + np.exp(0.8 + 0.5 * noise[0] - 0.2 * popularity))
    yield np.floor(10 + np.exp(3.3 + 0.6 * noise[0] + 0.3 * noise[1]))
    yield np.floor(np.exp(1.5 + 2.2 * (0.8 * popularity + 0.6 * noise[2])))
    yield np.floor(np.exp(0.2 + 1.2 * (0.3 * pages.quality + noise[3])))
    yield np.floor(65535 / (1 + np.exp(1.5 - 0.9 * popularity - 0.5 * noise[4])))
    yield np.floor(65535 / (1 + np.exp(-0.5 - 0.6 * popularity - 0.9 * noise[5])))
    yield np.floor(255 / (1 + np.exp(3 - 0.9 * pages.quality - 0.6 * noise[6])))
    yield np.floor(255 / (1 + np.exp(2.5 + 0.7 * pages.quality - 0.9 * noise[7])))
    yield _clicks(0.4 * signal + 0.4 * searches.intent + noise[8], 2.0)
    yield _clicks(0.5 * popularity + 0.2 * pages.quality + noise[9], 0.8)
    yield np.round(np.exp(2 + 0.5 * noise[10]) * _clicks(0.2 * signal + noise[9], 0.8), 1)


def _clicks(interest, threshold):
    """Return numbers of clicks: 0 where interest is below the threshold, heavy-tailed above it."""
    return np.floor(np.expm1(2.5 * np.maximum(interest - threshold, 0)))
