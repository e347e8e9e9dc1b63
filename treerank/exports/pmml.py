"""PMML: a regression in version 4.4 of the standard, a sum of trees.

Trees that are added in single precision are marked with JPMML's ``x-mathContext``, and values are
floats then.
"""

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from treerank.exports.comparison import AT_MOST, BELOW_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import Written, WrittenTree

_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
<Header><Application name="treerank"/></Header>
<DataDictionary>
"""
_TREE = (
    '<Segment id="{number}"><True/><TreeModel functionName="regression" '
    'missingValueStrategy="defaultChild" splitCharacteristic="binarySplit"{context}>'
)
#: A feature of a line adds something where it is not missing.
_LINE = """\
<Segment><SimplePredicate field={name} operator="isNotMissing"/>\
<RegressionModel functionName="regression">{schema}<RegressionTable intercept="{offset!r}">\
<NumericPredictor name={name} coefficient="{factor!r}"/></RegressionTable></RegressionModel>\
</Segment>
"""


def write_pmml(written: Written) -> Iterator[str]:
    """Yield the model as XML."""
    single = written.thresholds.dtype == "float32"
    context = ' x-mathContext="float"' if single else ""
    kind = "float" if single else "double"
    fields = [f'<DataField name={quoteattr(name)} optype="continuous" dataType="{kind}"/>'
              for name in written.names]  # fmt: skip
    schema = "".join(f"<MiningField name={quoteattr(name)}/>" for name in written.names)
    schema = f"<MiningSchema>{schema}</MiningSchema>"
    yield "\n".join([_HEAD, *fields, "</DataDictionary>\n"])
    yield f'<MiningModel functionName="regression"{context}>{schema}\n'
    yield '<Segmentation multipleModelMethod="sum">\n'
    names = [quoteattr(name) for name in written.names]
    for number, tree in enumerate(written.trees(), start=1):
        yield _TREE.format(number=number, context=context) + schema + "\n"
        yield _nodes(tree, names, single)
        yield "</TreeModel></Segment>\n"
    for name, factor, offset in written.line_of_names():
        yield _LINE.format(name=quoteattr(name), factor=factor, offset=offset, schema=schema)
    yield "</Segmentation></MiningModel></PMML>\n"


def _nodes(tree: WrittenTree, names: list[str], single: bool) -> str:
    """Return the nodes of a tree; a node begins with the test of its parent."""
    operators = ("lessThan", "greaterOrEqual") if single else ("lessOrEqual", "greaterThan")
    tests = ["<True/>"] * len(tree.feature)
    texts = []
    columns = tree.feature, tree.threshold, tree.right, tree.missing_left, tree.value
    for node, (feature, threshold, right, missing_left, value) in enumerate(
        zip(*columns, strict=True)
    ):
        if feature < 0:
            texts.append(f'<Node id="{node}" score="{value!r}">\n{tests[node]}\n</Node>\n')
            continue
        default = node + 1 if missing_left else right
        texts.append(f'<Node id="{node}" defaultChild="{default}">\n{tests[node]}\n')
        if node in tree.sets:
            tests[node + 1], tests[right] = _set_tests(names[feature], tree.sets[node])
            continue
        begin, end = (
            f"<SimplePredicate field={names[feature]} operator=",
            f' value="{threshold!r}"/>',
        )
        tests[node + 1] = f'{begin}"{operators[0]}"{end}'
        tests[right] = f'{begin}"{operators[1]}"{end}'
    return tree.nested(texts, "", "</Node>\n")


def _set_tests(field: str, codes: list[float]) -> list[str]:
    array = f'<Array type="real" n="{len(codes)}">{" ".join(map(repr, codes))}</Array>'
    return [
        f'<SimpleSetPredicate field={field} booleanOperator="{operator}">{array}'
        "</SimpleSetPredicate>"
        for operator in ("isIn", "isNotIn")
    ]


PMML = Format(
    write_pmml,
    Consumer(AT_MOST, categories="exact"),
    single=Consumer(BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32", categories="exact"),
    max_depth=200,
    adds=("line",),
)
