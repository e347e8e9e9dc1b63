"""Docstrings of baselines have all of their sections."""

import inspect
import re

import pytest

from treerank.baselines import BASELINES
from treerank.registry import ranker_class

every = pytest.mark.parametrize("name", BASELINES)


@every
def test_docstrings_have_attributes_references_and_examples(name):
    headings = re.findall(r"^([A-Z]\w+)\n-+$", inspect.getdoc(ranker_class(name)), re.MULTILINE)
    assert headings == ["Parameters", "Attributes", "References", "Examples"]
