"""How long does a report take, and how large is its page?

The default ranker against one of fewer trees, on synthetic queries.
"""

import argparse
from pathlib import Path

from timing import say_times, say_versions, time_in_turn

from treerank import LightGBMTrees, TreeDirectRanker, make_web_search, report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--documents", type=int, default=34, help="of each query")
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--output", type=Path, help="where to write the page")
    given = parser.parse_args()
    shape = {"documents_per_query": given.documents, "n_features": given.features}
    train = make_web_search(given.queries // 5, **shape, random_state=0)
    test = make_web_search(given.queries, **shape, random_state=1)
    ranker = TreeDirectRanker(random_state=0).fit(*train)
    baseline = TreeDirectRanker(LightGBMTrees(n_estimators=20), random_state=0).fit(*train)
    pages = []

    def write():
        pages.append(report(ranker, *test, train=train, baseline=baseline))

    say_times(time_in_turn({f"{len(test[0]):,} documents": write}, given.repetitions))
    page = pages[-1].html
    print(f"{len(page.encode()) / 1000:.0f} kB")
    if given.output:
        given.output.write_text(page)
    say_versions("lightgbm")


if __name__ == "__main__":
    main()
