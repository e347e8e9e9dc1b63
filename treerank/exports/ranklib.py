"""RankLib: the XML of its LambdaMART ensembles, which Elasticsearch's plugin reads, too.

RankLib reads values and thresholds as floats, and goes left if ``value <= threshold``. Features are
numbered from 1. It knows neither missing values nor categories.
"""

from collections.abc import Iterator

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import AT_MOST_SINGLE
from treerank.exports.written import Node, Written, nested


def write_ranklib(written: Written) -> Iterator[str]:
    """Yield the trees as XML."""
    yield f"## LambdaMART\n## No. of trees = {written.forest.n_trees}\n\n<ensemble>\n"
    for number, tree in enumerate(written.trees(), start=1):
        yield f'<tree id="{number}" weight="1.0"><split>\n'
        yield _splits(tree)
        yield "</split></tree>\n"
    yield "</ensemble>\n"


def _splits(tree: list[Node]) -> str:
    def split(node: Node) -> str:
        feature = f"<feature>{node.feature + 1}</feature>"
        return f'{feature}<threshold>{node.threshold!r}</threshold>\n<split pos="left">\n'

    ends = '</split>\n<split pos="right">\n', "</split>\n"
    return nested(tree, lambda node: f"<output>{node.value!r}</output>\n", split, *ends)


RANKLIB = ExportFormat(
    write_ranklib,
    Consumer(AT_MOST_SINGLE, "refused", leaf_dtype="float32", sum_dtype="float32"),
    max_depth=200,
)
