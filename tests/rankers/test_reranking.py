"""Reranking data frames: the scores and the order of the ranker, with all other columns kept."""

import numpy as np
import pandas as pd
import pytest

from treerank.baselines import RankSVM
from treerank.rankers import rerank

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(12, 3)), np.repeat(["b", "a"], 6)
FRAME = pd.DataFrame({"qid": QID, "docno": [f"d{i}" for i in range(12)], "score": 7.0})


@pytest.fixture(scope="module")
def ranker():
    return RankSVM().fit(X, X[:, 0] > 0, QID)


def test_results_are_in_the_order_of_the_ranker_in_either_form(ranker):
    listed = rerank(ranker, FRAME.assign(features=list(X)))
    assert listed["qid"].tolist() == ["a"] * 6 + ["b"] * 6
    assert listed["rank"].tolist() == [*range(6)] * 2
    scores = dict(zip(FRAME["docno"], ranker.predict(X), strict=True))
    assert listed["score"].tolist() == [scores[name] for name in listed["docno"]]
    assert (listed.groupby("qid")["score"].diff().dropna() <= 0).all()
    columns = pd.DataFrame(X, columns=[*"xyz"])
    of_names = RankSVM().fit(columns, X[:, 0] > 0, QID)
    wide = rerank(of_names, FRAME.join(columns), features=[*"xyz"])
    assert wide["docno"].tolist() == listed["docno"].tolist()


def test_no_results_stay_none_and_missing_columns_are_named(ranker):
    empty = rerank(ranker, FRAME.assign(features=list(X)).iloc[:0])
    assert [*empty.columns] == ["qid", "docno", "score", "features", "rank"]
    with pytest.raises(ValueError, match="results must have the column 'features'; got"):
        rerank(ranker, FRAME)
