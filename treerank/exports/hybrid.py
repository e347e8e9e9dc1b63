"""Hybrid queries: the weights of a linear model over retrievers, for the search engine that fuses.

OpenSearch normalizes the scores of each retriever in a query and takes their weighted mean, as a
search pipeline says; Elasticsearch adds them up in its ``linear`` retriever. Both compute in single
precision, and a document that a retriever has not found counts 0. A linear model of the normalized
scores orders documents in the same way, whatever its constant.

So the ranker must be a linear model of the columns ``NAME.min_max`` of
:func:`~treerank.search_engines.read_runs`, no weight of which is negative. What the engine computes
is emulated from its source, over the hits of each query in ``check``, which must also have the raw
scores of the retrievers.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from treerank.checks import quote, warn_user
from treerank.documents.columns import as_frame
from treerank.documents.queries import QueryGroups
from treerank.feature_parts.components import Components
from treerank.feature_parts.linear_component import LinearComponent
from treerank.reranking.normalization import (
    ENGINES,
    check_scores,
    normalized_by_query,
    refuse_foreign,
)
from treerank.search_engines.runs import NORMALIZED

_Words = dict[str, Any]
#: Hits of each retriever where no documents tell them.
DEFAULT_HITS = 100


def _opensearch_body(weights: dict[str, float], n_hits: int) -> _Words:
    """Return the definition of a search pipeline with these weights; ``n_hits`` is not used."""
    listed = ", ".join(weights)
    return {
        "description": f"Weights of the queries of a hybrid query, in this order: {listed}",
        "phase_results_processors": [
            {
                "normalization-processor": {
                    "normalization": {"technique": "min_max"},
                    "combination": {
                        "technique": "arithmetic_mean",
                        "parameters": {"weights": [*weights.values()]},
                    },
                }
            }
        ],
    }


def _elasticsearch_body(weights: dict[str, float], n_hits: int) -> _Words:
    """Return a search by a linear retriever, with a placeholder for each of its retrievers.

    ``n_hits`` is the number of hits of each retriever.
    """
    retrievers = [
        {
            "retriever": {"RETRIEVER_OF": name},
            "weight": weight,
            "normalizer": "minmax",
        }
        for name, weight in weights.items()
    ]
    return {"retriever": {"linear": {"rank_window_size": n_hits, "retrievers": retrievers}}}


def _weighted_mean(columns: list[np.ndarray], weights: list[float]) -> np.ndarray:
    return _weighted_sum(columns, weights) / np.add.accumulate(_singles(weights))[-1]


def _weighted_sum(columns: list[np.ndarray], weights: list[float]) -> np.ndarray:
    total = np.zeros(len(columns[0]), np.float32)
    for column, weight in zip(columns, _singles(weights), strict=True):
        total = total + weight * column.astype(np.float32)
    return total


def _singles(weights: Any) -> np.ndarray:
    return np.asarray(weights, dtype=np.float32)


@dataclass(frozen=True)
class HybridFormat:
    """How a search engine takes the weights of retrievers, and what it computes.

    Attributes
    ----------
    engine : str
        Name of the engine, which decides how scores are normalized.
    body : callable
        ``body(weights, n_hits)`` returns the request for weights by name of the retriever, and the
        number of hits of each retriever.
    combine : callable
        ``combine(columns, weights)`` returns the scores of the engine for normalized columns.
    upload : str
        HTTP method and path of the request, with ``{name}`` for the name.
    reranker : str
        What to do with the scores of a cross-encoder.
    most_retrievers : int or None
        Largest number of retrievers of a hybrid query.
    """

    #: Name of the engine, whose normalization it is.
    engine: str
    #: Returns the request for weights by the name of the retriever, and the number of hits of each.
    body: Callable[[dict[str, float], int], _Words]
    #: Returns the scores for normalized columns and their weights.
    combine: Callable[[list[np.ndarray], list[float]], np.ndarray]
    #: Verb and path of the request.
    upload: str
    #: What to do with the scores of a cross-encoder, which reranks what others have found.
    reranker: str
    #: Number of retrievers that a hybrid query may have.
    most_retrievers: int | None = None


HYBRID_FORMATS = {
    "elasticsearch-linear": HybridFormat(
        "elasticsearch",
        _elasticsearch_body,
        _weighted_sum,
        "POST {name}/_search",
        "write a text_similarity_reranker over the other retrievers for its RETRIEVER_OF",
    ),
    "opensearch-hybrid": HybridFormat(
        "opensearch",
        _opensearch_body,
        _weighted_mean,
        "PUT _search/pipeline/{name}",
        "leave it out of the runs, since OpenSearch can weigh queries alone",
        5,
    ),
}


@dataclass(frozen=True, eq=False)
class HybridConversion:
    """A linear model of normalized scores, as weights of retrievers for a search engine.

    Attributes
    ----------
    format : str
        Name of the format.
    linear : LinearComponent
        The model.
    retrievers : list of str
        Name of the retriever of each feature.
    """

    format: str
    linear: LinearComponent
    retrievers: list[str]

    @property
    def target(self) -> HybridFormat:
        """The format."""
        return HYBRID_FORMATS[self.format]

    @property
    def weights(self) -> dict[str, float]:
        """The share of each retriever, of single precision; they sum to 1 but for rounding."""
        shares = _singles(self.linear.coef / self.linear.coef.sum())
        return dict(zip(self.retrievers, shares.astype(np.float64).tolist(), strict=True))

    def content(self, n_hits: int) -> bytes:
        """Return the body of the request; ``n_hits`` is the number of hits of each retriever."""
        return json.dumps(self.target.body(self.weights, n_hits), indent=1).encode()

    def retriever_scores(self, X: Any) -> dict[str, np.ndarray]:
        """Return the scores of each retriever, before any normalization, by name.

        ``X`` is a data frame with a column for each retriever; refuses one that lacks any.
        """
        frame = as_frame(X)
        lacking = [name for name in self.retrievers if frame is None or name not in frame.columns]
        if lacking:
            raise ValueError(
                "check must be the result of read_runs, a data frame with the scores of each "
                f"retriever before their normalization; got no column {quote(lacking[0])}."
            )
        scores: dict[str, np.ndarray] = {}
        for name in self.retrievers:
            assert frame is not None
            values = frame[name].cast(nw.Float64).to_numpy()
            scores[name] = check_scores(f"column {quote(name)} of check", values)
            refuse_foreign(f"column {quote(name)} of check", scores[name], self.target.engine)
        return scores

    def scores(self, retrieved: dict[str, np.ndarray], groups: QueryGroups) -> np.ndarray:
        """Return the scores of the engine, rescaled to the scale of the linear model.

        ``retrieved`` are the scores of each retriever by name, and ``groups`` the queries.
        """
        columns = [
            normalized_by_query(scores, groups, "min_max", self.target.engine)
            for scores in retrieved.values()
        ]
        combined = self.target.combine(columns, [*self.weights.values()]).astype(np.float64)
        return combined * self.linear.coef.sum() + self.linear.offset.sum()

    def has_whole_lists(
        self, X: np.ndarray, retrieved: dict[str, np.ndarray], groups: QueryGroups
    ) -> bool:
        """Tell whether the features ``X`` are the scores ``retrieved``, normalized in any way.

        If not, they were normalized together with scores of other documents.
        """
        return any(
            np.allclose(
                X.T,
                [
                    normalized_by_query(scores, groups, "min_max", engine)
                    for scores in retrieved.values()
                ],
                atol=1e-6,  # of columns in single precision
            )
            for engine in (None, *ENGINES)
        )


def hybrid_conversion(format: str, components: Components, names: list[str]) -> HybridConversion:
    """Return the conversion of a linear model into weights of retrievers.

    Refuses other components, columns that are not normalized scores, and negative weights.

    Examples
    --------
    >>> from treerank.feature_parts.components import no_trees
    >>> components = Components(no_trees(2), LinearComponent(np.array([3.0, 1.0]), np.zeros(2)))
    >>> names = ["bm25.min_max", "dense.min_max"]
    >>> hybrid_conversion("opensearch-hybrid", components, names).weights
    {'bm25': 0.75, 'dense': 0.25}
    """
    components, target = components.with_linear_networks_merged(), HYBRID_FORMATS[format]
    engine, most = target.engine, target.most_retrievers
    if components.kinds != ["linear"] or components.linear is None:
        raise ValueError(
            f"format {quote(format)} must have a linear model, since {engine} adds up the weighted "
            f"scores of retrievers; got {' and '.join(components.kinds)}. Write "
            "TreeDirectRanker(LinearModel(positive=True)). Trees can go there by its plugin for "
            "learning to rank, and rank the candidates again."
        )
    unnormalized = [name for name in names if not name.endswith(NORMALIZED)]
    if unnormalized:
        raise ValueError(
            f"format {quote(format)} must have columns of normalized scores alone, such as "
            f"'bm25{NORMALIZED}'; got {quote(unnormalized[0])}. Fit the linear model to "
            f"read_runs(runs, judgments, engine={quote(engine)}).normalized()."
        )
    if most is not None and len(names) > most:
        raise ValueError(
            f"format {quote(format)} must have {most} retrievers at most; got {len(names)}."
        )
    coef, retrievers = components.linear.coef, [name.removesuffix(NORMALIZED) for name in names]
    if (coef < 0).any():
        worst = int(np.argmin(coef))
        raise ValueError(
            f"format {quote(format)} must have no negative weight, which {engine} refuses; got "
            f"{coef[worst] / np.abs(coef).sum():.3f} for {quote(retrievers[worst])}. Write "
            "TreeDirectRanker(LinearModel(positive=True)), or leave this retriever out."
        )
    if not coef.any():
        raise ValueError(f"format {quote(format)} must have a weight above 0; got none.")
    return HybridConversion(format, components.linear, retrievers)


def can_weigh(format: str, components: Components, names: list[str]) -> bool:
    """Tell whether a search engine can take a model as the weights of its retrievers."""
    try:
        hybrid_conversion(format, components, names)
    except ValueError:
        return False
    return True


def depths_of(retrieved: dict[str, np.ndarray], groups: QueryGroups) -> dict[str, int]:
    """Return the largest number of hits for a query, by retriever; NaN is no hit.

    Examples
    --------
    >>> depths_of({"bm25": np.array([2.0, np.nan, 1.0])}, QueryGroups.from_qid([7, 7, 7]))
    {'bm25': 2}
    """
    return {
        name: int(np.bincount(groups.codes, ~np.isnan(scores)).max(initial=0))
        for name, scores in retrieved.items()
    }


def warn_of_retrievers(format: str, retrieved: dict[str, np.ndarray], groups: QueryGroups) -> None:
    """Warn of lists that an engine does not produce: of unequal depth, or by a cross-encoder.

    A retriever that found nothing that the others have not, while they did, reranks what they have
    found, and so does one that holds all that they have found.
    """
    target, depths = HYBRID_FORMATS[format], depths_of(retrieved, groups)
    if len({*depths.values()}) > 1:
        listed = ", ".join(f"{depth} of {quote(name)}" for name, depth in depths.items())
        warn_user(
            f"Retrievers have lists of unequal depth in check, up to {listed}. The engine takes "
            "equally many hits of each, and normalizes by the lowest of them, so its scores will "
            "be others. Log lists of one depth, and search as deep."
        )
    is_hit = {name: ~np.isnan(scores) for name, scores in retrieved.items()}
    n_retrievers = np.sum([*is_hit.values()], axis=0)
    found_none = [name for name, hits in is_hit.items() if not (hits & (n_retrievers == 1)).any()]
    if len(found_none) == len(retrieved):  # one of them may hold what all others have found
        found_none = [name for name, hits in is_hit.items() if hits.all()]
    if len(found_none) < len(retrieved):
        for name in found_none:
            warn_user(
                f"Retriever {quote(name)} has found no document that no other has found. If it is "
                f"a cross-encoder, which scores what the others have found, {target.reranker}."
            )
