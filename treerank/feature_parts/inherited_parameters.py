"""Inherited parameters: ``**kwargs`` of an estimator's ``__init__``, spelled out.

scikit-learn, ``help`` and editors read the parameters of an estimator from the signature of its
``__init__``. A family of estimators that share a dozen parameters would have to repeat them in
each; instead each passes them on, and this fills in its signature, with the defaults that it
inherits.
"""

import inspect
from typing import Any


def spell_out(cls):
    """Replace ``**kwargs`` in the signature of ``cls.__init__`` by what the next class takes.

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
    initialize: Any = cls.__init__
    own = inspect.signature(initialize)
    given = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(given) == len(own.parameters):
        return
    taken = {p.name for p in given}
    inherited = inspect.signature(cls.__mro__[1].__init__).parameters.values()
    # What is not repeated is passed on by name.
    rest = [p.replace(kind=p.KEYWORD_ONLY) for p in inherited if p.name not in taken]
    initialize.__signature__ = own.replace(parameters=given + rest)
