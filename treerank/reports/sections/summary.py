"""Summary: each metric with its interval, and the difference to the baseline."""

import numpy as np

from treerank.metrics.base import Metric
from treerank.reports.charts import histogram
from treerank.reports.markup import Markup, joined
from treerank.reports.page import Section
from treerank.reports.subject import Subject
from treerank.reports.tables import figures, paragraphs, table
from treerank.statistics.interval import Interval
from treerank.statistics.paired import format_p

#: Level below which a difference is called significant.
_LEVEL = 0.05


def summary(subject: Subject) -> Section:
    """Return means over queries with their intervals, tests, and values by query."""
    main, columns = subject.main, ["metric", "ranker", "95 % interval"]
    against = subject.baseline_values
    columns += [] if against is None else ["baseline", "difference", "95 % interval", "p"]
    rows = [_row(subject, metric.name) for metric in subject.metrics]
    samples = {"ranker": subject.values[main]}
    samples |= {} if against is None else {"baseline": against[main]}
    samples = {name: values[~np.isnan(values)] for name, values in samples.items()}
    ends = (0, 1) if isinstance(subject.metrics[0], Metric) else None
    chart = histogram(f"Queries by their {main}", samples, x=main, x_range=ends)
    body = [_numbers(subject), _verdict(subject), table("Metrics", columns, rows), chart]
    return Section("summary", "Summary", joined(body))


def _numbers(subject: Subject) -> Markup:
    """Return the main numbers."""
    items = []
    for metric in subject.metrics:
        interval = subject.interval(subject.values[metric.name])
        value = f"{_mean(subject.values[metric.name]):.3f}"
        items.append((metric.name, value, _bounds(interval, 3)))
    return figures(items)


def _verdict(subject: Subject) -> Markup:
    """Return a sentence on the difference, and how many queries won and lost."""
    values = subject.values[subject.main]
    n_left_out = int(np.isnan(values).sum())
    note = f"{n_left_out:,} queries have nothing to find and are left out of the means."
    notes = [note] if n_left_out else []
    if subject.baseline_values is not None:
        difference = values - subject.baseline_values[subject.main]
        p = subject.p_value(subject.main)
        direction = "better" if _mean(difference) > 0 else "worse"
        shown = f"The ranker is {direction} than the baseline by {subject.main}"
        if p is None or p > _LEVEL:
            shown = f"No difference from the baseline is shown by {subject.main}"
        counts = [(difference > 0).sum(), (difference < 0).sum(), (difference == 0).sum()]
        won, lost, same = (f"{int(count):,}" for count in counts)
        text = f"{shown}: {won} queries are better, {lost} are worse and {same} are equal."
        notes.insert(0, text)
    return paragraphs(*notes)


def _row(subject: Subject, name: str) -> list[str]:
    values = subject.values[name]
    row = [name, f"{_mean(values):.4f}", _bounds(subject.interval(values))]
    if subject.baseline_values is None:
        return row
    difference = values - subject.baseline_values[name]
    p = subject.p_value(name)
    row += [f"{_mean(subject.baseline_values[name]):.4f}", f"{_mean(difference):+.4f}"]
    return [*row, _bounds(subject.interval(difference)), "" if p is None else format_p(p)]


def _bounds(interval: Interval | None, digits: int = 4) -> str:
    return "" if interval is None else f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
