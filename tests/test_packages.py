"""Packages: what modules know of other packages and programs, by import, underscore and name."""

import ast
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import treerank
from treerank import TreeDirectRanker
from treerank.documents.reading import Accepts, accepted_by
from treerank.rankers.scoring import n_threads_of

TESTS, PACKAGE = Path(__file__).parent, Path(treerank.__file__).parent
#: Folders of tests that mirror no package: fuzzers, laws, stored models and cases, shared helpers.
OTHERS = {"corpus", "fuzz", "golden", "laws", "support"}
MODULES = {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
#: Methods of named tuples, which Python documents, and functions of Python.
OF_PYTHON = {"_asdict", "_fields", "_replace", "_exit", "_getframe"}


def package_of(path):
    """Return the package of a module, which is a folder or a file of the package."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def is_private(name):
    return name.startswith("_") and not name.endswith("__") and name != "_"


def private_names_made(tree):
    """Yield the underscore names that a module defines or assigns."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield name


def private_names_used(tree):
    """Yield the underscore names that a module reads from other objects or modules."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()) if is_private(name):
                yield node.lineno, name
            case ast.ImportFrom(names=names):
                yield from ((node.lineno, each.name) for each in names if is_private(each.name))


def foreign_names(tree, made):
    return [f"{line}: {name}" for line, name in private_names_used(tree) if name not in made]


def test_no_module_uses_an_underscore_name_of_another_package():
    made = {package_of(path): set(OF_PYTHON) for path in MODULES}
    for path, tree in MODULES.items():
        made[package_of(path)] |= set(private_names_made(tree))
    found = {
        str(path): foreign_names(tree, made[package_of(path)]) for path, tree in MODULES.items()
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_an_underscore_name_that_a_package_does_not_make_is_found():
    tree = ast.parse("from treerank.checks import _sorted\nranker._scores(X)\nself._own = 1")
    assert foreign_names(tree, set(private_names_made(tree))) == ["1: _sorted", "2: _scores"]


#: What no program promises to keep.
PRIVATE = re.compile(
    r"numba\.core|llvmlite(?! import ir$)|lightgbm\.basic|_LIB\b|__class__\s*=[^=]"
    r"|(?<!\.)ctypes|_Dataset__|_codegen"
    r"|_library_class|_safe_indexing|_infrequent_enabled|/proc/self/fd|/dev/fd|gc\.freeze"
    r"|malloc_trim"
    r'|getattr\(\w+, "_(?!_)|from (?!treerank|__future__)[\w.]+ import .*\b_[a-z]'
)
#: The uses that are allowed: module, and the line without its indent.
#: Each is bounded by versions and has a public way behind it.
ALLOWED = {
    # One process at a time writes stored kernels; numba has no public way to wait.
    ("numerics/compiling.py", 'stored = getattr(kernel, "_cache", None)'),
    # The manual of numba offers its events to applications, under this name.
    ("numerics/compiling.py", "from numba.core import event"),
    # The manual of the GNU C library documents ``mallopt``, "Malloc Tunable Parameters".
    ("distributed/freed_memory.py", "import ctypes"),
    ("distributed/freed_memory.py", "library = ctypes.CDLL(None)"),
}


def private_lines(text):
    """Return the lines that use a private part, without comments and indents."""
    lines = (line.partition("  # ")[0].strip() for line in text.splitlines())
    return [line for line in lines if PRIVATE.search(line)]


def test_no_private_part_of_another_program_is_used_but_those_listed():
    found = {
        (str(path.relative_to(PACKAGE)), line)
        for path in MODULES
        for line in private_lines(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED


def layers():
    """Return the layer of each package, from the contract that lint-imports keeps."""
    contracts = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]
    layers = contracts["importlinter"]["contracts"][0]["layers"]
    return {package.strip(): i for i, layer in enumerate(layers) for package in layer.split("|")}


def names_loaded(tree):
    """Yield the packages of the texts ``"treerank.module:object"`` of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module, colon, name = node.value.partition(" ")[0].partition(":")
            if module.startswith("treerank.") and colon and name.isidentifier():
                yield module.split(".")[1]


@pytest.mark.skipif(not (PACKAGE.parent / "pyproject.toml").exists(), reason="needs the repository")
def test_what_is_loaded_by_name_is_in_the_same_package_or_in_one_below():
    layer_of = layers()
    for path, tree in MODULES.items():
        own = package_of(path)
        for package in set(names_loaded(tree)) - {own} if own in layer_of else ():
            assert layer_of[package] > layer_of[own], (path, package)


X = np.random.default_rng(0).normal(size=(60, 3))
Y, QID = (X[:, 0] > 0).astype(int), np.repeat(np.arange(6), 10)


class OwnPart:
    """A feature part without any of the members that a part may have: its first feature."""

    n_outputs_ = 1

    def fit(self, X, objective, *, validation=None):
        return self

    def transform(self, X):
        return np.asarray(X)[:, :1]

    def get_params(self, deep=True):
        return {}

    def set_params(self, **params):
        return self


def test_a_part_of_ones_own_needs_no_more_than_the_protocol():
    ranker = TreeDirectRanker(OwnPart(), random_state=0).fit(X, Y, QID)
    assert (ranker.predict(X) == X[:, 0]).all()
    assert accepted_by(ranker) == Accepts(several_labels=True)
    assert n_threads_of(ranker) == 1
    assert (ranker.evals_result_, ranker.best_iteration_) == ({}, None)
    assert ranker.explain(X[:2], X[2:4]).shape == (2, 3)
    with pytest.raises(ValueError, match="feature_part must be trees"):
        ranker.components()


def test_a_ranker_says_what_it_reads():
    rankers = [TreeDirectRanker(part) for part in ("lightgbm", "histogram", "mlp")]
    assert [accepted_by(ranker).sparse for ranker in rankers] == [True, True, False]
    assert [accepted_by(ranker).batches for ranker in rankers] == [False, True, False]


def test_a_folder_of_tests_is_called_as_the_package_that_it_tests_and_is_no_package():
    """As a package, a folder such as ``statistics`` would hide the module of Python."""
    files = [path.relative_to(TESTS) for path in TESTS.rglob("*.py")]
    packages = {path.parent for path in files if path.parts[0] not in OTHERS}
    assert [str(package) for package in sorted(packages) if not (PACKAGE / package).is_dir()] == []
    packages = {path.parent for path in files if path.name == "__init__.py"}
    assert packages <= {Path("corpus"), Path("fuzz")}
    assert [path.name for path in TESTS.glob("support/test_*.py")] == []


def test_the_page_on_architecture_has_all_packages_in_their_layers():
    settings = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (TESTS.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d*) ?\| (`[^|]*`) \|", page, re.MULTILINE)
    named, height = {}, ""
    for number, packages in rows:
        height = number or height
        named.setdefault(int(height), set()).update(re.findall(r"`(\w+)`", packages))
    assert named == {n: set(layer.split(" | ")) for n, layer in enumerate(reversed(layers))}
