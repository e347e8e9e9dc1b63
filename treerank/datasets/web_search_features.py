"""The 136 features of synthetic web search: measurements of a page by a search engine.

A stream is a text of the page: body, anchor text, title or url. Each stream shows the match of the
page with its own noise: the number of covered terms and their frequencies grow with the match, but
less and less. The stream "whole" is the sum of the others. Popularity is visible in links and
anchor text, quality in scores, and all three in clicks, which few pages have. To add a row of five
columns, add its formula and its name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

STREAMS = ("body", "anchor", "title", "url", "whole")

_ROWS = [
    "covered_terms",
    "covered_share",
    "stream_length",
    "inverse_document_frequency",
    *(
        f"{kind}_{statistic}"
        for kind in ("frequency", "relative_frequency", "weighted_frequency")
        for statistic in ("sum", "min", "max", "mean", "variance")
    ),
    "all_terms_covered",
    "vector_space_model",
    "bm25",
    "language_model_absolute",
    "language_model_dirichlet",
    "language_model_jelinek",
]

_PAGE_COLUMNS = [
    "url_slashes",
    "url_length",
    "inlinks",
    "outlinks",
    "page_rank",
    "site_rank",
    "quality_score",
    "second_quality_score",
    "query_url_clicks",
    "url_clicks",
    "url_dwell_time",
]

#: Name of each column, in order.
FEATURE_NAMES = [f"{row}_{stream}" for row in _ROWS for stream in STREAMS] + _PAGE_COLUMNS

#: Columns that are zero for every page, as if their measurement had failed.
ZERO_COLUMNS = (66, 68)

# Of each stream: logarithm of the usual length, its deviation, correlation with the match, share of
# terms covered by an average page (as a logit), occurrences per covered term (as a logarithm).
_STREAM_PARAMETERS = {
    "body": (6.0, 0.9, 0.65, 1.8, 1.4),
    "anchor": (1.8, 1.2, 0.75, 0.0, 0.6),
    "title": (1.9, 0.5, 0.7, 0.6, 0.0),
    "url": (2.0, 0.35, 0.6, -0.6, 0.0),
}


@dataclass(frozen=True, eq=False)
class Stream:
    """Counts of one stream of each page: its length, and occurrences of the query's terms."""

    length: np.ndarray
    covered: np.ndarray
    total: np.ndarray
    least: np.ndarray
    most: np.ndarray
    usual_log_length: float


def feature_columns(
    searches: Any, pages: Any, signal: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the columns of all pages, stream by stream.

    Parameters
    ----------
    searches, pages : Searches, Pages
        The draws of :mod:`treerank.datasets.web_search`, one entry per page.
    signal : ndarray of shape (n_documents,)
        Utility without noise, on which clicks depend.

    Yields
    ------
    tuple of int and ndarray of shape (n_documents,)
        Number of a column and its values.
    """
    streams = [
        _stream(name, searches, pages, noise)
        for name, noise in zip(STREAMS, pages.stream_noise, strict=False)
    ]
    for number, stream in enumerate([*streams, _whole_page(streams)]):
        for row, values in enumerate(_rows_of_stream(stream, searches)):
            column = row * len(STREAMS) + number
            yield column, np.zeros(len(signal)) if column in ZERO_COLUMNS else values
    yield from enumerate(_page_columns(searches, pages, signal), len(_ROWS) * len(STREAMS))


def _stream(name, searches, pages, noise):
    """Return the counts of one stream of each page."""
    usual, spread, correlation, coverage, repetition = _STREAM_PARAMETERS[name]
    shown = correlation * pages.match + np.sqrt(1 - correlation**2) * noise[1]
    length = np.floor(np.exp(usual + spread * noise[0]))
    if name == "anchor":  # only popular pages have links, whose texts these are
        length[pages.popularity + 0.5 * noise[1] < 0.6] = 0.0
    share = 1 / (1 + np.exp(-(coverage + 1.2 * shown + 0.4 * noise[2])))
    covered = np.minimum(np.rint(searches.n_terms * share), length)
    repeats = np.exp(repetition + 0.5 * shown + 0.3 * spread * noise[0] + 0.5 * noise[3])
    total = np.minimum(covered + np.floor(covered * repeats / 2), length)
    per_term = total / np.maximum(covered, 1)
    least = np.where(covered == searches.n_terms, np.floor(0.7 * per_term), 0.0)
    most = np.where(covered > 1, np.minimum(np.ceil(1.3 * per_term), total), total)
    return Stream(length, covered, total, least, most, usual)


def _whole_page(streams):
    """Return the counts of the whole page: sums over the streams, and the best coverage."""
    length, total, least, most = (
        sum(getattr(stream, name) for stream in streams)
        for name in ("length", "total", "least", "most")
    )
    covered = np.maximum.reduce([stream.covered for stream in streams])
    return Stream(length, covered, total, least, most, streams[0].usual_log_length)


def _rows_of_stream(stream, searches):
    """Yield the 25 columns of one stream, in the order of ``_ROWS``."""
    length, n_terms = np.maximum(stream.length, 1), searches.n_terms
    # More of the longer texts contain a term.
    rarity = searches.rarity * (14 - stream.usual_log_length)
    statistics = _frequency_statistics(stream, n_terms)
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


def _frequency_statistics(stream, n_terms):
    """Return sum, min, max, mean and variance of the frequencies of the query's terms."""
    variance = (stream.most - stream.least) ** 2 / 4
    return stream.total, stream.least, stream.most, stream.total / n_terms, variance


def _page_columns(searches, pages, signal):
    """Yield the eleven columns that belong to no stream."""
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
    """Return clicks: none below the threshold of interest, a heavy tail above it."""
    return np.floor(np.expm1(2.5 * np.maximum(interest - threshold, 0)))
