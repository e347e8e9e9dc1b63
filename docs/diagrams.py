"""Diagrams of the manual as SVG, each a function that draws boxes and arrows on a grid of pixels.

In a page they take the colors of ``manual.css``; :func:`write` writes them with colors of their
own, for thumbnails of the gallery.
"""

import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYER_COLORS = ("purple", "vermilion", "orange", "green", "blue", "sky")
#: Colors outside of the manual, by variable of ``manual.css``.
STANDALONE = (
    "svg{background:#fff;font-family:sans-serif;--oi-blue:#0072b2;--oi-vermilion:#d55e00;"
    "--oi-green:#009e73;--oi-purple:#cc79a7;--oi-orange:#e69f00;--oi-sky:#56b4e9;"
    "--diagram-text:#1d2433;--diagram-muted:#5b6472;--diagram-line:#7b8494;--diagram-fill:#f2f5f9}"
)
RULES = (
    "text{font-size:15px;fill:var(--diagram-text);dominant-baseline:central}"
    ".on{fill:#fff}"
    ".m{fill:var(--diagram-muted);font-size:13px}.b{font-weight:600}"
    ".c{font-family:monospace;font-size:13.5px}.e{text-anchor:end}.k{text-anchor:middle}"
    ".box{fill:var(--diagram-fill);stroke:var(--diagram-line);stroke-width:1.2}"
    ".arrow{fill:none;stroke:var(--diagram-line);stroke-width:1.8}.tip{fill:var(--diagram-line)}"
    + "".join(
        f".{name}{{stroke:var(--oi-{name});stroke-width:2.2}}.fill-{name}{{fill:var(--oi-{name})}}"
        for name in ("blue", "vermilion", "green", "purple", "orange", "sky")
    )
)
LINE_HEIGHT = 19


class Drawing:
    """Boxes, arrows and texts, which :meth:`svg` joins."""

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def text(self, x, y, text, classes="k"):
        """Write text: ``k`` is centered, ``e`` ends at x, ``b`` bold, ``m`` muted, ``c`` code."""
        self.parts.append(f'<text x="{x}" y="{y}" class="{classes}">{escape(text)}</text>')

    def box(self, x, y, width, height, *lines, color="", classes="k"):
        """Draw a box with lines of text in its middle, of several the first one bold."""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" class="box {color}"/>'
        )
        top = y + height / 2 - (len(lines) - 1) * LINE_HEIGHT / 2
        for number, line in enumerate(lines):
            kind = " b" if number == 0 and len(lines) > 1 else " m" if number else ""
            where = x + width / 2 if "k" in classes else x + 12
            self.text(where, top + number * LINE_HEIGHT, line, classes + kind)

    def arrow(self, *points, label="", at=None, both=False):
        """Draw a line through points with a tip at its end, and a label beside it."""
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path d="{path}" class="arrow"/>')
        self.tip(points[-2], points[-1])
        if both:
            self.tip(points[1], points[0])
        if label:
            x, y = at or ((points[0][0] + points[-1][0]) / 2, points[0][1] - 12)
            self.text(x, y, label, "k m")

    def tip(self, start, end):
        """Draw the tip of an arrow that comes from a point to another, along an axis."""
        (x, y), (dx, dy) = end, (end[0] - start[0], end[1] - start[1])
        size = max(abs(dx), abs(dy))
        u, v = dx / size, dy / size
        back = x - 9 * u, y - 9 * v
        a, b = (back[0] - 5 * v, back[1] + 5 * u), (back[0] + 5 * v, back[1] - 5 * u)
        shape = " ".join(f"{p:.1f},{q:.1f}" for p, q in ((x, y), a, b))
        self.parts.append(f'<polygon points="{shape}" class="tip"/>')

    def bar(self, x, y, width, height, color):
        """Draw a filled rectangle."""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" class="fill-{color}"/>'
        )

    def svg(self, alternative, style=""):
        """Return the text of the SVG."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="img" '
            f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'aria-label="{escape(alternative, quote=True)}">'
            + (f"<style>{style}</style>" if style else "")
            + "\n".join(self.parts)
            + "</svg>"
        )


def pair():
    """Draw how two documents are compared."""
    d = Drawing(620, 190)
    for y, name, color in ((20, "a", "blue"), (110, "b", "vermilion")):
        d.box(10, y, 128, 60, f"document {name}", "features", color=color)
        d.box(190, y, 128, 60, f"f({name})", "the same model f")
        d.arrow((138, y + 30), (190, y + 30))
        d.arrow((318, y + 30), (360, y + 30), (360, 95), (392, 95))
    d.box(392, 65, 90, 60, "⟨w, · ⟩", "weights")
    d.arrow((482, 95), (512, 95))
    d.text(564, 85, "r(a, b) > 0:", "k b")
    d.text(564, 107, "a above b", "k m")
    d.text(374, 50, "f(a) − f(b)", "m")
    return d


def fit():
    """Draw a fit: scores to gradients, gradients to a tree, the tree to scores."""
    d = Drawing(600, 216)
    d.box(10, 20, 150, 62, "X", "features", color="blue")
    d.box(10, 134, 150, 62, "y, qid, weights", "labels by query", color="vermilion")
    d.box(240, 20, 160, 62, "feature part f", "trees, network, …")
    d.box(240, 134, 160, 62, "objective", "pairs or lists")
    d.box(470, 77, 120, 62, "ranker", "scores, order", color="green")
    d.arrow((160, 51), (240, 51))
    d.arrow((160, 165), (240, 165))
    d.arrow((290, 82), (290, 134), label="scores", at=(258, 108))
    d.arrow((350, 134), (350, 82), label="gradient,", at=(386, 99))
    d.text(386, 117, "hessian", "k m")
    d.arrow((400, 51), (530, 51), (530, 77))
    return d


def boosting():
    """Draw one round of boosting."""
    d = Drawing(600, 150)
    steps = (
        ("scores", "of all trees"),
        ("gradients", "of the objective"),
        ("histograms", "by feature, bin"),
        ("next tree", "Newton steps"),
    )
    for number, (name, about) in enumerate(steps):
        x = 8 + number * 150
        d.box(x, 22, 134, 62, name, about, color="blue" if number == 3 else "")
        if number:
            d.arrow((x - 16, 53), (x, 53))
    d.arrow((525, 84), (525, 124), (75, 124), (75, 84))
    d.text(300, 138, "add the tree times the learning rate, until early stopping", "k m")
    return d


def layers():
    """Draw the layers of packages, as ``pyproject.toml`` has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        each for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    )
    rows = [each.split(" | ") for each in contract["layers"]]
    lines = [textwrap.wrap(" · ".join(names), 70) for names in rows]
    d = Drawing(620, sum(17 + LINE_HEIGHT * len(each) for each in lines) + 16)
    y = 8
    for number, texts in enumerate(lines):
        height = 11 + LINE_HEIGHT * len(texts)
        d.box(34, y, 580, height)
        d.bar(34, y, 8, height, LAYER_COLORS[number % len(LAYER_COLORS)])
        for line, text in enumerate(texts):
            d.text(52, y + 15 + line * LINE_HEIGHT, text, "")
        y += height + 6
    d.arrow((16, 10), (16, y - 8))
    return d


def position_bias():
    """Draw how a look at a position and a document's relevance make a click."""
    d = Drawing(600, 212)
    shares = (1.0, 0.55, 0.36, 0.27, 0.22)
    d.text(80, 14, "position", "k m")
    d.text(208, 14, "users who look", "k m")
    d.text(500, 14, "users who click", "k m")
    grades = (0.3, 0.9, 0.2, 0.8, 0.5)
    for number, (share, grade) in enumerate(zip(shares, grades, strict=True)):
        y = 30 + number * 34
        d.box(30, y, 100, 26, f"document {number + 1}")
        d.bar(148, y + 4, round(106 * share), 18, "sky")
        d.text(300, y + 13, "× relevance", "k m")
        d.bar(352, y + 4, max(3, round(60 * grade)), 18, "green")
        d.text(425, y + 13, "=", "k")
        d.bar(440, y + 4, max(3, round(150 * share * grade)), 18, "vermilion")
    d.text(300, 206, "the fit corrects for examination, and learns relevance", "k m")
    return d


def from_log_to_model():
    """Draw the way from an engine's feature log to a model in the engine."""
    d = Drawing(600, 196)
    top = (("search engine", "logs features", "sky"), ("judgments", "or clicks", "vermilion"))
    for number, (name, about, color) in enumerate(top):
        d.box(10, 18 + number * 98, 140, 62, name, about, color=color)
    d.box(208, 67, 112, 62, "training set", "X, y, qid")
    d.box(356, 67, 100, 62, "ranker", "fit", color="green")
    d.box(492, 67, 100, 62, "export", "check=X", color="blue")
    d.arrow((150, 49), (180, 49), (180, 88), (208, 88))
    d.arrow((150, 147), (180, 147), (180, 108), (208, 108))
    d.arrow((320, 98), (356, 98))
    d.arrow((456, 98), (492, 98))
    d.arrow(
        (542, 67),
        (542, 32),
        (150, 32),
        label="upload the model; it reranks the first 100",
        at=(350, 16),
    )
    d.text(264, 150, "read_feature_log", "k c")
    d.text(406, 150, "compare, report", "k c")
    d.text(542, 150, "rejected if it", "k m")
    d.text(542, 168, "ranks differently", "k m")
    return d


def export_check():
    """Draw what an export proves."""
    d = Drawing(600, 190)
    d.box(10, 64, 120, 62, "ranker", "and check=X", color="green")
    d.box(190, 14, 160, 62, "predict", "scores of X")
    d.box(190, 114, 160, 62, "emulated reader", "its floats, sums, NaN", color="sky")
    d.box(412, 64, 84, 62, "same", "order?")
    d.arrow((130, 82), (160, 82), (160, 45), (190, 45))
    d.arrow((130, 108), (160, 108), (160, 145), (190, 145))
    d.arrow((350, 45), (454, 45), (454, 64))
    d.arrow((350, 145), (454, 145), (454, 126))
    d.arrow((496, 82), (526, 82), label="yes", at=(511, 68))
    d.arrow((496, 110), (526, 110), label="no", at=(511, 126))
    d.text(530, 82, "file", "b")
    d.text(530, 110, "error", "b")
    return d


def workers():
    """Draw a fit by several workers."""
    d = Drawing(620, 250)
    d.text(65, 14, "files", "k m")
    d.text(330, 14, "Dask or Spark", "k m")
    for number in range(3):
        y = 30 + number * 66
        d.box(10, y, 110, 46, f"partition {number}", classes="k")
        d.box(220, y, 220, 46, f"worker {number}", "whole queries, bins, histograms", color="sky")
        d.arrow((120, y + 23), (220, y + 23))
    d.text(170, 70, "shuffle", "k m")
    d.text(170, 88, "by query", "k m")
    d.arrow((456, 53), (456, 185), both=True)
    d.text(468, 112, "sums of histograms,", "m")
    d.text(468, 130, "a sample of rows", "m")
    d.box(220, 222, 220, 26, "one model file, to the client", color="green")
    d.arrow((330, 208), (330, 222))
    return d


def rows_of_queries():
    """Draw X, y and qid."""
    d = Drawing(520, 214)
    heads = (("qid", 30, 80), ("X: features", 130, 230), ("y: grade", 380, 90))
    for name, x, width in heads:
        d.text(x + width / 2, 16, name, "k b")
    values = (
        ("shoes", ("12.1", "39.90", "4"), "2", "blue"),
        ("shoes", ("3.4", "89.00", "5"), "0", "blue"),
        ("tent", ("9.8", "120.0", "NaN"), "1", "vermilion"),
        ("shoes", ("7.7", "59.00", "3"), "3", "blue"),
        ("tent", ("8.1", "99.00", "5"), "4", "vermilion"),
    )
    for number, (query, features, grade, color) in enumerate(values):
        y = 34 + number * 36
        d.box(20, y, 480, 30)
        d.bar(20, y, 8, 30, color)
        d.text(70, y + 15, query, "k")
        for column, value in enumerate(features):
            d.text(170 + column * 76, y + 15, value, "k")
        d.text(425, y + 15, grade, "k b")
    return d


def choose():
    """Draw which ranker to begin with."""
    d = Drawing(610, 236)
    rows = (
        ("a table of features and grades", "TreeDirectRanker()", "blue"),
        ("time for a little more accuracy", "TreeDirectRanker.best()", "green"),
        ("few judged queries, scores of retrievers", '["lightgbm", "linear"]', "orange"),
        ("very many rows, little time or memory", '"histogram"', "vermilion"),
        ("a model of your own", "NewtonBoosting(regressor), …", "purple"),
    )
    for number, (have, use, color) in enumerate(rows):
        y = 6 + number * 46
        d.box(6, y, 320, 36, have)
        d.arrow((326, y + 18), (356, y + 18))
        d.box(356, y, 248, 36, use, color=color, classes="k c")
    return d


def any_model():
    """Draw the models that can be f."""
    d = Drawing(600, 222)
    models = (
        "boosted trees",
        "regressor of scikit-learn",
        "transformer",
        "torch module",
        "your own class",
    )
    for number, name in enumerate(models):
        y = 8 + number * 42
        d.box(10, y, 190, 34, name)
        d.arrow((200, y + 17), (226, y + 17), (226, 101), (256, 101))
    d.box(256, 70, 96, 62, "f(x)", "numbers", color="blue")
    d.arrow((352, 101), (392, 101))
    d.box(392, 70, 90, 62, "⟨w, f(x)⟩", "head")
    d.arrow((482, 101), (516, 101))
    d.text(556, 92, "score", "k b")
    d.text(556, 112, "sort by it", "k m")
    return d


def hybrid():
    """Draw hybrid search with a learned second stage."""
    d = Drawing(600, 176)
    for number, name in enumerate(("BM25", "vectors", "cross-encoder")):
        y = 10 + number * 54
        d.box(80, y, 130, 42, name, color="sky")
        d.arrow((48, 85), (62, 85), (62, y + 21), (80, y + 21))
        d.arrow((210, y + 21), (232, y + 21), (232, 85), (258, 85))
    d.text(26, 85, "query", "k b")
    d.box(258, 54, 126, 62, "candidates", "scores as columns")
    d.arrow((384, 85), (416, 85))
    d.box(416, 54, 90, 62, "ranker", "learned", color="green")
    d.arrow((506, 85), (540, 85))
    d.text(570, 85, "list", "k b")
    d.text(461, 138, "20 judged queries", "k m")
    d.text(461, 156, "are enough to begin", "k m")
    return d


def rag():
    """Draw where a ranker stands in retrieval-augmented generation."""
    d = Drawing(600, 172)
    steps = (("retriever", "candidates", ""), ("ranker", "best passages", "green"))
    d.text(38, 45, "question", "k b")
    d.arrow((76, 45), (98, 45))
    for number, (name, about, color) in enumerate(steps):
        x = 98 + number * 148
        d.box(x, 14, 122, 62, name, about, color=color)
        d.arrow((x + 122, 45), (x + 148, 45))
    d.box(394, 14, 112, 62, "LLM", "prompt", color="sky")
    d.arrow((506, 45), (534, 45))
    d.text(566, 45, "answer", "k b")
    d.arrow((566, 60), (566, 128), (307, 128), (307, 76))
    d.text(400, 146, "label: quality of the answer with this passage, 0 to 1", "k m")
    return d


def batches():
    """Draw how histogram trees read more rows than memory holds."""
    d = Drawing(600, 150)
    d.box(10, 44, 110, 62, "file", "beyond memory", color="vermilion")
    d.arrow((120, 75), (160, 75))
    for number in range(3):
        d.box(160, 14 + number * 44, 120, 34, f"batch {number + 1}")
        d.arrow((280, 31 + number * 44), (306, 31 + number * 44), (306, 75), (334, 75))
    d.box(334, 44, 132, 62, "bins", "1 byte per value", color="green")
    d.arrow((466, 75), (492, 75))
    d.box(492, 44, 98, 62, "trees", "histograms")
    return d


def reproducible():
    """Draw what leaves a model as it is."""
    d = Drawing(600, 172)
    ways = ("rows shuffled", "1 thread, 8 threads", "1 worker, 10 workers", "another day")
    for number, name in enumerate(ways):
        y = 8 + number * 42
        d.box(10, y, 180, 34, name)
        d.arrow((190, y + 17), (214, y + 17), (214, 86), (240, 86))
    d.box(240, 55, 176, 62, "canonical order", "exact sums")
    d.arrow((416, 86), (456, 86))
    d.box(456, 55, 134, 62, "one model", "the same bits", color="green")
    return d


def reranking():
    """Draw diversity and exploration after a ranker."""
    d = Drawing(600, 190)
    colors = {"A": "blue", "B": "orange", "C": "green"}
    rows = (
        ("sorted by score", "AAABAC"),
        ("diversify: at most 3 of A", "AABCAB"),
        ("sample: explore", "ABACAA"),
    )
    for number, (name, brands) in enumerate(rows):
        y = 32 + number * 52
        d.text(204, y + 18, name, "e")
        for place, brand in enumerate(brands):
            d.bar(222 + place * 60, y, 52, 36, colors[brand])
            d.text(248 + place * 60, y + 18, brand, "k b dark" if brand == "B" else "k b on")
    for place in range(6):
        d.text(248 + place * 60, 16, str(place + 1), "k m")
    d.text(204, 16, "position", "e m")
    return d


def security():
    """Draw who may reach what."""
    d = Drawing(600, 176)
    rows = (
        ("a model file from others", "no code runs; damage is detected", "green"),
        ("a report that you pass on", "loads nothing; shows your data", "orange"),
        ("ports of workers in a fit", "no encryption: close the network", "vermilion"),
    )
    for number, (what, promise, color) in enumerate(rows):
        y = 10 + number * 56
        d.box(10, y, 220, 42, what)
        d.arrow((230, y + 21), (280, y + 21))
        d.box(280, y, 310, 42, promise, color=color)
    return d


def threshold():
    """Draw how a threshold moves to a number of single precision."""
    d = Drawing(600, 170)
    d.arrow((20, 100), (580, 100))
    for x in (90, 230, 370, 510):
        d.parts.append(f'<path d="M{x} 90 V110" class="arrow"/>')
    d.text(300, 140, "numbers that the reader knows (float32)", "k m")
    d.parts.append('<path d="M285 58 V100" class="arrow vermilion"/>')
    d.text(285, 42, "threshold of the ranker", "k")
    d.parts.append('<path d="M370 72 V100" class="arrow blue"/>')
    d.text(378, 72, "written: decides the same", "b")
    d.arrow((292, 86), (362, 86))
    d.text(130, 84, "left", "k m")
    d.text(560, 84, "right", "k m")
    return d


def two_orders():
    """Draw a Shapley value of a pair of two features."""
    d = Drawing(600, 204)
    d.box(10, 71, 112, 62, "b", "score 1.0", color="vermilion")
    d.box(478, 71, 112, 62, "a", "score 2.0", color="green")
    for y, first, score, steps in (
        (10, "bm25 of a", "1.8", ("+0.8", "+0.2")),
        (132, "price of a", "0.9", ("−0.1", "+1.1")),
    ):
        d.box(234, y, 132, 62, first, f"score {score}")
        d.arrow((122, 102), (178, 102), (178, y + 31), (234, y + 31))
        d.arrow((366, y + 31), (422, y + 31), (422, 102), (478, 102))
        d.text(206, y + 16, steps[0], "k b")
        d.text(394, y + 16, steps[1], "k b")
    d.text(300, 92, "bm25: (0.8 + 1.1) / 2 = +0.95", "k m")
    d.text(300, 112, "price: (0.2 − 0.1) / 2 = +0.05", "k m")
    return d


def loop():
    """Draw a night of the unattended loop, with what it refuses."""
    d = Drawing(620, 168)
    steps = (
        ("feature log", "and labels", "sky"),
        ("data", "as before?", ""),
        ("refresh", "not worse?", ""),
        ("export", "same order?", ""),
        ("served", "new model", "green"),
    )
    for number, (name, about, color) in enumerate(steps):
        x = 6 + number * 124
        d.box(x, 14, 112, 62, name, about, color=color)
        if number:
            d.arrow((x - 12, 45), (x, 45))
    for number in (1, 2, 3):
        x = 62 + number * 124
        d.arrow((x, 76), (x, 116))
        d.text(x + 10, 96, "no", "m")
    d.box(130, 116, 360, 42, "the model of yesterday stays", color="vermilion")
    return d


def judges():
    """Draw how labels of an LLM and of people are used."""
    d = Drawing(620, 176)
    d.box(6, 14, 180, 62, "grades of an LLM", "all queries", color="orange")
    d.box(6, 100, 180, 62, "grades of people", "a random few", color="blue")
    d.box(258, 57, 150, 62, "agreement", "how far to trust it")
    d.arrow((186, 45), (222, 45), (222, 78), (258, 78))
    d.arrow((186, 131), (222, 131), (222, 98), (258, 98))
    for y, name, about in ((14, "compare", "an honest interval"), (100, "fit", "both, weighted")):
        d.box(458, y, 156, 62, name, about, color="green")
        d.arrow((408, 88), (432, 88), (432, y + 31), (458, y + 31))
    return d


def kinds_of_judges():
    """Draw metrics with what they are checked by."""
    d = Drawing(600, 176)
    d.box(10, 57, 150, 62, "definitions", "40 digits, Python", color="blue")
    d.arrow((160, 88), (204, 88))
    d.box(204, 57, 150, 62, "2,230 cases", "JSON Lines", color="green")
    for number, name in enumerate(("treerank", "scikit-learn", "trec_eval", "LightGBM")):
        y = 6 + number * 43
        d.arrow((354, 88), (386, 88), (386, y + 17), (420, y + 17))
        d.box(420, y, 170, 34, name)
    return d


def moved(program, rows):
    """Draw calls of another program beside ours."""

    def draw():
        d = Drawing(620, len(rows) * 44 + 34)
        d.text(150, 14, program, "k m")
        d.text(470, 14, "treerank", "k m")
        for number, (there, here) in enumerate(rows):
            y = 30 + number * 44
            d.box(6, y, 288, 34, there, classes="k c")
            d.arrow((294, y + 17), (326, y + 17))
            d.box(326, y, 288, 34, here, color="green", classes="k c")
        return d

    return draw


MOVES = {
    "LightGBM": (
        ("fit(X, y, group=sizes)", "fit(X, y, qid)"),
        ("eval_set=, eval_group=", "eval_set=(X, y, qid)"),
        ("LGBMRanker(num_leaves=15)", "LightGBMTrees(num_leaves=15)"),
        ("model.txt", 'read_forest("model.txt")'),
    ),
    "XGBoost": (
        ("fit(X, y, qid=sorted)", "fit(X, y, qid)"),
        ("XGBRanker(max_depth=6)", "XGBoostTrees(max_depth=6)"),
        ('objective="rank:ndcg"', 'weight="ndcg"'),
        ("model.json", 'read_forest("model.json")'),
    ),
    "CatBoost": (
        ("Pool(X, y, group_id=)", "fit(X, y, qid)"),
        ('loss_function="YetiRank"', "the default, smoothing=1.0"),
        ("cat_features=", "a frame with text columns"),
        ('save_model(format="json")', "read_forest reads it"),
    ),
    "RankLib": (
        ("-train train.txt", 'read_letor("train.txt")'),
        ("-ranker 6 (LambdaMART)", "LambdaMART() or the default"),
        ("-metric2t NDCG@10", '"ndcg@10"'),
        ("-save model.xml", 'read_forest("model.xml")'),
    ),
    "allRank": (
        ("slate_length: 240", "queries of any length"),
        ("fc_model: {sizes: [64, 32]}", "MLP((64, 32))"),
        ("loss: approxNDCGLoss", 'loss="approx_ndcg"'),
        ("config.json", "TreeDirectRanker(...)"),
    ),
}
DRAWINGS = {
    "pair": pair,
    "fit": fit,
    "boosting": boosting,
    "layers": layers,
    "position-bias": position_bias,
    "from-log-to-model": from_log_to_model,
    "export": export_check,
    "workers": workers,
    "rows": rows_of_queries,
    "choose": choose,
    "any-model": any_model,
    "hybrid": hybrid,
    "rag": rag,
    "batches": batches,
    "reproducible": reproducible,
    "reranking": reranking,
    "security": security,
    "threshold": threshold,
    "two-orders": two_orders,
    "judges": judges,
    "loop": loop,
    "corpus": kinds_of_judges,
} | {f"from-{program.lower()}": moved(program, rows) for program, rows in MOVES.items()}


def drawn(name, alternative):
    """Return a diagram as SVG for a page."""
    return DRAWINGS[name]().svg(alternative)


def write(folder):
    """Write all diagrams as files, with colors of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "diagrams.css").write_text(sheet(), encoding="utf-8")
    for name, draw in DRAWINGS.items():
        svg = draw().svg(name.replace("-", " "), STANDALONE + RULES)
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


def sheet():
    """Return the rules of diagrams in a page."""
    return "\n".join(f"svg.diagram {rule}}}" for rule in RULES.split("}") if rule)
