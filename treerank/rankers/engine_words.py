"""Engine words: what to write here for the arguments of LGBMRanker and its like.

To add a word, add a line to ``WORDS``. Parameters of trees need none.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from treerank.feature_parts.registry import feature_part_class

C = TypeVar("C", bound=type)
_FRAME = "X as a data frame: columns of text or of dtype category are categories"
_TREES = "TreeDirectRanker(LightGBMTrees(n_estimators={value}))"
_QID = "eval_set=[(X, y, qid)], with one query id per row"
#: What to write for an argument that other programs have.
WORDS = {
    "cat_features": _FRAME,
    "categorical_feature": _FRAME,
    "eval_at": "eval_metric=['ndcg@5', 'ndcg@10'] in fit",
    "eval_group": _QID,
    "eval_qid": _QID,
    "feature_name": "X as a data frame, which has names",
    "group": "qid=np.repeat(np.arange(len(group)), group), one query id per row",
    "group_id": "qid, one query id per row in any order",
    "importance_type": "ranker.feature_importances_",
    "label_gain": "gain={value}",
    "lambdarank_truncation_level": "k={value}",
    "num_boost_round": _TREES,
    "num_iterations": _TREES,
    "objective": "loss and weight, whose defaults are lambdarank's, 'logistic' and 'ndcg'",
    "sigmoid": "sigma={value}",
    "verbose": "treerank.show_progress() to see iterations",
    "verbosity": "treerank.show_progress() to see iterations",
}


def answering(cls: C) -> C:
    """Let a class of rankers answer words of other programs, with signatures that are short.

    Its ``fit`` is a method of its own, which ``help`` shows before those that are inherited.
    """
    for name in ("__init__", "fit", "set_params"):
        setattr(cls, name, _answering(getattr(cls, name)))
    return cls


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that answers words of other programs."""
    signature = inspect.signature(method)
    bare = [
        each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()
    ]

    @functools.wraps(method)
    def answered(self: Any, *args: Any, **given: Any) -> Any:
        own = inspect.signature(type(self)).parameters.keys() | signature.parameters.keys()
        for name in given.keys() - own:
            _refuse_word(type(self).__name__, name, given[name])
        _refuse_callbacks(given.get("callbacks", ()))
        return method(self, *args, **given)

    vars(answered)["__signature__"] = inspect.Signature(bare)
    return answered


def _refuse_word(owner: str, name: str, value: Any) -> None:
    """Refuse a word of other programs; any other is left to Python or scikit-learn."""
    advice = WORDS.get(name)
    of_trees = advice is None and "__" not in name
    if of_trees and name in feature_part_class("lightgbm")().get_params():
        advice = _TREES.replace("n_estimators", name)
    if advice is not None:
        raise TypeError(f"{owner} has no {name}; write {advice.format(value=repr(value))}.")


def _refuse_callbacks(callbacks: Any) -> None:
    """Refuse callbacks of engines."""
    for each in callbacks if isinstance(callbacks, list | tuple) else ():
        package = type(each).__module__.partition(".")[0]
        if package in ("lightgbm", "xgboost"):
            raise TypeError(
                f"callbacks must be functions of (n_done, n_total, values); got one of {package}. "
                "Write TreeDirectRanker(LightGBMTrees(early_stopping_rounds=50)) to stop early, "
                "eval_metric in fit to record metrics, treerank.show_progress() to see them."
            )
