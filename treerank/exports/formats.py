"""Formats by name. To add one, write its file and list it in ``FORMATS``.

A module is imported only when its format is asked for.
"""

from treerank.checks import check_choice
from treerank.exports.format import Format
from treerank.lazy import load_object

FORMATS = {
    "c": "treerank.exports.c_source:C",
    "elastic": "treerank.exports.elastic:ELASTIC",
    "elasticsearch": "treerank.exports.xgboost_splits:BY_SPLIT",
    "elasticsearch-2023": "treerank.exports.xgboost_splits:ZEROS",
    "json": "treerank.exports.forest_json:JSON",
    "lightgbm": "treerank.exports.lightgbm_model:LIGHTGBM",
    "onnx": "treerank.exports.onnx:ONNX",
    "opensearch": "treerank.exports.xgboost_splits:BY_SPLIT",
    "opensearch-2": "treerank.exports.xgboost_splits:ZEROS",
    "opensearch-3.2": "treerank.exports.xgboost_splits:RIGHT",
    "ranklib": "treerank.exports.ranklib:RANKLIB",
    "solr": "treerank.exports.solr:SOLR",
    "solr-8": "treerank.exports.solr:SOLR_8",
    "vespa": "treerank.exports.vespa:VESPA",
    "vespa-expression": "treerank.exports.vespa_expression:VESPA_EXPRESSION",
    "xgboost": "treerank.exports.xgboost_model:XGBOOST",
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
