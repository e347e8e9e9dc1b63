"""Feature sets: a first draft of the features of a search engine for an exported model."""

import json
from pathlib import Path
from typing import Any

from treerank.checks import check_choice
from treerank.exports.exporting import terms_of
from treerank.exports.solr import NAME
from treerank.exports.uploads import FEATURE_SETS, UPLOADS
from treerank.files.replaced import replaced_file
from treerank.inputs.documents import check_fitted, shown_names


def write_feature_set(ranker: Any, path: str | Path, *, format: str, name: str = NAME) -> str:
    """Write the request with a first draft of the features of an exported model, as JSON.

    Parameters
    ----------
    ranker : ranker
        A fitted ranker.
    path : str or path
        The file to write.
    format : str
        A format of a search engine that has feature sets.
    name : str, default="treerank"
        Name of the set or store.

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
    check_choice("format", format, FEATURE_SETS)
    check_fitted("ranker", ranker)
    draft: Any = UPLOADS[format].draft
    features = draft(shown_names(ranker), name, "trees" in terms_of(ranker).kinds)
    with replaced_file(path) as file:
        file.write(json.dumps(features, indent=1).encode())
    return UPLOADS[format].features.format(name=name)
