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


def modules():
    """Yield all modules that can be imported without an extra."""
    for path in sorted(Path(treerank.__file__).parent.rglob("*.py")):
        parts = path.relative_to(Path(treerank.__file__).parents[1]).with_suffix("").parts
        if parts[-1] not in ("__init__", "__main__"):
            try:
                yield importlib.import_module(".".join(parts))
            except ImportError:  # of an extra that is not installed
                continue


def documented():
    """Yield all functions and classes, and methods of classes, that document a default."""
    seen = set()
    for module in modules():
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__ or not callable(value):
                continue
            methods = (
                inspect.getmembers(value, inspect.isroutine) if isinstance(value, type) else []
            )
            for label, each in [(name, value), *((f"{name}.{n}", m) for n, m in methods)]:
                has_default = "default=" in (getattr(each, "__doc__", None) or "")
                if has_default and id(each) not in seen:
                    seen.add(id(each))
                    yield pytest.param(each, id=f"{module.__name__}.{label}")


@pytest.mark.parametrize("value", list(documented()))
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
