import numpy as np
import pandas as pd
import polars as pl
import pytest

import treerank
from treerank import read_runs
from treerank.datasets import Qrels, TrecRun, read_trec_run, write_trec_run
from treerank.reranking import fuse, normalize_scores
from treerank.search_engines import runs_as_features

NAN = np.nan
BM25 = {"p": {"a": 9.0, "b": 6.0, "c": 6.0, "d": 3.0}, "q": {"a": 2.0}}
DENSE = {"p": {"c": 0.9, "x": 0.8}, "r": {"z": 0.5}}
LABELS = {"p": {"c": 2, "d": 0}, "q": {"a": 1}, "r": {"z": 0}}


def column(data, name):
    return np.array(data.X[name].to_pylist())


def test_the_union_has_each_score_raw_normalized_and_as_a_reciprocal_rank():
    data = read_runs({"bm25": BM25, "dense": DENSE}, LABELS)
    assert [*zip(data.qid, data.doc_ids, strict=True)] == [
        *(("p", "a"), ("p", "b"), ("p", "c"), ("p", "d"), ("p", "x")),
        *(("q", "a"), ("r", "z")),
    ]
    np.testing.assert_array_equal(data.y, [NAN, NAN, 2, 0, NAN, 1, 0])
    np.testing.assert_array_equal(column(data, "bm25"), [9, 6, 6, 3, NAN, 2, NAN])
    np.testing.assert_array_equal(column(data, "dense"), [NAN, NAN, 0.9, NAN, 0.8, NAN, 0.5])
    assert column(data, "bm25.min_max").tolist() == [1, 0.5, 0.5, 0, 0, 1, 0]
    assert column(data, "dense.min_max").tolist() == [0, 0, 1, 0, 0, 0, 1]
    # k is a fifth of the longest list of the query, and equal scores share a rank.
    ranks = [1 / 1.8, 1 / 3.3, 1 / 3.3, 1 / 4.8, 0, 1 / 1.2, 0]
    np.testing.assert_allclose(column(data, "bm25.reciprocal_rank"), ranks)
    both = column(data, "bm25.reciprocal_rank") + column(data, "dense.reciprocal_rank")
    np.testing.assert_array_equal(column(data, "rrf"), both)
    assert data.X.column_names[3:] == [
        *("dense", "dense.min_max", "dense.reciprocal_rank", "rrf"),
    ]
    assert treerank.read_runs is read_runs
    assert repr(data) == "Candidates(7 documents, 3 queries, 7 features)"


def test_the_columns_are_those_of_the_functions_for_production():
    rng = np.random.default_rng(0)
    runs = {
        name: {
            str(q): {str(d): float(rng.normal()) for d in rng.permutation(300)[:n]}
            for q in range(4)
        }
        for name, n in {"long": 200, "short": 40}.items()
    }
    data = read_runs(runs)
    raw = {name: column(data, name) for name in runs}
    np.testing.assert_array_equal(column(data, "rrf"), fuse(raw, data.qid))
    for name in runs:
        normalized = normalize_scores(raw[name], data.qid)
        np.testing.assert_array_equal(column(data, f"{name}.min_max"), normalized)
    for query in np.unique(data.qid):  # a live query is alone, and nobody has judged it
        live = read_runs({name: {query: lists[query]} for name, lists in runs.items()})
        rows = data.qid == query
        for name in data.X.column_names:
            np.testing.assert_array_equal(column(live, name), column(data, name)[rows])
    assert np.isnan(data.y).all()


def test_files_runs_and_mappings_are_read_alike(tmp_path):
    pairs = [(query, document) for query, scores in BM25.items() for document in scores]
    qid, doc_ids = zip(*pairs, strict=True)
    scores = [BM25[query][document] for query, document in pairs]
    write_trec_run(tmp_path / "bm25.run", scores=scores, qid=qid, doc_ids=doc_ids)
    (tmp_path / "qrels.txt").write_text("p 0 c 2\np 0 d 0\nq 0 a 1\n")
    qrels = Qrels(np.array(["p", "p", "q"]), np.array(["c", "d", "a"]), np.array([2.0, 0, 1]))
    shuffled = np.random.default_rng(0).permutation(5)
    in_memory = TrecRun(*(np.array(each)[shuffled] for each in (qid, doc_ids, scores)))
    expected = read_runs({"bm25": BM25, "dense": DENSE}, LABELS)
    for run, judgments in (
        (tmp_path / "bm25.run", tmp_path / "qrels.txt"),
        (str(tmp_path / "bm25.run"), str(tmp_path / "qrels.txt")),
        (in_memory, qrels),
    ):
        data = read_runs({"bm25": run, "dense": DENSE}, judgments)
        assert pl.from_arrow(data.X).equals(pl.from_arrow(expected.X))
        np.testing.assert_array_equal(data.doc_ids, expected.doc_ids)


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_data_frame_are_a_run_and_judgments(frame_of):
    rows = [
        (query, document, s) for query, scores in BM25.items() for document, s in scores.items()
    ]
    run = frame_of(dict(zip(("query", "document", "score"), zip(*rows, strict=True), strict=True)))
    rows = [
        (query, document, y) for query, labels in LABELS.items() for document, y in labels.items()
    ]
    judged = frame_of(
        dict(zip(("query", "document", "label"), zip(*rows, strict=True), strict=True))
    )
    data = read_runs(
        {"bm25": TrecRun(run["query"], run["document"], run["score"]), "dense": DENSE},
        Qrels(judged["query"], judged["document"], judged["label"]),
    )
    expected = read_runs({"bm25": BM25, "dense": DENSE}, LABELS)
    assert pl.from_arrow(data.X).equals(pl.from_arrow(expected.X))
    np.testing.assert_array_equal(data.y, expected.y)
    with pytest.raises(
        TypeError, match=r"runs\['bm25'\] must be the path of .* Of a data frame, wr"
    ):
        read_runs({"bm25": run})


def test_lists_without_scores_count_by_their_order():
    lists = {"p": ["b", "a", "c"], "q": ("a",), "r": np.array([7, 8])}
    data = read_runs({"rank": lists})
    assert [*zip(data.qid, data.doc_ids, column(data, "rank.min_max"), strict=True)] == [
        *(("p", "a", 0.5), ("p", "b", 1), ("p", "c", 0)),
        *(("q", "a", 1), ("r", "7", 1), ("r", "8", 0)),
    ]


@pytest.mark.parametrize("engine", [None, "opensearch", "elasticsearch"])
def test_a_retriever_that_found_nothing_has_columns_as_for_a_query_that_it_lacks(tmp_path, engine):
    (tmp_path / "empty.run").write_text("")
    runs = {"bm25": BM25, "dense": DENSE}
    data = read_runs(runs, engine=engine)
    expected = pl.from_arrow(data.take(data.qid == "r").X)  # which bm25 lacks
    assert expected["bm25"].is_nan().all()
    for nothing in ({}, {"r": {}}, {"r": []}, {"r": np.array([])}, tmp_path / "empty.run"):
        live = read_runs({"bm25": nothing, "dense": {"r": DENSE["r"]}}, engine=engine)
        assert live.doc_ids.tolist() == ["z"]
        assert pl.from_arrow(live.X).equals(expected)


def test_ids_of_several_columns_are_tuples_whose_numbers_are_equal_as_in_python():
    lists = {("ann", 3): {("shoes", 7): 2.0, ("boots", 8): 1.0}}
    qid, documents = [("ann", np.int64(3))] * 2, [("shoes", 7.0), ("boots", np.int8(8))]
    data = read_runs({"pop": lists, "new": TrecRun(qid, documents, [1.0, 3.0])}, lists)
    assert data.qid.tolist() == ["('ann', 3)"] * 2
    assert data.doc_ids.tolist() == ["('boots', 8)", "('shoes', 7)"]
    assert column(data, "new").tolist() == [3, 1]
    assert data.y.tolist() == [1, 2]
    judges = Qrels(qid, documents, [4, 0])
    for judged in (judges, judges.judged(), judges.merged(), judges.merged("majority")):
        np.testing.assert_array_equal(read_runs({"pop": lists}, judged).y, [0, 4])
    columns = runs_as_features({"new": TrecRun(qid, documents, [1.0, 3.0])}, qid, documents)
    assert columns["new"].tolist() == [1, 3]


def test_distances_are_turned_around_and_forgotten_ones_are_warned_of():
    distances = {"p": dict(zip("abcdef", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], strict=True))}
    rule = (
        r"All lists of runs\['dense'\] begin with the smallest score. If smaller is better, write "
    )
    with pytest.warns(UserWarning, match=rule + r"smaller_is_better=\['dense'\]"):
        read_runs({"dense": distances})
    for names in ("dense", ["dense"]):
        data = read_runs({"dense": distances, "bm25": BM25}, smaller_is_better=names)
        assert column(data, "dense.min_max")[:6].round(3).tolist() == [1, 0.8, 0.6, 0.4, 0.2, 0]
        assert np.nanmax(column(data, "dense")) == -0.1
        assert np.nanmax(column(data, "bm25")) == 9
    similarities = {"p": dict(zip("abcdef", [6, 5, 4, 3, 2, 1], strict=True))}
    with pytest.warns(UserWarning, match="begin with the largest score. Is smaller better, as sma"):
        read_runs({"dense": similarities}, smaller_is_better="dense")
    rule = "each name of smaller_is_better must be one of .*'bm25'.*; got 'dense'"
    with pytest.raises(ValueError, match=rule):
        read_runs({"bm25": BM25}, smaller_is_better=["dense"])


def test_a_file_of_ranks_whose_scores_are_equal_is_warned_of(tmp_path):
    (tmp_path / "ranks.run").write_text("p Q0 a 1 0 tag\np Q0 b 2 0 tag\nq Q0 a 1 0 tag\n")
    rule = r"runs\['ranks'\] has equal scores for all documents of each query. The ranks of a file "
    with pytest.warns(UserWarning, match=rule):
        read_runs({"ranks": tmp_path / "ranks.run"})


def test_judged_documents_that_no_run_holds_are_kept_apart_and_told():
    labels = {"p": {"c": 1, "lost": 2, "bad": 0}, "unasked": {"a": 1}}
    rule = "2 of 3 judged documents with a label above 0 are in no run: no reranking can show them"
    with pytest.warns(UserWarning, match=rule):
        data = read_runs({"dense": DENSE}, labels)
    lost = data.unretrieved
    assert [*zip(lost.qid, lost.doc_ids, lost.y, strict=True)] == [
        *(("p", "lost", 2), ("p", "bad", 0), ("unasked", "a", 1)),
    ]
    np.testing.assert_array_equal(data.y, [1, NAN, NAN])
    y = read_runs({"dense": DENSE}, {"p": {"c": 1, "bad": 0}}, unjudged=0).y
    np.testing.assert_array_equal(y, [1, 0, NAN])  # the third is of another query


def test_judgments_of_several_judges_who_agree_count_once():
    documents, labels = ["z", "lost", "z", "lost", "bad"], [0.1, 2, 0.1, 2, 0]
    judges = Qrels(np.full(5, 1), np.array(documents), np.array(labels))
    with pytest.warns(UserWarning, match="1 of 2 judged documents with a label above 0 are in no"):
        data = read_runs({"dense": {1: {"z": 0.5}}}, judges)
    assert data.y == 0.1
    for of_data in (data, data.take([0])):
        lost = of_data.unretrieved
        assert [*zip(*lost, strict=True)] == [("1", "lost", 2), ("1", "bad", 0)]


@pytest.mark.parametrize("missing", [NAN, None, pd.NA])
def test_a_label_that_is_missing_is_no_judgment_whatever_holds_the_labels(missing):
    runs = {"bm25": {"p": {"a": 3.0, "b": 2.0, "c": 1.0}}}
    columns = Qrels(["p"] * 3, [*"abc"], [True, missing, 0])
    for judgments in (columns, {"p": {"a": True, "b": missing, "c": 0}}):
        np.testing.assert_array_equal(read_runs(runs, judgments).y, [1, NAN, 0])
        assert read_runs(runs, judgments, unjudged=0.5).y.tolist() == [1, 0.5, 0]


def test_unjudged_documents_are_not_relevant_in_judged_queries_alone():
    lists = {"p": {"a": 3.0, "b": 2.0}, "r": {"a": 2.0, "c": 1.0}, "s": {"d": 1.0}}
    qrels = {"p": {"a": 2}, "s": {"lost": 0}}
    data = read_runs({"dense": lists}, qrels, unjudged=0)
    np.testing.assert_array_equal(data.y, [2, 0, NAN, NAN, 0])  # nobody has judged r
    assert np.unique(data.judged().qid).tolist() == ["p", "s"]
    np.testing.assert_array_equal(read_runs({"dense": lists}, unjudged=0).y, [NAN] * 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({},), "runs must hold the lists of a retriever; got none"),
        (({"a": {}, "b": {"p": []}},), "runs must hold a document of some query; got none"),
        (({7: BM25},), "runs must be a dict like .*; got {7: "),
        (({"rrf": BM25},), "runs must have names that no other column has, .*; got 'rrf'"),
        (
            ({"bm25": BM25, "bm25.min_max": BM25},),
            "runs must have names that no other column has, .*; got 'bm25.min_max'",
        ),
        (({"a": [1.0]},), r"runs\['a'\] must be the path of a run .*; got \[1.0\]. Of a"),
        (({"a": {"p": 7}},), r"runs\['a'\] must map each query to .*; got 7 for 'p'"),
        (({"a": {"p": {"x": "high"}}},), r"^scores of runs\['a'\] must be numbers; got text\.$"),
        (
            ({"a": TrecRun(["p"], ["x"], ["1.5"])},),
            r"got text\. np\.asarray\(runs\['a'\]\.scores, float\) reads text of digits\.$",
        ),
        (
            ({"a": {"p": {"x": 2**60 + 1}}},),
            r"scores of runs\['a'\] must be below 2\*\*53 in size as integers; got 1.1.* row 0",
        ),
        (({"a": {"p": {"x": NAN}}},), r"runs\['a'\] must have a score for .* got NaN for 'x'"),
        (
            ({"a": {"p": {"x": None}}},),
            r"runs\['a'\] must have a score for .* got NaN for 'x'",
        ),
        (
            ({"a": {"p": ["x", "y", "x"]}},),
            r"runs\['a'\] must have each document of a query once; got 'x' twice for 'p'. Of",
        ),
        (
            ({"a": BM25}, {"P": {"a": 1}}),
            "judgments must be of queries in the runs; got 'P', and 'p' in",
        ),
        (
            ({"a": BM25}, {"p": {"A": 1}}),
            r"judgments must be of documents in the runs; got \('p', 'A'\), and \('p', 'a'\) in",
        ),
        (({"a": BM25}, {}), "judgments must hold a label; got none"),
        (({"a": BM25}, {"p": 1}), "judgments must be {query: {document: label}}; got 1 for 'p'"),
        (({"a": BM25}, {"p": {"a": "yes"}}), "judgments: labels must be numbers; got text"),
        (({"a": BM25}, {"p": {"a": np.inf}}), "labels must be finite; got inf in row 0"),
        (({"a": BM25}, {"p": {"a": None}}), "labels must hold a label in some row; got NaN, no j"),
        (({"a": BM25}, [1]), r"judgments must be the path of a file, .*; got \[1\]. Of a da"),
    ],
)
def test_wrong_runs_and_judgments_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_runs(*arguments)


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
def test_distances_have_to_be_similarities_for_an_engine(engine):
    message = f"smaller_is_better must be empty for engine='{engine}', .* got 'dense'. Write 1 / "
    with pytest.raises(ValueError, match=message):
        read_runs({"bm25": BM25, "dense": DENSE}, engine=engine, smaller_is_better="dense")


def test_lists_without_scores_are_refused_for_an_engine():
    runs = {"bm25": {"q": ["a", "b"]}}
    with pytest.raises(ValueError, match=r"runs\['bm25'\] must have the scores of 'opensearch'"):
        read_runs(runs, engine="opensearch")
    assert len(read_runs(runs)) == 2


def test_judges_that_differ_are_refused_with_what_makes_one_label_of_theirs():
    judges = Qrels(np.array(["p", "p"]), np.array(["a", "a"]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"got several for \('p', 'a'\). merged\(\) makes one"):
        read_runs({"bm25": BM25}, judges)
    assert read_runs({"bm25": BM25}, judges.merged()).y[0] == 0.5


@pytest.mark.parametrize("unjudged", ["0", np.inf])
def test_a_wrong_label_for_unjudged_documents_is_named(unjudged):
    with pytest.raises((TypeError, ValueError), match="unjudged must be"):
        read_runs({"bm25": BM25}, unjudged=unjudged)


def test_runs_are_columns(tmp_path):
    write_trec_run(tmp_path / "run", scores=[0.5, 0.7], qid=["1", "1"], doc_ids=["a", "b"])
    runs = {"words": read_trec_run(tmp_path / "run")}
    columns = runs_as_features(runs, [1, 1, 2], ["b", "c", "a"])
    np.testing.assert_array_equal(columns["words"], [0.7, np.nan, np.nan])
    numbered = TrecRun(np.array([1]), np.array([7]), np.array([0.5]))
    for qid, ids in ([b"1"] * 2, [b"7", b"8"]), ([1.0] * 2, [7.0, 7.5]):
        columns = runs_as_features({"n": numbered}, qid, ids)
        np.testing.assert_array_equal(columns["n"], [0.5, np.nan])
    for run, ids, message in (
        (numbered, [None], "doc_ids must not be missing; got None in row 0"),
        (numbered, [7, 8], "doc_ids must have one entry per row; got 2 for 1"),
        (TrecRun([1, 1], [7, 7], [0.5, 0.6]), [7], r"runs\['n'\] must have each document of a que"),
        (
            TrecRun([1], [7], [2**60 + 1]),
            [7],
            r"scores of runs\['n'\] must be below 2\*\*53 in size",
        ),
        ("run.txt", [7], r"runs\['n'\] must be a TrecRun; got 'run.txt'"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            runs_as_features({"n": run}, [1], ids)


def test_columns_of_a_run_have_one_order_of_rows():
    frame = pd.DataFrame({"query": ["q"] * 3, "document": [*"abc"], "score": [3.0, 1.0, 2.0]})
    scores = frame["score"].sort_values()
    run = TrecRun(frame["query"], frame["document"], scores)
    rule = r"runs\['a'\]\.scores must have the rows of runs\['a'\]\.qid in their order"
    for use in (read_runs, lambda runs: runs_as_features(runs, ["q"], ["a"])):
        with pytest.raises(ValueError, match=rule):
            use({"a": run})
        use({"a": run._replace(scores=scores.to_numpy())})
    with pytest.raises(ValueError, match=r"labels must have the rows of qid in their order"):
        read_runs({"a": run._replace(scores=frame["score"])}, Qrels(*run))


def test_the_order_of_lists_is_that_within_each_query():
    rising = {query: dict(zip("abcd", [0.1, 0.2, 0.3, 0.4], strict=True)) for query in "pq"}
    with pytest.warns(UserWarning, match="begin with the smallest score"):
        read_runs({"dense": rising})
    equal = {"p": {"a": 1.0, "b": 1.0}, "q": {"a": 2.0, "b": 2.0}}
    with pytest.warns(UserWarning, match="has equal scores for all documents of each query"):
        read_runs({"ranks": equal})


@pytest.mark.parametrize("name", ["rrf", "bm25.min_max", "dense.reciprocal_rank"])
def test_no_run_has_a_name_that_looks_like_another_column(name):
    with pytest.raises(ValueError, match=f"ends in '.min_max' or '.reciprocal_rank'; got '{name}'"):
        read_runs({name: BM25})


def test_parts_of_candidates_are_candidates():
    runs = {"bm25": {query: {"a": 2.0, "b": 1.0} for query in "pqrs"}}
    judgments = {query: {"a": 1, "b": 0, f"lost_{query}": 0} for query in "pqrs"}
    data = read_runs(runs, judgments)
    train, test = data.split(test=0.5, random_state=0)
    for part in (train, test):
        assert part.normalized().X.column_names == ["bm25.min_max"]
        assert set(part.unretrieved.qid) == set(part.qid)
        assert set(part.unretrieved.doc_ids) == {f"lost_{query}" for query in set(part.qid)}
    assert {*train.qid, *test.qid} == {*"pqrs"}
