"""Uploads: what a search engine is sent with a model: its name, its features, and the request.

A model and the store or set of its features have the same name by default. Each feature is drafted
as the value of a field of its own name; one that depends on the query has to be written by hand.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from treerank.checks import naming, quote, warn_user
from treerank.documents.features import check_fitted, shown_names
from treerank.exports.feature_names import check_unicode
from treerank.exports.formats import check_format, format_named, format_of_version
from treerank.exports.hybrid import HYBRID_FORMATS
from treerank.exports.report import negative_values
from treerank.exports.solr import NAME
from treerank.files.replaced import replaced_file
from treerank.forests.forest import Forest
from treerank.parameters import check_arguments
from treerank.rankers.ranker import Ranker
from treerank.spelling import spelled


class Upload(NamedTuple):
    """The requests that send a model and its features to a search engine.

    Attributes
    ----------
    model, features : str
        HTTP method and path of the two requests, with ``{name}`` for the name of the feature set,
        or of the model if that holds its features; then ``features`` is "".
    body : callable
        ``body(content, names, name, feature_set)`` returns the JSON body that uploads a model, from
        the content of its file, the names of its features, its name and its feature set's name.
    draft : callable or None
        ``draft(names, name, by_trees)`` returns the JSON body that defines the features;
        ``by_trees`` says whether the model has trees, which take missing values.
    by_query : bool, default=True
        Whether the engine computes a feature as the score of a query, which cannot be negative.
    """

    model: str
    features: str
    body: Callable[[str, list[str], str, str], Any]
    draft: Callable[[list[str], str, bool], Any] | None
    by_query: bool = True


def _value_of(field: str) -> dict[str, Any]:
    """Return the query whose score is the value of a field; documents without it do not match.

    A negative value is an error of the search, in every query: a ``script_score`` refuses it, too.
    """
    _check_field(field)
    if "{{" in field:
        raise ValueError(
            "names of columns must not have '{{' in drafts of features, whose templates would "
            f"replace it; got {quote(field)}. Rename the column and fit again."
        )
    return {
        "function_score": {
            "query": {"exists": {"field": field}},
            "field_value_factor": {"field": field},
            "boost_mode": "replace",
        }
    }


def _check_field(name: str) -> None:
    """Refuse a name that no field has."""
    if not name:
        raise ValueError(
            "names of columns must not be empty in drafts of features, which are named by fields; "
            "got ''. Rename the column and fit again."
        )


def _plugin_features(names: list[str], name: str, by_trees: bool) -> Any:
    """Return the body that defines a feature set of the plugins, by values of fields.

    Documents without the field do not match, so that the feature is missing.
    """
    features = [
        {
            "name": feature,
            "params": [],
            "template_language": "mustache",
            "template": _value_of(feature),
        }
        for feature in names
    ]
    return {"featureset": {"name": name, "features": features}}


def _plugin_model(
    content: str, names: list[str], name: str, feature_set: str, kind: str | None = None
) -> Any:
    """Return the body that uploads a model to the plugins.

    Without ``kind``, a mapping from features to factors is a linear model, and a list is trees.
    """
    kind = kind or ("model/linear" if content.startswith("{") else "model/xgboost+json")
    return {"model": {"name": name, "model": {"type": kind, "definition": content}}}


def _solr_features(names: list[str], name: str, by_trees: bool) -> Any:
    """Return the body that defines the features of Solr, by values of fields.

    Documents without the field have a missing value if the model has trees, otherwise 0.
    """
    kind = "org.apache.solr.ltr.feature.FieldValueFeature"
    for feature in names:
        _check_field(feature)
    missing = {"defaultValue": "NaN"} if by_trees else {}
    return [
        {"store": name, "name": feature, "class": kind, "params": {"field": feature} | missing}
        for feature in names
    ]


def _solr_8_features(names: list[str], name: str, by_trees: bool) -> Any:
    return _solr_features(names, name, by_trees=False)


def _solr_model(content: str, names: list[str], name: str, feature_set: str) -> Any:
    return json.loads(content) | {"name": name, "store": feature_set}


def _elastic_model(content: str, names: list[str], name: str, feature_set: str) -> Any:
    extractors = [
        {"query_extractor": {"feature_name": feature, "query": _value_of(feature)}}
        for feature in names
    ]
    return {  # without "input", which Elasticsearch refuses from 8.15 on
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "definition": json.loads(content),
    }


_CREATE, _SET = "POST _ltr/_featureset/{name}/_createmodel", "PUT _ltr/_featureset/{name}"
_PLUGIN = Upload(_CREATE, _SET, _plugin_model, _plugin_features)
_STORES = "PUT solr/COLLECTION/schema/model-store", "PUT solr/COLLECTION/schema/feature-store"
#: By format.
UPLOADS = {
    "elasticsearch": Upload("PUT _ml/trained_models/{name}", "", _elastic_model, None),
    **dict.fromkeys(("elasticsearch-plugin", "elasticsearch-plugin-2023"), _PLUGIN),
    **dict.fromkeys(("opensearch", "opensearch-2", "opensearch-3.2"), _PLUGIN),
    "ranklib": Upload(
        _CREATE, _SET, partial(_plugin_model, kind="model/ranklib"), _plugin_features
    ),
    "solr": Upload(*_STORES, _solr_model, _solr_features, by_query=False),
    "solr-8": Upload(*_STORES, _solr_model, _solr_8_features, by_query=False),
}
#: The table of documents in a query that got no name.
TABLE = "documents"
#: Formats whose features are written apart.
FEATURE_SETS = [format for format, upload in UPLOADS.items() if upload.draft is not None]


def check_model_name(format: str, name: Any) -> None:
    """Refuse a name for a format that has none, and a name that its program does not take.

    Examples
    --------
    >>> check_model_name("solr", "my shop")
    Traceback (most recent call last):
    ...
    ValueError: name must be 1 to 64 small letters, digits, '_', '-' and '.', and begin and end \
with a letter or digit; got 'my shop'.
    """
    if name is None:
        return
    if format not in HYBRID_FORMATS and format_named(format).has_table:
        if not isinstance(name, str) or not all(name.split(".")) or "\0" in name:
            raise ValueError(
                "name must be the name of a table, such as 'documents' or 'shop.documents'; got "
                f"{quote(name)}."
            )
        return
    if format not in HYBRID_FORMATS and format_named(format).has_prefix:
        rule = "small letters, digits and '_', and begin with a letter, as names of functions in C"
        pattern = "[a-z][a-z0-9_]*"
    elif format in (*UPLOADS, *HYBRID_FORMATS):
        rule = "1 to 64 small letters, digits, '_', '-' and '.', and begin and end with a letter or"
        rule, pattern = f"{rule} digit", "[a-z0-9]([a-z0-9_.-]{0,62}[a-z0-9])?"
    else:
        raise ValueError(
            f"name must be None for format {quote(format)}, whose program has no names of models; "
            f"got {quote(name)}. These have: {', '.join(['c', 'sql', *UPLOADS, *HYBRID_FORMATS])}."
        )
    if not isinstance(name, str) or not re.fullmatch(pattern, name):
        raise ValueError(f"name must be {rule}; got {quote(name)}.")


def check_feature_set(format: str, name: Any, feature_set: Any) -> None:
    """Refuse a name of a feature set for a model without a name, and for formats without sets.

    Examples
    --------
    >>> check_feature_set("elasticsearch", "shop-2", "shop")
    Traceback (most recent call last):
    ...
    ValueError: feature_set must be left out for format 'elasticsearch', which has no feature \
sets; got 'shop'. These have: elasticsearch-plugin, elasticsearch-plugin-2023, opensearch, \
opensearch-2, opensearch-3.2, ranklib, solr, solr-8.
    """
    if feature_set is None:
        return
    if format not in FEATURE_SETS:
        raise ValueError(
            f"{spelled('feature_set')} must be left out for format {quote(format)}, which has "
            f"no feature sets; got {quote(feature_set)}. "
            f"These have: {', '.join(sorted(FEATURE_SETS))}."
        )
    if name is None:
        raise ValueError(
            f"{spelled('feature_set')} must come with the name of the model; got "
            f"{quote(feature_set)} alone. Write {spelled('name', 'shop-2')}, for instance."
        )
    with naming("feature_set"):
        check_model_name(format, feature_set)


def count_negative(format: str, X: Any, names: list[str]) -> dict[str, int]:
    """Return the number of negative values of each feature that has any, by name.

    Empty if the program does not compute features as scores of queries.

    Examples
    --------
    >>> X = np.array([[1.0, -1.0], [np.nan, -2.0]])
    >>> count_negative("elasticsearch", X, ["bm25", "freshness"])
    {'freshness': 2}
    """
    if format not in UPLOADS or not UPLOADS[format].by_query:
        return {}
    counts = np.asarray((X < 0).sum(axis=0)).ravel().tolist()
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def request_of(format: str, content: bytes, names: list[str], name: str, feature_set: str) -> bytes:
    """Return the body of the request that uploads a model.

    ``content`` is the content of the model's file, and ``names`` are its feature names;
    ``feature_set`` is the name of their set, which some requests hold.

    Examples
    --------
    >>> request_of("opensearch", b'{"price": 2.0}', ["price"], "shop", "shop")[:50]
    b'{"model": {"name": "shop", "model": {"type": "mode'
    """
    return json.dumps(UPLOADS[format].body(content.decode(), names, name, feature_set)).encode()


def check_ranker(ranker: Any) -> None:
    """Raise an error if ``ranker`` is not a fitted ranker of treerank.

    The message says how to wrap the trees of another library, and what to do with a pipeline.
    """
    refuse_other_rankers(ranker)
    check_fitted("ranker", ranker)


def refuse_other_rankers(ranker: Any) -> None:
    """Raise an error if ``ranker`` is no ranker of treerank, fitted or not."""
    if not isinstance(ranker, Ranker):
        raise TypeError(
            f"ranker must be a ranker of treerank; got {quote(ranker)}. For trees of another "
            "program, write ForestRanker(read_forest(model)). In place of a pipeline, fit the "
            "ranker alone: trees need no scaled columns, and linear models and networks scale "
            "their own."
        )


def _splits_below_zero(forest: Forest, names: list[str]) -> dict[str, int]:
    """Return the number of splits with a negative threshold by feature, of features with any.

    Some training document had a negative value there.
    """
    below = ~forest.is_leaf & ~forest.is_by_set & (forest.threshold < 0)
    counts = np.bincount(forest.feature[below], minlength=len(names)).tolist()
    return {name: count for name, count in zip(names, counts, strict=True) if count}


@check_arguments
def write_feature_set(
    ranker: Any, path: str | Path, *, format: str, version: str | None = None, name: str = NAME
) -> str:
    """Write the JSON request that defines the features of a model, as a draft to edit.

    Parameters
    ----------
    ranker : ranker
        A fitted ranker.
    path : str or path
        The file to write.
    format : str
        A format of a search engine that has feature sets.
    version : str, default=None
        Version of the search engine, as in :func:`treerank.export`.
    name : str, default="treerank"
        Name of the set or store: the name of the model.

    Returns
    -------
    str
        Verb and path of the request.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> ranker = RankSVM().fit([[1.0], [2.0]], [0, 1], [1, 1])
    >>> path = getfixture("tmp_path") / "features.json"
    >>> write_feature_set(ranker, path, format="solr", name="shop")
    'PUT solr/COLLECTION/schema/feature-store'
    >>> json.loads(path.read_text())[0]["params"]
    {'field': 'f0'}
    """
    check_format(format, FEATURE_SETS)
    format = format_of_version(format, version)
    check_ranker(ranker)
    check_model_name(format, name)
    names, components, draft = (
        shown_names(ranker),
        ranker.components(),
        cast(Any, UPLOADS[format].draft),
    )
    check_unicode(names)
    features = draft(names, name, "trees" in components.kinds)
    n_below = _splits_below_zero(components.forest, names) if UPLOADS[format].by_query else {}
    if n_below:
        warn_user(negative_values(n_below, "splits below 0"))
    with replaced_file(path) as file:
        file.write(json.dumps(features, indent=1).encode())
    return UPLOADS[format].features.format(name=name)
