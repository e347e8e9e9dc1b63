"""Summary: each metric with its interval, and the difference to the baseline."""

import numpy as np

from treerank.metrics.base import Metric
from treerank.reports.charts import histogram
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import figures, paragraphs
from treerank.statistics.paired import SIGNIFICANT, format_p
from treerank.statistics.resampled import Interval


def summary(subject: Subject) -> Section:
    """Return means over queries with their intervals, tests, and values by query."""
    main = subject.main
    samples = {"ranker": subject.values[main]}
    if subject.baseline_values:
        samples["baseline"] = subject.baseline_values[main]
    samples = {name: values[~np.isnan(values)] for name, values in samples.items()}
    ends = (0, 1) if isinstance(subject.metrics[0], Metric) else None
    chart = histogram(f"Queries by their {main}", samples, x=main, x_range=ends)
    return Section("summary", "Summary", joined([_verdict(subject), _numbers(subject), chart]))


def _numbers(subject: Subject) -> Markup:
    """Return the mean of each metric with its interval, and the baseline with the difference."""
    items = []
    for name, values in subject.values.items():
        item = [name, f"{_mean(values):.4f}", _bounds(subject.interval(values))]
        if subject.baseline_values:
            against, p = subject.baseline_values[name], subject.p_values.get(name)
            p_text = "" if p is None else f"p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{format_p(p)}"
            gap = f"difference {_mean(values - against):+.4f}"
            notes = gap, _bounds(subject.difference_interval(name)), p_text
            item += [f"baseline {_mean(against):.4f}", "; ".join(filter(None, notes))]
        items.append(item)
    return figures(items)


def _verdict(subject: Subject) -> Markup:
    """Return in words: how good it is on its queries, or on which it won, and where it is worst."""
    n_left_out = int(np.isnan(subject.values[subject.main]).sum())
    notes = [_difference(subject)] if subject.baseline_values else []
    if not subject.baseline_values and n_left_out < subject.groups.n_queries:
        notes.append(_spread(subject))
    worst = next((one for one in subject.kinds if one.is_worse), None)
    if worst is not None:
        where = f"{worst.column} {worst.values}"
        notes.append(f"Worst on queries of {where}: {subject.main} {worst.mean:.3f} in the mean.")
    if n_left_out:
        notes.append(f"{n_left_out:,} queries have nothing to find: they are left out of means.")
    return paragraphs(*notes)


def _spread(subject: Subject) -> str:
    """Return what half of the queries and all but a tenth of them reach."""
    values = subject.values[subject.main]
    low, middle = np.quantile(values[~np.isnan(values)], [0.1, 0.5])
    return f"By {subject.main}, half of the queries reach {middle:.3f}, and nine in ten {low:.3f}."


def _difference(subject: Subject) -> str:
    """Return on which share of the queries the ranker is better, and whether that is chance."""
    gaps = subject.gaps[~np.isnan(subject.gaps)]
    won, lost = int((gaps > 0).sum()), int((gaps < 0).sum())
    word, count = ("worse", lost) if gaps.sum() < 0 else ("better", won)
    p = subject.p_values.get(subject.main)
    sure = "this may be chance" if p is None or p > SIGNIFICANT else "significantly"
    sure += "" if p is None else f", p = {format_p(p)}"
    share = count / max(len(gaps), 1)
    return (
        f"By {subject.main}, the ranker is {word} than the baseline on {share:.0%} of "
        f"the queries ({sure}): {won:,} won, {lost:,} lost, {len(gaps) - won - lost:,} equal."
    )


def _bounds(interval: Interval | None) -> str:
    return "" if interval is None else f"95 %: {interval.low:.4f} to {interval.high:.4f}"


def _mean(values: np.ndarray) -> float:
    measured = values[~np.isnan(values)]
    return float(measured.mean()) if len(measured) else float("nan")
