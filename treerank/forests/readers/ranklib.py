"""RankLib: the XML of its ensembles of LambdaMART and MART, and of its random forests of these.

RankLib reads values and numbers of the file as floats, goes left if ``value <= threshold``, and
adds floats. A missing value is 0. A random forest is the mean of the scores of its bags, which are
added in double precision; a bag of several trees is a sum of floats there, and equal up to
rounding here. The file does not say how many features there are.
"""

from dataclasses import replace
from typing import NoReturn
from xml.etree import ElementTree

import numpy as np

from treerank.forests.building import GrowingForest
from treerank.forests.forest import Forest
from treerank.forests.thresholds import up_to_in_single

_SUMS = ("", "LambdaMART", "MART")
_MEANS = ("Random Forests",)
_END = "</ensemble>"
#: Numbers of features up to here are exact in single precision, as RankLib reads them.
_MOST_FEATURES = 2**24


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
    if name not in (*_SUMS, *_MEANS):
        _refuse(f"trees of LambdaMART, MART or Random Forests, not of {name:.50}")
    growing, bags = GrowingForest(), [start + xml]
    if name in _MEANS:
        bags = [bag + _END for bag in (start + xml).split(_END) if bag.strip()]
    for bag in bags:
        for tree in ElementTree.fromstring(bag.strip()):
            _add_tree(growing, tree)
    forest = growing.forest(max(growing.feature, default=-1) + 1)
    if name in _MEANS:
        forest = replace(forest, values=forest.values / len(bags))
    reached = up_to_in_single(forest.threshold.astype(np.float32))
    is_leaf = forest.is_leaf
    return replace(
        forest,
        threshold=np.where(is_leaf, 0.0, reached),
        missing_left=~is_leaf & (reached >= 0),
        sum_dtype="float64" if name in _MEANS else "float32",
        has_all_columns=False,
    )


def _add_tree(growing: GrowingForest, tree: ElementTree.Element) -> None:
    """Add a tree; the parts of a split are a feature, a threshold, and the splits below it."""
    if [tree.tag, *(part.tag for part in tree)] != ["tree", "split"]:
        _refuse("trees of one split each")
    weight = _single(tree.attrib["weight"])
    waiting = [(growing.add_tree(), tree[0])]
    while waiting:
        node, split = waiting.pop()
        parts = [part.tag for part in split]
        if parts == ["output"]:
            growing.values[node] = _single(split[0].text) * weight
        elif parts == ["feature", "threshold", "split", "split"]:
            feature, threshold = _single(split[0].text), _single(split[1].text)
            if not 1 <= feature <= _MOST_FEATURES or feature % 1 != 0:
                _refuse(f"features from 1 to {_MOST_FEATURES}")
            left, right = growing.split(node, int(feature) - 1, threshold, False)
            waiting += [(right, split[3]), (left, split[2])]
        else:
            _refuse("splits of a feature, a threshold and two splits")


def _single(text: str | None) -> float:
    """Return the number that a text holds, in single precision."""
    return float(np.float32(text or ""))


def _refuse(rule: str) -> NoReturn:
    raise ValueError(f"A model of RankLib must have {rule}.")
