"""RankLib: the XML of its LambdaMART ensembles, which Elasticsearch's plugin reads, too.

RankLib reads values and thresholds as floats, and goes left if ``value <= threshold``. Features are
numbered from 1. It knows neither missing values nor categories.
"""

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import AT_MOST_SINGLE
from treerank.exports.written import Node, Written, nested


def write_ranklib(written: Written) -> str:
    """Return the trees in RankLib's XML."""
    trees = [
        f'<tree id="{number}" weight="1.0"><split>\n{_splits(tree)}</split></tree>\n'
        for number, tree in enumerate(written.trees(), start=1)
    ]
    head = f"## LambdaMART\n## No. of trees = {len(trees)}\n\n"
    return f"{head}<ensemble>\n{''.join(trees)}</ensemble>\n"


def _splits(tree: list[Node]) -> str:
    def split(node: Node, left: str, right: str) -> str:
        return (
            f"<feature>{node.feature + 1}</feature><threshold>{node.threshold!r}</threshold>\n"
            f'<split pos="left">\n{left}</split>\n<split pos="right">\n{right}</split>\n'
        )

    return nested(tree, lambda node: f"<output>{node.value!r}</output>\n", split)


RANKLIB = ExportFormat(
    write_ranklib,
    Consumer(AT_MOST_SINGLE, "refused", leaf_dtype="float32", sum_dtype="float32"),
    max_depth=200,
)
