"""How long is a round of AdaRank, and how much time does measuring weak rankers only once save?

300 rounds on data of the size of an MSLR fold. Timed are the table of weak rankers, the rounds
after it, and the whole fit. The fit is compared with one that measures every weak ranker anew in
every round; the time of a few such rounds is extrapolated to 300.
"""

import argparse

import numpy as np
from timing import say_times, say_versions, time_in_turn

from treerank.baselines import AdaRank
from treerank.baselines.linear.query_boosting import QueryBoosting
from treerank.baselines.linear.standard_features import FeatureScale
from treerank.baselines.linear.weak_rankers import features_themselves
from treerank.datasets.web_search import make_web_search
from treerank.metrics import get_metric
from treerank.metrics.query_measure import measurable, measure_of
from treerank.progress import Progress
from treerank.rankers.training_set import training_set

SETTINGS = {"tolerance": None}


class Measured:
    """Weak rankers whose table is there already."""

    def __init__(self, weak, table):
        self.describe, self.add_to, self.table = weak.describe, weak.add_to, table

    def measure(self, columns, measure):
        """Return the table."""
        return self.table


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    y = y.astype(np.float64)
    ranker = AdaRank(n_estimators=arguments.rounds, **SETTINGS)
    data = measurable(training_set(X, y, qid), get_metric("ndcg@10"))
    columns = FeatureScale.of(data.X, data.rows).by_column(data.X, data.rows)
    weak, measure = features_themselves(columns, 0), measure_of(data, get_metric("ndcg@10"))
    measured = Measured(weak, weak.measure(columns, measure))
    limits = arguments.rounds, ranker.tolerance, ranker.max_consecutive
    boosting = QueryBoosting(measured, columns, measure, *limits)
    functions = {
        "table of weak rankers": lambda: weak.measure(columns, measure),
        "rounds after the table": lambda: boosting.rounds(Progress(None, None), None),
        "whole fit": lambda: ranker.fit(X, y, qid),
    }
    say_versions("numba", "numpy")
    print(f"{X.shape[0]} x {X.shape[1]}, {measure.weight.size} queries, {arguments.rounds} rounds")
    times = time_in_turn(functions, arguments.repetitions)
    say_times(times)
    table, rounds, fit = (times[name] for name in functions)
    for clock, unit in ((0, "wall"), (1, "CPU")):
        again = arguments.rounds * table[clock] + rounds[clock]
        print(
            f"{rounds[clock] / arguments.rounds:.3f} ms a round ({unit}; bar: <= 1); the fit takes "
            f"1/{again / fit[clock]:.0f} of one that measures weak rankers anew (bar: 1/50)"
        )


if __name__ == "__main__":
    main()
