"""Solr: ``MultipleAdditiveTreesModel`` of its learning to rank, a JSON document.

Solr reads values, thresholds and leaves as floats, and goes left if ``value <= threshold + 1e-6``.
It knows neither missing values nor categories.
"""

import json
from typing import Any

from treerank.export.written import Written

CLASS = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"


def write_solr(written: Written) -> str:
    """Return the model as JSON; its features are those of a feature store of the same names."""
    nodes, names = written.columns, written.names

    def leaf(node: int) -> dict[str, Any]:
        return {"value": str(nodes["value"][node])}

    def split(node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {
            "feature": names[nodes["feature"][node]],
            "threshold": str(nodes["threshold"][node]),
            "left": left,
            "right": right,
        }

    roots = written.forest.roots.tolist()
    trees = [{"weight": "1", "root": written.nested(root, split, leaf)} for root in roots]
    model = {
        "class": CLASS,
        "name": "treerank",
        "features": [{"name": name} for name in names],
        "params": {"trees": trees},
    }
    return json.dumps(model)
