"""Files in the shapes of those that programs write.

The keys say in which public repository and path such a file stands, or what writes it. Every line
here is our own. Other shapes of such programs are those of ``search_files``.
"""

import gzip
import json
import math

import numpy as np
import pytest

from treerank import read_feature_log, read_judgments
from treerank.clicks import read_ubi

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


def vespa(*hits):
    """Return an answer of Vespa."""
    root = {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 9}, "children": hits}
    return {"timing": {"querytime": 0.01}, "root": root | {"coverage": {"full": True}}}


#: An answer, options of the reader, and the features of each document.
LOGS = {
    "elastic/eland eland/ml/ltr/feature_logger.py, the search": (
        answer({"_id": "a", "matched_queries": {"bm25": 1.5}}, {"_id": "none", "_score": 0.0}),
        {},
        {"a": {"bm25": 1.5}, "none": {"bm25": NAN}},
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
