"""The default of a parameter is what its docstring says, for all that is public."""

import ast
import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

import treerank

PACKAGES = ["treerank"]
PACKAGES += [
    f"treerank.{path.parent.name}"
    for path in sorted(Path(treerank.__file__).parent.glob("*/__init__.py"))
]
_PARAMETER = re.compile(r"^    ([\w, ]+) : .*\bdefault=(.+)$", re.M)


def documented_defaults(value):
    """Yield the name, the documented default and the default of each parameter of a callable."""
    try:
        parameters = inspect.signature(value).parameters
    except ValueError:  # a class of a builtin one has none of its own
        assert issubclass(value, dict | list)
        return
    text = inspect.cleandoc(value.__doc__ or "")
    for names, default in _PARAMETER.findall("    " + text.replace("\n", "\n    ")):
        for name in names.split(", "):
            if name in parameters and parameters[name].default is not inspect.Parameter.empty:
                yield name, default, made(value, name, parameters[name].default)


def made(value, name, default):
    """Return the default of a parameter; that of a field with a factory is what this makes."""
    field = getattr(value, "__dataclass_fields__", {}).get(name)
    has_factory = field is not None and field.default_factory is not dataclasses.MISSING
    return field.default_factory() if has_factory else default


def public():
    """Yield all public names with parameters, each object once."""
    seen = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if callable(value) and id(value) not in seen:
                seen.add(id(value))
                yield pytest.param(value, id=f"{package}.{name}")


@pytest.mark.parametrize("value", list(public()))
def test_a_default_is_what_the_docstring_says(value):
    for name, documented, default in documented_defaults(value):
        try:
            expected = ast.literal_eval(documented)
        except (SyntaxError, ValueError):  # such as a sentence, or an object
            continue
        assert (name, default) == (name, expected)


def test_the_docstrings_of_rankers_have_defaults():
    documented = {name for name, *_ in documented_defaults(treerank.TreeDirectRanker)}
    assert {"head_alpha", "random_state", "loss"} <= documented
