"""RankLib: the XML of its ensembles of LambdaMART and MART.

RankLib reads values and numbers of the file as floats, goes left if ``value <= threshold``, and
adds floats. A missing value is 0. The file does not say how many features there are.
"""

from dataclasses import replace
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np

from treerank.forests.forest import Forest
from treerank.forests.thresholds import up_to_in_single
from treerank.imports.growing import GrowingForest

_SUMS = ("", "LambdaMART", "MART")
#: Numbers of features up to here are exact in single precision, as RankLib reads them.
_MOST_FEATURES = 2**24
_TEXTS = ("feature", "threshold", "output")


def is_ranklib(document: Any) -> bool:
    """Return whether a document looks like an ensemble."""
    return isinstance(document, str) and document.startswith(("##", "<ensemble"))


def read_ranklib(document: str) -> Forest:
    r"""Return the trees of an ensemble.

    Examples
    --------
    >>> leaf = "<tree id='1' weight='0.5'><split><output>3.0</output></split></tree>"
    >>> read_ranklib(f"## LambdaMART\n<ensemble>{leaf}</ensemble>").values
    array([[1.5]])
    """
    head, start, xml = document.partition("<ensemble>")
    name = head.partition("\n")[0].strip("# \r")
    if name not in _SUMS:
        _refuse(f"trees of LambdaMART or MART, not of {name:.50}")
    reader = _Reader()
    reader.parse(start + xml)
    forest = reader.growing.forest(max(reader.growing.feature, default=-1) + 1)
    reached = up_to_in_single(forest.threshold.astype(np.float32))
    is_leaf = forest.is_leaf
    return replace(
        forest,
        threshold=np.where(is_leaf, 0.0, reached),
        missing_left=~is_leaf & (reached >= 0),
        sum_dtype="float32",
    )


class _Reader:
    """What was read so far, and the elements that are open."""

    def __init__(self) -> None:
        self.growing = GrowingForest()
        self.weight = 1.0
        self.open: list[str] = []
        #: For each open split: its node, its texts, and those of its children that come next.
        self.splits: list[tuple[int, dict[str, float], list[int]]] = []
        self.text: list[str] = []

    def parse(self, xml: str) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.begin
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = lambda text: self.text.append(text)
        parser.StartDoctypeDeclHandler = lambda *_: _refuse("no document type")
        parser.Parse(xml.encode(), True)

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        parent = self.open[-1] if self.open else ""
        if (parent, name) == ("ensemble", "tree"):
            self.weight = float(np.float32(attributes["weight"]))
            self.growing.add_tree()
        elif (parent, name) == ("tree", "split"):
            self.splits.append((self.growing.roots[-1], {}, []))
        elif (parent, name) == ("split", "split"):
            self.begin_child()
        elif (parent, name) != ("", "ensemble") and not (parent == "split" and name in _TEXTS):
            _refuse("its elements only, in their order")
        self.open.append(name)
        self.text = []

    def begin_child(self) -> None:
        node, texts, children = self.splits[-1]
        if self.growing.feature[node] < 0:
            feature, threshold = texts.pop("feature"), texts.pop("threshold")
            if not 1 <= feature <= _MOST_FEATURES or feature % 1 != 0:
                _refuse(f"features from 1 to {_MOST_FEATURES}")
            children += self.growing.split(node, int(feature) - 1, threshold, False)
        self.splits.append((children.pop(0), {}, []))

    def end(self, name: str) -> None:
        self.open.pop()
        if name in _TEXTS:
            self.splits[-1][1][name] = float(np.float32("".join(self.text)))
        elif name == "split":
            node, texts, children = self.splits.pop()
            if self.growing.feature[node] < 0:
                self.growing.values[node] = texts.pop("output") * self.weight
            if texts or children:
                _refuse("splits of a feature, a threshold and two splits")


def _refuse(rule: str) -> NoReturn:
    raise ValueError(f"A model of RankLib must have {rule}.")
