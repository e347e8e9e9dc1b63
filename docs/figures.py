"""Figures of the manual: plots of what a page computes, and diagrams, as SVG in the page.

A picture takes the colors of the page, light or dark: what is black becomes the color of the text,
and the colors of Okabe and Ito, which the color-blind can tell apart, are variables
of ``manual.css``.
"""

import contextlib
import io
import os
import re
import shutil
import tempfile
import warnings
from html import escape
from pathlib import Path

import diagrams
import matplotlib
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

matplotlib.use("agg")
import matplotlib.pyplot as plt

#: Colors of Okabe and Ito, in the order in which plots take them.
COLORS = {
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
}
STYLE = {
    "axes.prop_cycle": plt.cycler(color=COLORS.values()),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.figsize": (5.6, 3.0),
    "legend.frameon": False,
    "savefig.transparent": True,
    "svg.fonttype": "none",
}
#: The gray in which treerank writes on figures of its own, for light and dark grounds.
GRAY_TEXT = re.compile(r"fill: #7a7a7a")
#: Blocks of a page that are run, and where each ends.
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What a page's inline SVG must not have: a prolog, and names that two figures could share.
PROLOG = re.compile(r"^.*?(?=<svg)", re.DOTALL)
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
GROUP_NAME = re.compile(r'<g id="[^"]*"')


class Plot(SphinxDirective):
    """The figure that the blocks of Python above have drawn, with its alternative text.

    The content is run, too, and not shown. With ``:whole:``, all blocks of the page are run first,
    so that a page may begin with what it computes.
    """

    required_arguments, final_argument_whitespace, has_content = 1, True, True
    option_spec = {"whole": directives.flag}  # noqa: RUF012 - of docutils

    def run(self):
        """Run the page to here, and return what is drawn."""
        lines = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8").splitlines()
        text = "\n".join(lines if "whole" in self.options else lines[: self.lineno])
        plt.close("all")
        run_page(self.env, text + "\n", "\n".join(self.content))
        if not plt.get_fignums():
            raise self.error("nothing is drawn")
        return [
            shown(svg_of(plt.figure(number), self.arguments[0])) for number in plt.get_fignums()
        ]


class Diagram(SphinxDirective):
    """A drawing of ``diagrams.py`` by its name; the content is its alternative text."""

    required_arguments, has_content = 1, True

    def run(self):
        """Return the drawing."""
        self.env.note_dependency(diagrams.__file__)
        return [shown(diagrams.drawn(self.arguments[0], " ".join(self.content)))]


class Page(SphinxDirective):
    """A page that the blocks of Python above have written, in a frame; the content is its title."""

    required_arguments, has_content = 1, True

    def run(self):
        """Copy the file beside the manual, and return its frame."""
        name, title = self.arguments[0], escape(" ".join(self.content), quote=True)
        target = Path(self.env.app.outdir, "framed", f"{self.env.docname.replace('/', '-')}-{name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8").splitlines()
        run_page(self.env, "\n".join(lines[: self.lineno]) + "\n", "")
        shutil.copyfile(Path(self.env.temp_data["pages_run"][self.env.docname][1], name), target)
        address = "../" * self.env.docname.count("/") + f"framed/{target.name}"
        html = (
            f'<iframe class="framed" src="{address}" title="{title}" loading="lazy"></iframe>\n'
            f'<p><a class="reference external" href="{address}">{title}, as a page</a></p>'
        )
        return [nodes.raw("", html, format="html")]


def shown(svg):
    """Return a node of an SVG text."""
    return nodes.raw("", f'<div class="figure-svg">\n{svg}\n</div>', format="html")


def run_page(env, text, last):
    """Run those blocks of a page that have not been run since it was read, and a last text."""
    pages = env.temp_data.setdefault("pages_run", {})
    if env.docname not in pages:
        pages[env.docname] = {"__name__": "page"}, tempfile.mkdtemp(), []
    names, folder, done = pages[env.docname]
    before = os.getcwd()
    os.chdir(folder)
    try:
        with (
            matplotlib.rc_context(STYLE),
            warnings.catch_warnings(action="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            for block in BLOCK.findall(text)[len(done) :]:
                plt.close("all")
                exec(compile(block, env.docname, "exec"), names)
                done.append(block)
            if last:
                exec(compile(last, env.docname, "exec"), dict(names))
    finally:
        os.chdir(before)


def svg_of(figure, alternative):
    """Return a figure of Matplotlib as SVG for a page."""
    out = io.StringIO()
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": alternative}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return in_page_colors(out.getvalue(), alternative)


def in_page_colors(svg, alternative):
    """Return Matplotlib's SVG without a prolog, in the colors of the page, with a text for it."""
    svg = GROUP_NAME.sub("<g", METADATA.sub("", PROLOG.sub("", svg, count=1)))
    for name, color in COLORS.items():
        svg = re.sub(color, f"var(--oi-{name}, {color})", svg, flags=re.IGNORECASE)
    svg = GRAY_TEXT.sub("fill: var(--color-foreground-secondary)", svg)
    svg = svg.replace("#000000", "currentColor").replace(
        "#ffffff", "var(--color-background-primary)"
    )
    label = escape(alternative, quote=True)
    return svg.replace("<svg ", f'<svg class="plot" role="img" aria-label="{label}" ', 1)


def scrape(block, block_vars, gallery_conf):
    """Return the figures of a block of an example; the gallery shows their PNG as thumbnails."""
    parts = []
    for number, path in zip(plt.get_fignums(), block_vars["image_path_iterator"], strict=False):
        figure, path = plt.figure(number), Path(path)
        figure.savefig(path.with_suffix(".png"), dpi=160, facecolor="white", transparent=False)
        axes = figure.axes[0]
        names = [axes.get_title(), axes.get_ylabel(), axes.get_xlabel()]
        svg = svg_of(figure, "Plot: " + ", ".join(filter(None, names)))
        page = Path(block_vars["target_file"]).parent
        path.with_suffix(".html").write_text(
            f'<div class="figure-svg">{svg}</div>', encoding="utf-8"
        )
        relative = os.path.relpath(path.with_suffix(".html"), page)
        parts.append(f"\n.. raw:: html\n    :file: {Path(relative).as_posix()}\n\n")
    plt.close("all")
    return "".join(parts)


def style_of_examples(gallery_conf, path):
    """Let the examples of the gallery draw as the pages do."""
    plt.rcParams.update(STYLE)


def _get_sg_image_scraper():
    """Return what Sphinx-Gallery asks this module for."""
    return scrape


def setup(app):
    """Let pages name plots and diagrams."""
    app.add_directive("page", Page)
    app.add_directive("plot", Plot)
    app.add_directive("diagram", Diagram)
    return {"parallel_read_safe": False}
