"""Inherited parameters: replace ``**kwargs`` in the signature of an estimator's ``__init__``.

scikit-learn, ``help`` and editors read the parameters of an estimator from the signature of its
``__init__``. Estimators that share a dozen parameters would have to repeat them. With
:func:`spell_out` each passes them on as ``**kwargs``, and its signature lists them with the
inherited defaults. A dataclass does not need this, and type checkers understand it, see
:class:`~treerank.feature_parts.networks.network_part.NetworkPart`.
"""

import inspect
from typing import Any


def spell_out(cls: Any) -> None:
    """Replace ``**kwargs`` in the signature of ``cls.__init__`` by parameters of the next class.

    Examples
    --------
    >>> class Base:
    ...     def __init__(self, *, rate=0.1, seed=None): ...
    >>> class Derived(Base):
    ...     def __init__(self, width=3, *, seed=0, **rest): ...
    >>> spell_out(Derived)
    >>> inspect.signature(Derived)
    <Signature (width=3, *, seed=0, rate=0.1)>
    """
    initialize = cls.__init__
    own = inspect.signature(initialize)
    given = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(given) == len(own.parameters):
        return
    taken = {p.name for p in given}
    inherited = inspect.signature(cls.__mro__[1].__init__).parameters.values()
    # Parameters that the class does not repeat are passed on by name.
    rest = [p.replace(kind=p.KEYWORD_ONLY) for p in inherited if p.name not in taken]
    initialize.__signature__ = own.replace(parameters=given + rest)
