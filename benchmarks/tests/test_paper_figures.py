"""What the page of evidence says of the papers follows from the kept results."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1]
PAGE = (BENCHMARKS / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def kept(monkeypatch):
    """Return what reads the parts of a kept file by its name."""
    monkeypatch.syspath_prepend(BENCHMARKS / "paper")
    read_parts = import_module("result_files").read_parts
    return lambda name: read_parts(BENCHMARKS / "results" / f"{name}-quick.jsonl")


def short(value):
    """Return three decimals without the leading zero."""
    return f"{value:.3f}".lstrip("0")


def test_how_far_lambdarank_leads_with_few_documents(kept):
    values = {}
    for entry in kept("figure5")["a, gaussian classes"]["results"]:
        point = entry["point"]
        if point["value"] == 100:
            values[point["ranker"], point["seed"]] = entry["result"]["ndcg@20"]
    seeds = sorted({seed for _, seed in values})
    leads = np.array([values["LambdaRank", s] - values["RankNet*", s] for s in seeds])
    error = leads.std(ddof=1) / len(leads) ** 0.5
    said = f"by {short(leads.mean())} ± {short(error)} NDCG@20 ({len(leads)} sets)"
    assert said in PAGE


@pytest.mark.parametrize(
    ("merged", "said"),
    [(False, "{} of 40 boundaries; by chance {}"), (True, "{} of 40 boundaries, by chance {}")],
)
def test_boundaries_of_classes_and_of_merged_classes(kept, merged, said):
    results = kept("figure6")["gaussian classes"]["results"]
    chosen = [e["result"] for e in results if e["point"]["merged"] == merged]
    shares = [[r["share_found"], r["share_by_chance"]] for r in chosen]
    n_found, n_by_chance = np.round(np.sum(shares, axis=0) * 4).astype(int)
    assert said.format(n_found, n_by_chance) in PAGE


def test_classes_found_inside_merged_classes(kept):
    results = kept("figure6")["gaussian classes"]["results"]
    within = [e["result"]["rand_index_within"] for e in results if e["point"]["merged"]]
    lower, upper = (short(np.mean([w[side]["index"] for w in within])) for side in within[0])
    assert f"inside the lower classes {lower}, the upper ones {upper} |" in PAGE


def test_merged_labels_of_the_folders(kept):
    def means(data, side):
        points = [e for e in kept("figure6")[data]["results"] if "fold" in e["point"]]
        merged = [e["result"]["sorted_right"] for e in points if e["point"]["merged"]]
        return [fold[side]["mean"] for fold in merged]

    def said(values):
        return f".{round(100 * min(values)):02d} to .{round(100 * max(values)):02d}"

    well = means("mq2008", "upper") + means("clueweb09", "lower")
    assert f"{said(well)} of the pairs" in PAGE
    assert f"3 to 6 queries a fold, {said(means('clueweb09', 'upper'))} |" in PAGE


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED", "ClueWeb09"])
def test_the_headline_by_graded_labels(kept, name):
    results = kept("table1-graded")[name.lower()]["results"]
    (folds,) = (e["result"] for e in results if e["point"]["test"] == "folds")
    mean = folds["metrics"]["ndcg@10"]["mean"]
    order = sorted(mean, key=mean.get, reverse=True)
    table = PAGE.split("The paper's headline, on folds")[1].replace("\\*", "*")
    heads, row = (
        re.search(rf"^\| {first} \| (.*) \|$", table, re.MULTILINE)[1].split(" | ")
        for first in ("data", name)
    )
    cells = dict(zip(heads, row, strict=True))
    best, _, value = cells.pop("the best").partition(", ")
    assert best == order[0]
    assert value in ("", short(mean[best]))
    assert int(cells.pop("position among 10")) == order.index("RankNet*") + 1
    assert cells == {ranker: short(mean[ranker]) for ranker in cells}
