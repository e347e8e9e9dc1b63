"""Summary: each metric with its interval, the difference to the baseline, and cutoffs."""

from dataclasses import replace
from typing import Any

import numpy as np

from treerank.display.charts import Curve, Curves
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric
from treerank.reports.charts import histogram, line_chart, sorted_differences
from treerank.reports.dots import Dot, dot_table, interval_text
from treerank.reports.page import Markup, Section, element, joined
from treerank.reports.subject import Subject, counted, p_text
from treerank.reports.tables import figures, paragraphs, side_by_side
from treerank.statistics.paired import SIGNIFICANT
from treerank.statistics.resampled import Interval, needed_text

#: Cutoffs by which NDCG is drawn.
_CUTOFFS = range(1, 21)
_NO_GAIN = (
    "The labels have no gain that NDCG could count, so there is no NDCG by cutoff, and no pairs of "
    "documents that cost the most NDCG."
)


def summary(subject: Subject) -> Section:
    """Return the section with the verdict, mean metrics, their intervals and charts by query."""
    verdict, notes = _verdict(subject)
    numbers = joined([notes, _numbers(subject), _metrics(subject)])
    charts = side_by_side(numbers, _cutoffs(subject), _won(subject), _values(subject))
    return Section("summary", "Summary", joined([verdict, charts]))


def _numbers(subject: Subject) -> Markup:
    """Return large figures: the mean of each metric, with the baseline's or its interval below."""
    items = []
    for name, values in subject.values.items():
        note = _bounds(subject.interval(values))
        if subject.baseline_values:
            note = f"baseline {_mean(subject.baseline_values[name]):.4f}"
        items.append([name, f"{_mean(values):.4f}", note])
    return figures(items)


def _metrics(subject: Subject) -> Markup:
    """Return a table of the metrics: differences to the baseline, or means, with intervals."""
    compared, rows = bool(subject.baseline_values), list[list[Any]]()
    for name, values in subject.values.items():
        interval = subject.difference_interval(name) if compared else subject.interval(values)
        dot = None if interval is None else _dot(interval)
        drawn, ends = ("", "") if dot is None else (dot, interval_text(dot))
        if not compared:
            rows.append([name, f"{_mean(values):.4f}", drawn, ends])
            continue
        gap = _mean(values - subject.baseline_values[name])
        p = subject.p_text(name).removeprefix("p\N{NO-BREAK SPACE}").removeprefix("=")
        rows.append([name, f"{gap:+.4f}", drawn, ends, p.strip()])
    if compared:
        columns = ["metric", "difference", "with its interval", "95 % interval", "p"]
        return dot_table("Differences from the baseline, by metric", columns, rows)
    columns = ["metric", "mean", "with its interval", "95 % interval"]
    return dot_table("Means over queries, by metric", columns, rows, zero=False)


def _cutoffs(subject: Subject) -> Markup | None:
    """Return a chart of NDCG@k by k, for the ranker and the baseline.

    None if labels have no gain.
    """
    metric = subject.ndcg
    if metric is None:
        return None
    by_name = {"ranker": subject.scores}
    if subject.baseline is not None:
        by_name["baseline"] = subject.baseline
    curves = list[Curve]()
    for name, scores in by_name.items():
        by_cutoff = [
            replace(metric, k=k).per_query(subject.y, scores, subject.groups) for k in _CUTOFFS
        ]
        means = np.array([_mean(values) for values in by_cutoff])
        curves.append(Curve(name, np.array(_CUTOFFS), means))
    stem = replace(metric, k=None).name
    title = f"{stem}@k for k = 1 to {_CUTOFFS[-1]}"
    return line_chart(title, Curves(tuple(curves), x="k", y=f"{stem}@k"))


def _won(subject: Subject) -> Markup | None:
    """Return a chart of the sorted differences of queries to the baseline; None without one."""
    main = subject.main
    measured = np.flatnonzero(~np.isnan(subject.gaps))
    if not subject.baseline_values or len(measured) == 0:
        return None
    gaps, names = subject.gaps[measured], subject.query_names[measured]
    title = f"Wins and losses by {main}, query by query"
    axis_names = {"x": "queries", "y": "ranker less baseline"}
    return sorted_differences(title, gaps, **axis_names, name_of=lambda n: str(names[n]))


def _values(subject: Subject) -> Markup:
    """Return a histogram of queries by the first metric, for the ranker and the baseline."""
    main = subject.main
    samples = {"ranker": subject.values[main]}
    if subject.baseline_values:
        samples["baseline"] = subject.baseline_values[main]
    samples = {name: values[~np.isnan(values)] for name, values in samples.items()}
    ends = (0, 1) if isinstance(subject.metrics[0], Metric) else None
    return histogram(f"Distribution of {main} over queries", samples, x=main, x_range=ends)


def _verdict(subject: Subject) -> tuple[Markup, Markup]:
    """Return ``(verdict, notes)``: a paragraph on whether it is better, and paragraphs below it.

    Without a baseline the verdict is empty.
    """
    n_left_out = int(np.isnan(subject.values[subject.main]).sum())
    notes, title = [], Markup()
    if subject.baseline_values:
        side, sentence = _difference(subject)
        title = element(
            "p", sentence.replace(" %", "\N{NO-BREAK SPACE}%"), class_=f"verdict {side}"
        )
        notes.append(_share(subject))
        notes += [subject.untested[name] for name in subject.untested if name != subject.main]
    elif n_left_out < subject.groups.n_queries:
        notes.append(_spread(subject))
    worst = next((one for one in subject.kinds if one.is_worse), None)
    if worst is not None:
        where = f"queries whose {worst.column} is {worst.values}"
        notes.append(f"It is worst on {where}: their mean {subject.main} is {worst.mean:.3f}.")
    if n_left_out:
        left_out = counted(n_left_out, "query has", "queries have")
        is_function = isinstance(subject.metrics[0], FunctionMetric)
        lacking = f"value of {subject.main}" if is_function else "relevant document"
        left_out += f" no {lacking} and {_is(n_left_out)} left out of the means."
        notes.append(left_out)
    if subject.ndcg is None:
        notes.append(_NO_GAIN)
    return title, paragraphs(" ".join(notes)) if notes else Markup()


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def _spread(subject: Subject) -> str:
    """Return a sentence with the median and 10th percentile of the first metric over queries."""
    values = subject.values[subject.main]
    low, middle = np.quantile(values[~np.isnan(values)], [0.1, 0.5])
    return f"By {subject.main}, half of the queries reach {middle:.3f}, and nine in ten {low:.3f}."


def _difference(subject: Subject) -> tuple[str, str]:
    """Return ``(side, sentence)`` on the mean difference to the baseline by the first metric.

    ``side`` is "plus" if it is significantly better, "minus" if worse, and "none" if not
    significant; the sentence then says about how many queries would show it. It is also "none" if
    there is no test.
    """
    main, gaps = subject.main, subject.gaps[~np.isnan(subject.gaps)]
    if main in subject.untested:
        return "none", subject.untested[main]
    p, interval = subject.p_values.get(main), subject.difference_interval(main)
    mean = float(gaps.mean()) if len(gaps) else 0.0
    bounds = "" if interval is None else f"95 %: {interval.low:+.4f} to {interval.high:+.4f}"
    notes = "; ".join(filter(None, [bounds, "" if p is None else p_text(p)]))
    amount = f"{main} {mean:+.4f}" + (f" ({notes})" if notes else "")
    if p is not None and p <= SIGNIFICANT:
        side, word = ("plus", "better") if mean > 0 else ("minus", "worse")
        return side, f"Significantly {word} than the baseline: {amount}."
    if not gaps.any():
        return "none", f"No difference from the baseline: {main} is the same for all queries."
    n_units = subject.n_units(subject.gaps)
    units = "queries" if subject.clusters is None else "clusters of as many queries"
    if interval is None:  # too few queries bound the difference, or allow a test
        interval = Interval(mean, -np.inf, np.inf, 1 - SIGNIFICANT)
    needed, advice = needed_text(interval, n_units, units), ""
    if needed:
        advice = f" {needed.capitalize()} would be needed to show a difference of this size."
    return "none", f"No significant difference from the baseline: {amount}.{advice}"


def _share(subject: Subject) -> str:
    """Return a sentence on the share of queries on which the ranker beats the baseline."""
    gaps = subject.gaps[~np.isnan(subject.gaps)]
    won, lost = int((gaps > 0).sum()), int((gaps < 0).sum())
    share = 100 * won / max(len(gaps), 1)
    counts = f"{won:,} won, {lost:,} lost, {len(gaps) - won - lost:,} equal"
    return f"The ranker is better on {share:.0f} % of the queries: {counts}."


def _dot(interval: Interval) -> Dot:
    return Dot(interval.estimate, interval.low, interval.high)


def _bounds(interval: Interval | None) -> str:
    return "" if interval is None else f"95 %: {interval.low:.4f} to {interval.high:.4f}"


def _mean(values: np.ndarray) -> float:
    measured = values[~np.isnan(values)]
    return float(measured.mean()) if len(measured) else float("nan")
