"""Settings of the manual; build it with ``python -m sphinx -W docs build/docs``.

With ``-t published``, names of other libraries link to their manuals; the network is asked.
"""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import diagrams
import pages
from sphinx import addnodes

project, author = "treerank", "the authors of treerank"
release = version_of("treerank")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "figures",
    "head",
]
html_math_renderer = "mathml"
if tags.has("published"):  # noqa: F821 - Sphinx defines it
    extensions.append("sphinx.ext.intersphinx")
MANUALS = {
    "dask": "https://docs.dask.org/en/stable",
    "lightgbm": "https://lightgbm.readthedocs.io/en/stable",
    "numpy": "https://numpy.org/doc/stable",
    "pandas": "https://pandas.pydata.org/docs",
    "polars": "https://docs.pola.rs/api/python/stable",
    "python": "https://docs.python.org/3",
    "sklearn": "https://scikit-learn.org/stable",
    "xgboost": "https://xgboost.readthedocs.io/en/stable",
}
intersphinx_mapping = {name: (address, None) for name, address in MANUALS.items()}
linkcheck_timeout, linkcheck_retries = 30, 2
# DOIs lead to publishers that refuse programs.
linkcheck_ignore = [r"https://doi\.org/.*", r"http://localhost.*", r"\.\./framed/.*", r"framed/.*"]
copybutton_exclude = ".linenos, .gp, .go"
myst_enable_extensions = ["attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 3  # links may lead to headings
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": ".py",  # all are run
    "abort_on_example_error": True,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("treerank",),
    "inspect_global_variables": False,
    "capture_repr": (),
    "image_scrapers": ("figures",),
    "reset_modules": ("matplotlib", "figures.style_of_examples"),
    "default_thumb_file": str(HERE / "logo.svg"),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "within_subsection_order": "pages.example_order",
}
# A type such as "tuple (X, y, qid)" is no link to an attribute y, of which there are several.
suppress_warnings = ["ref.python"]
html_theme, html_title, html_copy_source = "furo", f"treerank {release}", False
html_show_sourcelink = html_show_copyright = False
html_favicon = "static/favicon.svg"
html_search_scorer = str(HERE / "static" / "search_scorer.js")
html_static_path = ["static", "generated/diagrams/diagrams.css"]
html_js_files, html_css_files = ["accessible.js"], ["manual.css", "diagrams.css"]
templates_path, exclude_patterns = [], ["gallery/*.ipynb", "gallery/*.py"]
# Types stand in the numpydoc text, which is easier to read than the hints.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# An attribute may also be a documented property; as a field it is not described twice.
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_google_docstring = False
#: Members that every estimator of scikit-learn has, with scikit-learn's own documentation.
OF_SCIKIT_LEARN = (
    "get_metadata_routing",
    "get_params",
    "n_features_in_",
    "set_params",
    "sklearn_tags",
)


def setup(app):
    """Write the pages, and connect what Sphinx asks while it reads them."""
    pages.write(HERE / "generated")
    diagrams.write(HERE / "generated" / "diagrams")
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", mark_names, priority=600)  # after napoleon
    app.connect("doctree-read", unlink_sizes)
    app.connect("missing-reference", resolve)


def skip(app, what, name, member, skipped, options):
    """Leave out members that every estimator of scikit-learn has."""
    is_request = name.startswith("set_") and name.endswith("_request")
    return True if is_request or name in OF_SCIKIT_LEARN else None


def mark_names(app, what, name, exported, options, lines):
    """Mark names as ``coef_`` as code."""
    lines[:] = map(pages.with_literals, lines)


def unlink_sizes(app, doctree):
    """Unlink the sizes of arrays in types: ``n_documents`` is an attribute of something, too."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        if link["reftarget"].startswith("n_") and link["reftype"] == "class":
            link.replace_self(link.children)


def resolve(app, env, node, contnode):
    """Link a name that is given by its module to the page of the package that exports it."""
    exported = pages.exported_name(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or exported is None:
        return None
    domain = env.get_domain("py")
    place = node.get("refdoc"), app.builder, node["reftype"], exported, node, contnode
    return domain.resolve_xref(env, *place)
