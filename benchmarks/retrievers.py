"""Lists of three retrievers: real ones of MSRD, simulated ones, and deep synthetic ones.

"fields" are real: BM25 of the title, of the overview and of the tags of films, for queries of MSRD.
In the other worlds BM25 of all fields is real, and a dense retriever and a cross-encoder are
simulated from the labels: with noise of heavy tails, a skill and an offset of each query, lists of
15 documents, and a cross-encoder that sees the 15 first of a fusion of the other two.

* "strong": the cross-encoder is far better than the dense retriever, and that than BM25.
* "mixed": the dense retriever is good where no title has the words of the query.
* "even": all three are about as good.
The archive of MSRD, which is not in the repository, holds for each pair of a query and a film
``qid``, ``doc``, the label ``y``, the features ``X``, and the ``names`` of their columns.

* "deep" is synthetic in all its parts: lists of a given length that find different documents.
"""

import functools
import tempfile
from pathlib import Path

import numpy as np

from treerank import read_runs
from treerank.datasets import TrecRun
from treerank.reranking import fuse

WORLDS = ("strong", "mixed", "even", "fields")
#: Length of the lists of the simulated worlds.
DEPTH = 15
#: Skill of the dense retriever and of the cross-encoder.
_SKILLS = {"strong": (1.8, 3.6), "mixed": (2.0, 2.4), "even": (1.6, 1.6)}
_FIELDS = {"title": 0.12, "overview": 1.0, "tags": 1.0, "genres": 0.5, "actors": 1.0}


def candidates(world, path, n_queries=4000, seed=0):
    """Return the candidates of queries of MSRD, with labels, in a world."""
    rng, archive = np.random.default_rng(seed), np.load(path)
    chosen = rng.permutation(np.unique(archive["qid"]))[:n_queries]
    rows = np.flatnonzero(np.isin(archive["qid"], chosen))
    names = archive["names"].tolist()
    features = dict(zip(names, archive["X"][rows].astype(np.float64).T, strict=True))
    y, qid, documents = (archive[name][rows] for name in ("y", "qid", "doc"))
    y = y.astype(np.float64)
    if world == "fields":
        scores = {name: features[f"{name}_bm25"] for name in ("title", "overview", "tags")}
        scores = {name: np.where(column > 0, column, np.nan) for name, column in scores.items()}
    else:
        scores = _simulated(world, features, y, np.unique(qid, return_inverse=True)[1], rng)
    labels = {}
    for query, document, label in zip(qid.tolist(), documents.tolist(), y.tolist(), strict=True):
        labels.setdefault(query, {})[document] = label
    runs = {}
    for name, column in scores.items():
        found = ~np.isnan(column)
        runs[name] = TrecRun(qid[found], documents[found], column[found])
    return read_runs(runs, labels)


@functools.cache
def drawn_archive(n_queries=80, documents=12):
    """Return the path of a small archive of MSRD's shape, drawn, to see that a benchmark runs."""
    rng, n = np.random.default_rng(0), n_queries * documents
    y = (np.arange(n) % documents < 3).astype(np.float64)
    names = [*(f"{name}_bm25" for name in _FIELDS), "title_idf_cover", "popularity"]
    X = np.maximum(rng.normal(size=(n, len(names))) + y[:, None], 0)
    path = Path(tempfile.mkdtemp(), "drawn.npz")
    qid, doc = np.repeat(np.arange(n_queries), documents), np.arange(n)
    np.savez(path, X=X, y=y, qid=qid, doc=doc, names=names)
    return path


def _simulated(world, features, y, codes, rng):
    """Return the scores of BM25, of a dense retriever and of a cross-encoder."""
    n_queries, (dense_skill, cross_skill) = codes.max() + 1, _SKILLS[world]
    of_query = {
        "dense": dense_skill * rng.gamma(3, 1 / 3, size=n_queries)[codes],
        "cross": cross_skill * rng.gamma(4, 1 / 4, size=n_queries)[codes],
    }
    bm25 = sum(weight * np.nan_to_num(features[f"{n}_bm25"]) for n, weight in _FIELDS.items())
    if world == "mixed":
        covers = np.zeros(n_queries)
        np.maximum.at(covers, codes, features["title_idf_cover"])
        is_title = covers[codes] > 0.6
        of_query["dense"] *= np.where(is_title, 0.25, 1.5)
        bm25 = bm25 + np.where(is_title, 0, 3 * rng.random(len(y)))
    text = _standardized(features["overview_bm25"] + features["tags_bm25"])
    popular = _standardized(np.log1p(np.nan_to_num(features["popularity"])))
    noise = rng.standard_t(4, size=(2, len(y)))
    latent = of_query["dense"] * y + 0.25 * text + noise[0]
    cosine = 0.62 + 0.05 * rng.normal(size=n_queries)[codes] + 0.06 * np.tanh(latent / 3)
    logit = 2.2 * (of_query["cross"] * y + 0.2 * popular + noise[1]) - 3
    logit += 1.5 * rng.normal(size=n_queries)[codes]
    scores = {
        "bm25": _first(np.where(bm25 > 0, bm25, np.nan), codes),
        "dense": _first(cosine, codes),
    }
    fused = fuse(scores, codes, k=60)
    shown = ~np.isnan(_first(np.where(fused > 0, fused, np.nan), codes))
    return scores | {"cross": np.where(shown, logit, np.nan)}


def _standardized(values):
    values = np.nan_to_num(values)
    return (values - values.mean()) / values.std()


def _first(scores, codes, depth=DEPTH):
    """Return the scores of the first documents of each query; those of others are NaN."""
    order = np.lexsort((-np.nan_to_num(scores, nan=-np.inf), codes))
    position = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
    kept = np.full(len(codes), np.nan)
    rows = order[position < depth]
    kept[rows] = scores[rows]
    return kept


def deep(depth, n_queries, seed=0):
    """Return scores of three retrievers by name, labels and queries of synthetic deep lists.

    Of 3 x depth documents of a query, 2 % are relevant, and 5 at least.
    """
    rng, n = np.random.default_rng(seed), 3 * depth
    codes = np.repeat(np.arange(n_queries), n)
    y = (np.tile(np.arange(n), n_queries) < max(5, 0.02 * n)).astype(np.float64)
    scores = {}
    for name, skill in {"bm25": 1.0, "dense": 1.5, "cross": 2.0}.items():
        strength = skill * rng.gamma(3, 1 / 3, size=n_queries)[codes]
        scores[name] = _first(strength * y + rng.standard_t(4, size=len(y)), codes, depth)
    kept = ~np.all([np.isnan(column) for column in scores.values()], axis=0)
    return {name: column[kept] for name, column in scores.items()}, y[kept], codes[kept]
