"""Python and JavaScript modules that score documents without any package.

They are copies of :mod:`treerank.exports.modules.scorer` and ``scorer.mjs``, in which the JSON of
the model replaces an empty one. Names and categories stand only in the JSON, never in code.
"""

import json
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.exports.formats import ExportFormat
from treerank.exports.program_runs import node_scores, python_scores
from treerank.exports.written import Written

_RELEVANCE = {
    "python": '''

def relevance(score: float) -> float:
    """Return the probability of relevance of a document with this score."""
    log_odds = min({lines})
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0
''',
    "javascript": """
/* The probability of relevance of a document with this score. */
export function relevance(score) {{
  return 1 / (1 + Math.exp(-Math.min({lines})));
}}
""",
}
_FILES = {"python": "scorer.py", "javascript": "scorer.mjs"}
#: Start of the line that loads the model, and its replacement, by language.
_LINES = {
    "python": ("_MODEL = json.loads(", "_MODEL = json.loads(\n{pieces}\n)\n"),
    "javascript": (
        "const model = JSON.parse(",
        "const model = JSON.parse([\n{pieces}\n].join(''));\n",
    ),
}
#: JavaScript cannot represent every whole number beyond this one.
_LARGEST_WHOLE = 2**53


def write_module(language: str, written: Written) -> str:
    """Return the source of a module with a model; ``language`` is "python" or "javascript"."""
    template = (files("treerank.exports.modules") / _FILES[language]).read_text(encoding="utf-8")
    begin, line = _LINES[language]
    before, _, after = template.partition(begin)
    after = after.split("\n", 1)[1]
    literal, end = (ascii, "") if language == "python" else (_script_text, ",")
    pieces = "\n".join(f"  {literal(piece)}{end}" for piece in _json_pieces(language, written))
    source = before + line.format(pieces=pieces.replace("{", "{")) + after
    if language == "python":
        source = source.replace("# fmt: off\n", "").replace("# fmt: on\n", "")
        source = source.replace("  # noqa: B905  (Python 3.8)", "")
    if written.log_odds is not None:
        lines = [f"{slope!r} * score + {shift!r}" for slope, shift in written.log_odds.tolist()]
        if language == "python" and len(lines) == 1:
            lines *= 2  # Python's min needs at least two numbers
        source += _RELEVANCE[language].format(lines=", ".join(lines))
    return source


def _script_text(text: str) -> str:
    r"""Return a JavaScript string literal that is also safe inside an HTML page.

    Examples
    --------
    >>> print(_script_text('</script> "\u2028"'))
    "\u003c/script> \"\u2028\""
    """
    return json.dumps(text).replace("<", "\\u003c")


def _json_pieces(language: str, written: Written) -> Iterator[str]:
    """Yield the JSON of the model in pieces: one for the head, one per tree, one for the end."""
    forest, linear = written.forest, written.linear
    categories = [
        [column, _levels(language, written.names[column], levels)]
        for column, levels in sorted(written.levels.items())
    ]
    terms = [] if linear is None else [
        [int(j), float(linear.coef[j]), float(linear.offset[j])] for j in linear.features
    ]  # fmt: skip
    head = {
        "features": written.names,
        "categories": categories,
        "constant": float(forest.constant[0]),
        "single": forest.sum_dtype == "float32",
        "missing_up_to": float(forest.missing_up_to),
        "rule": "exact" if forest.categories is None else forest.categories.rule,
        "linear": terms,
    }
    yield _json(head)[:-1] + ',"trees":['
    comma = ""
    for tree in written.trees():
        is_leaf = [node.feature < 0 for node in tree]
        feature = [None if leaf else ~n.feature if n.missing_left else n.feature
                   for n, leaf in zip(tree, is_leaf, strict=True)]  # fmt: skip
        number = [n.value if leaf else n.threshold if n.codes is None else n.codes
                  for n, leaf in zip(tree, is_leaf, strict=True)]  # fmt: skip
        right = [0 if leaf else n.right for n, leaf in zip(tree, is_leaf, strict=True)]
        yield comma + _json([feature, number, right])
        comma = ","
    yield "]}"


def _json(value: Any) -> str:
    """Return compact JSON; infinity is written as 1e999, which parsers read as infinity."""
    text = json.dumps(value, separators=(",", ":"))
    if "Infinity" not in text:
        return text
    return json.dumps(_without_infinity(value), separators=(",", ":")).replace(_INFINITE, "1e999")


#: Stands for infinity until the JSON is written; no model holds this number.
_INFINITE = "1.7976931348623157e+308"


def _without_infinity(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_infinity(element) for element in value]
    if isinstance(value, float) and np.isinf(value):
        return float(np.copysign(np.finfo(np.float64).max, value))
    return value


def _levels(language: str, name: str, levels: list[Any]) -> list[Any]:
    """Return the categories of the column ``name`` as JSON values.

    Refuses categories that JSON, or numbers of JavaScript, cannot tell apart.
    """
    plain = [level.item() if isinstance(level, np.generic) else level for level in levels]
    plain = [level if isinstance(level, str | int | float) else str(level) for level in plain]
    keys: list[Any] = plain
    if language == "javascript":
        wide = [x for x in plain if isinstance(x, int) and abs(x) > _LARGEST_WHOLE]
        if wide:
            raise ValueError(
                f"format 'javascript' takes categories that are text or numbers up to 2**53; got "
                f"{wide[0]} in column {quote(name)}. Make them text and fit again."
            )
        keys = [(isinstance(x, bool), x) for x in plain]
    if len({*keys}) < len(keys):
        raise ValueError(
            f"format {quote(language)} takes categories that differ as values; got equal ones in "
            f"column {quote(name)}. Make them text and fit again."
        )
    return plain


PYTHON = ExportFormat(
    partial(write_module, "python"),
    adds=("linear",),
    has_relevance=True,
    run=python_scores,
)
JAVASCRIPT = ExportFormat(
    partial(write_module, "javascript"),
    adds=("linear",),
    has_relevance=True,
    run=node_scores,
)
