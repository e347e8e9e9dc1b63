"""RankLib: the XML of its LambdaMART ensembles, which Elasticsearch's plugin reads, too.

RankLib reads values and thresholds as floats, and goes left if ``value <= threshold``. Features are
numbered from 1. It knows neither missing values nor categories.
"""

from treerank.export.written import Written, shortest


def write_ranklib(written: Written) -> str:
    """Return the trees as XML."""
    nodes = written.columns

    def leaf(node: int) -> list[str]:
        return [f"<output>{shortest(nodes['value'][node], single=True)}</output>"]

    def split(node: int, left: list[str], right: list[str]) -> list[str]:
        number = nodes["feature"][node] + 1
        threshold = shortest(nodes["threshold"][node], single=True)
        return [
            f"<feature>{number}</feature><threshold>{threshold}</threshold>",
            '<split pos="left">', *left, "</split>",
            '<split pos="right">', *right, "</split>",
        ]  # fmt: skip

    forest = written.forest
    lines = [f"## LambdaMART\n## No. of trees = {forest.n_trees}\n\n<ensemble>"]
    for number, root in enumerate(forest.roots.tolist(), start=1):
        lines.append(f'<tree id="{number}" weight="1.0"><split>')
        lines += [*written.nested(root, split, leaf), "</split></tree>"]
    return "\n".join([*lines, "</ensemble>", ""])
