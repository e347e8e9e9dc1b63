"""PMML: a regression in version 4.4 of the standard, a sum of trees.

Trees that are added in single precision are marked with JPMML's ``x-mathContext``, and values are
floats then.
"""

from xml.sax.saxutils import quoteattr

from treerank.exports.comparison import AT_MOST, BELOW_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import Written

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


def write_pmml(written: Written) -> str:
    """Return the model as XML."""
    single = written.thresholds.dtype == "float32"
    context = ' x-mathContext="float"' if single else ""
    kind = "float" if single else "double"
    fields = [f'<DataField name={quoteattr(name)} optype="continuous" dataType="{kind}"/>'
              for name in written.names]  # fmt: skip
    schema = "".join(f"<MiningField name={quoteattr(name)}/>" for name in written.names)
    schema = f"<MiningSchema>{schema}</MiningSchema>"
    lines = [_HEAD, *fields, "</DataDictionary>"]
    lines.append(f'<MiningModel functionName="regression"{context}>{schema}')
    lines.append('<Segmentation multipleModelMethod="sum">')
    for number, root in enumerate(written.roots, start=1):
        lines.append(_TREE.format(number=number, context=context) + schema)
        lines += [*_node(written, root, single), "</TreeModel></Segment>"]
    return "\n".join([*lines, "</Segmentation></MiningModel></PMML>", ""])


def _node(written: Written, root: int, single: bool) -> list[str]:
    """Return the lines of a tree; the predicate of a node is put in by its parent."""
    nodes = written.columns
    operators = ("lessThan", "greaterOrEqual") if single else ("lessOrEqual", "greaterThan")

    def leaf(node: int) -> list[str]:
        return [f'<Node id="{node}" score="{nodes["value"][node]!r}">', "</Node>"]

    def split(node: int, left: list[str], right: list[str]) -> list[str]:
        field = quoteattr(written.names[nodes["feature"][node]])
        if node in written.sets:
            codes = " ".join(map(repr, written.sets[node]))
            array = f'<Array type="real" n="{len(written.sets[node])}">{codes}</Array>'
            tests = [
                f'<SimpleSetPredicate field={field} booleanOperator="{operator}">{array}'
                "</SimpleSetPredicate>"
                for operator in ("isIn", "isNotIn")
            ]
        else:
            threshold = nodes["threshold"][node]
            tests = [
                f'<SimplePredicate field={field} operator="{operator}" value="{threshold!r}"/>'
                for operator in operators
            ]
        default = nodes["left"][node] if nodes["missing_left"][node] else nodes["right"][node]
        begin = f'<Node id="{node}" defaultChild="{default}">'
        return [
            begin, left[0], tests[0], *left[1:], right[0], tests[1], *right[1:], "</Node>"
        ]  # fmt: skip

    first, *rest = written.nested(root, split, leaf)
    return [first, "<True/>", *rest]


PMML = Format(
    write_pmml,
    Consumer(AT_MOST, categories="exact"),
    single=Consumer(BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32", categories="exact"),
    max_depth=200,
)
