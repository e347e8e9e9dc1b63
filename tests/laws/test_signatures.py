"""The signatures that ``help`` shows have the types that a caller writes, and no rules of them."""

import importlib
import inspect
import pkgutil

import pytest
from sklearn.base import BaseEstimator
from small_rankers import DATA, NAMES, made

import treerank

PACKAGES = [
    "treerank",
    *(f"treerank.{each.name}" for each in pkgutil.iter_modules(treerank.__path__) if each.ispkg),
]


def public_callables():
    """Return all classes, functions and public methods of the packages, by a name to show."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            found |= {f"{package}.{name}": value} if callable(value) else {}
            if inspect.isclass(value):
                methods = inspect.getmembers(value, inspect.isfunction)
                found |= {
                    f"{package}.{name}.{method}": function
                    for method, function in methods
                    if not method.startswith("_") and function.__module__.startswith("treerank")
                }
    return found


CALLABLES = public_callables()
FUNCTIONS = [
    name
    for name, value in CALLABLES.items()
    if inspect.isfunction(value) and name.rpartition(".")[0] in PACKAGES
    if name != "treerank.cli.main"  # which takes words of a shell
]


@pytest.mark.parametrize("name", CALLABLES)
def test_a_signature_has_the_types_that_a_caller_writes(name):
    shown = str(inspect.signature(CALLABLES[name]))
    assert not [rule for rule in ("Annotated", "_typing", "check_") if rule in shown]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_how_to_write_a_call_with_an_unknown_keyword(name):
    function = CALLABLES[name]
    with pytest.raises(TypeError, match=rf"{function.__name__}.*Write {function.__name__}\("):
        function(no_such_argument=1)


ESTIMATORS = [
    name
    for name, value in CALLABLES.items()
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
    if value.__init__ is not object.__init__  # else a base class without parameters
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_says_how_to_write_a_call_with_an_unknown_keyword(name):
    cls = CALLABLES[name]
    with pytest.raises(TypeError, match=rf"{cls.__name__}: .*Write {cls.__name__}\("):
        cls(no_such_argument=1)
    shown = str(inspect.signature(cls.__init__))
    assert "Annotated" not in shown


@pytest.mark.parametrize("name", NAMES)
def test_every_ranker_answers_words_of_other_libraries(name):
    ranker, kind = made(name), type(made(name)).__name__
    with pytest.raises(TypeError, match=rf"{kind}\.fit has no group; write qid=np\.repeat"):
        ranker.fit(*DATA, group=[len(DATA[1])])
    with pytest.raises(TypeError, match="Did you mean 'sample_weight'"):
        ranker.fit(*DATA, sample_wieght=DATA[1])
    with pytest.raises(AttributeError, match=rf"{kind} has no predict_proba; write predict_relev"):
        _ = ranker.predict_proba
    assert not hasattr(ranker, "no_such_attribute")
