"""RankLib: the XML of its LambdaMART ensembles, which Elasticsearch's plugin reads, too.

RankLib reads values and thresholds as floats, and goes left if ``value <= threshold``. Features are
numbered from 1. It knows neither missing values nor categories.
"""

from collections.abc import Iterator

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import AT_MOST_SINGLE
from treerank.exports.written import Written, WrittenTree


def write_ranklib(written: Written) -> Iterator[str]:
    """Yield the trees as XML."""
    yield f"## LambdaMART\n## No. of trees = {written.forest.n_trees}\n\n<ensemble>\n"
    for number, tree in enumerate(written.trees(), start=1):
        yield f'<tree id="{number}" weight="1.0"><split>\n'
        yield _splits(tree)
        yield "</split></tree>\n"
    yield "</ensemble>\n"


def _splits(tree: WrittenTree) -> str:
    texts = [
        f"<output>{value!r}</output>\n"
        if feature < 0
        else f"<feature>{feature + 1}</feature><threshold>{threshold!r}</threshold>\n"
        '<split pos="left">\n'
        for feature, threshold, value in zip(tree.feature, tree.threshold, tree.value, strict=True)
    ]
    return tree.nested(texts, '</split>\n<split pos="right">\n', "</split>\n")


RANKLIB = ExportFormat(
    write_ranklib,
    Consumer(AT_MOST_SINGLE, "refused", leaf_dtype="float32", sum_dtype="float32"),
    max_depth=200,
)
