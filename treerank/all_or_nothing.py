"""All or nothing: what a failed fit leaves behind is the estimator as it was before."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(fit: Method) -> Method:
    """Decorate a method so that, if it fails, the object has the attributes it had before.

    Ctrl-C counts as a failure. What an attribute holds must not be changed in place.

    Examples
    --------
    >>> class Mean:
    ...     @all_or_nothing
    ...     def fit(self, values):
    ...         self.n_ = len(values)
    ...         self.mean_ = sum(values) / self.n_
    >>> mean = Mean()
    >>> mean.fit([1, 3])
    >>> mean.fit(["a"])
    Traceback (most recent call last):
    ...
    TypeError: unsupported operand type(s) for +: 'int' and 'str'
    >>> mean.n_, mean.mean_
    (2, 2.0)
    """

    @wraps(fit)
    def whole(estimator: Any, /, *args: Any, **kwargs: Any) -> Any:
        attributes: dict[str, Any] = vars(estimator)
        before = dict(attributes)
        try:
            return fit(estimator, *args, **kwargs)
        except BaseException:
            attributes.clear()
            attributes.update(before)
            raise

    return cast(Method, whole)
