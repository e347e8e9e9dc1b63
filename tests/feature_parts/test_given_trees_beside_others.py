"""The ranker of an LLM's grades as one part of a fit to people's: one object, weighed by people."""

import numpy as np
import pandas as pd
import pytest
from scoring_programs import ARITHMETIC, compiled, onnx_scores

from treerank import TreeDirectRanker, compare, export, load
from treerank.feature_parts import Ensemble, LightGBMTrees, RefitTrees
from treerank.reports.reporting import report

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(120), 15)
X = np.round(RNG.normal(size=(1800, 3)) * 8) / 8
X[RNG.random(X.shape) < 0.05] = np.nan
FRAME = pd.DataFrame(X, columns=["bm25", "dense", "price"]).assign(
    shop=pd.Categorical(np.array(["a", "b", "c", "d"])[RNG.integers(4, size=1800)])
)
USEFUL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + (FRAME["shop"] == "b").to_numpy()
Y = np.clip(np.digitize(USEFUL + 0.4 * RNG.normal(size=1800), [1.0, 2.0]), 0, 2).astype(float)
PEOPLE = np.where(QID < 40, Y, np.nan)
SMALL = LightGBMTrees(20, min_child_samples=10, n_jobs=1, random_state=0)
NEW = QID >= 80


def stacked(grades, *, columns=FRAME, **weights):
    """Return the ranker of an LLM's grades, and one that is fitted to people's beside it."""
    llm = TreeDirectRanker(SMALL, random_state=0).fit(columns[~NEW], grades[~NEW], QID[~NEW])
    kept = RefitTrees(llm.forest(), learning_rate=0.0)
    parts = Ensemble([kept, SMALL, "linear"], n_bags=3, random_state=0)
    ranker = TreeDirectRanker(parts, random_state=0)
    return llm, ranker.fit(columns[~NEW], PEOPLE[~NEW], QID[~NEW], **weights)


def test_the_better_source_decides():
    """A good LLM is used, and one that grades at random has hardly any weight."""
    people = TreeDirectRanker(SMALL, random_state=0).fit(FRAME, PEOPLE, QID)
    test = FRAME[NEW], Y[NEW], QID[NEW]
    shares = {}
    for name, grades in {"good": Y, "random": RNG.permutation(Y)}.items():
        llm, ranker = stacked(grades)
        better = max(llm.score(*test), people.score(*test))
        assert ranker.score(*test) > better - 0.01
        part = ranker.feature_part_
        weight = part.head_weight_ * part.spread_
        shares[name] = weight[0] / weight.sum()
    assert shares["random"] < 0.1 < 0.3 < shares["good"]


def test_it_is_one_object_that_saves_explains_and_reports(tmp_path):
    llm, ranker = stacked(Y)
    before = llm.predict(FRAME)
    ranker.save(tmp_path / "ranker.treerank")
    loaded = load(tmp_path / "ranker.treerank")
    np.testing.assert_array_equal(loaded.predict(FRAME), ranker.predict(FRAME))
    np.testing.assert_array_equal(llm.predict(FRAME), before)
    backwards = FRAME[FRAME.columns[::-1]].assign(day=1.0)
    np.testing.assert_array_equal(ranker.predict(backwards), ranker.predict(FRAME))
    lead = ranker.explain(FRAME[:1], FRAME[1:2])
    assert "bm25" in str(lead) or "dense" in str(lead)
    scores = ranker.components().scores(ranker_rows(ranker))
    np.testing.assert_allclose(scores, ranker.predict(FRAME), rtol=0, atol=1e-9)
    page = report(loaded, FRAME[NEW], Y[NEW], QID[NEW], baseline=llm)
    page.save(tmp_path / "report.html")
    assert "bm25" in (tmp_path / "report.html").read_text(encoding="utf-8")
    comparison = compare(
        {"LLM": llm, "stacked": tmp_path / "ranker.treerank"}, (FRAME[NEW], Y[NEW], QID[NEW])
    )
    assert comparison.by_query("ndcg@10").shape == (40, 2)


def ranker_rows(ranker):
    """Return the documents as the ranker's trees see them, categories as codes."""
    codes = ranker.columns_.categories[3]
    shop = FRAME["shop"].astype(str).map({level: i for i, level in enumerate(codes)})
    return FRAME.assign(shop=shop).to_numpy(dtype=float)


@pytest.mark.parametrize("format", ["c", "onnx", "json", "vespa-expression"])
def test_exports_write_the_sum(format, tmp_path):
    numbers = FRAME[["bm25", "dense", "price"]].fillna(0.0)
    _, ranker = stacked(Y, columns=numbers)
    path = tmp_path / "model"
    report_of_export = export(ranker, path, format=format, check=(numbers, Y, QID))
    assert report_of_export.n_changed_pairs == 0
    content, rows = path.read_bytes(), numbers.to_numpy()[:50]
    if format == "c":
        scores = compiled(content, path)(rows)
    elif format == "onnx":
        scores = onnx_scores(content, rows)
    else:
        scores = ARITHMETIC[format](content, rows, [*numbers.columns])
    expected = ranker.predict(numbers)[:50]
    np.testing.assert_allclose(np.ravel(scores), expected, rtol=1e-5, atol=1e-5)


def test_weights_and_labels_of_nobody_count_as_in_any_fit():
    """Rows of weight 0 and NaN labels are left out of people's fit."""
    weight = np.where(QID < 20, 2.0, 0.0)
    _, ranker = stacked(Y, sample_weight=weight[~NEW])
    only = QID < 20
    llm = TreeDirectRanker(SMALL, random_state=0).fit(FRAME[~NEW], Y[~NEW], QID[~NEW])
    parts = Ensemble(
        [RefitTrees(llm.forest(), learning_rate=0.0), SMALL, "linear"], n_bags=3, random_state=0
    )
    expected = TreeDirectRanker(parts, random_state=0).fit(
        FRAME[only], Y[only], QID[only], sample_weight=weight[only]
    )
    np.testing.assert_array_equal(ranker.predict(FRAME), expected.predict(FRAME))


def test_a_ranker_in_place_of_a_part_is_told_what_to_write():
    llm = TreeDirectRanker(SMALL, random_state=0).fit(FRAME, Y, QID)
    with pytest.raises(ValueError, match=r"write RefitTrees\(ranker.forest\(\)"):
        TreeDirectRanker([llm, "lightgbm"]).fit(FRAME, Y, QID)
