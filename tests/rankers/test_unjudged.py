"""Labels of NaN: fits, early stopping, scores, comparisons and reports leave documents out."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import run

from treerank import LightGBMTrees, TreeDirectRanker, compare, export, read_parquet, report
from treerank.baselines import RankSVM
from treerank.datasets import make_web_search, write_parquet
from treerank.inspection import permutation_importance
from treerank.rankers import NestedRanker

X, Y, QID = make_web_search(40, documents_per_query=12, n_features=5, random_state=0)
KNOWN = np.random.default_rng(1).random(len(Y)) < 0.7
ALL, JUDGED = (X, np.where(KNOWN, Y, np.nan), QID), (X[KNOWN], Y[KNOWN], QID[KNOWN])
WARNING = pytest.warns(
    UserWarning, match=r"documents of judged queries, \d+ % are judged \(judged@10\)"
)


def ranker():
    return TreeDirectRanker(LightGBMTrees(n_estimators=8, num_leaves=4, n_jobs=1), random_state=0)


def nested():
    trees = LightGBMTrees(n_estimators=30, num_leaves=4, n_jobs=1)
    return NestedRanker(TreeDirectRanker(trees, random_state=0), sizes=(4,), random_state=0)


@pytest.mark.parametrize("options", [{}, {"sample_weight": 1.0 + (QID % 3)}])
@pytest.mark.parametrize("make", [ranker, RankSVM, nested])
def test_a_fit_is_that_to_the_judged_documents(make, options):
    there = make().fit(*ALL, eval_set=(X, ALL[1] + 1, QID), **options)
    kept = {name: value[KNOWN] for name, value in options.items()}
    alone = make().fit(*JUDGED, eval_set=(X[KNOWN], Y[KNOWN] + 1, QID[KNOWN]), **kept)
    np.testing.assert_array_equal(there.predict(X), alone.predict(X))
    assert there.calibration_slope_ == alone.calibration_slope_
    assert there.score(*ALL) == alone.score(*JUDGED)
    assert not np.isnan(there.fit(X, np.nan_to_num(ALL[1]), QID).score(X, Y, QID))


def test_what_follows_a_fit_leaves_unjudged_documents_out_and_files_keep_gaps(tmp_path):
    there, alone = (RankSVM().fit(*JUDGED).calibrate(*data) for data in (ALL, JUDGED))
    assert there.calibration_slope_ == alone.calibration_slope_
    np.testing.assert_array_equal(there.predict_relevance(X), alone.predict_relevance(X))
    assert export(there, tmp_path / "a.json", format="json", check=ALL).n_changed_pairs == 0
    drops = permutation_importance(there, *ALL, n_repeats=1).drops
    assert drops.shape == (5, 40)
    assert not np.isnan(drops).all(axis=1).any()
    for name in ("all.parquet", "all.csv"):
        write_parquet(tmp_path / name, *ALL)
        np.testing.assert_array_equal(read_parquet(tmp_path / name).y, ALL[1])


def test_a_comparison_says_how_many_of_the_first_documents_are_judged():
    with WARNING:
        found = compare({"ours": ranker()}, ALL, cv=3)
    few = np.where(np.arange(len(Y)) % 100, Y, np.nan)
    compare({"ours": ranker()}, (X, few, QID), cv=3)  # without a warning
    assert 0 < found.by_split("ndcg@10").mean() < 1


def test_a_report_is_of_the_judged_documents():
    fitted = RankSVM().fit(*JUDGED)
    names = np.array([f"row {row}" for row in range(len(Y))])
    few = {"n_examples": 2, "slices": {"first": X[:, 0]}}
    with WARNING:
        page = report(fitted, *ALL, baseline=X[:, 1], **few)
    few["slices"] = {"first": X[KNOWN, 0]}
    alone = report(fitted, *JUDGED, baseline=X[KNOWN, 1], document_names=names[KNOWN], **few)
    said = f"Documents that nobody has judged are left out: {len(Y) - KNOWN.sum():,}."
    assert (page.html.count(said), alone.html.count(said)) == (2, 0)
    parts = [re.split('id="(?:summary|data|method)"', one.html)[1::2] for one in (page, alone)]
    assert parts[0] == parts[1]


def test_the_shell_measures_judged_documents(tmp_path):
    write_parquet(tmp_path / "test.parquet", *JUDGED)
    RankSVM().fit(*JUDGED).save(tmp_path / "model")
    table = pd.DataFrame(X, columns=[f"feature_{j}" for j in range(1, 6)])
    table.assign(query=QID, label=ALL[1]).to_csv(tmp_path / "all.csv", index=False)
    options = ("--json", "--metric", "ndcg@10", "--metric", "judged@10", "-q")
    files = tmp_path / "test.parquet", tmp_path / "all.csv"
    results = [run("evaluate", tmp_path / "model", file, *options) for file in files]
    values = [json.loads(result.stdout)["metrics"] for result in results]
    assert values[0]["ndcg@10"] == pytest.approx(values[1]["ndcg@10"])
    assert values[0]["judged@10"] == 1 > values[1]["judged@10"]
    assert "% are judged" in results[1].stderr
    assert "judged" not in results[0].stderr


def test_weights_of_1_change_no_share_of_judged_documents():
    X, y, qid = make_web_search(6, documents_per_query=10, n_features=3, random_state=0)
    ranker = TreeDirectRanker("linear").fit(X, y, qid).set_params(metric="judged@10")
    y = np.where((qid == qid[-1]) | (np.arange(60) < 5), np.nan, y)
    expected = ranker.score(X, y, qid)
    assert ranker.score(X, y, qid, sample_weight=np.ones(60)) == pytest.approx(expected)
    assert expected == pytest.approx((4 + 0.5) / 6)
