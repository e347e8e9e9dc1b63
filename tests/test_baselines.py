"""Baselines say what they take: every parameter, with the default that holds."""

import ast
import inspect
import re

import pytest

from treerank.baselines import BASELINES
from treerank.registry import ranker_class

every = pytest.mark.parametrize("name", BASELINES)


def documented_defaults(cls):
    section = inspect.getdoc(cls).partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\w+\n-+\n", section)[0]
    entries = re.findall(r"^(\w+) : .*default=(.+)$", section, flags=re.MULTILINE)
    return {name: ast.literal_eval(default) for name, default in entries}


@every
def test_docstrings_state_every_parameter_with_its_default(name):
    signature = inspect.signature(ranker_class(name))
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    assert documented_defaults(ranker_class(name)) == defaults


@every
def test_type_checkers_see_every_parameter(name):
    signature = inspect.signature(ranker_class(name).__init__)
    own = [p for p in signature.parameters.values() if p.name != "self"]
    assert all(p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD for p in own)


@every
def test_docstrings_have_attributes_references_and_examples(name):
    headings = re.findall(r"^([A-Z]\w+)\n-+$", inspect.getdoc(ranker_class(name)), re.MULTILINE)
    assert headings == ["Parameters", "Attributes", "References", "Examples"]
