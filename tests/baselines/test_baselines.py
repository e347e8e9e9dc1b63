"""Docstrings of baselines have their sections in order."""

import inspect
import re

import pytest

from treerank.baselines import BASELINES
from treerank.registry import ranker_class

every = pytest.mark.parametrize("name", BASELINES)


@every
def test_docstrings_have_references_and_examples_after_what_differs_from_the_base(name):
    headings = re.findall(r"^([A-Z]\w+)\n-+$", inspect.getdoc(ranker_class(name)), re.MULTILINE)
    assert headings[-2:] == ["References", "Examples"]
    assert headings[:-2] == [h for h in ("Parameters", "Attributes") if h in headings]
