"""Runs as candidates, where they meet frames, ids, weights, model files and comparisons."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from treerank import TreeDirectRanker, compare, compare_scores, export, get_metric, load, report
from treerank.datasets import Qrels
from treerank.feature_parts import HistogramTrees, LinearModel, RefitTrees
from treerank.rankers import ColumnRanker
from treerank.reranking import fuse, normalize_scores
from treerank.search_engines import read_runs
from treerank.statistics import prediction_powered_mean

RNG = np.random.default_rng(0)
N_QUERIES, DEPTH = 60, 8
LABELS = {q: {d: int(RNG.choice([0, 0, 1, 2])) for d in range(95, 107)} for q in range(N_QUERIES)}
RUNS = {
    name: {
        q: dict(sorted(scores.items(), key=lambda pair: -pair[1])[:DEPTH])
        for q, labels in LABELS.items()
        for scores in [{d: round(skill * y + RNG.normal(), 1) for d, y in labels.items()}]
    }
    for name, skill in {"bm25": 0.5, "dense": 1.0}.items()
}
#: People have judged the documents of half of the queries.
PEOPLE = {q: labels for q, labels in LABELS.items() if q % 2}
SMALL = HistogramTrees(10, min_child_samples=5)
RANKERS = {
    "column": ColumnRanker("bm25"),
    "linear": TreeDirectRanker("linear"),
    "both": TreeDirectRanker([SMALL, "linear"], random_state=0),
}
FRAMES = {
    "arrow": lambda X: X,
    "pandas": lambda X: X.to_pandas(),
    "nullable": lambda X: X.to_pandas().convert_dtypes(),
    "polars": pl.from_arrow,
    "nulls": lambda X: pl.from_arrow(X).with_columns(pl.all().fill_nan(None)),
    "other order": lambda X: X.select(X.column_names[::-1]),
}
#: Forms of a column with gaps.
COLUMNS = {
    "list": lambda a: [None if math.isnan(value) else value for value in a],
    "series": lambda a: pd.Series(
        a, index=np.arange(len(a))[::-1] + 10_000
    ),  # labels of no other form
    "nullable": lambda a: pd.Series(a).convert_dtypes(),
    "polars": lambda a: pl.Series(a).fill_nan(None),
    "arrow": pa.array,
}
#: Forms of the ids of queries.
IDS = {
    "text": lambda a: a,
    "numbers": lambda a: a.astype(int),
    "series": lambda a: pd.Series(
        a, index=np.arange(len(a))[::-1] + 10_000
    ),  # labels of no other form
    "categories": lambda a: pd.Series(a).astype("category"),
    "polars": lambda a: pl.Series(a).cast(pl.Categorical),
    "arrow": lambda a: pa.array(a.tolist()),
}
pytestmark = [
    pytest.mark.filterwarnings("ignore:.* judged documents with a label above 0 are in no run"),
    pytest.mark.filterwarnings("ignore:Intervals of fewer than 30"),
]


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* are in no run")
        return read_runs(*args, **kwargs)


DATA, BY_PEOPLE = quiet(RUNS, LABELS), quiet(RUNS, PEOPLE)


def column(data, name):
    return np.array(data.X[name].to_pylist())


def plain_columns(runs, query):
    """The columns of the candidates of a query, slowly: {document: {column: value}}."""
    lists = {name: run.get(query, {}) for name, run in runs.items()}
    k = min(60, 0.2 * max(map(len, lists.values())))
    found = {}
    for document in {document for scores in lists.values() for document in scores}:
        row, total = {}, 0.0
        for name, scores in lists.items():
            values, score = [*scores.values()], scores.get(document)
            row[name], row[f"{name}.min_max"], row[f"{name}.reciprocal_rank"] = math.nan, 0.0, 0.0
            if score is not None:
                low, high = min(values), max(values)
                rank = sum(v > score for v in values) + (1 + sum(v == score for v in values)) / 2
                row[name] = score
                row[f"{name}.min_max"] = (score - low) / (high - low) if high > low else 1.0
                row[f"{name}.reciprocal_rank"] = 1 / (k + rank)
            total += row[f"{name}.reciprocal_rank"]
        found[document] = row | {"rrf": total}
    return found


def test_every_number_is_that_of_a_slow_loop_over_the_lists():
    n_rows = 0
    for query in LABELS:
        for document, row in plain_columns(RUNS, query).items():
            (at,) = np.flatnonzero((DATA.qid == str(query)) & (DATA.doc_ids == str(document)))
            found = {name: DATA.X[name][int(at)].as_py() for name in DATA.X.column_names}
            assert found == pytest.approx(row, nan_ok=True)
            assert DATA.y[at] == LABELS[query][document]
            n_rows += 1
    assert n_rows == len(DATA)


@pytest.mark.parametrize("form", [str, np.int64, float])
def test_ids_of_any_type_are_the_same_ids(form):
    runs = {
        name: {form(q): {form(d): s for d, s in scores.items()} for q, scores in run.items()}
        for name, run in RUNS.items()
    }
    for labels in (
        LABELS,
        {str(q): {float(d): y for d, y in ys.items()} for q, ys in LABELS.items()},
    ):
        data = quiet(runs, labels)
        assert pl.from_arrow(data.X).equals(pl.from_arrow(DATA.X))
        np.testing.assert_array_equal(data.y, DATA.y)
        np.testing.assert_array_equal(data.doc_ids, DATA.doc_ids)
        np.testing.assert_array_equal(data.qid, DATA.qid)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("form", COLUMNS)
def test_scores_of_any_form_are_normalized_and_fused_alike(form, ids):
    scores, qid = column(DATA, "bm25"), IDS[ids](DATA.qid)
    given = COLUMNS[form](scores)
    np.testing.assert_array_equal(normalize_scores(given, qid), column(DATA, "bm25.min_max"))
    both = {"bm25": given, "dense": COLUMNS[form](column(DATA, "dense"))}
    np.testing.assert_array_equal(fuse(both, qid), column(DATA, "rrf"))


@pytest.mark.parametrize("name", RANKERS)
def test_frames_of_any_kind_give_the_same_bits(name):
    train, test = DATA.split(test=0.5)
    fits = {
        kind: clone(RANKERS[name]).fit(form(train.X), train.y, train.qid)
        for kind, form in FRAMES.items()
        if kind != "other order"  # where equal gains of splits may have another winner
    }
    expected = fits["arrow"].predict(test.X)
    assert len(np.unique(expected)) > 10
    for ranker in fits.values():
        for form in FRAMES.values():
            np.testing.assert_array_equal(ranker.predict(form(test.X)), expected)


@pytest.mark.parametrize("name", RANKERS)
def test_candidates_go_through_files_explanations_reports_and_weights(name, tmp_path):
    train, test = BY_PEOPLE.split(test=0.5)  # half of the queries are not judged
    ranker = clone(RANKERS[name]).fit(*train)
    judged = train.judged()
    of_judged = clone(RANKERS[name]).fit(*judged)
    np.testing.assert_array_equal(of_judged.predict(test.X), ranker.predict(test.X))
    weight = np.where(np.isnan(train.y), 3.0, 1.0)  # of rows that no fit looks at
    weighted = clone(RANKERS[name]).fit(*train, sample_weight=weight)
    np.testing.assert_array_equal(weighted.predict(test.X), ranker.predict(test.X))
    ranker.save(tmp_path / "m.treerank")
    for copy in (load(tmp_path / "m.treerank"), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(copy.predict(test.X), ranker.predict(test.X))
    first, second = test.X.slice(0, 1), test.X.slice(1, 1)
    explanation = ranker.explain(first, second)
    gap = ranker.predict(first) - ranker.predict(second)
    np.testing.assert_allclose(np.sum(explanation, axis=1), gap, atol=1e-9)
    assert "bm25" in report(ranker, test.X, test.y, test.qid).html
    comparison = compare(
        {"file": tmp_path / "m.treerank", "rrf": ColumnRanker("rrf")}, test, metrics="ndcg@10"
    )
    values = get_metric("ndcg@10").per_query(test.y, ranker.predict(test.X), test.qid)
    np.testing.assert_array_equal(comparison.by_query("ndcg@10")[:, 0], values)


@pytest.mark.parametrize("kind", FRAMES)
def test_weights_for_engines_are_checked_on_frames_of_any_kind(kind, tmp_path):
    positive = {
        name: {q: {d: math.exp(s) for d, s in scores.items()} for q, scores in run.items()}
        for name, run in RUNS.items()
    }
    data = quiet(positive, PEOPLE, engine="opensearch")
    X, y, qid = data.normalized()
    weight = np.linspace(0.5, 1.5, len(y))
    for settings in ({}, {"sample_weight": weight}):
        linear = TreeDirectRanker(LinearModel(positive=True)).fit(
            FRAMES[kind](X), y, qid, **settings
        )
        linear.save(tmp_path / "linear.treerank")
        for ranker in (linear, load(tmp_path / "linear.treerank")):
            check = FRAMES[kind](data.X), y, qid
            path = tmp_path / "pipeline.json"
            ranked = export(ranker, path, format="opensearch-hybrid", check=check, name="shop")
            assert ranked.n_changed_pairs == 0


#: Documents that people judge, drawn at random: few of them are all documents of their queries.
DRAWN = np.random.default_rng(1).permutation(200)[:60]


@pytest.mark.parametrize("form", COLUMNS)
@pytest.mark.parametrize("ids", IDS)
def test_people_s_values_may_have_any_form(form, ids):
    human = np.where(np.isin(np.arange(200), DRAWN), RNG.random(200), np.nan)
    llm = np.where(np.isnan(human), RNG.random(200), human) + 0.1 * RNG.normal(size=200)
    expected = prediction_powered_mean(human=human, llm=llm)
    given, judged = COLUMNS[form](human), pd.Series(~np.isnan(human), dtype="boolean")
    assert prediction_powered_mean(human=given, llm=llm) == expected
    assert prediction_powered_mean(human=given, llm=llm, judged=judged) == expected
    qid = np.repeat([f"{number}" for number in range(50)], 4)
    by_documents = prediction_powered_mean(human=human, llm=llm, qid=qid)
    assert prediction_powered_mean(human=given, llm=llm, qid=IDS[ids](qid)) == by_documents


def test_comparisons_by_both_kinds_of_labels_whatever_holds_them():
    scores = {
        name: np.nan_to_num(column(DATA, name), nan=-99.0) for name in RUNS
    }  # below all others
    metric = get_metric("ndcg@10")
    human, llm = (
        np.subtract(*(metric.per_query(data.y, scores[n], data.qid) for n in ("dense", "bm25")))
        for data in (BY_PEOPLE, DATA)
    )
    judged = np.isin(np.unique(DATA.qid), [str(q) for q in PEOPLE])
    expected = prediction_powered_mean(human=human, llm=llm, judged=judged).interval
    rankers = {name: ColumnRanker(name).fit(*DATA) for name in RUNS}
    frame = DATA.X.to_pandas().assign(people=BY_PEOPLE.y, llm=DATA.y, query=DATA.qid.astype(int))
    for data, labels in (
        (DATA, BY_PEOPLE),
        (DATA, pd.Series(BY_PEOPLE.y)),
        ((frame, "llm", "query"), "people"),
        ((pl.from_pandas(frame), "llm", "query"), "people"),
        ((DATA.X, {"llm": DATA.y, "people": BY_PEOPLE.y}, DATA.qid), "people"),
    ):
        found = compare(rankers, data, human_labels=labels, metrics="ndcg@10")
        gap = found.difference("ndcg@10", "dense", "bm25").interval
        assert (gap.estimate, gap.low, gap.high) == pytest.approx(
            (expected.estimate, expected.low, expected.high)
        )
    given = compare_scores(scores, DATA.y, DATA.qid, human_labels=BY_PEOPLE.y, metrics="ndcg@10")
    assert given.difference("ndcg@10", "dense", "bm25").interval == gap


def test_queries_without_judgments_are_not_warned_of_and_the_table_counts_the_others():
    comparison = compare({"bm25": ColumnRanker("bm25")}, BY_PEOPLE, metrics="ndcg@10", cv=2)
    n_defined = np.count_nonzero(~np.isnan(comparison.by_query("ndcg@10")))
    assert n_defined == len(PEOPLE)
    note = comparison.summary().notes[0]
    assert note.startswith(f"2 splits, 60 queries tested, of which {n_defined} are judged; ±")
    few = quiet(RUNS, {q: {d: y for d, y in ys.items() if d > 100} for q, ys in PEOPLE.items()})
    with pytest.warns(
        UserWarning, match=r"Of the first 10 documents of judged queries, [45]\d % are judged"
    ):
        compare({"bm25": ColumnRanker("bm25")}, few, metrics="ndcg@10", cv=2)


def test_a_stacked_ranker_reads_columns_by_their_names(tmp_path):
    """The trees of the LLM's ranker are fitted to some columns, in another order."""
    llm = {q: {d: max(y - d % 2, 0) for d, y in ys.items()} for q, ys in LABELS.items()}
    graded = quiet(RUNS, llm)
    train, test = BY_PEOPLE.split(test=0.5)
    few = graded.X.select(["rrf", "dense", "bm25"])
    of_llm = TreeDirectRanker(SMALL, random_state=0).fit(few, graded.y, graded.qid)
    kept = RefitTrees(of_llm.forest(), learning_rate=0.0)
    alone = TreeDirectRanker(kept).fit(*train)
    np.testing.assert_array_equal(alone.predict(test.X), of_llm.predict(test.X))
    stacked = TreeDirectRanker([kept, SMALL, "linear"], random_state=0)
    fits = [clone(stacked).fit(form(train.X), train.y, train.qid) for form in FRAMES.values()][:5]
    expected = fits[0].predict(test.X)
    for ranker, form in zip(fits, FRAMES.values(), strict=False):
        np.testing.assert_array_equal(ranker.predict(form(test.X)), expected)
    fits[0].save(tmp_path / "stacked.treerank")
    loaded = load(tmp_path / "stacked.treerank")
    np.testing.assert_array_equal(loaded.predict(test.X), expected)
    assert export(loaded, tmp_path / "s.json", format="json", check=test).n_changed_pairs == 0
    assert "dense" in str(loaded.explain(test.X.slice(0, 1), test.X.slice(1, 1)))


def test_own_features_stand_beside_the_columns_of_the_runs():
    price = {str(d): float(d % 5) for d in range(95, 107)}
    X = DATA.X.append_column("price", pa.array([price[d] for d in DATA.doc_ids]))
    ranker = TreeDirectRanker("linear").fit(X, DATA.y, DATA.qid)
    assert ranker.feature_names_in_[-1] == "price"
    judges = Qrels(np.array(["1"]), np.array(["95"]), np.array([1.0]))
    live = quiet({name: {1: run[1]} for name, run in RUNS.items()}, judges)
    with pytest.raises(ValueError, match="price"):
        ranker.predict(live.X)
