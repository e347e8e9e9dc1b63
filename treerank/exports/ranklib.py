"""RankLib: the XML of its LambdaMART ensembles, which Elasticsearch's plugin reads, too.

RankLib reads values and thresholds as floats, and goes left if ``value <= threshold``. Features are
numbered from 1. It knows neither missing values nor categories.
"""

from treerank.exports.comparison import AT_MOST_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import Written


def write_ranklib(written: Written) -> str:
    """Return the trees as XML."""
    nodes = written.columns

    def leaf(node: int) -> list[str]:
        return [f"<output>{nodes['value'][node]!r}</output>"]

    def split(node: int, left: list[str], right: list[str]) -> list[str]:
        number = nodes["feature"][node] + 1
        threshold = nodes["threshold"][node]
        return [
            f"<feature>{number}</feature><threshold>{threshold!r}</threshold>",
            '<split pos="left">', *left, "</split>",
            '<split pos="right">', *right, "</split>",
        ]  # fmt: skip

    forest = written.forest
    lines = [f"## LambdaMART\n## No. of trees = {forest.n_trees}\n\n<ensemble>"]
    for number, root in enumerate(written.roots, start=1):
        lines.append(f'<tree id="{number}" weight="1.0"><split>')
        lines += [*written.nested(root, split, leaf), "</split></tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


RANKLIB = Format(
    write_ranklib,
    Consumer(AT_MOST_SINGLE, "refused", leaf_dtype="float32", sum_dtype="float32"),
    max_depth=200,
)
