"""What search engines, chats and crawlers read of the manual, and formulas as MathML.

Each page gets a description, its first paragraph, also for Open Graph; ``llms.txt`` lists all
pages with their descriptions (https://llmstxt.org). Browsers draw MathML
themselves, without a network.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

#: The longest description, which search engines show whole.
LONGEST = 200
TITLE = "treerank"
SUMMARY = (
    "Learning to rank for search, RAG and recommendation: gradient-boosted trees, linear models "
    "and neural networks under one scikit-learn API."
)


def describe(app, pagename, templatename, context, doctree):
    """Add a description to a page."""
    text = escape(description(doctree) or SUMMARY, quote=True)
    title = escape(f"{context.get('title') or TITLE} - {TITLE}", quote=True)
    context["metatags"] = context.get("metatags", "") + (
        f'<meta name="description" content="{text}">\n'
        f'<meta property="og:type" content="article">\n'
        f'<meta property="og:site_name" content="{TITLE}">\n'
        f'<meta property="og:title" content="{title}">\n'
        f'<meta property="og:description" content="{text}">\n'
    )


def description(doctree):
    """Return the first paragraph of a page, at most as long as is shown."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree is not None else ():
        text = " ".join(paragraph.astext().split())
        if len(text) > 40:
            return text if len(text) <= LONGEST else text[: LONGEST - 2].rsplit(" ", 1)[0] + " …"
    return ""


def list_pages(app, exception):
    """Write ``llms.txt``: pages of the manual, with what each is about."""
    if exception or app.builder.name != "html":
        return
    env = app.env
    pages = [name for name in ordered(env, app.config.root_doc) if "generated/" not in name]
    lines = [f"# {TITLE}", "", f"> {SUMMARY}", "", "## Manual", ""]
    for name in pages:
        about = description(env.get_doctree(name))
        lines.append(f"- [{env.titles[name].astext()}]({name}.html)" + (f": {about}" * bool(about)))
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def ordered(env, name, found=None):
    """Return the names of pages in the order of the tables of contents, from one page on."""
    found = [] if found is None else found
    if name not in found:
        found.append(name)
        for child in env.toctree_includes.get(name, ()):
            ordered(env, child, found)
    return found


def visit_math(writer, node):
    """Write a formula in a line."""
    writer.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_math_block(writer, node):
    """Write a formula of its own."""
    writer.body.append(f'<div class="formula">{mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def mathml(node, display):
    """Return a formula as MathML, with its LaTeX for those who cannot read it."""
    latex = " ".join(node.astext().split())
    return convert(latex, display=display).replace(
        "<math ", f'<math alttext="{escape(latex, quote=True)}" ', 1
    )


def setup(app):
    """Connect what is written with each page."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("html-page-context", describe)
    app.connect("build-finished", list_pages)
    return {"parallel_read_safe": True}
