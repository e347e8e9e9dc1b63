"""The public names: that they are there, typed and documented, and what importing them costs."""

import ast
import copy
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import treerank
from treerank import NDCG, compare_scores
from treerank.baselines import BASELINES
from treerank.documents.queries import QueryGroups
from treerank.exports.report import ExportReport
from treerank.feature_parts.registry import FEATURE_PARTS
from treerank.lazy import exported, load_object, needed_by
from treerank.registry import RANKERS
from treerank.renamed import RENAMED, RENAMED_MEMBERS, RENAMED_PARTS

ROOT = Path(treerank.__file__).parent
MODULES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))
}
PACKAGES = ["treerank"] + [
    info.name
    for info in pkgutil.walk_packages([str(ROOT)], "treerank.")
    if info.ispkg and hasattr(importlib.import_module(info.name), "__all__")
]
LAZY = {
    ".".join(["treerank", *path.relative_to(ROOT).parts[:-1]]): path.read_text()
    for path in sorted(ROOT.rglob("__init__.pyi"))
}
FRAMES = {"pandas", "polars", "pyarrow"}
HEAVY = FRAMES | {"lightgbm", "xgboost", "torch", "catboost", "typer"}
EXAMPLE = re.compile("Examples\n-----[^>]*>>> ", re.DOTALL)


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_is_there_once_with_an_example_that_runs(package):
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        thing = getattr(module, name)
        if callable(thing) and hasattr(thing, "__name__"):
            assert EXAMPLE.search(inspect.cleandoc(thing.__doc__ or "")), name


@pytest.mark.parametrize("package", LAZY)
def test_a_lazy_package_exports_what_type_checkers_read(package):
    module, table = importlib.import_module(package), exported(package)
    present = [name for name, path in table.items() if all(map(find_spec, needed_by(path)))]
    assert dir(module) == module.__all__ == present
    imports = [n for n in ast.parse(LAZY[package]).body if isinstance(n, ast.ImportFrom)]
    listed = {alias.name: line.module for line in imports for alias in line.names}
    assert sorted(listed) == list(table)
    for line in imports:  # `as` the same name, or type checkers take it for private
        assert all(alias.asname == alias.name for alias in line.names)
    for name, path in table.items():
        assert path == f"{listed[name]}:{name}"
        assert getattr(module, name) is load_object(path)


def test_an_unknown_name_is_refused_as_in_any_module():
    for package in map(importlib.import_module, LAZY):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute"):
            package.LambdaMerge  # noqa: B018


WITHOUT_EXTRAS = """
import importlib, pydoc
from importlib.machinery import PathFinder
find, extras = PathFinder.find_spec, ("torch", "xgboost", "onnx")
PathFinder.find_spec = lambda name, *rest: None if name in extras else find(name, *rest)
for name in NAMES:
    package, found = importlib.import_module(name), {}
    exec(f"from {name} import *", found)
    assert set(dir(package)) <= set(found)
    pydoc.render_doc(package)
    print(name, *dir(package))
"""


@pytest.mark.slow
def test_without_extras_all_other_names_are_there_for_help_and_for_a_star():
    done = run_python(WITHOUT_EXTRAS.replace("NAMES", repr([*LAZY])))
    assert not done.stderr
    for line, package in zip(done.stdout.splitlines(), LAZY, strict=True):
        free = {name for name, path in exported(package).items() if not needed_by(path)}
        assert set(line.split()) == free | {package}


@pytest.mark.slow
def test_modules_are_attributes_and_a_misspelled_name_brings_the_right_one():
    done = run_python("import treerank; print(treerank.clicks.__name__); treerank.LightGBMTree")
    assert done.stdout == "treerank.clicks\n"
    assert done.stderr.endswith("'LightGBMTree'. Did you mean: 'LightGBMTrees'?\n")


def test_names_in_registries_are_those_of_classes():
    for name, path in (RANKERS | BASELINES).items():
        assert load_object(path).__name__ == name
    classes = {load_object(path).__name__ for path in FEATURE_PARTS.values()}
    assert len(classes) == len(FEATURE_PARTS)
    assert classes <= set(treerank.feature_parts.__all__)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("from treerank import TreeDirectRanker", set()),
        ("import treerank.baselines, treerank.registry, treerank.feature_parts", set()),
        ("from treerank import LightGBMTrees", {"lightgbm", "pandas", "pyarrow"}),
        ("from treerank.baselines import RankSVM", set()),
        ("import treerank; dir(treerank)", set()),
        ("import treerank.feature_parts.standardization", set()),
    ],
)
def test_a_name_loads_no_more_than_it_needs(statement, allowed):
    before = "import sys, sklearn.base, numba; before = set(sys.modules)"
    loaded = "{name.partition('.')[0] for name in set(sys.modules) - before}"
    done = run_python(f"{before}; {statement}; print(*{loaded})")
    assert not done.stderr
    assert not (HEAVY - allowed) & set(done.stdout.split())


def test_type_checkers_find_the_marker_in_the_wheel():
    assert (ROOT / "py.typed").exists()
    pyproject = ROOT.parent / "pyproject.toml"
    if not pyproject.exists():
        pytest.skip("installed without its sources")
    settings = tomllib.loads(pyproject.read_text())["tool"]["setuptools"]
    assert "py.typed" in settings["package-data"]["treerank"]


def public_functions(body, cls=""):
    """Yield (name, function, whether its first argument is the object) of all public signatures."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, node.name)
        elif isinstance(node, ast.If | ast.Try):
            yield from public_functions(node.body, cls)
        elif isinstance(node, ast.FunctionDef):
            is_static = any(getattr(d, "id", "") == "staticmethod" for d in node.decorator_list)
            if not node.name.startswith("_") or (cls and node.name in ("__init__", "__call__")):
                yield f"{cls}.{node.name}".lstrip("."), node, bool(cls) and not is_static


@pytest.mark.parametrize("module", MODULES)
def test_every_public_signature_has_type_hints(module):
    for name, function, is_bound in public_functions(MODULES[module].body):
        spec = function.args
        rest = [star for star in (spec.vararg, spec.kwarg) if star]
        given = (spec.posonlyargs + spec.args + spec.kwonlyargs)[is_bound:] + rest
        assert all(argument.annotation for argument in given), name
        assert function.returns or name.endswith("__init__"), name


DOWNSTREAM = """
import numpy as np
import numpy.typing as npt
from treerank import HistogramTrees, LightGBMTrees, NDCG, TreeDirectRanker, get_metric
from treerank.objectives import make_objective, weighted_sum
from treerank.rankers import NestedRanker
from treerank.baselines import LambdaMART, RankSVM
from treerank.objectives.lists.losses import ApproxNDCG

X: npt.NDArray[np.float64] = np.zeros((4, 2))
y, qid = [1, 0, 1, 0], ["a", "a", "b", "b"]
ranker = TreeDirectRanker(LightGBMTrees(n_estimators=5), loss=ApproxNDCG(temperature=0.5))
fitted: TreeDirectRanker = ranker.fit(X, y, qid)
scores: npt.NDArray[np.float64] = fitted.predict(X)
ranks: npt.NDArray[np.int64] = fitted.rank(X, qid=qid)
quality: float = fitted.score(X, y, qid)
settings: dict[str, object] = fitted.get_params()
linear: RankSVM = RankSVM(C=0.5).fit(X, y, qid)
trees = LambdaMART(n_estimators=5).fit(X, {"a": y, "b": y}, qid)
nested = NestedRanker(TreeDirectRanker(HistogramTrees()), sizes=(10,)).fit(X, y, qid)
terms = [make_objective(y, qid), make_objective(y, qid, loss="listnet")]
objective = weighted_sum(terms, [0.5, 0.5]) + 0.5 * terms[0]
value, gradient, hessian = objective(np.zeros(4))
total: float = value + NDCG(k=10)(y, scores, qid) + get_metric("map")(y, scores, qid)
"""
WRONG = {
    "TreeDirectRanker().rank(X, qid=3).foo": "attr-defined",
    "TreeDirectRanker(loss='hinge', sigma='large')": "arg-type",
    "RankSVM(C='large')": "arg-type",
    "import treerank; treerank.LambdaMerge": "attr-defined",
    "number: int = fitted.score(X, y, qid)": "assignment",
}


@pytest.mark.slow
def test_code_downstream_type_checks_and_wrong_use_is_found(tmp_path):
    snippet = tmp_path / "downstream.py"
    n_right = len(DOWNSTREAM.splitlines())
    snippet.write_text(DOWNSTREAM + "\n".join(WRONG) + "\n")
    command = [sys.executable, "-m", "mypy", str(snippet)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.parent, check=False)
    messages = [m for m in run.stdout.splitlines() if "downstream.py" in m and "error" in m]
    found = {int(m.split(":")[1]) - n_right: m.split("[")[-1].rstrip("]") for m in messages}
    assert found == dict(enumerate(WRONG.values(), 1)), run.stdout


OLD_NAMES = [(package, old) for package, names in RENAMED.items() for old in names]


@pytest.mark.parametrize(("package", "old"), OLD_NAMES)
def test_a_name_of_before_is_answered_by_the_new_one(package, old):
    module, new = importlib.import_module(package), RENAMED[package][old]
    with pytest.raises(ImportError, match=re.escape(f"{package}.{old} is now {new}.")):
        getattr(module, old)
    with pytest.raises(ImportError, match=re.escape(f"{package}.{old} is now {new}.")):
        importlib.import_module(f"{package}.{old}")
    owner, _, name = new.partition("(")[0].rpartition(".")
    found = getattr(importlib.import_module(owner), name)
    assert isinstance(found, type) == old[0].isupper()  # a class is not a function's new name


#: An object of each class with members that were renamed.
OBJECTS = {
    "Comparison": compare_scores({"a": [1.0, 2.0]}, [1, 0], [7, 7]),
    "ExportReport": ExportReport("solr", 2),
    "Metric": NDCG(5),
    "QueryGroups": QueryGroups.from_qid([7, 7]),
}
OLD_MEMBERS = [(name, old) for name, members in RENAMED_MEMBERS.items() for old in members]


@pytest.mark.parametrize(("owner", "old"), OLD_MEMBERS)
def test_a_member_of_before_is_answered_by_the_new_one(owner, old):
    named, new = OBJECTS[owner], RENAMED_MEMBERS[owner][old]
    with pytest.raises(AttributeError, match=rf"{type(named).__name__}\.{old} is now {new}\."):
        getattr(named, old)
    assert callable(getattr(named, new)) or hasattr(named, new)
    assert not hasattr(named, "never_there")
    again = pickle.loads(pickle.dumps(named))
    assert type(copy.deepcopy(again)) is type(named)


@pytest.mark.parametrize(("old", "new"), RENAMED_PARTS.items())
def test_a_feature_part_of_before_is_answered_by_the_new_name(old, new):
    with pytest.raises(ValueError, match=f"got '{old}'. It is called '{new}' now"):
        treerank.TreeDirectRanker(old).fit([[1.0], [2.0]], [0, 1])
    assert treerank.feature_parts.registry.feature_part_class(new)
