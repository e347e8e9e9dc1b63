"""Files of search engines and of judges, written in the shapes of the programs that write them.

Where a shape comes from is said by ``treerank/datasets/judgments.py`` and ``search_answers.py``.
"""

import json
import math

#: Query, document and label.
JUDGED = [("red shoes", "a", 3.0), ("red shoes", "b", 0.0)]
JUDGED += [("boots", "a", 1.0), ("boots", "x", 2.0)]
FEATURES = ["bm25", "price"]
#: Features by query and document; NaN is missing.
LOGGED = {
    "red shoes": {"a": [1.5, 20.0], "b": [math.nan, 0.0], "c": [0.25, 1e-5]},
    "boots": {"a": [0.0, math.nan], "x": [2.5, 9.0]},
}


def by_query(judged):
    """Return documents and labels by query."""
    found = {}
    for query, document, label in judged:
        found.setdefault(query, {})[document] = label
    return found.items()


def rre_groups(judged):
    """Return groups of RRE, which map from documents to gains or from gains to documents."""
    for i, (query, labels) in enumerate(by_query(judged)):
        gains = {document: {"gain": label} for document, label in labels.items()}
        if i % 2:
            gains = {str(label): [document] for document, label in labels.items()}
        queries = [{"template": "q.json", "placeholders": {"$query": query, "$rows": 4}}]
        yield {"name": "g", "queries": queries, "relevant_documents": gains}


def judgment_files(judged):
    """Return the text of each kind of file, by its name."""
    lines = [f"{query},{document},{label:g}" for query, document, label in judged]
    search = {
        "judgmentRatings": [
            {
                "query": query,
                "ratings": [{"docId": d, "rating": f"{y:.3f}"} for d, y in labels.items()],
            }
            for query, labels in by_query(judged)
        ]
    }
    rated = [{"query": query, "ratings": labels} for query, labels in by_query(judged)]
    case = [
        {
            "query_text": query,
            "notes": None,
            "ratings": [{"doc_id": d, "rating": y, "user_email": "e"} for d, y in labels.items()],
        }
        for query, labels in by_query(judged)
    ]
    book = [
        {
            "query_text": query,
            "doc_id": document,
            "judgements": [
                {"rating": label, "unrateable": False},
                {"rating": None, "judge_later": True},
            ],
        }
        for query, document, label in judged
    ]
    whole = {
        "opensearch.json": search | {"name": "n", "type": "IMPORT_JUDGMENT"},
        "found.json": {
            "hits": {"hits": [{"_id": "1", "_source": search | {"status": "COMPLETED"}}]}
        },
        "quepid_ratings.json": {"queries": rated},
        "quepid_case.json": {"case_name": "c", "options": {}, "queries": case},
        "quepid_book.json": {"name": "b", "scale": "0,1,2,3", "query_doc_pairs": book},
        "rre.json": {"index": "i", "topics": [{"query_groups": [*rre_groups(judged)]}]},
        "quepid_rre.json": {
            "id_field": "id",
            "queries": [
                {
                    "placeholders": {"$query": query},
                    "relevant_documents": {d: {"gain": y} for d, y in labels.items()},
                }
                for query, labels in by_query(judged)
            ],
        },
    }
    return {
        "quepid.csv": "\n".join(["query,docid,rating", " =cmd,,", *lines]),
        "any.tsv": "grade\tkeywords\tdocId\n"
        + "".join(f"{label}\t{query}\t{document}\n" for query, document, label in judged),
        "book.csv": "query,docid,Ann,Bob\n" + "".join(f"{line},\n" for line in lines),
    } | {name: json.dumps(content) for name, content in whole.items()}


def plugin(documents):
    """Return an answer of the plugins of Elasticsearch and OpenSearch."""

    def pair(name, value):
        return {"name": name} if math.isnan(value) else {"name": name, "value": value}

    hits = [
        {
            "_id": document,
            "_source": {"sku": document},
            "fields": {"_ltrlog": [{"main": [*map(pair, FEATURES, values)]}]},
            "matched_queries": ["logged_featureset"],
        }
        for document, values in documents.items()
    ]
    return {"took": 3, "hits": {"total": {"value": len(hits)}, "hits": hits}}


def early_plugin(documents):
    """Return an answer of early plugins, whose entries are mappings."""
    answer = plugin(documents)
    for hit, values in zip(answer["hits"]["hits"], documents.values(), strict=True):
        hit["fields"]["_ltrlog"] = [{"main": dict(zip(FEATURES, map(none, values), strict=True))}]
    return answer


def none(value):
    return None if math.isnan(value) else value


def eland(documents):
    """Return an answer to the request of eland: the scores of queries that match."""
    answer = plugin(documents)
    for hit, values in zip(answer["hits"]["hits"], documents.values(), strict=True):
        named = zip(FEATURES, values, strict=True)
        hit["matched_queries"] = {name: value for name, value in named if not math.isnan(value)}
        del hit["fields"]
    return answer


def solr(documents, field="[features]"):
    """Return an answer of Solr in the dense format."""
    docs = [
        {
            "id": document,
            "title": "of shoes",
            field: ",".join(f"{n}={v}" for n, v in zip(FEATURES, values, strict=True)),
        }
        for document, values in documents.items()
    ]
    return {"responseHeader": {"status": 0}, "response": {"numFound": len(docs), "docs": docs}}


def vespa(documents):
    """Return an answer of Vespa."""
    children = [
        {
            "id": f"index:shop/0/{i}",
            "relevance": 1.0,
            "fields": {
                "matchfeatures": dict(zip(FEATURES, map(none, values), strict=True)),
                "documentid": document,
            },
        }
        for i, (document, values) in enumerate(documents.items())
    ]
    return {"root": {"id": "toplevel", "fields": {"totalCount": 2}, "children": children}}


#: What returns an answer of each engine to one query.
ENGINES = {
    "plugin": plugin,
    "early plugin": early_plugin,
    "eland": eland,
    "extract_features": dict,
    "solr": solr,
    "solr with another field": lambda documents: solr(documents, "fv"),
    "vespa": vespa,
}
