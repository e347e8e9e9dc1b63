import json
from types import SimpleNamespace

import numpy as np
import pytest
from search_files import ENGINES, FEATURES, JUDGED, LOGGED, plugin, solr, vespa

from treerank import TreeDirectRanker, read_feature_log
from treerank.datasets import Qrels
from treerank.exports import write_feature_set

JUDGMENTS = Qrels(*(np.array(column) for column in zip(*JUDGED, strict=True)))
QUERIES = list(LOGGED)
ROWS = [(query, name, *values) for query in LOGGED for name, values in LOGGED[query].items()]


def rows_of(log):
    columns = log.qid, log.doc_ids, *(log.X[name].to_numpy() for name in FEATURES)
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_logs_the_same_in_every_form(engine, tmp_path):
    answers = [ENGINES[engine](LOGGED[query]) for query in QUERIES]
    mapping, path = dict(zip(QUERIES, answers, strict=True)), tmp_path / "lines.json"
    path.write_text("\n".join(map(json.dumps, answers)))
    for source in (answers, {"responses": answers}, path):
        log = read_feature_log(source, features=FEATURES, queries=QUERIES)
        np.testing.assert_equal(rows_of(log), ROWS)
    path.write_text(json.dumps(mapping))
    for source in (mapping, path):
        log = read_feature_log(source, features=FEATURES)
        np.testing.assert_equal(rows_of(log), ROWS)
        assert np.isnan(log.y).all()
    alone = answers[1] if engine != "extract_features" else [answers[1]]
    log = read_feature_log(alone, features=FEATURES, queries=["boots"])
    np.testing.assert_equal(rows_of(log), ROWS[3:])


def test_judgments_may_be_a_mapping_as_of_runs():
    judgments = {"red shoes": {"a": 3, "b": 0, "c": None}, "boots": {"a": True}}
    log = read_feature_log({q: plugin(LOGGED[q]) for q in QUERIES}, judgments)
    np.testing.assert_equal(log.y, [3, 0, np.nan, 1, np.nan])


def test_solr_repeats_its_query_and_leaves_out_defaults(tmp_path):
    docs = [{"id": "a", "[features]": "price=2.0"}, {"id": "b", "[features]": ""}]
    answer = {"responseHeader": {"params": {"q": "shoes"}}, "response": {"docs": docs}}
    log = read_feature_log(answer, features=FEATURES)
    assert rows_of(log) == [("shoes", "a", 0, 2), ("shoes", "b", 0, 0)]
    store = tmp_path / "store.json"
    params = {"field": "bm25", "defaultValue": "NaN"}
    store.write_text(json.dumps([{"name": "bm25", "params": params}, {"name": "price"}]))
    assert np.isnan(read_feature_log(answer, features=store).X["bm25"].to_numpy()).all()


def test_a_log_of_any_size_is_shown_in_a_line():
    log = read_feature_log({"shoes": {"a": [1.5, 2.0]}}, features=["bm25", "price"])
    assert repr(log) == "FeatureLog(1 document, 1 query, 2 features)"


def test_what_is_not_joined_is_a_table():
    more = (["boots", "boots"], ["z", "skipped"], [1.0, np.nan])
    extra = Qrels(*(np.append(a, b) for a, b in zip(JUDGMENTS, more, strict=True)))
    with pytest.warns(UserWarning, match="1 of 5 judgments are of documents that are not in the"):
        log = read_feature_log({q: plugin(LOGGED[q]) for q in QUERIES}, extra)
    np.testing.assert_equal(log.y, [3, 0, np.nan, 1, 2])
    table = {name: column.tolist() for name, column in log.unjoined().items()}
    assert table["document"] == ["c", "z"]
    assert table["query"] == ["red shoes", "boots"]
    assert table["only_in"] == ["log", "judgments"]


@pytest.mark.parametrize("type_of_ids", [int, str])
def test_parts_of_a_log_have_the_judgments_of_their_queries(type_of_ids):
    queries = [type_of_ids(number) for number in range(4)]
    judgments = Qrels(np.array(queries * 2), np.repeat(["a", "lost"], 4), np.repeat([1.0, 2.0], 4))
    with pytest.warns(UserWarning, match="4 of 8 judgments are of documents that are not in the"):
        log = read_feature_log({q: {"a": [1.0]} for q in queries}, judgments, features=["bm25"])
    parts = log.split(test=0.5)
    for part in parts:
        assert [str(query) for query in part.unlogged.qid] == part.qid.tolist()
        assert part.unjoined()["document"].tolist() == ["lost"] * 2
    assert {*parts[0].qid, *parts[1].qid} == {*"0123"}


@pytest.mark.parametrize("format", ["solr", "opensearch"])
def test_the_set_that_was_exported_is_that_of_the_log(format, tmp_path):
    log = read_feature_log({q: plugin(LOGGED[q]) for q in QUERIES}, JUDGMENTS)
    kept = ~np.isnan(log.y)
    ranker = TreeDirectRanker("linear", random_state=0)
    ranker.fit(log.X.filter(kept), log.y[kept], log.qid[kept])
    path = tmp_path / "set.json"
    write_feature_set(ranker, path, format=format)
    answers = {query: plugin(LOGGED[query]) for query in QUERIES}
    assert read_feature_log(answers, features=path).X.column_names == FEATURES
    del answers["boots"]["hits"]["hits"][1]["fields"]["_ltrlog"][0]["main"][0]
    with pytest.raises(
        ValueError, match=r"document 'x', which lacks \['bm25'\] and alone has \[\]"
    ):
        read_feature_log(answers, features=path)
    with pytest.raises(ValueError, match=r"lacks \[\] and alone has \['price'\]"):
        read_feature_log(answers, features=["bm25"])


def test_documents_without_a_log_are_left_out_and_another_field_may_hold_the_id():
    answer = plugin(LOGGED["boots"])
    assert read_feature_log({"boots": answer}, document="sku").doc_ids.tolist() == ["a", "x"]
    del answer["hits"]["hits"][0]["fields"]
    grouped = vespa({"x": LOGGED["boots"]["x"]})
    grouped["root"]["children"].append({"id": "group:root:0", "relevance": 1.0, "children": []})
    for each in (answer, grouped):
        with pytest.warns(
            UserWarning, match="1 documents of the responses have no logged features"
        ):
            assert read_feature_log({"boots": each}).doc_ids.tolist() == ["x"]


def test_one_of_several_logs_is_chosen_by_name():
    answer = plugin(LOGGED["boots"])
    extra = {"name": "extra_logging", "value": {"a": 1}}
    for hit in answer["hits"]["hits"]:
        hit["fields"]["_ltrlog"][0]["other"] = [{"name": "age", "value": 1}, extra]
    assert read_feature_log({"boots": answer}, entry="other").X.column_names == ["age"]
    with pytest.raises(ValueError, match=r"entry must name one of the logs \['main', 'other'\]"):
        read_feature_log({"boots": answer})


@pytest.mark.parametrize("name", ["body", "json", "raw_response"])
def test_an_answer_may_be_what_a_client_returns(name):
    wrapped = SimpleNamespace(**{name: plugin(A) if name != "json" else lambda: plugin(A)})
    one, several = read_feature_log(wrapped, queries=["q"]), read_feature_log({"q": wrapped})
    assert one.doc_ids.tolist() == several.doc_ids.tolist() == ["a"]


A, TEXTS = {"a": [1.0, 2.0]}, vespa({"a": [1.0, 2.0]})
TEXTS["root"]["children"][0]["fields"]["matchfeatures"]["price"] = "low"
NUMBERED = plugin(A)
NUMBERED["hits"]["hits"][0]["fields"]["_ltrlog"][0]["main"][0]["name"] = 1
EMPTY = {"response": {"docs": [{"id": "a", "[features]": ""}]}}
DIFFERENT = {"responses": [plugin(A), plugin({"a": [2.0, 2.0]})]}


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ([plugin(A)], {}, "queries must name the query of each response.*: write queries="),
        ([plugin(A)], {"queries": ["a", "b"]}, "queries must name 1 responses; got 2"),
        ({"q": plugin(A)}, {"queries": ["a"]}, "queries must be None for a mapping"),
        ({"q": A}, {}, "features must name the values of each document"),
        ({"q": A}, {"features": ["bm25"]}, "features must name the values of each document"),
        ({"q": {"error": {"type": "t"}}}, {}, "that to 'q': a .* of a search; got .*'t'"),
        ({"q": {"root": {"errors": [{"code": 8}]}}}, {}, "a response must be the .*'code'"),
        ({"q": {"hits": {"hits": []}}}, {}, "must hold a document with features; got none"),
        ({"q": plugin(A)}, {"entry": "z"}, "a document with features in 'z'; got none. Request"),
        ({"q": {"hits": {"hits": [{}]}}}, {}, "that to 'q': it has no '_id'"),
        ({"q": 3}, {}, "a response must be a JSON object"),
        ({"q": NUMBERED}, {}, "that to 'q': the name of a feature must be text; got 1"),
        ({"q": TEXTS}, {}, "feature 'price' must be a number; got 'low'"),
        (DIFFERENT, {"queries": ["q", "q"]}, r"must have one log of \('q', 'a'\); got two"),
        (7, {}, "source must hold search responses; got 7"),
        ({"q": EMPTY}, {}, "must hold a document with features; got none"),
        ([plugin(A)], {"queries": [None]}, "queries must not be missing; got None in row 0"),
        ({"q": solr(A, "fv")}, {"entry": "title"}, "features must be name=number"),
        ({"q": plugin(A)}, {"judgments": 3}, "judgments must be the path of a file, .*; got 3. Of"),
    ],
)
def test_what_is_no_log_is_refused(source, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_feature_log(source, **options)


def test_ids_of_numbers_and_of_bytes_are_joined_as_text_and_no_others():
    judged = Qrels(np.array([7]), np.array(["a"]), np.array([3.0]))
    log = read_feature_log([plugin(A)], judged, queries=[b"7"])
    assert (log.qid.tolist(), log.y.tolist()) == (["7"], [3.0])
    with pytest.raises(ValueError, match=r"documents in the log; got \('red shoes', 'a'\)"):
        read_feature_log({"shoes": plugin(A)}, JUDGMENTS)
    for name in ("hits", "response", "root"):
        assert read_feature_log({name: plugin(LOGGED["boots"])}).qid.tolist() == [name, name]
