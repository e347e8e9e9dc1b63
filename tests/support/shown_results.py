"""Results of every public class, for the laws on how they show themselves.

A maker of ``RESULTS`` takes a name, which the result shows where it shows names, and a number of
rows. What ``plot`` has to draw is in ``DRAWN``, computed from the attributes of the result and not
from its chart.
"""

import numpy as np

from treerank.clicks import ClickCounts, ClickLog, Items
from treerank.clicks.click_data import ClickData
from treerank.clicks.evaluation import LogEvaluation
from treerank.clicks.interleaving import Interleaved, Preference
from treerank.clicks.propensities import Propensities
from treerank.clicks.trust_bias import TrustBias
from treerank.datasets import Batches, Qrels, RankingData, TrecRun
from treerank.documents import QueryGroups
from treerank.evaluation import Split
from treerank.evaluation.ranker_comparison import Comparison, Failure, Outcome
from treerank.evaluation.summary import Cell, Difference, Summary
from treerank.exports.report import ExportReport
from treerank.inspection.class_boundaries import Boundaries
from treerank.inspection.data_sheets import DataSheet
from treerank.inspection.effects import Effect
from treerank.inspection.importance import Importances
from treerank.inspection.leaks import Duplicates
from treerank.inspection.pair_calibration import CalibrationCurve
from treerank.inspection.query_slices import Slice, Slices
from treerank.inspection.rank_changes import RankChanges
from treerank.progress import LearningCurves
from treerank.rankers.explanation import ExplainedMargins
from treerank.rankers.refreshing import Refreshed
from treerank.reports import Report
from treerank.reranking.sampling import SampledLists
from treerank.search_engines.feature_logs import FeatureLog
from treerank.search_engines.runs import Candidates
from treerank.statistics.double_sampling import PredictionPowered
from treerank.statistics.paired import PairedResult
from treerank.statistics.resampled import Interval


def numbers(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def names_like(name, n):
    return [name if number == 0 else f"{number}{name}" for number in range(n)]


def interval(number=0):
    gap = 0.1 * (number - 1)
    return Interval(gap, gap - 0.05, gap + 0.05, level=0.95)


def texts(name, n):
    return np.array(names_like(name, n), dtype=object)


def ranking_data(name, n, cls=RankingData):
    return cls(np.ones((n, 2)), numbers(n), texts(name, n))


def importances(name, n):
    drops = numbers((n, 12))
    drops[: n // 3] = np.nan  # of a metric that no query has
    return Importances(tuple(names_like(name, n)), name, drops)


def comparison(name, n):
    rankers, queries = tuple(names_like(name, min(n, 14))), np.arange(6)  # all pairs are tested
    outcomes = {}
    for number, ranker in enumerate(rankers):
        values = {name: np.abs(numbers(6, number)), "map": np.abs(numbers(6, number + 9))}
        times = (0.0, 1.0, 0.1)
        outcomes[ranker, "1"] = Outcome(ranker, "1", queries, values, 0.5, {}, times)
    return Comparison(rankers, ("1",), (name, "map"), "trec", outcomes)


def summary(name, n):
    rankers = tuple(names_like(name, n))
    cells = {(ranker, name): Cell(0.5, 0.1) for ranker in rankers}
    notes = (f"A note on {name}.", "Another note.")
    return Summary(rankers, (name,), cells, dict.fromkeys(rankers, 1.0), notes)


def calibration(name, n):
    share = np.linspace(0, 1, n)
    ends = np.array([share - 0.1, share + 0.1]).clip(0, 1)
    return CalibrationCurve(share, share**2, np.arange(n) + 1, ends)


def slices(name, n):
    columns = names_like(name, n)
    return Slices(Slice(c, name, 30 + j, 0.4, interval(j), 0.01 * j) for j, c in enumerate(columns))


def margins(name, n):
    parts = numbers((2, n))
    parts[:, ::5] = 0
    return ExplainedMargins.of(parts, names_like(name, n))


def curves(name, n):
    return LearningCurves(
        {part: {name: numbers(n).tolist()} for part in ("validation", "validation_1")}
    )


def click_table(name, n):
    items = np.repeat(texts(name, -(-n // 2)), 2)[:n]
    return items, np.tile(["a", "b"], n)[:n], np.arange(n) % 2 + 1


def click_log(name, n):
    query, document, position = click_table(name, n)
    return ClickLog.from_columns(query, query, document, position, position % 2)


def click_counts(name, n):
    query, document, position = click_table(name, n)
    table = {"query": query, "document": document, "position": position}
    return ClickCounts.from_table(table | {"shown": position + 1, "clicked": position})


def data_sheet(name, n):
    spread = {"least": 1.0, "median": 2.0, "mean": 2.5, "most": 9.0}
    labels = {float(label): 7 for label in range(n)}
    return DataSheet(n, n, n, spread, labels, 3, numbers(n), np.arange(n))


RESULTS = {
    Batches: lambda name, n: Batches([ranking_data(name, n)]),
    Boundaries: lambda name, n: Boundaries(
        None, np.arange(n), numbers(n), numbers(n), numbers(n), np.arange(n + 1)
    ),
    CalibrationCurve: calibration,
    Candidates: lambda name, n: ranking_data(name, n, Candidates),
    ClickCounts: click_counts,
    ClickData: lambda name, n: ClickData(np.eye(n), np.ones(n), texts(name, n), np.ones(n)),
    ClickLog: click_log,
    Comparison: comparison,
    DataSheet: data_sheet,
    Difference: lambda name, n: Difference(name, name, name, interval(n), n),
    Duplicates: lambda name, n: Duplicates(n, np.arange(n), n),
    Effect: lambda name, n: Effect(name, np.arange(1.0 * n), numbers(n), numbers(n, 1)),
    ExplainedMargins: margins,
    ExportReport: lambda name, n: ExportReport(
        name, n, 1e-7, 3.5, n_negative=dict.fromkeys(names_like(name, n), 3)
    ),
    Failure: lambda name, n: Failure(name, name, f"ValueError: {name}" * n),
    FeatureLog: lambda name, n: ranking_data(name, n, FeatureLog),
    Importances: importances,
    Interleaved: lambda name, n: Interleaved(texts(name, n), np.arange(n) % 2),
    Interval: lambda name, n: interval(n),
    Items: lambda name, n: Items(texts(name, n), texts(name, n)),
    LearningCurves: curves,
    LogEvaluation: lambda name, n: LogEvaluation(
        {each: interval(j) for j, each in enumerate(names_like(name, min(n, 30)))},
        80.0,
        1.0,
        name,
        n > 1,
    ),
    PairedResult: lambda name, n: PairedResult(name, n, 0.1, 2.0, 0.04),
    PredictionPowered: lambda name, n: PredictionPowered(
        interval(n), n, 9 * n, 2.0 * n, 0.6, 0.7, 0.02, 0.5, 0.6, name
    ),
    Preference: lambda name, n: Preference((n, 2 * n), n, 0.01),
    Propensities: lambda name, n: Propensities.of(1 / np.arange(1, n + 1)),
    Qrels: lambda name, n: Qrels(texts(name, n), texts(name, n), numbers(n)),
    QueryGroups: lambda name, n: QueryGroups(np.arange(n), np.array([0, n])),
    RankChanges: lambda name, n: RankChanges(*np.arange(4 * n).reshape(4, n)),
    RankingData: ranking_data,
    Refreshed: lambda name, n: Refreshed(None, None, True, {"new": interval(n)}, name),
    Report: lambda name, n: Report("<!DOCTYPE html><title>Nothing</title>"),
    SampledLists: lambda name, n: SampledLists(np.arange(n), np.ones(n, int), numbers(n)),
    Slice: lambda name, n: Slice(name, name, n, 0.4, interval(), 0.01),
    Slices: slices,
    Split: lambda name, n: Split(name, ranking_data(name, n), ranking_data(name, n)),
    Summary: summary,
    TrecRun: lambda name, n: TrecRun(texts(name, n), texts(name, n), numbers(n)),
    TrustBias: lambda name, n: TrustBias(numbers(n), numbers(n, 1), ()),
}
#: Those that cannot be without rows.
NEVER_EMPTY = {ClickLog, ClickCounts, ExplainedMargins}


def rows_of_importances(result):
    """Return the mean drops, highest first, with the bounds of their intervals."""
    order = result.order[:20]
    bounds = np.full((len(order), 2), np.nan)
    for row, group in enumerate(order):
        drops = result.drops[group]
        if not np.isnan(drops).all():
            found = result.interval(group)
            bounds[row] = found.low, found.high
    known = [drops[~np.isnan(drops)] for drops in result.drops[order]]
    return [values.mean() if len(values) else np.nan for values in known], *bounds.T


def rows_of_comparison(result):
    """Return the differences from the ranker of the highest mean, and their bounds."""
    metric = result.metrics[0]
    if not result.rankers:
        return [], [], []
    means = [result.outcomes[ranker, "1"].values[metric].mean() for ranker in result.rankers]
    best = result.rankers[int(np.argmax(means))]
    gaps = [mean - max(means) for mean in means if mean != max(means)]
    found = [result.difference(metric, r, best).interval for r in result.rankers if r != best]
    return gaps, [each.low for each in found], [each.high for each in found]


def rows_of_intervals(intervals):
    return tuple([getattr(i, end) for i in intervals] for end in ("estimate", "low", "high"))


def bars_of_margins(result):
    """Return the ten largest parts of the first pair, and the sum of the others."""
    parts = np.asarray(result)[0]
    parts = parts[parts != 0]
    parts = parts[np.argsort(-np.abs(parts), kind="stable")]
    return [*parts[:10], parts[10:].sum()] if len(parts) > 10 else [*parts]


#: What a plot draws: the rows of a forest plot (estimates, lower and upper bounds), the curves (x,
#: y), or the bars of a waterfall.
DRAWN = {
    CalibrationCurve: ("curves", lambda r: [(r.predicted, r.won)]),
    Comparison: ("rows", rows_of_comparison),
    Difference: ("rows", lambda r: rows_of_intervals([r.interval])),
    Effect: ("curves", lambda r: [(r.values, r.score)]),
    ExplainedMargins: ("bars", bars_of_margins),
    Importances: ("rows", rows_of_importances),
    LearningCurves: (
        "curves",
        lambda r: [
            (range(1, len(values) + 1), values)
            for part in r.values()
            for values in part.values()
            if len(values)
        ],
    ),
    LogEvaluation: ("rows", lambda r: rows_of_intervals(r.estimates.values())),
    Propensities: ("curves", lambda r: [(range(1, len(r) + 1), r)]),
    Slices: ("rows", lambda r: rows_of_intervals([each.difference for each in r[:20]])),
    TrustBias: (
        "curves",
        lambda r: [(range(1, len(r.trust) + 1), each) for each in (r.examination, r.trust)],
    ),
}
