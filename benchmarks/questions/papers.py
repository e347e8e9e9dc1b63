"""Papers: what of their results is found again, by the files that ``benchmarks/paper`` keeps.

``results/*-quick.jsonl`` are written by the scripts of that folder by a short protocol; they have a
format of their own (``benchmarks/paper/result_files.py``).
"""

import json
import sys

import numpy as np

from benchmarks.drawing import intervals, table
from benchmarks.measurements import HERE, RESULTS
from benchmarks.page import Section
from benchmarks.questions import listed

sys.path.append(str(HERE / "paper"))
from result_files import read_parts

TITLE = "Which results of the papers hold?"
COMMAND = "python benchmarks/paper/table1.py --quick --data FOLDER"
#: NDCG@10 and MAP that Table 1 of the DirectRanker paper gives for MQ2008.
FOLDS = {
    "LambdaMART": (0.723, 0.624),
    "AdaRank": (0.722, 0.653),
    "RankNet*": (0.720, 0.636),
    "ListNet": (0.719, 0.647),
    "RankNet": (0.716, 0.642),
}
#: Those of the table that are much lower than here, which the chart leaves out.
LOW = {"IESR-Rank": (0.517, 0.494), "ES-Rank": (0.507, 0.483), "IESVM-Rank": (0.498, 0.473)}
BY_DOCUMENTS = {
    "ListNet*": (0.449, 0.391),
    "RankNet*": (0.448, 0.390),
    "AdaRank": (0.440, 0.356),
    "RankNet": (0.384, 0.321),
    "ListNet": (0.381, 0.318),
    "LambdaMART": (0.342, 0.229),
}


def means_of(file, test, data="mq2008"):
    """Return mean and standard error by metric and ranker of a kept file."""
    (found,) = (
        entry["result"]["metrics"]
        for entry in read_parts(RESULTS / file)[data]["results"]
        if entry["point"] == {"test": test}
    )
    return {
        metric: {name: (values["mean"][name], values["error"][name]) for name in values["mean"]}
        for metric, values in found.items()
    }


def short(value):
    """Return three digits."""
    return f"{value:.3f}".removeprefix("0")


def compared(means, published):
    """Return a table of NDCG@10 and MAP, there and here."""
    head = ["ranker", "NDCG@10, paper", "here", "standard error", "MAP, paper", "here"]
    body = []
    for name, (ndcg, error) in sorted(means["ndcg@10"].items(), key=lambda pair: -pair[1][0]):
        there = [short(value) for value in published.get(name, ())] or ["", ""]
        found = means["map"][name][0]
        body.append([f"`{name}`", there[0], short(ndcg), short(error), there[1], short(found)])
    return table(head, body)


def lead_with_few_documents():
    """Return by how much LambdaRank leads RankNet* with 100 documents, its error, and the sets."""
    values = {}
    for entry in read_parts(RESULTS / "figure5-quick.jsonl")["a, gaussian classes"]["results"]:
        point = entry["point"]
        if point["value"] == 100:
            values[point["ranker"], point["seed"]] = entry["result"]["ndcg@20"]
    seeds = sorted({seed for _, seed in values})
    leads = np.array([values["LambdaRank", s] - values["RankNet*", s] for s in seeds])
    return leads.mean(), leads.std(ddof=1) / len(leads) ** 0.5, len(leads)


def boundaries(merged):
    """Return how many of 40 boundaries are found at peaks of r, and how many by chance."""
    results = read_parts(RESULTS / "figure6-quick.jsonl")["gaussian classes"]["results"]
    chosen = [entry["result"] for entry in results if entry["point"]["merged"] == merged]
    shares = [[found["share_found"], found["share_by_chance"]] for found in chosen]
    return np.round(np.sum(shares, axis=0) * 4).astype(int)


def pairs_sorted_right(data, side):
    """Return the shares of pairs of merged labels that are sorted right, by fold."""
    results = read_parts(RESULTS / "figure6-quick.jsonl")[data]["results"]
    entries = [entry for entry in results if "fold" in entry["point"] and entry["point"]["merged"]]
    return [entry["result"]["sorted_right"][side]["mean"] for entry in entries]


def graded():
    """Return a row per data set: RankNet*, its position, others, and the best, by graded labels."""
    others, body = ("ListNet*", "ListNet", "LambdaMART"), []
    for data in ("MQ2008", "OHSUMED", "ClueWeb09"):
        means = means_of("table1-graded-quick.jsonl", "folds", data.lower())["ndcg@10"]
        order = sorted(means, key=lambda name: -means[name][0])
        position = f"{order.index('RankNet*') + 1} of {len(order)}"
        cells = [short(means[name][0]) for name in ("RankNet*", *others)]
        body.append([data, cells[0], position, *cells[1:], f"`{order[0]}`"])
    head = ["data set", "`RankNet*`", "position", *(f"`{name}`" for name in others), "the best"]
    return table(head, body)


def claims():
    """Return a list of claims of Figures 5 and 6, and what is found here."""
    lead, error, n_sets = lead_with_few_documents()
    (found, chance), (within, by_chance) = boundaries(False), boundaries(True)
    well = pairs_sorted_right("mq2008", "upper") + pairs_sorted_right("clueweb09", "lower")
    badly = pairs_sorted_right("clueweb09", "upper")
    rows = [
        (
            "RankNet\\* is the best ranker with few documents (Figure 5)",
            f"not confirmed. With 100 documents, the NDCG@20 of LambdaRank is {short(lead)} ± "
            f"{short(error)} higher than that of RankNet\\*, on average over {n_sets} random "
            "data sets",
        ),
        (
            "r, the output of the ranker, peaks at the boundaries between classes (Figure 6)",
            f"confirmed. Peaks of r are at {found} of 40 boundaries; {chance} would be expected "
            "by chance",
        ),
        (
            "r still peaks between the original classes if these classes are merged in training "
            "(Figure 6)",
            f"hardly confirmed. Peaks of r are at {within} of 40 boundaries; {by_chance} would be "
            "expected by chance",
        ),
        (
            "within a merged class, r sorts the documents by their original labels (Figure 6)",
            "confirmed for two of three merged classes. The share of pairs in the right order is "
            f"{short(min(well))} to {short(max(well))} in the folds of MQ2008 and of the lower "
            f"class of ClueWeb09, but {short(min(badly))} to {short(max(badly))} in the folds of "
            "the upper class of ClueWeb09; .500 would be expected by chance",
        ),
    ]
    return "\n".join(f"* Claim: {claim}. Result: {result}." for claim, result in rows)


def neural_core():
    """Return a table of feature parts and engines by data set, two candidates each."""
    sets = {"MQ2008": "mq2008", "OHSUMED": "ohsumed", "ClueWeb09": "clueweb09"}
    means = {
        name: means_of("neural-core-quick.jsonl", "folds", folder)["ndcg@10"]
        for name, folder in sets.items()
    }
    rankers = sorted(means["MQ2008"], key=lambda name: -means["MQ2008"][name][0])
    earlier = {"SoftTrees": " (`gamma=10`, `spread=0.02`)"}
    body = [
        [f"`{name}`{earlier.get(name, '')}", *(short(means[data][name][0]) for data in sets)]
        for name in rankers
    ]
    return table(["feature part or ranker", *sets], body)


#: Names of the page for those of the rows.
SHOWN_DATA = {"mq2008": "MQ2008", "ohsumed": "OHSUMED", "clueweb09": "ClueWeb09"}


def soft_trees():
    """Return a table of the splits of soft trees: the earlier and the current defaults.

    A query's value is the mean over the seeds that both were fitted with.
    """
    lines = (RESULTS / "soft-trees.jsonl").read_text(encoding="utf-8").splitlines()
    values = {}
    for row in map(json.loads, lines):
        settings = values.setdefault(row["data"], {}).setdefault(json.dumps(row["settings"]), {})
        settings[row["seed"], row["fold"]] = row
    body = []
    for data, each in values.items():
        earlier, *_, current = each.values()
        runs = sorted(earlier.keys() & current.keys())
        correlation, tests = [], []
        for rows in (earlier, current):
            correlation.append(np.mean([rows[run]["correlation"] for run in runs]))
            by_seed = [
                np.concatenate([rows[run]["test"] for run in runs if run[0] == seed])
                for seed in sorted({seed for seed, _ in runs})
            ]
            tests.append(np.mean(by_seed, axis=0))
        apart = tests[1] - tests[0]
        body.append([
            SHOWN_DATA.get(data, data),
            *(f"{value:.2f}" for value in correlation),
            *(short(np.mean(test)) for test in tests),
            f"{apart.mean():+.4f}".replace("0.", ".").replace("-", "−"),
            f"{apart.std(ddof=1) / len(apart) ** 0.5:.4f}"[1:],
        ])  # fmt: skip
    head = ["data set", "correlation, earlier", "current", "NDCG@10, earlier", "current"]
    head += ["difference", "standard error"]
    return table(head, body)


def section() -> Section:
    """Return Table 1 of the DirectRanker paper, and the comparison of RankNet's paper."""
    folds, documents = (
        means_of("table1-quick.jsonl", t) for t in ("folds", "binary, by documents")
    )
    ranknet = means_of("ranknet-ndcg-quick.jsonl", "folds")["ndcg@15"]
    star, error = folds["ndcg@10"]["RankNet*"]
    answer = (
        f"On the folds of MQ2008, `RankNetStar` reaches an NDCG@10 of {short(star)} ± "
        f"{short(error)} (mean and standard error over folds); the DirectRanker paper reports "
        f"{short(FOLDS['RankNet*'][0])}. As in the paper, the results of most rankers are within "
        "one standard error of each other. If the test sets of MQ2008 are drawn by document "
        "instead of by query, LambdaMART has the highest NDCG@10 of all rankers in this "
        f"experiment ({short(documents['ndcg@10']['LambdaMART'][0])}). In the DirectRanker paper, "
        "where LambdaMART has only 5 or 10 trees, the NDCG@10 of LambdaMART is "
        f"{short(BY_DOCUMENTS['LambdaMART'][0])}, far below that of `RankNetStar` "
        f"({short(BY_DOCUMENTS['RankNet*'][0])})."
    )
    groups = {
        name: {
            "here": (mean, mean - 1.96 * error, mean + 1.96 * error),
            **({"paper": (FOLDS[name][0], None, None)} if name in FOLDS else {}),
        }
        for name, (mean, error) in folds["ndcg@10"].items()
    }
    chart = intervals(
        answer,
        groups,
        "NDCG@10 on MQ2008, binary labels, 95 % intervals over folds",
        reference=None,
    )
    rows = sorted(ranknet.items(), key=lambda pair: -pair[1][0])
    tables = [
        ("MQ2008, five folds, binary labels", compared(folds, FOLDS | LOW)),
        (
            "MQ2008, 15 random test sets with a third of the documents each",
            compared(documents, BY_DOCUMENTS),
        ),
        ("NDCG@10 on five folds with graded labels", graded()),
        ("Claims made by Figures 5 and 6", claims()),
        (
            "NDCG@10 of feature parts, the DirectRanker paper's network and other libraries",
            neural_core(),
        ),
        (
            "Soft trees with earlier and with current defaults",
            soft_trees(),
        ),
        (
            "NDCG@15 of the RankNet paper's rankers on MQ2008",
            table(
                ["ranker", "NDCG@15", "standard error"],
                [[f"`{name}`", short(mean), short(error)] for name, (mean, error) in rows],
            ),
        ),
    ]
    notes = (
        "The tables call `RankNetStar` and `ListNetStar` by their names in the paper, `RankNet*` "
        "and `ListNet*`. In the first two tables, NDCG@10 is computed on binary labels, as in the "
        "DirectRanker paper, and in the second table, queries without a relevant test document "
        f"count as 0. The chart leaves out the paper's results for {listed(LOW)}, which are much "
        "lower than the results here. In the tables of graded labels, feature parts and soft "
        "trees, the labels are not made binary. In the table of feature parts, each ranker was "
        "fitted with two learning rates, and the network (`neural core`) was also fitted both to "
        "pairs within queries and to pairs across queries; of these fits, the one with the highest "
        "NDCG@10 on the validation set is shown. In the same table, `SoftTrees` has the defaults "
        "of an earlier version. In the table of soft trees, the earlier defaults are those of the "
        "first version (`gamma=50`, `spread=0.2`, 50 epochs and no averaging of weights), and the "
        "correlation is that between the splits before training and the splits after training. The "
        "data of the RankNet paper is not public, so the results here cannot be compared directly "
        "with those of that paper.\n\n`benchmarks/results` also contains results for Figures 4 to "
        "6 and Tables 2 and 3 of the DirectRanker paper, for Tables 1 and 2 of the RankNet paper, "
        "and for the tables of the SortNet paper. `python benchmarks/paper/draw.py` draws the "
        "figures. The experiments do not include MSLR-WEB10K, MQ2007, TD2003 and TD2004, because "
        "these data sets were not available."
    )
    return Section(answer, [chart], tables, notes)
