"""Formats by name. To add one, write its file and list it in ``FORMATS``.

A module is imported only when its format is asked for.
"""

from treerank.checks import check_choice
from treerank.export.format import Format
from treerank.lazy import load_object

FORMATS = {
    "c": "treerank.export.c_source:C",
    "elastic": "treerank.export.elastic:ELASTIC",
    "elasticsearch": "treerank.export.xgboost_splits:BY_SPLIT",
    "elasticsearch-2023": "treerank.export.xgboost_splits:ZEROS",
    "json": "treerank.export.forest_json:JSON",
    "lightgbm": "treerank.export.lightgbm_model:LIGHTGBM",
    "onnx": "treerank.export.onnx:ONNX",
    "opensearch": "treerank.export.xgboost_splits:BY_SPLIT",
    "opensearch-2": "treerank.export.xgboost_splits:ZEROS",
    "opensearch-3.2": "treerank.export.xgboost_splits:RIGHT",
    "ranklib": "treerank.export.ranklib:RANKLIB",
    "solr": "treerank.export.solr:SOLR",
    "vespa": "treerank.export.vespa:VESPA",
    "xgboost": "treerank.export.xgboost_model:XGBOOST",
}


def format_named(name: str) -> Format:
    """Return a format.

    Examples
    --------
    >>> format_named("solr").max_depth
    200
    """
    check_choice("format", name, FORMATS)
    found: Format = load_object(FORMATS[name])
    return found
