"""Slices: groups of queries on which a ranker is better or worse than on the other queries.

Queries are grouped by the values of columns, such as language or length. With many slices some
look bad by chance alone, so p-values are adjusted for the number of slices.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.checks import as_numbers, naming, quote
from treerank.display.charts import MOST_ROWS, Intervals
from treerank.display.results import Shown
from treerank.display.tables import MOST_ROWS as TABLE_ROWS
from treerank.display.tables import Table, counted
from treerank.documents.queries import ByRow, QueryGroups, is_missing
from treerank.parameters import Count, Several, check_arguments
from treerank.statistics.clusters import ClusterSums, clusters_by_query
from treerank.statistics.paired import ROUNDING, SIGNIFICANT, adjust_holm, check_values, format_p
from treerank.statistics.resampled import Interval

#: Level of the intervals.
_LEVEL = 0.95
#: Fewest clusters of a slice, and outside it.
_FEWEST_CLUSTERS = 2


@dataclass(frozen=True, repr=False)
class Slice(Shown):
    """Queries with some values of a column, compared with all other queries.

    Parameters
    ----------
    column, values : str
        Name of the column, and its values in the slice.
    n_queries : int
        Number of queries of the slice that have a value of the metric.
    mean : float
        Mean value of these queries.
    difference : Interval
        ``mean`` minus the mean of the other queries; not adjusted.
    p_value : float
        Two-sided, by Welch's t-test or one over clusters, adjusted by Holm for the number of
        slices.

    Examples
    --------
    >>> difference = Interval(-0.2, -0.3, -0.1, level=0.95)
    >>> print(Slice("country", "NL", 31, 0.41, difference, 0.012))
    country NL: 0.4100 over 31 queries, -0.2000 from the others, p = 0.012
    """

    column: str
    values: str
    n_queries: int
    mean: float
    difference: Interval
    p_value: float

    @property
    def is_worse(self) -> bool:
        """Whether these queries are significantly worse than the others."""
        return self.p_value <= SIGNIFICANT and self.difference.estimate < 0

    def __str__(self) -> str:
        """Return the slice in one line."""
        return (
            f"{self.column} {self.values}: {self.mean:.4f} over {self.n_queries} queries, "
            f"{self.difference.estimate:+.4f} from the others, p = {format_p(self.p_value)}"
        )

    _shown = __str__


class Slices(list[Slice], Shown):
    """Slices of queries, by ascending p-value; :func:`slices` makes it.

    Examples
    --------
    >>> difference = Interval(-0.2, -0.3, -0.1, level=0.95)
    >>> Slices([Slice("country", "NL", 31, 0.41, difference, 0.012)])
    1 slice of queries, 1 of which is significantly worse than the others.
    slice       queries    mean  difference      low     high  p
    ----------  -------  ------  ----------  -------  -------  -----
    country NL       31  0.4100     -0.2000  -0.3000  -0.1000  0.012
    """

    def chart(self, *, most: int = MOST_ROWS) -> Intervals:
        """Return the differences from the other queries, as :meth:`plot` shows them."""
        first_slices = self[:most]
        names = [f"{s.column} {s.values} ({s.n_queries:,})" for s in first_slices]
        label, title = "difference from the other queries", "Slices (number of queries)"
        return Intervals.of(names, [s.difference.ends for s in first_slices], x=label, title=title)

    @check_arguments
    def plot(self, ax: Any = None, *, most: Count = MOST_ROWS) -> Any:
        """Plot the first slices with 95 % confidence intervals; needs Matplotlib.

        The intervals are not adjusted for the number of slices; the p-values are.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.
        most : int, default=20
            Largest number of slices.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart(most=most).plot(ax)

    def _shown(self) -> Table:
        n_worse = sum(part.is_worse for part in self)
        verb = "is" if n_worse == 1 else "are"
        slices = f"{counted(len(self), 'slice')} of queries"
        title = f"{slices}, {n_worse:,} of which {verb} significantly worse than the others."
        header = ["slice", "queries", "mean", "difference", "low", "high", "p"]
        rows = [
            [
                *(f"{s.column} {s.values}", s.n_queries, s.mean),
                *(*s.difference.ends, format_p(s.p_value)),
            ]
            for s in self[:TABLE_ROWS]
        ]
        return Table(title, header, rows, len(self))

    __repr__ = Shown.__repr__


@check_arguments
def slices(
    values: ArrayLike,
    columns: Mapping[str, ArrayLike],
    qid: ArrayLike | QueryGroups,
    *,
    clusters: ByRow = None,
    n_bins: Several = 4,
    at_least: Several = 20,
) -> Slices:
    """Return slices of the queries, by ascending p-value of their difference from the others.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        Metric of each query, as ``per_query`` of a metric returns it, or the difference of two
        rankers; NaN is ignored.
    columns : dict from str to array-like of shape (n_documents,)
        Columns to group queries by. Numbers are averaged over the documents of a query; of a text
        column, the first document of the query counts.
    qid : array-like of shape (n_documents,)
        Query of each document.
    clusters : array-like of shape (n_documents,), default=None
        Cluster of each document, such as its user, if queries of a cluster are correlated. The
        test is then by clusters, and a slice has queries of at least two of them.
    n_bins : int, default=4
        Number of bins of about equally many queries, for numeric columns with more values. A value
        that fills a bin alone, such as 0 where most queries have none, is a slice of its own.
    at_least : int, default=20
        Least number of queries in a slice, and outside it.

    Returns
    -------
    Slices
        A list of :class:`Slice`; those with too few queries are dropped.

    Examples
    --------
    >>> values = np.array([0.9, 0.8, 0.9, 0.1, 0.2, 0.1])
    >>> print(slices(values, {"country": list("aaabbb")}, np.arange(6), at_least=3)[0])
    country a: 0.8667 over 3 queries, +0.7333 from the others, p = < 0.001
    """
    values = check_values("values", values)
    groups = QueryGroups.from_qid(qid)
    if len(values) != groups.n_queries:
        raise ValueError(
            f"values must have one entry per query of qid, {groups.n_queries}; got {len(values)}."
        )
    is_measured, compared = ~np.isnan(values), []
    codes = None if clusters is None else clusters_by_query(clusters, groups)
    with naming("columns"):
        by_query = {name: _by_query(name, column, groups) for name, column in columns.items()}
    for name, column in by_query.items():
        for text, is_inside in _parts(column, n_bins, at_least):
            sides = is_inside & is_measured, ~is_inside & is_measured
            inside, outside = (values[side] for side in sides)
            if min(len(inside), len(outside)) < at_least:
                continue
            if codes is None:
                test = _welch(inside, outside)
            else:
                of_sides = [codes[side] for side in sides]
                if min(len(np.unique(of_side)) for of_side in of_sides) < _FEWEST_CLUSTERS:
                    continue
                test = _by_clusters(inside, outside, *of_sides)
            compared.append(_compared(name, text, inside, outside, *test))
    adjusted = adjust_holm([part.p_value for part in compared])
    result = [replace(s, p_value=float(p)) for s, p in zip(compared, adjusted, strict=True)]
    return Slices(sorted(result, key=lambda part: (part.p_value, -abs(part.difference.estimate))))


def _compared(name, text, inside, outside, error, freedom):
    """Return a :class:`Slice` with its unadjusted p-value by a t-test.

    ``inside`` and ``outside`` are the values of the queries in the slice and of the others,
    ``name`` is the column's name, and ``text`` describes its values. ``error`` and ``freedom`` are
    the standard error of the difference of the means and its degrees of freedom. Constant values
    have p = 1.
    """
    mean, gap = float(inside.mean()), float(inside.mean() - outside.mean())
    if error <= 1e-12:  # both are constant: nothing says how far they vary
        return Slice(name, text, len(inside), mean, Interval(gap, gap, gap, _LEVEL), 1.0)
    student = stats.t(freedom)
    half_width = float(error * student.ppf((1 + _LEVEL) / 2))
    difference = Interval(gap, gap - half_width, gap + half_width, _LEVEL)
    return Slice(name, text, len(inside), mean, difference, float(2 * student.sf(abs(gap) / error)))


def _welch(inside, outside):
    """Return ``(standard error, degrees of freedom)`` of a difference of means by Welch."""
    errors = [part.var(ddof=1) / len(part) for part in (inside, outside)]
    error = np.sqrt(sum(errors))
    weights = [e**2 / (len(part) - 1) for e, part in zip(errors, (inside, outside), strict=True)]
    return error, error**4 / sum(weights) if error > 0 else np.inf


def _by_clusters(inside, outside, inside_clusters, outside_clusters):
    """Return ``(standard error, degrees of freedom)`` of a difference of means over clusters.

    A cluster may have queries on both sides. Degrees of freedom are those of the side with fewer
    clusters.
    """
    deviations = [(inside - inside.mean()) / len(inside), (outside.mean() - outside) / len(outside)]
    clusters = np.concatenate([inside_clusters, outside_clusters])
    sums = ClusterSums.of(np.concatenate(deviations), clusters).sums
    fewest = min(len(np.unique(side)) for side in (inside_clusters, outside_clusters))
    return np.sqrt(fewest / (fewest - 1) * (sums**2).sum()), fewest - 1


def _by_query(name, column, groups):
    """Return one value per query: the mean of numbers, or the text of the first document."""
    # NumPy would write NaN as text into a list of texts.
    values = np.asarray(column, dtype=object if isinstance(column, list) else None)
    if values.shape != (groups.n_documents,):
        raise ValueError(
            f"column {quote(name)} must have {groups.n_documents} entries; got {values.shape}."
        )
    try:
        column = as_numbers(name, column)
    except TypeError:  # text or dates
        return groups.first_of(values)
    is_present = ~np.isnan(column)
    counts = np.bincount(groups.codes, is_present, groups.n_queries)
    sums = np.bincount(groups.codes, np.where(is_present, column, 0), groups.n_queries)
    return np.divide(sums, counts, out=np.full(groups.n_queries, np.nan), where=counts > 0)


def _parts(column: np.ndarray, n_bins: int, at_least: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield ``(name, mask)`` of each slice of the queries by a column.

    Slices are texts that ``at_least`` queries have, distinct numbers if they are few, or else
    ``n_bins`` ranges of numbers, and missing values. A number that fills a bin alone is a slice of
    its own, and in no range.
    """
    if column.dtype.kind != "f":
        texts = ["missing" if is_missing(value) else str(value) for value in column]
        names, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
        frequent = np.flatnonzero(counts >= at_least)
        yield from ((str(names[code]), codes == code) for code in frequent)
        return
    column = _without_rounding(column)
    present = column[~np.isnan(column)]
    if len(present) < len(column):
        yield "missing", np.isnan(column)
    distinct = np.unique(present)
    if len(distinct) <= n_bins:
        named = zip(_number_texts(distinct, 6), distinct, strict=True)
        yield from ((name, column == value) for name, value in named)
        return
    edges = np.quantile(present, np.linspace(0, 1, n_bins + 1), method="inverted_cdf")
    alone = np.unique(edges[1:][edges[1:] == edges[:-1]])
    named = zip(_number_texts(alone, 6), alone, strict=True)
    yield from ((name, column == value) for name, value in named)
    is_alone, ranges = np.isin(column, alone), list[tuple[float, float, np.ndarray]]()
    for low, high in pairwise(np.unique(edges)):
        is_above = column >= low if low == edges[0] else column > low
        is_inside = is_above & (column <= high) & ~is_alone
        if is_inside.any():
            first = column[is_inside].min() if low in alone else low
            last = column[is_inside].max() if high in alone else high
            ranges.append((first, last, is_inside))
    bounds = np.unique([bound for low, high, _ in ranges for bound in (low, high)])
    text_of = dict(zip(bounds.tolist(), _number_texts(bounds, 4), strict=True))
    yield from ((f"{text_of[low]} to {text_of[high]}", part) for low, high, part in ranges)


def _without_rounding(numbers: np.ndarray) -> np.ndarray:
    """Return numbers, the smallest of those that differ by the rounding of a mean alone.

    Whole numbers have none.

    Examples
    --------
    >>> _without_rounding(np.array([0.1 + 0.2, 0.3, np.nan])).tolist()
    [0.3, 0.3, nan]
    """
    distinct, codes = np.unique(numbers, return_inverse=True)
    sizes, are_whole = np.abs(distinct), distinct == np.rint(distinct)
    steps_of_rounding = ROUNDING * np.maximum(sizes[1:], sizes[:-1])
    is_equal = (np.diff(distinct) < steps_of_rounding) & ~(are_whole[1:] & are_whole[:-1])
    starts = np.append(True, ~is_equal)[: len(distinct)]
    return distinct[starts][np.cumsum(starts) - 1][codes]


def _number_texts(numbers: np.ndarray, n_digits: int) -> list[str]:
    """Return different texts of different numbers: whole numbers in full, such as years and ids.

    Others have ``n_digits`` significant digits, or as many as it takes to tell all numbers apart.

    Examples
    --------
    >>> _number_texts(np.array([0.123456, 1000001.0, 1000002.0]), 4)
    ['0.1235', '1000001', '1000002']
    >>> _number_texts(np.array([20440.25, 20440.5]), 4)
    ['20440.2', '20440.5']
    >>> _number_texts(np.array([0.3, 0.1 + 0.2, 0.7]), 4)
    ['0.3', '0.30000000000000004', '0.7']
    """
    texts = list[str]()
    for digits in range(n_digits, 18):
        texts = [
            f"{number:.0f}"
            if number.is_integer() and abs(number) < 2**53
            # The shortest text that no other float has, where 16 digits do not suffice.
            else (f"{number:.{digits}g}" if digits < 17 else repr(number))
            for number in numbers.tolist()
        ]
        if len({*texts}) == len(texts):
            break
    return texts
