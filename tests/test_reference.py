import importlib.util
import itertools
from pathlib import Path

import pytest
from documented import explained

from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.metrics import METRICS
from treerank.registry import RANKERS, ranker_class

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_exported_name_has_one_page(pages, tmp_path):
    pytest.importorskip("xgboost")  # treerank.distributed is one of the packages
    pages.write(tmp_path)
    assert ".. rubric:: Fit\n" in (tmp_path / "packages.txt").read_text(encoding="utf-8")
    written = {path.stem for path in (tmp_path / "names").glob("*.rst")}
    assert written == set(pages.homes().values())
    for package, objects in pages.exports().items():
        text = (tmp_path / "packages" / f"{package}.rst").read_text(encoding="utf-8")
        for exported in objects.values():
            assert f"`~{pages.homes()[id(exported)]}`" in text


def test_every_class_that_explains_a_parameter_or_an_attribute_has_a_page(pages):
    classes = [*map(ranker_class, RANKERS), *map(feature_part_class, FEATURE_PARTS)]
    classes += map(type, METRICS.values())
    for cls, section in itertools.product(classes, ("Parameters", "Attributes")):
        for place in {place for place, _ in explained(cls, section).values()}:
            path = f"{place.__module__}.{place.__name__}"
            assert pages.exported_name(path) or not path.startswith("treerank"), path


def test_an_object_is_known_by_its_shortest_path(pages):
    pytest.importorskip("torch")  # the manual lists every name, also those of extras
    pytest.importorskip("xgboost")
    deep = "treerank.rankers.tree_direct_ranker.TreeDirectRanker"
    assert pages.exported_name(deep) == "treerank.TreeDirectRanker"
    assert pages.exported_name("treerank.nowhere.Nothing") is None
    assert pages.exported_name("numpy.ndarray") is None


def test_names_that_end_in_an_underscore_become_code(pages):
    line = "``coef_`` and classes_ of |r(a, b)|, not under_score or :attr:`coef_`."
    expected = "``coef_`` and ``classes_`` of ``|r(a, b)|``, not under_score or :attr:`coef_`."
    assert pages.with_literals(line) == expected
    assert pages.with_literals(">>> ranker.coef_") == ">>> ranker.coef_"
