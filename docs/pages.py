"""Pages: reStructuredText of the API reference.

Public is what a package exports: every name in the ``__all__`` of a package gets one page, under
its shortest import path. The classes of results, which are returned and never imported, are on the
pages of what returns them.
"""

import functools
import importlib
import inspect
import pkgutil
import re
import typing
from pathlib import Path, PurePath

import numpy as np

import treerank
from treerank.display.results import Shown
from treerank.progress import LearningCurves
from treerank.rankers.explanation import ExplainedMargins
from treerank.rankers.head import AntisymmetricHead

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
#: What reStructuredText would take for something else: ``coef_`` for a link, ``ndcg@10`` for an
#: address of mail, or an absolute value.
LITERAL = re.compile(r"(?<![\w`\\])(\w+_|\w+@\w+|\|[^|\s][^|]*[^|\s]\|)(?![\w`])")
#: What the docstring of a package begins with.
TITLE = re.compile(r"^\w+( \w+)?: ")
QUOTED = re.compile(r"(`+[^`]*`+)")
FOOTNOTE = re.compile(r"\s*\[\d+\]_")
CLASS = """
.. autoclass:: {name}
   :members:
   :inherited-members: {strangers}
"""
#: Packages by what one wants to do, without the first one.
TASKS = {
    "Top level": [""],
    "Read data": ["datasets", "search_engines", "documents"],
    "Fit": ["rankers", "baselines", "feature_parts", "objectives", "distributed"],
    "Learn from clicks": ["clicks"],
    "Measure and compare": ["metrics", "evaluation", "statistics"],
    "Explain": ["inspection", "reports"],
    "Rerank and export": ["reranking", "exports"],
}
#: Classes of fitted attributes and of arrays that more than their types say.
FURTHER = {"treerank.TreeDirectRanker": [AntisymmetricHead, ExplainedMargins, LearningCurves]}
#: Described by ``treerank --help``.
COMMAND = "treerank.cli"
#: Bases whose members are documented by other libraries.
STRANGERS = (
    "BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, _SetOutputMixin, "
    "BaseCrossValidator, Module, Function, Exception, object, dict, list, ndarray, tuple, str"
)


def write(folder):
    """Write all pages into a folder; those that stay as they are need not be read again."""
    texts = {f"packages/{package}": package_page(package) for package in exports()}
    texts |= {f"names/{path}": object_page(path) for path in homes().values()}
    for name, text in texts.items():
        path = folder / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("[np]*/*.rst"):
        if path.relative_to(folder).with_suffix("").as_posix() not in texts:
            path.unlink()
    (folder / "packages.txt").write_text(package_list(), encoding="utf-8")


def package_list():
    """Return lists of the packages by task, and what each is for."""
    docs = {name: inspect.getdoc(importlib.import_module(name)) for name in exports()}
    said = {name: TITLE.sub("", first_sentence(text)) for name, text in docs.items()}
    lines = []
    for task, packages in TASKS.items():
        names = [".".join(filter(None, ("treerank", package))) for package in packages]
        lines += [f".. rubric:: {task}", ""]
        lines += [f"* :doc:`/generated/packages/{name}`: {said.pop(name)}" for name in names]
        lines.append("")
    if said:
        raise ValueError(f"TASKS must have all packages; {list(said)} are missing.")
    return "\n".join(lines)


def example_order(path):
    """Return the key that sorts examples: these first, then all others by name."""
    first = ("quickstart", "compare_two_documents", "compare_rankers", "grid_search_with_qid")
    places = {name: place for place, name in enumerate((*first, "learn_from_clicks"))}
    name = PurePath(path).stem
    return places.get(name, len(places)), name


@functools.cache
def exports():
    """Return the exported objects by package and name, shortest packages first."""
    found = pkgutil.walk_packages(treerank.__path__, "treerank.")
    names = ["treerank", *(module.name for module in found if module.ispkg)]
    packages = [importlib.import_module(name) for name in sorted(names, key=depth)]
    public = {p.__name__: getattr(p, "__all__", []) for p in packages}
    return {
        package: {name: getattr(importlib.import_module(package), name) for name in sorted(names)}
        for package, names in public.items()
        if names and package != COMMAND
    }


def depth(path):
    """Return a key that sorts short import paths first."""
    return path.count("."), path


@functools.cache
def homes():
    """Return the shortest import path of each exported object, by its id."""
    found = {}
    for package, objects in exports().items():
        for name, exported in objects.items():
            found.setdefault(id(exported), f"{package}.{name}")
    return found


def results_of(documented):
    """Return classes of treerank that a function, or a class by its public members, returns."""
    returned, attributes = [], []
    if inspect.isclass(documented):
        hints = hints_of(documented).items()
        attributes = [kind for name, kind in hints if not name.startswith("_")]
        attributes += getattr(documented, "__orig_bases__", ())
        for name, member in inspect.getmembers_static(documented):
            function = getattr(member, "fget", member)
            if not name.startswith("_") and inspect.isfunction(function):
                returned.append(hints_of(function).get("return"))
    else:
        returned.append(hints_of(documented).get("return"))
    parts = [part for hint in [*returned, *attributes] for part in (hint, *typing.get_args(hint))]
    return [part for part in dict.fromkeys(filter(inspect.isclass, parts)) if is_result(part)]


def hints_of(documented):
    """Return types of arguments and of what is returned; none that only type checkers import."""
    try:
        return typing.get_type_hints(documented)
    except NameError:
        return {}


def is_result(cls):
    """Tell whether a class is public though no package exports it: it shows its values."""
    is_ours = cls.__module__.startswith("treerank.") and cls.__name__[0] != "_" and cls is not Shown
    shows = hasattr(cls, "_shown") or issubclass(cls, tuple | np.ndarray)
    return is_ours and id(cls) not in homes() and shows


@functools.cache
def hosts():
    """Return the classes of results that the page of each exported object documents, by path."""
    results, seen = {}, set()
    for path in homes().values():
        module, _, name = path.rpartition(".")
        to_do = [exports()[module][name]]
        while to_do:
            documented = to_do.pop()
            if not callable(documented):
                continue
            further = [*FURTHER.get(path, ()), *explaining_bases(documented)]
            for cls in [*further, *results_of(documented)]:
                if cls not in seen:
                    seen.add(cls)
                    results.setdefault(path, []).append(cls)
                    to_do.append(cls)
    return results


def explaining_bases(documented):
    """Return the bases of a class that no package exports, but that explain its parameters."""
    bases = documented.__mro__[1:] if isinstance(documented, type) else ()
    return [
        base
        for base in bases
        if base.__module__.startswith("treerank")
        and id(base) not in homes()
        and re.search(r"^ *(Parameters|Attributes)\n", vars(base).get("__doc__") or "", re.M)
    ]


def exported_name(path):
    """Return the import path under which an object is documented, or None."""
    module, _, name = path.strip("~").rpartition(".")
    if not module.startswith("treerank"):
        return None
    try:
        documented = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return None
    if any(documented is cls for classes in hosts().values() for cls in classes):
        return f"{documented.__module__}.{documented.__name__}"
    return homes().get(id(documented))


def package_page(package):
    """Return the page of a package: its docstring, and a list of what it exports."""
    objects = exports()[package].values()
    paths = [homes()[id(exported)] for exported in objects]
    lines = [f"* :obj:`~{path}`: {summary(o)}" for path, o in zip(paths, objects, strict=True)]
    own = [path for path in paths if path.rpartition(".")[0] == package]
    places = "".join(f"   /generated/names/{path}\n" for path in own)
    contents = f"\n.. toctree::\n   :hidden:\n\n{places}" if own else ""
    module = f".. automodule:: {package}\n"
    return "\n".join([titled(package), module, *lines, contents])


def summary(exported):
    """Return the first sentence about an object."""
    if not callable(exported):
        return f"A constant of type ``{type(exported).__name__}``."
    return first_sentence(inspect.getdoc(exported) or "")


def first_sentence(text):
    """Return the first paragraph of a docstring."""
    text = text.split("\n\n")[0]
    return with_literals(FOOTNOTE.sub("", " ".join(text.split())))


def with_literals(line):
    """Return a line of a docstring with names as ``coef_`` marked as code."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = QUOTED.split(line)
    return "".join(p if p.startswith("`") else LITERAL.sub(r"``\1``", p) for p in parts)


def object_page(path):
    """Return the page of a class, a function or a constant."""
    module, _, name = path.rpartition(".")
    exported = exports()[module][name]
    head = f"{titled(path)}\n.. currentmodule:: {module}\n"
    results = "".join(result_text(cls) for cls in hosts().get(path, ()))
    if inspect.isclass(exported):
        text = CLASS.format(name=name, strangers=STRANGERS)
        return head + text + results + shown_in(name)
    if callable(exported):
        return f"{head}\n.. autofunction:: {name}\n{results}{shown_in(name)}"
    entries = ", ".join(f"``{entry}``" for entry in exported)
    return f"{head}\n.. py:data:: {name}\n\n   {summary(exported)} It holds {entries}.\n"


def result_text(cls):
    """Return the description of a class of results, below what returns it."""
    text = CLASS.format(name=cls.__name__, strangers=STRANGERS)
    return f"\n.. rubric:: Returned: {cls.__name__}\n\n.. currentmodule:: {cls.__module__}\n{text}"


def shown_in(name):
    """Return where a name is shown: pages of the guide, and examples of the gallery."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    guides = [page for page, text in texts_of(HERE, "*/*.md").items() if word.search(text)]
    guides = [page for page in guides if page.split("/")[0] in ("guide", "how", "move")]
    examples = [page for page, text in texts_of(EXAMPLES, "*.py").items() if word.search(text)]
    lines = []
    if guides:
        links = ", ".join(f":doc:`/{page}`" for page in guides)
        lines += ["", ".. rubric:: In the guide", "", links, ""]
    if examples:
        files = "\n".join(
            f"   ../examples/{page}.py" for page in sorted(examples, key=example_order)
        )
        lines += ["", ".. rubric:: In the gallery", "", ".. minigallery::", "", files, ""]
    return "\n".join(lines)


@functools.cache
def texts_of(folder, pattern):
    """Return the texts of files by their paths in a folder, without endings."""
    paths = sorted(folder.glob(pattern))
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in paths
    }


def titled(text):
    """Return a title of a page."""
    return f"{text}\n{'=' * len(text)}\n"
