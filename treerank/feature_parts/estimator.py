"""Estimator: the decorator of feature parts and rankers, which are data classes of scikit-learn.

Wrong arguments of a constructor, or of a method that is ``answered``, are answered by what to write
instead; for words of other libraries, see :mod:`treerank.feature_parts.engine_words`.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, dataclass_transform, overload

from sklearn.base import BaseEstimator

from treerank.feature_parts.engine_words import refuse_callbacks, refuse_word
from treerank.parameters import PlainSignature, bound, plain_signature

C = TypeVar("C")
P = ParamSpec("P")
T = TypeVar("T")


@overload
def estimator(cls: type[C]) -> type[C]: ...
@overload
def estimator(*, kw_only: bool = False) -> Callable[[type[C]], type[C]]: ...
@dataclass_transform(eq_default=False)
def estimator(cls: Any = None, *, kw_only: bool = False) -> Any:
    """Make a data class of an estimator: its fields are the parameters, as scikit-learn asks.

    Estimators are compared by identity, and scikit-learn writes their texts. ``help`` shows ``fit``
    of a ranker before other methods that are inherited. With ``kw_only``, parameters that the class
    adds are passed by name.

    Examples
    --------
    >>> from treerank.parameters import Count
    >>> @estimator
    ... class Trees:
    ...     n_estimators: Count = 100
    >>> print(inspect.signature(Trees))
    (n_estimators: int = 100) -> None
    >>> Trees(num_trees=7)
    Traceback (most recent call last):
    ...
    TypeError: Trees has no num_trees; write Trees(n_estimators=...).
    """
    if cls is None:
        return functools.partial(estimator, kw_only=kw_only)
    made = dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
    made.__init__ = answered(made.__init__)
    if getattr(made, "set_params", None) is BaseEstimator.set_params:
        made.set_params = answered(made.set_params)
    made.__signature__ = PlainSignature()
    if hasattr(made, "predict"):
        made.fit = made.fit
    return made


def answered(method: Callable[P, T]) -> Callable[P, T]:
    """Return a method with the same signature that raises helpful errors for wrong arguments.

    Errors for arguments of other programs, and for callbacks of these, say what to write here.
    """
    signature = inspect.signature(method)

    @functools.wraps(method)
    def answering(*args: P.args, **kwargs: P.kwargs) -> T:
        if not args:  # a method of the class, called without an object
            return method(*args, **kwargs)
        cls, name = type(args[0]), method.__name__
        for word in kwargs.keys() - signature.parameters.keys():
            if "__" not in word:
                refuse_word(cls, name, word, kwargs[word], _first_parameter(name, args, kwargs))
        refuse_callbacks(kwargs.get("callbacks", ()))
        try:
            signature.bind(*args, **kwargs)
        except TypeError:  # say how to write the call
            shown = cls.__name__ if name == "__init__" else f"{cls.__name__}.{name}"
            bound(shown, signature, args, kwargs)
        return method(*args, **kwargs)

    vars(answering)["__signature__"] = plain_signature(method)
    return answering


def _first_parameter(method: str, args: Any, kwargs: Any) -> Any:
    """Return the first parameter of an estimator, such as its feature part; None if there is none.

    It is an argument of the call of ``__init__`` or ``set_params``, or what the estimator has.
    """
    name = next(iter(inspect.signature(type(args[0])).parameters), "")
    if method == "__init__" and len(args) > 1:
        return args[1]
    return kwargs.get(name, getattr(args[0], name, None))
