"""Weights of retrievers in search engines: an emulation in plain Python, and what is refused."""

import json
import math
import re
import struct
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from treerank import TreeDirectRanker, export, read_runs
from treerank.exports import formats_for
from treerank.feature_parts import LinearModel
from treerank.reranking import normalize_scores

FORMATS = {"opensearch-hybrid": "opensearch", "elasticsearch-linear": "elasticsearch"}
LINEAR = TreeDirectRanker(LinearModel(positive=True), random_state=0)


def single(value):
    """Round to single precision, as Java's float."""
    return struct.unpack("f", struct.pack("f", value))[0]


def in_java(engine, scores):
    """Return the normalized scores of one retriever in one query, by document."""
    low, high = math.inf, single(1.4e-45)
    for score in scores.values():
        low, high = min(low, single(score)), max(high, single(score))
    found = {}
    for document, score in scores.items():
        gap = single(high - low)
        if gap == 0 if engine == "opensearch" else gap < single(1e-6):
            found[document] = 1.0
            continue
        value = single(single(single(score) - low) / gap)
        found[document] = single(0.001) if engine == "opensearch" and value == 0 else value
    return found


def ranking_in_java(format, body, runs, query):
    """Return the score of each document of a query, by the weights of an exported file."""
    if format == "opensearch-hybrid":
        (processor,) = body["phase_results_processors"]
        settings = processor["normalization-processor"]
        assert settings["normalization"] == {"technique": "min_max"}
        assert settings["combination"]["technique"] == "arithmetic_mean"
        weights = settings["combination"]["parameters"]["weights"]
        assert abs(sum(weights) - 1) < 0.01
        weights = dict(zip(runs, weights, strict=True))
    else:
        parts = body["retriever"]["linear"]["retrievers"]
        assert {part["normalizer"] for part in parts} == {"minmax"}
        weights = {part["retriever"]["RETRIEVER_OF"]: part["weight"] for part in parts}
    engine = FORMATS[format]
    normalized = {name: in_java(engine, run.get(query, {})) for name, run in runs.items()}
    total, of = {}, 0.0
    for name, weight in weights.items():
        of = single(of + single(weight))
        for document in {document for run in runs.values() for document in run.get(query, {})}:
            value = single(single(weight) * normalized[name].get(document, 0.0))
            total[document] = single(total.get(document, 0.0) + value)
    if engine == "opensearch":
        return {document: single(value / of) for document, value in total.items()}
    return total


def drawn_runs(seed=0, n_queries=40):
    """Return runs and labels; some lists have one document, equal scores, or none at all."""
    rng, runs, labels = np.random.default_rng(seed), {"bm25": {}, "dense": {}, "cross": {}}, {}
    for query in map(str, range(n_queries)):
        relevant = rng.random(30) < 0.3
        labels[query] = {str(d): int(relevant[d]) for d in range(30)}
        for number, name in enumerate(runs):
            scores = np.exp(relevant * (0.5 + number) + rng.normal(size=30))
            if rng.random() < 0.1:
                scores = np.round(scores)
            if rng.random() < 0.1:
                scores[:] = 2.5
            size = rng.choice([0, 1, 2, 15], p=[0.1, 0.1, 0.1, 0.7])
            best = np.argsort(-scores)[:size]
            if size:
                runs[name][query] = {str(d): float(scores[d]) for d in best}
    kept = {q for run in runs.values() for q in run}
    pool = {q: {d for run in runs.values() for d in run.get(q, {})} for q in kept}
    judged = {q: {d: y for d, y in labels[q].items() if d in pool[q]} for q in kept}
    return runs, judged


def fitted(engine, ranker=LINEAR, seed=0):
    runs, labels = drawn_runs(seed)
    data = read_runs(runs, labels, engine=engine)
    return clone(ranker).fit(*data.normalized()), data, runs


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("format", FORMATS)
def test_the_engine_orders_documents_as_the_ranker_does(format, seed, tmp_path):
    ranker, data, runs = fitted(FORMATS[format], seed=seed)
    report = export(ranker, tmp_path / "body.json", format=format, check=data, name="shop")
    assert report.n_changed_pairs == 0
    assert report.n_documents == len(data)
    assert report.largest_difference < 1e-6 * report.score_range
    assert abs(report.value - report.value_of_program) < 1e-3
    upload = {"opensearch": "PUT _search/pipeline/shop", "elasticsearch": "POST shop/_search"}
    assert report.upload == upload[FORMATS[format]]
    body = json.loads((tmp_path / "body.json").read_text())
    scores = ranker.predict(data.X)
    for query in np.unique(data.qid):
        served = ranking_in_java(format, body, runs, query)
        rows = np.flatnonzero(data.qid == query)
        theirs = np.array([served[d] for d in data.doc_ids[rows]])
        ours = scores[rows]
        clear = np.abs(ours[:, None] - ours) > 1e-6 * np.ptp(scores)
        agree = np.sign(ours[:, None] - ours) == np.sign(theirs[:, None] - theirs)
        assert (agree | ~clear).all()


@pytest.mark.parametrize("engine", FORMATS.values())
@pytest.mark.parametrize(
    "scores",
    [[3.0, 2.0, 1.0], [-1.0, -2.0, -3.0], [-4.0], [0.0], [7.0], [2.0, 2.0], [1.0, 1 + 1e-7]],
)
def test_features_are_those_that_the_engine_computes(engine, scores):
    expected = in_java(engine, dict(enumerate(scores)))
    found = normalize_scores([*scores, np.nan], engine=engine)
    assert found.tolist() == [*expected.values(), 0.0]


def test_columns_of_an_engine_are_in_the_table_and_alone():
    runs = {"bm25": {"q": {"a": 2.0, "b": 1.0}}}
    data = read_runs(runs, engine="opensearch")
    assert data.X["bm25.min_max"].to_pylist() == [1.0, float(np.float32(0.001))]
    assert read_runs(runs).X["bm25.min_max"].to_pylist() == [1.0, 0.0]
    alone = data.normalized()
    assert alone.X.column_names == ["bm25.min_max"]
    assert alone.doc_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("format", FORMATS)
def test_another_normalization_is_refused_with_the_number_of_pairs(format, tmp_path):
    runs, labels = drawn_runs()
    # OpenSearch writes .001 for 0, and Elasticsearch takes scores within 1e-6 for equal ones.
    runs["cross"] = {q: {d: 1e-8 * s for d, s in run.items()} for q, run in runs["cross"].items()}
    data = read_runs(runs, labels)
    ranker = clone(LINEAR).fit(*data.normalized())
    rule = (
        rf"changes the order of \d+ pairs, since {FORMATS[format]} normalizes .*normalized\(\); all"
    )
    with pytest.raises(ValueError, match=rule):
        export(ranker, tmp_path / "body.json", format=format, check=data)
    with pytest.warns(UserWarning, match="changes the order"):
        report = export(ranker, tmp_path / "body.json", format=format, check=data, allow="order")
    assert report.n_changed_pairs > 0


@pytest.mark.filterwarnings("ignore:Retrievers have lists of unequal depth")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("is_of_engine", [True, False])
def test_a_check_of_parts_of_lists_is_told_from_another_normalization(
    format, is_of_engine, tmp_path
):
    runs, labels = drawn_runs()
    labels = {q: {d: y for d, y in of.items() if int(d) % 2} for q, of in labels.items()}
    labels = {q: of for q, of in labels.items() if of}
    data = read_runs(runs, labels, engine=FORMATS[format] if is_of_engine else None)
    ranker = clone(LINEAR).fit(*data.normalized())
    rule = (
        r"changes the order of \d+ pairs, since check has only some of the documents of its lists"
        rf".* {FORMATS[format]} .*check=data, not check=data.judged\(\); all"
    )
    with pytest.raises(ValueError, match=rule):
        export(ranker, tmp_path / "body.json", format=format, check=data.judged())


@pytest.mark.parametrize("format", FORMATS)
def test_what_an_engine_cannot_weigh_is_refused_by_name(format, tmp_path):
    engine, path = FORMATS[format], tmp_path / "body.json"
    ranker, data, _ = fitted(engine)

    def refused(message, ranker=ranker, check=data, **more):
        with pytest.raises(ValueError, match=message):
            export(ranker, path, format=format, check=check, **more)
        assert not path.exists()

    normalized = data.normalized()
    trees = TreeDirectRanker("histogram", random_state=0).fit(*normalized)
    refused(
        r"must have a linear model, .*; got trees. Write TreeDirectRanker\(LinearModel\(", trees
    )
    mixed = clone(LINEAR).fit(*data)
    refused(f"must have columns of normalized scores alone, .*; got 'bm25'. .*{engine}'", mixed)
    reversed_labels = 1 - normalized.y
    wrong = TreeDirectRanker("linear").fit(normalized.X, reversed_labels, normalized.qid)
    refused(
        f"must have no negative weight, which {engine} refuses; got -.* for 'cross'. Write", wrong
    )
    with pytest.warns(UserWarning, match="documents get the same score"):
        nothing = clone(LINEAR).fit(normalized.X, reversed_labels, normalized.qid)
    refused("must have a weight above 0; got none", nothing)
    ranker = clone(LINEAR).fit(*normalized)
    refused("check must be the result of read_runs, .*; got no column 'bm25'", check=normalized)
    refused("normalizes scores in its own way, so check must be given", check=None)
    refused(r"check must be \(X, y, qid\), since", check=(data.X, data.y))
    refused("relevance", relevance=1.0)
    logits = data.X.set_column(0, "bm25", [np.log(data.X["bm25"].to_numpy())])
    refused(
        f"column 'bm25' of check must not be negative for '{engine}', whose scores never are; got "
        r"-.* in row \d+. Write 1 / \(1 \+ exp\(-score\)\) for logits",
        check=(logits, data.y, data.qid),
    )
    with pytest.raises(ValueError, match=f"runs\\['a'\\] must not be negative for '{engine}'"):
        read_runs({"a": {"q": {"d": -1.0}}}, engine=engine)
    with pytest.raises(ValueError, match=r"runs\['a'\] must be at most 3.4e\+38 in size for"):
        read_runs({"a": {"q": {"d": 1e39}}}, engine=engine)
    refused("name must be 1 to 64 small letters", name="My Shop")


def test_at_most_five_retrievers_go_to_opensearch(tmp_path):
    runs = {name: {"q": {"a": 2.0, "b": 1.0}} for name in "uvwxyz"}
    data = read_runs(runs, {"q": {"a": 1, "b": 0}}, engine="opensearch")
    ranker = clone(LINEAR).fit(*data.normalized())
    with pytest.raises(ValueError, match="must have 5 retrievers at most; got 6"):
        export(ranker, tmp_path / "body.json", format="opensearch-hybrid", check=data)


def test_the_search_of_elasticsearch_has_the_window_and_a_place_for_each_query(tmp_path):
    ranker, data, _ = fitted("elasticsearch")
    export(ranker, tmp_path / "body.json", format="elasticsearch-linear", check=data)
    linear = json.loads((tmp_path / "body.json").read_text())["retriever"]["linear"]
    assert linear["rank_window_size"] == 15
    names = [part["retriever"]["RETRIEVER_OF"] for part in linear["retrievers"]]
    assert names == ["bm25", "dense", "cross"]


def test_the_window_is_of_one_document_at_least(tmp_path):
    ranker, data, _ = fitted("elasticsearch")
    X = data.X
    for name in X.column_names:
        nothing = 0.0 if name.endswith(".min_max") else np.nan
        X = X.set_column(X.column_names.index(name), name, [np.full(len(X), nothing)])
    check = X, data.y, data.qid
    export(ranker, tmp_path / "body.json", format="elasticsearch-linear", check=check)
    linear = json.loads((tmp_path / "body.json").read_text())["retriever"]["linear"]
    assert linear["rank_window_size"] == 1


@pytest.mark.parametrize("format", FORMATS)
def test_lists_that_an_engine_will_not_make_are_warned_of(format, tmp_path):
    rng, runs, labels = np.random.default_rng(0), {"bm25": {}, "dense": {}, "cross": {}}, {}
    for query in map(str, range(30)):
        scores = rng.random((3, 40)) + 1
        for name, row in zip(("bm25", "dense"), scores, strict=False):
            runs[name][query] = {str(d): row[d] for d in np.argsort(-row)[:10]}
        pool = {**runs["bm25"][query], **runs["dense"][query]}
        labels[query] = {d: int(rng.integers(3)) for d in pool}
        runs["cross"][query] = {d: scores[2, int(d)] for d in pool}  # scores what both have found

    def told(names):
        kept = {name: runs[name] for name in names}
        data = read_runs(kept, labels, engine=FORMATS[format])
        ranker = clone(LINEAR).fit(*data.normalized())
        with warnings.catch_warnings(record=True, action="always") as caught:
            export(ranker, tmp_path / "body.json", format=format, check=data)
        return "\n".join(str(each.message) for each in caught)

    assert told(["bm25", "dense"]) == ""
    text = told(["bm25", "dense", "cross"])
    assert re.search(r"unequal depth in check, up to 10 of 'bm25', 10 of 'dense', \d\d of", text)
    assert "Retriever 'cross' has found no document that no other has found" in text
    remedy = {"opensearch-hybrid": "leave it out", "elasticsearch-linear": "text_similarity_rera"}
    assert remedy[format] in text


def test_a_retriever_that_has_found_nothing_is_warned_of_as_such(tmp_path):
    runs, labels = drawn_runs()
    data = read_runs(runs | {"none": {query: {} for query in labels}}, labels, engine="opensearch")
    ranker = clone(LINEAR).fit(*data.normalized())
    with warnings.catch_warnings(record=True, action="always") as caught:
        export(ranker, tmp_path / "body.json", format="opensearch-hybrid", check=data)
    assert re.search(r"unequal depth in check, up to .*, 0 of 'none'\.", str(caught[0].message))


def test_candidates_without_judgments_are_a_check(tmp_path):
    ranker, _, runs = fitted("opensearch")
    live = read_runs(runs, engine="opensearch")
    report = export(ranker, tmp_path / "body.json", format="opensearch-hybrid", check=live)
    assert report.value is None
    assert report.n_changed_pairs == 0


def test_formats_for_a_linear_model_of_normalized_scores_are_told():
    ranker, data, _ = fitted("opensearch")
    assert set(FORMATS) <= set(formats_for(ranker))
    assert not set(FORMATS) & set(formats_for(clone(LINEAR).fit(*data)))


def test_five_retrievers_go_to_opensearch(tmp_path):
    runs = {name: {"q": {"a": 2.0, "b": 1.0}} for name in "uvwxy"}
    data = read_runs(runs, {"q": {"a": 1, "b": 0}}, engine="opensearch")
    ranker = clone(LINEAR).fit(*data.normalized())
    export(ranker, tmp_path / "body.json", format="opensearch-hybrid", check=data)
