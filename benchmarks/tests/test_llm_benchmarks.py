"""Benchmarks of labels by people and by an LLM: what is kept meets the bars, and small runs do."""

import numpy as np

from benchmarks import llm_coverage, llm_data, llm_training
from benchmarks.measurements import read_rows
from benchmarks.questions.judgments import flat
from treerank import TreeDirectRanker, make_web_search


def covered(rows, method="people and LLM"):
    """Return the coverage of each cell by the number of human queries."""
    found = {}
    for row in rows:
        if row["method"] == method:
            found.setdefault(row["human"], []).append(row["coverage"])
    return found


def test_intervals_kept_cover_in_every_cell():
    rows = flat(read_rows("judgments"), "method")
    assert {row["world"] for row in rows} == {"synthetic", "msrd"}
    rows = [row for row in rows if row["question"] != "P@10"]
    assert all(row["repeats"] == 4000 for row in rows)
    found = covered(rows)
    for n, least in llm_coverage.BARS.items():
        assert len(found[n]) == 2 * 5 * 4
        assert min(found[n]) >= least
    alone = covered(rows, "LLM alone")[0]
    assert np.mean(alone) < 0.05
    gains = [row["gain"] for row in rows if row["method"] == "people and LLM"]
    assert min(gains) > 1


def test_documents_of_all_queries_say_more_than_as_many_of_few():
    rows = [row for row in flat(read_rows("judgments"), "method") if row["question"] == "P@10"]
    by_method = {}
    for row in rows:
        by_method.setdefault(row["method"], []).append(row)
    assert min(row["gain"] for row in by_method["people alone, by documents"]) > 2.4
    powered = by_method["people and LLM, by documents"]
    assert min(row["gain"] for row in powered) > 2.8
    assert min(row["coverage"] for row in powered) >= 0.93
    world = llm_coverage.synthetic(2000)
    again = {
        (row["judge"], row["method"]): row for row in llm_coverage.documents("", *world, repeats=40)
    }
    for judge in {row["judge"] for row in rows}:
        assert again[judge, "people and LLM, by documents"]["gain"] > 1.5
        assert again[judge, "people and LLM, by documents"]["coverage"] > 0.8


def test_intervals_cover_when_they_are_simulated_again():
    rows = [*llm_coverage.rows("synthetic", *llm_coverage.synthetic(3000), repeats=250)]
    found = covered(rows)
    assert sorted(found) == [20, 30, 50, 100]
    for values in found.values():
        assert len(values) == 20
        assert min(values) > 0.88  # of 250 repeats, the least of 20 cells
        assert 0.93 < np.mean(values) < 0.98
    assert np.mean(covered(rows, "LLM alone")[0]) < 0.1


def test_stacking_kept_is_as_good_as_the_better_source_in_every_cell():
    rows = flat(read_rows("judgments"), "way")
    draws = {(row["data"], row["judge"], row["judged"], row["draw"]) for row in rows}
    assert len(draws) == 2 * 3 * 2 * 10
    gains = llm_training.gains(rows)
    stacked = [gain for key, gain in gains.items() if key[3] == "stacked"]
    assert len(stacked) == 12
    assert min(stacked) >= -0.010
    mixed = "one label, the LLM's at half the weight"
    assert gains["msrd", "likes words", 30, mixed] < -0.15


def test_a_small_run_weighs_both_sources():
    X, y, qid = make_web_search(260, documents_per_query=20, n_features=10, random_state=0)
    data = llm_data.Judged(X, np.clip(y, 0, 2), qid, X[:, 0])
    pool, test = data.take(qid < 160), data.take(qid >= 160)
    rng = np.random.default_rng(0)
    grades = llm_data.grades("mq2008", "poor", pool, rng)
    llm = TreeDirectRanker(random_state=0).fit(pool.X, grades, pool.qid)
    judged = pool.qid < 60
    scores = llm_training.scores_by_way("mq2008", pool, test, grades, judged, llm, 0)
    values = {way: llm_training.METRIC(test.y, column, test.qid) for way, column in scores.items()}
    better = max(values["LLM alone"], values["people alone"])
    assert values["stacked"] > better - 0.02
