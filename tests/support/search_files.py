"""Files of search engines and of judges, written in the shapes of the programs that write them.

``treerank/search_engines/judgments.py`` and ``search_answers.py`` say where a shape comes from.
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
    rows = [f"{label}\t{query}\t{document}\n" for query, document, label in judged]
    search, rated, case, placeholders, requests, named_lines = [], [], [], [], [], []
    for query, labels in by_query(judged):
        texts = [{"docId": d, "rating": f"{y:.3f}"} for d, y in labels.items()]
        search.append({"query": query, "ratings": texts})
        rated.append({"query": query, "ratings": labels})
        ratings = [{"doc_id": d, "rating": y, "user_email": "e"} for d, y in labels.items()]
        case.append({"query_text": query, "notes": None, "ratings": ratings})
        gains = {d: {"gain": y} for d, y in labels.items()}
        placeholders.append({"placeholders": {"$query": query}, "relevant_documents": gains})
        hits_of = [{"_index": "i", "_id": d, "rating": y} for d, y in labels.items()]
        requests.append({"id": query, "request": {"query": {}}, "ratings": hits_of})
        number = len(requests)
        named_lines.append(f"# qid:{number}:\t{query}\t*1\n")
        named_lines += [f"{y:g}\tqid:{number}\t# \t{d}\tRambo\n" for d, y in labels.items()]
    search = {"judgmentRatings": search}
    book = []
    for query, document, label in judged:
        said = {"rating": label, "unrateable": False}, {"rating": None, "judge_later": True}
        book.append({"query_text": query, "doc_id": document, "judgements": said})
    hit = {"_id": "1", "_source": search | {"status": "COMPLETED"}}
    whole = {
        "opensearch.json": search | {"name": "n", "type": "IMPORT_JUDGMENT"},
        "found.json": {"hits": {"hits": [hit]}},
        "quepid_ratings.json": {"queries": rated},
        "quepid_case.json": {"case_name": "c", "options": {}, "queries": case},
        "quepid_book.json": {"name": "b", "scale": "0,1,2,3", "query_doc_pairs": book},
        "rre.json": {"index": "i", "topics": [{"query_groups": [*rre_groups(judged)]}]},
        "quepid_rre.json": {"id_field": "id", "queries": placeholders},
        "rank_eval.json": {"requests": requests, "metric": {"dcg": {"k": 10}}},
    }
    return {
        "quepid.csv": "\n".join(["query,docid,rating", " =cmd,,", *lines]),
        "hello_ltr.txt": "".join(["# grade\tqid\n", *named_lines]),
        "any.tsv": "".join(["grade\tkeywords\tdocId\n", *rows]),
        "book.csv": "query,docid,Ann,Bob\n" + "".join(f"{line},\n" for line in lines),
    } | {name: json.dumps(content) for name, content in whole.items()}


def named(values, missing=None):
    """Return features by name, with another value for missing ones."""
    known = [missing if math.isnan(value) else value for value in values]
    return dict(zip(FEATURES, known, strict=True))


def hits(documents, of_hit):
    """Return an answer of Elasticsearch or OpenSearch, with what a hit has of its features."""
    found = [
        {"_id": document, "_source": {"sku": document}, **of_hit(values)}
        for document, values in documents.items()
    ]
    return {"took": 3, "hits": {"total": {"value": len(found)}, "hits": found}}


def logged(entries):
    """Return what the plugins add to a hit."""
    fields = {"_ltrlog": [{"main": entries}]}
    return {"fields": fields, "matched_queries": ["logged_featureset"]}


def plugin(documents):
    """Return an answer of the plugins of Elasticsearch and OpenSearch."""

    def entry(name, value):
        return {"name": name} if value is None else {"name": name, "value": value}

    def of_hit(values):
        return logged([entry(*pair) for pair in named(values).items()])

    return hits(documents, of_hit)


def early_plugin(documents):
    """Return an answer of early plugins, whose entries are mappings."""
    return hits(documents, lambda values: logged(named(values)))


def eland(documents):
    """Return an answer to the request of eland: the scores of queries that match."""

    def of_hit(values):
        scores = named(values).items()
        return {"matched_queries": {name: value for name, value in scores if value is not None}}

    return hits(documents, of_hit)


def solr(documents, field="[features]"):
    """Return an answer of Solr in the dense format."""
    docs = []
    for document, values in documents.items():
        text = ",".join(f"{n}={v}" for n, v in named(values, math.nan).items())
        docs.append({"id": document, "title": "of shoes", field: text})
    return {"responseHeader": {"status": 0}, "response": {"numFound": len(docs), "docs": docs}}


def vespa(documents):
    """Return an answer of Vespa."""
    children = []
    for i, (document, values) in enumerate(documents.items()):
        fields = {"matchfeatures": named(values), "documentid": document}
        children.append({"id": f"index:shop/0/{i}", "relevance": 1.0, "fields": fields})
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
