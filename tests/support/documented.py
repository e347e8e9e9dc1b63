"""What docstrings say of parameters and attributes, also those of base classes."""

import inspect
import re
from math import sqrt

KNOWN = {"sqrt": sqrt}


def entries(cls, section):
    """Return the entries of a section of a class's own docstring, by name."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    body = text.partition(f"{section}\n{'-' * len(section)}\n")[2]
    body = re.split(r"\n\w+\n-+\n", body)[0].strip()
    found = {}
    for entry in re.split(r"\n(?=\S)", body) if body else ():
        found |= dict.fromkeys(entry.partition(" :")[0].split(", "), entry)
    return found


def explained(cls, section):
    """Return the nearest class with an entry, and the entry, by name."""
    return {
        name: (base, entry)
        for base in reversed(cls.__mro__)
        for name, entry in entries(base, section).items()
    }


def default_of(entry):
    """Return the default that the entry of a parameter states."""
    stated = re.search(r"default=(.+)", entry.partition("\n")[0])
    return eval(stated[1], KNOWN) if stated else inspect.Parameter.empty


def named(cls):
    """Return the base classes that a docstring names, and those that their docstrings name."""
    text = " ".join((cls.__doc__ or "").split())
    direct = [b for b in cls.__mro__[1:] if f"`~{b.__module__}.{b.__qualname__}`" in text]
    return set(direct).union(*map(named, direct))
