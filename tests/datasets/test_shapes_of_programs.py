"""Files in the shapes of those that programs write.

The keys say in which public repository and path such a file stands, or what writes it. Every line
here is our own.
"""

import gzip
import json
import math

import numpy as np
import pytest

from treerank import read_feature_log, read_judgments
from treerank.search_engines import read_ubi

NAN = math.nan
#: Name of the file, its text or JSON, and the judgments in it.
JUDGMENTS = {
    "o19s/quepid app/controllers/api/v1/export/ratings_controller.rb": (
        "case_7_judgements.csv",
        'query,docid,rating\n"lamp, red",7,3.0\n =cmd,8,0.0\nnothing rated,,',
        [("lamp, red", "7", 3), ("=cmd", "8", 0)],
    ),
    "o19s/quepid app/controllers/api/v1/judgements_controller.rb": (
        "book_7_judgements.csv",
        "query,docid,Ann Lee,Anonymous\nlamp,7,3.0,\nlamp,8,1.0,2.0\n",
        [("lamp", "7", 3), ("lamp", "8", 1), ("lamp", "8", 2)],
    ),
    "o19s/quepid app/views/api/v1/export/ratings/show_trec.txt.erb": (
        "case_7_trec.txt",
        "\n\n12 0 d1 3.0\n\n\n12 0 d2 0.0\n",
        [("12", "d1", 3), ("12", "d2", 0)],
    ),
    "o19s/quepid db/sample_data/haystack_rating_party_case.json.zip": (
        "case.json",
        {
            "case_name": "C",
            "scorer": {"name": "nDCG@10"},
            "queries": [
                {"query_text": "lamp", "options": None, "ratings": [{"doc_id": "d", "rating": 2}]},
                {"query_text": "rug", "options": None, "ratings": []},
            ],
        },
        [("lamp", "d", 2)],
    ),
    "o19s/quepid db/sample_data/haystack_rating_party_book.json.zip": (
        "book.json",
        {
            "show_rank": False,
            "query_doc_pairs": [
                {
                    "query_text": "lamp",
                    "doc_id": "d",
                    "document_fields": "{}",
                    "judgements": [
                        {"rating": 3.0, "unrateable": False, "judge_later": False},
                        {"rating": None, "unrateable": True, "judge_later": False},
                    ],
                }
            ],
        },
        [("lamp", "d", 3)],
    ),
    "SeaseLtd/rated-ranking-evaluator rre-core/src/test/resources/engine_evaluation_tests/ratings/"
    "ratings_example.json": (
        "ratings.json",
        {
            "index": "i",
            "corpora_file": "c.bulk",
            "topics": [
                {
                    "description": "t",
                    "query_groups": [
                        {
                            "name": "g",
                            "queries": [
                                {"template": "q.json", "placeholders": {"$query": "lamp"}},
                                {"template": "q.json", "placeholders": {"$query": "Lamp"}},
                            ],
                            "relevant_documents": {"1": {"gain": 3}},
                        }
                    ],
                }
            ],
        },
        [("lamp", "1", 3), ("Lamp", "1", 3)],
    ),
    "SeaseLtd/rated-ranking-evaluator rre-maven-archetype/rre-maven-generic-search-archetype/src/"
    "main/resources/archetype-resources/src/etc/ratings/ratings_example.json": (
        "ratings.json",
        {
            "id_field": "uniqueId",
            "topics": [
                {
                    "query_groups": [
                        {
                            "queries": [{"placeholders": {"$strings": 4, "$query": "bass"}}],
                            "relevant_documents": {"1": {"gain": 3}, "2": {"gain": 2}},
                        }
                    ]
                }
            ],
        },
        [("bass", "1", 3), ("bass", "2", 2)],
    ),
    "o19s/hello-ltr rre/elastic/src/etc/ratings/ratings.json": (
        "ratings.json",
        {
            "topics": [
                {
                    "queries": [{"template": "q.json", "placeholders": {"$query": "lamp"}}],
                    "relevant_documents": {"4": ["7", "8"], "1": ["9"]},
                }
            ]
        },
        [("lamp", "7", 4), ("lamp", "8", 4), ("lamp", "9", 1)],
    ),
    "opensearch-project/search-relevance src/test/resources/judgment/ImportJudgments.json": (
        "import.json",
        {
            "name": "n",
            "type": "IMPORT_JUDGMENT",
            "judgmentRatings": [{"query": "lamp", "ratings": [{"rating": "0.4", "docId": "B1"}]}],
        },
        [("lamp", "B1", 0.4)],
    ),
    "opensearch-project/search-relevance src/test/data-esci/esci_us_judgments.json": (
        "esci.json",
        {
            "judgmentRatings": [
                {"query": "lamp", "ratings": [{"docId": "B1", "rating": "100.000"}]},
                {"query": "rug", "ratings": [{"docId": "B1", "rating": "0.000"}]},
            ]
        },
        [("lamp", "B1", 100), ("rug", "B1", 0)],
    ),
    "o19s/chorus-opensearch-edition sample-data/art_judgments.json": (
        "art.json",
        {
            "description": "by an LLM",
            "judgmentRatings": [{"query": "lamp", "ratings": [{"docId": "B1", "rating": 3}]}],
        },
        [("lamp", "B1", 3)],
    ),
    "vespa-engine/sample-apps colbert-long/ext/test_en_qrels.tsv": (
        "test_en_qrels.tsv",
        "q-1 0 d-1 1\nq-2 0 d-2 0\n",
        [("q-1", "d-1", 1), ("q-2", "d-2", 0)],
    ),
    "vespa-engine/sample-apps multilingual-search/ext/qrels.miracl-v1.0-sw-dev.tsv": (
        "qrels.dev.tsv",
        "6\tQ0\t32#0\t1\n6\tQ0\t93#6\t0\n",
        [("6", "32#0", 1), ("6", "93#6", 0)],
    ),
    "vespa-engine/sample-apps text-search/ext/sample/msmarco-doctrain-qrels.tsv.gz": (
        "qrels.tsv.gz",
        "60 0 D1 1\n",
        [("60", "D1", 1)],
    ),
    "beir-cellar/beir beir/datasets/data_loader.py": (
        "test.tsv",
        "query-id\tcorpus-id\tscore\nPLAIN-2\tMED-1\t2\n",
        [("PLAIN-2", "MED-1", 2)],
    ),
    "o19s/hello-ltr notebooks/exercises/data/title_features.csv": (
        "features.csv",
        "features0,features1,uid,qid,keywords,docId,grade\n1.5,0.0,1_7,1,lamp,7,4\n",
        [("lamp", "7", 4)],
    ),
    "o19s/hello-ltr notebooks/exercises/data/title_judgments.txt": (
        "judgments.txt",
        "# qid:1: lamp*1\n# qid:2: red rug*1\n#\n4\tqid:1\t # 7\tLamp\n0\tqid:2\t # 8\tRug\n",
        [("lamp", "7", 4), ("red rug", "8", 0)],
    ),
}


@pytest.mark.parametrize("origin", JUDGMENTS)
def test_judgments_are_read_as_programs_write_them(origin, tmp_path):
    name, content, rows = JUDGMENTS[origin]
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    is_gzip = name.endswith(".gz")
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if is_gzip else text.encode())
    assert list(zip(*read_judgments(tmp_path / name), strict=True)) == rows


def answer(*hits):
    """Return an answer of Elasticsearch or OpenSearch."""
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    found = {"total": {"value": len(hits), "relation": "eq"}, "max_score": 0.0, "hits": hits}
    return {"took": 2, "timed_out": False, "_shards": shards, "hits": found}


def logged(**entries):
    """Return what the plugins add to a hit."""
    return {"fields": {"_ltrlog": [entries]}, "matched_queries": ["logged_featureset"]}


BM25 = {"name": "bm25", "value": 1.5}
EXTRA = {"name": "extra_logging", "value": {"boost": 2.0}}


def vespa(*hits):
    """Return an answer of Vespa."""
    root = {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 9}, "children": hits}
    return {"timing": {"querytime": 0.01}, "root": root | {"coverage": {"full": True}}}


def solr(query, *docs):
    """Return an answer of Solr."""
    params = {"q": query, "fl": "id,score,[features]", "rq": "{!ltr model=m}"}
    response = {"numFound": 9, "start": 0, "maxScore": 1.5, "docs": docs}
    return {"responseHeader": {"status": 0, "QTime": 1, "params": params}, "response": response}


#: An answer, options of the reader, and the features of each document.
LOGS = {
    "o19s/elasticsearch-learning-to-rank docs/logging-features.rst": (
        answer({"_id": "a", "_score": 9.0} | logged(log_entry1=[BM25, {"name": "year"}])),
        {},
        {"a": {"bm25": 1.5, "year": NAN}},
    ),
    "o19s/elasticsearch-learning-to-rank src/main/java/com/o19s/es/ltr/logging/"
    "LoggingFetchSubPhase.java": (
        answer({"_id": "a"} | logged(log=[BM25, {"name": "year", "value": 0.0}, EXTRA])),
        {},
        {"a": {"bm25": 1.5, "year": 0}},
    ),
    "o19s/hello-ltr ltr/client/elastic_client.py": (
        answer({"_source": {"id": "7"}} | logged(ltr_features=[BM25])),
        {"document": "id"},
        {"7": {"bm25": 1.5}},
    ),
    "opensearch-project/opensearch-learning-to-rank-base src/javaRestTest/java/com/o19s/es/ltr/"
    "logging/LoggingIT.java": (
        answer({"_id": "1"} | logged(first_log=[BM25, {"name": "year"}], second_log=[BM25])),
        {"entry": "first_log"},
        {"1": {"bm25": 1.5, "year": NAN}},
    ),
    "opensearch-project/opensearch-learning-to-rank-base src/main/java/com/o19s/es/ltr/logging/"
    "LoggingFetchSubPhase.java": (
        {"took": 3, "responses": [answer({"_id": "1"} | logged(log=[BM25])) | {"status": 200}]},
        {},
        {"1": {"bm25": 1.5}},
    ),
    "o19s/hello-ltr ltr/client/opensearch_client.py": (
        answer({"_id": "1", "_source": {"id": "1"}} | logged(ltr_features=[BM25, EXTRA])),
        {"features": ["bm25"]},
        {"1": {"bm25": 1.5}},
    ),
    "elastic/eland eland/ml/ltr/feature_logger.py, the search": (
        answer({"_id": "a", "matched_queries": {"bm25": 1.5}}, {"_id": "none", "_score": 0.0}),
        {},
        {"a": {"bm25": 1.5}, "none": {"bm25": NAN}},
    ),
    "elastic/eland eland/ml/ltr/feature_logger.py, a search of some features": (
        answer({"_id": "a", "matched_queries": {"year": 2.0}}),
        {"features": ["bm25", "year"]},
        {"a": {"bm25": NAN, "year": 2}},
    ),
    "elastic/eland eland/ml/ltr/feature_logger.py, what it returns": (
        [{"park-a": [1.5, NAN], "park-b": [NAN, NAN]}],
        {"features": ["bm25", "year"]},
        {"park-a": {"bm25": 1.5, "year": NAN}, "park-b": {"bm25": NAN, "year": NAN}},
    ),
    "airalcorn2/Solr-LTR README.md": (
        solr("q", {"id": "1", "score": 1.8, "[features]": "bm25=1.5,year=0.0"}),
        {"queries": None},
        {"1": {"bm25": 1.5, "year": 0}},
    ),
    "apache/solr solr/modules/ltr/src/java/org/apache/solr/ltr/CSVFeatureLogger.java": (
        solr("q", {"id": "1", "[features]": "year=3.0"}, {"id": "2", "[features]": ""}),
        {"features": ["bm25", "year"]},
        {"1": {"bm25": 0, "year": 3}, "2": {"bm25": 0, "year": 0}},
    ),
    "apache/solr solr/solr-ref-guide/modules/query-guide/pages/learning-to-rank.adoc": (
        solr("q", *({"id": name, "[features]": "bm25=1.5,year=2.0E-5"} for name in "ab")),
        {"queries": None},
        {name: {"bm25": 1.5, "year": 2e-5} for name in "ab"},
    ),
    "vespa-engine/sample-apps rag-blueprint/eval/resp.json": (
        vespa(
            {
                "id": "id:doc:doc::68",
                "relevance": 0.9,
                "source": "content",
                "fields": {"matchfeatures": {"bm25(chunks)": 1.5}, "documentid": "id:doc:doc::68"},
            }
        ),
        {},
        {"id:doc:doc::68": {"bm25(chunks)": 1.5}},
    ),
    "vespa-engine/sample-apps splade/README.md": (
        vespa(
            {
                "id": "index:text/0/c81e",
                "fields": {
                    "matchfeatures": {"bm25(title)": 0.5, "query(q)": {"who": 1.1, "star": 2.8}}
                },
            }
        ),
        {},
        {"index:text/0/c81e": {"bm25(title)": 0.5}},
    ),
    "vespa-engine/documentation en/tutorials/text-search-ml.md": (
        vespa(
            {
                "id": "id:m:m::D2",
                "fields": {"rankfeatures": {"bm25(body)": 2.0, "fieldMatch(body)": 0}, "id": "D2"},
            }
        ),
        {"document": "id"},
        {"D2": {"bm25(body)": 2, "fieldMatch(body)": 0}},
    ),
}


@pytest.mark.parametrize("origin", LOGS)
def test_feature_logs_are_read_as_programs_write_them(origin, tmp_path):
    whole, options, rows = LOGS[origin]
    (tmp_path / "log.json").write_text(json.dumps(whole))
    log = read_feature_log(tmp_path / "log.json", **{"queries": ["q"]} | options)
    found = zip(log.doc_ids.tolist(), log.X.to_pylist(), strict=True)
    np.testing.assert_equal(dict(found), rows)
    assert set(log.qid) == {"q"}


def event(action, document, ordinal, **others):
    """Return a document of ubi_events."""
    place = {"object": {"object_id": document, "object_id_field": "asin"}}
    about = {"action_name": action, "query_id": "1", "user_query": "lamp", "message": None}
    return about | {"event_attributes": place | {"position": {"ordinal": ordinal}}} | others


QUERY = {"application": "shop", "query_id": "1", "client_id": "c", "user_query": "lamp"}
SEARCH = {"action_name": "search", "query_id": "1", "event_attributes": {"position": {}}}
#: Queries and events; the documents of "lamp" are "a" and "b", and "b" is clicked.
UBI = {
    "opensearch-project/user-behavior-insights ubi-data-generator/ubi_data_generator.py": (
        [QUERY | {"query_attributes": {}, "timestamp": "2024-12-10T00:01:29.378Z"}],
        [event("impression", "a", 0), event("impression", "b", 1), event("click", "b", 1)],
    ),
    "o19s/chorus-opensearch-edition reactivesearch/src/ubi/ubi.js": (
        [QUERY | {"object_id_field": "asin", "query_attributes": {}}],
        [
            event("impression", "a", 1, message_type="INFO", user_id=""),
            event("impression", "b", 2, message_type="INFO", user_id=""),
            event("click", "b", 2, message_type="CLICK", message="b"),
            event("product_hover", "a", 1),
        ],
    ),
    "opensearch-project/opensearch-devops nightly-playground/sample-data/search-relevance/"
    "ubi_queries_events.ndjson": (
        [
            QUERY | {"query_response_id": "r", "query_response_hit_ids": [], "query": "{}"},
            QUERY | {"query_response_id": "s", "query_response_hit_ids": ["a", "b"]},
            QUERY | {"query_response_id": "t", "query_response_hit_ids": ["a", "b"]},
        ],
        [SEARCH, event("add_to_cart", "b", 2), event("click", "b", 2)],
    ),
}


@pytest.mark.parametrize("origin", UBI)
def test_events_are_read_as_programs_write_them(origin):
    log = read_ubi(*UBI[origin])
    assert log.items.document[log.item].tolist() == ["a", "b"]
    assert log.clicked.tolist() == [False, True]
    assert set(log.items.query) == {"lamp"}
