"""Which sizes of trees fit which data, and what does the rule for "auto" lose on data unseen?

Every cell fits ``TreeDirectRanker(LightGBMTrees(...))`` to draws of queries of each data set, and
measures NDCG@10 after each tree on other queries: never on the test parts of LETOR's sets. Cells
are kept in a file, and the same command goes on after a stop. The table says, per data set, what
100 trees of 31 leaves at a rate of .1 reach (the engines' defaults), the best cell, and the rule.
Then the constants of the rule are fitted anew without one set at a time: what is lost there by it
is how far the rule can be trusted elsewhere.
"""

import argparse
import itertools
import json
from pathlib import Path

import numpy as np
from size_problems import FAMILIES, problem

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.feature_parts.trees.auto_sizes import auto_sizes

LEAVES, TREES, RATE = (4, 8, 15, 31, 63), 400, 0.05
#: Leaves for 300 queries, power; sum of rates for 100 queries, power.
POWERS, SUMS = (0.4, 0.5, 0.6, 0.7, 0.8), (5, 7, 10)
CONSTANTS = list(itertools.product((5, 6.5, 8, 10, 13), POWERS, SUMS, (0, 0.15, 0.3)))


def cell(name, leaves, usual):
    """Return the smoothed NDCG@10 after each tree, and the numbers of documents and queries."""
    X, y, qid, *measured = problem(name)
    part = LightGBMTrees(
        100 if usual else TREES, num_leaves=leaves, learning_rate=0.1 if usual else RATE,
        colsample_bytree=1.0 if usual else 0.5, early_stopping_rounds=None, n_jobs=1,
    )  # fmt: skip
    ranker = TreeDirectRanker(part, random_state=0).fit(X, y, qid, eval_set=measured)
    values = np.array(ranker.evals_result_["validation"]["ndcg@10"])
    near = [values[int(0.93 * i) : int(1.07 * i) + 1].mean() for i in range(len(values))]
    return {"values": near, "n": [len(y), len(np.unique(qid)), X.shape[1]]}


def cells(path, families):
    """Return all cells by name, leaves and whether they are the engines' defaults."""
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            *key, value = json.loads(line)
            found[tuple(key)] = value
    with path.open("a") as file:
        for name in itertools.chain(*families.values()):
            for leaves, usual in [(31, True), *((leaves, False) for leaves in LEAVES)]:
                if (name, leaves, usual) not in found:
                    found[name, leaves, usual] = value = cell(name, leaves, usual)
                    file.write(json.dumps([name, leaves, usual, value]) + "\n")
                    file.flush()
    return found


def between(found, name, leaves, n_trees):
    """Return NDCG@10 for any number of leaves and trees, between cells that were measured."""
    each = [found[name, known, False]["values"] for known in LEAVES]
    at = [values[min(round(n_trees), len(values)) - 1] for values in each]
    return np.interp(np.log(leaves), np.log(LEAVES), at)


def by_constants(found, name, constants):
    """Return NDCG@10 of a rule of these constants."""
    n_documents, n_queries, _ = found[name, 31, True]["n"]
    n = max(n_queries, n_documents / 100)
    leaves = np.clip(constants[0] * (n / 300) ** constants[1], 4, 127)
    travel = np.clip(constants[2] * (n / 100) ** constants[3], constants[2], 12)
    return between(found, name, leaves, travel / RATE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=Path, required=True)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    arguments = parser.parse_args()
    families = {name: FAMILIES[name] for name in arguments.families}
    found = cells(arguments.cells, families)
    mean = {
        c: [np.mean([by_constants(found, n, c) for n in names]) for names in families.values()]
        for c in CONSTANTS
    }
    best = max(CONSTANTS, key=lambda c: np.mean(mean[c]))
    print(f"{'':12} usual  best   rule   without it")
    for place, (family, names) in enumerate(families.items()):
        usual = np.mean([found[name, 31, True]["values"][-1] for name in names])
        top = max(np.mean([found[n, leaves, False]["values"][t] for n in names])
                  for leaves in LEAVES for t in range(9, TREES))  # fmt: skip
        sizes = [auto_sizes(*found[name, 31, True]["n"]) for name in names]
        rule = np.mean([between(found, n, s.num_leaves, s.n_estimators * s.learning_rate / RATE)
                        for n, s in zip(names, sizes, strict=True)])  # fmt: skip
        others = max(CONSTANTS, key=lambda c, p=place: np.mean(np.delete(mean[c], p)))
        lost = mean[best][place] - mean[others][place]
        print(f"{family:12} {usual:.4f} {top:.4f} {rule:.4f} {-lost:+.4f}")


if __name__ == "__main__":
    main()
