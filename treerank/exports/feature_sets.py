"""Feature sets: the features of a search engine that go with an exported model, as a first draft.

Each feature is the value of a field of the same name. A feature that depends on the query has to
be written by hand: the draft has a place for each, in the order and with the names of the model.
"""

import json
from pathlib import Path
from typing import Any

from treerank.checks import check_choice
from treerank.exports.exporting import feature_names, terms_of
from treerank.exports.solr import NAME
from treerank.files.replaced import replaced_file
from treerank.inputs.documents import check_fitted


def _solr(names: list[str], by_trees: bool) -> Any:
    """Documents without the field have a missing value, if the model has trees to take it."""
    default = {"defaultValue": "NaN"} if by_trees else {}
    return [{**feature, "params": feature["params"] | default} for feature in _solr_8(names)]


def _solr_8(names: list[str], by_trees: bool = False) -> Any:
    kind = "org.apache.solr.ltr.feature.FieldValueFeature"
    return [
        {"store": NAME, "name": name, "class": kind, "params": {"field": name}} for name in names
    ]


def _plugin(names: list[str], by_trees: bool) -> Any:
    """Documents without the field do not match, so that the feature is missing."""
    features = [
        {
            "name": name,
            "params": [],
            "template_language": "mustache",
            "template": {
                "function_score": {
                    "query": {"exists": {"field": name}},
                    "field_value_factor": {"field": name},
                    "boost_mode": "replace",
                }
            },
        }
        for name in names
    ]
    return {"featureset": {"name": NAME, "features": features}}


#: Drafts by format.
FEATURE_SETS = {
    "elasticsearch": _plugin,
    "elasticsearch-2023": _plugin,
    "opensearch": _plugin,
    "opensearch-2": _plugin,
    "opensearch-3.2": _plugin,
    "ranklib": _plugin,
    "solr": _solr,
    "solr-8": _solr_8,
}


def write_feature_set(ranker: Any, path: str | Path, *, format: str) -> None:
    """Write the draft of a feature set as JSON.

    Parameters
    ----------
    ranker : ranker
        A fitted ranker.
    path : str or path
        The file to write.
    format : str
        A format of a search engine that has feature sets.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> ranker = RankSVM().fit([[1.0], [2.0]], [0, 1], [1, 1])
    >>> path = getfixture("tmp_path") / "features.json"
    >>> write_feature_set(ranker, path, format="solr")
    >>> json.loads(path.read_text())[0]["params"]
    {'field': 'f0'}
    """
    check_choice("format", format, FEATURE_SETS)
    check_fitted("ranker", ranker)
    with replaced_file(path) as file:
        draft = FEATURE_SETS[format](feature_names(ranker), "trees" in terms_of(ranker).kinds)
        file.write(json.dumps(draft, indent=1).encode())
