"""Rankers by name, for model files and the command line.

To add a baseline, list it in :mod:`treerank.baselines`; to add another ranker, list it here. A
module is imported only when its ranker is asked for.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from treerank.baselines import BASELINES
from treerank.checks import check_choice
from treerank.lazy import load_object
from treerank.parameters import check_arguments
from treerank.rankers.model_file import read_model
from treerank.rankers.ranker import Ranker

RANKERS = {
    **BASELINES,
    "ColumnRanker": "treerank.rankers.column_ranker:ColumnRanker",
    "ForestRanker": "treerank.rankers.forest_ranker:ForestRanker",
    "NestedRanker": "treerank.rankers.nested_ranker:NestedRanker",
    "StreamingRanker": "treerank.rankers.streaming_ranker:StreamingRanker",
    "TreeDirectRanker": "treerank.rankers.tree_direct_ranker:TreeDirectRanker",
}


def ranker_class(name: str) -> type[Ranker]:
    """Return the class of a ranker in ``RANKERS``.

    Examples
    --------
    >>> ranker_class("RankSVM")
    <class 'treerank.baselines.linear.ranksvm.RankSVM'>
    """
    check_choice("name", name, RANKERS)
    ranker: type[Ranker] = load_object(RANKERS[name])
    return ranker


@check_arguments
def load(
    path: str | Path,
    *,
    parts: dict[str, Any] | None = None,
    build: Callable[[int], Any] | Mapping[str, Callable[[int], Any]] | None = None,
) -> Any:
    """Read a ranker from a file that its method ``save`` wrote; loading runs no code.

    Parameters
    ----------
    path : str or path
        The file.
    parts : dict from str to class, default=None
        Classes of your own feature parts by name, if the model has one. A parameter that no file
        holds, such as a function, comes with its class, as in ``{"Own": partial(Own, f=np.tanh)}``.
        If the parts of the model have several of them, a dict holds each by its name, as in
        ``{"Own": partial(Own, f={"tanh": np.tanh, "arctan": np.arctan})}``.
    build : callable or mapping from str to callable, default=None
        The function that made the module of a :class:`~treerank.feature_parts.TorchModule`, or of
        a class in ``parts`` that is derived from it. The weights of the module are in the file. If
        the model has several modules, a mapping holds the function of each by its name, as in
        ``{"small": small, "large": large}``.

    Returns
    -------
    Ranker
        The ranker, with the same predictions, bit for bit. Settings of this package come back, such
        as ``NDCG(5)`` or a ``RandomState``. A loss, weight or metric of your own is not in the
        file: the ranker predicts without it, but set it before you measure or fit again.

    Raises
    ------
    ValueError
        The file is damaged, is no treerank model, or was written by a newer version.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> X, y, qid = [[1.0], [2.0], [1.0], [3.0]], [0, 1, 0, 1], [1, 1, 2, 2]
    >>> path = getfixture("tmp_path") / "ranker.treerank"
    >>> RankSVM().fit(X, y, qid).save(path)
    >>> load(path).rank(X, qid)
    array([2, 1, 2, 1])
    """
    return read_model(path, RANKERS, parts, build)
