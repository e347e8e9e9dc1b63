"""Pages: reStructuredText of the API reference.

Public is what a package exports: every name in the ``__all__`` of a package gets one page, under
its shortest import path.
"""

import functools
import importlib
import inspect
import pkgutil
import re
from pathlib import Path, PurePath

import treerank

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


def exported_name(path):
    """Return the import path under which an object is documented, or None."""
    module, _, name = path.strip("~").rpartition(".")
    if not module.startswith("treerank"):
        return None
    try:
        return homes().get(id(getattr(importlib.import_module(module), name)))
    except (ImportError, AttributeError):
        return None


def package_page(package):
    """Return the page of a package: its docstring, and a list of what it exports."""
    objects = exports()[package].values()
    paths = [homes()[id(exported)] for exported in objects]
    lines = [f"* :obj:`~{path}`: {summary(o)}" for path, o in zip(paths, objects, strict=True)]
    own = [path for path in paths if path.rpartition(".")[0] == package]
    places = "".join(f"   /generated/names/{path}\n" for path in own)
    contents = f"\n.. toctree::\n   :hidden:\n\n{places}" if own else ""
    module = f".. automodule:: {package}\n   :no-index:\n"
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
    if inspect.isclass(exported):
        return head + CLASS.format(name=name, strangers=STRANGERS) + shown_in(name)
    if callable(exported):
        return f"{head}\n.. autofunction:: {name}\n{shown_in(name)}"
    entries = ", ".join(f"``{entry}``" for entry in exported)
    return f"{head}\n.. py:data:: {name}\n\n   {summary(exported)} It holds {entries}.\n"


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
