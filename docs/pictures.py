"""The picture of README and of the manual's first page: why one product ranks above another.

``python docs/pictures.py`` fits a ranker to a synthetic shop and writes the picture in a light and
a dark form to ``docs/static``; ``tests/test_pages.py`` asks whether they are what it draws.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import diagrams

from treerank import TreeDirectRanker

#: Features with the form of their values and their units.
FEATURES = {
    "bm25": "{:.1f}",
    "title match": "{:.2f}",
    "clicks, 30 days": "{:.0f}",
    "rating": "{:.1f}",
    "price": "{:.0f} €",
    "days in stock": "{:.0f}",
}
THEMES = {
    "light": {
        "blue": "#0072b2",
        "vermilion": "#d55e00",
        "text": "#1d2433",
        "muted": "#4f5866",
        "line": "#7b8494",
        "fill": "#f4f6f9",
    },
    "dark": {
        "blue": "#3d9fe0",
        "vermilion": "#f07f2e",
        "text": "#e6edf3",
        "muted": "#b3bac4",
        "line": "#7d8694",
        "fill": "#1c2129",
    },
}


def shop(n_searches=300, n_products=20, seed=0):
    """Return a synthetic shop: X, y, qid."""
    rng, shape = np.random.default_rng(seed), n_searches * n_products
    match = rng.beta(2, 2, shape)
    columns = {
        "bm25": rng.gamma(4, 2, shape) * (0.5 + match),
        "title match": match,
        "clicks, 30 days": rng.poisson(rng.gamma(1.2, 40, shape)),
        "rating": rng.uniform(2.5, 5, shape),
        "price": rng.gamma(3, 20, shape),
        "days in stock": rng.uniform(0, 365, shape),
    }
    X = np.column_stack(list(columns.values())).astype(float)
    appeal = X[:, 0] / 6 + 2 * match + np.log1p(X[:, 2]) / 2 + X[:, 3] / 2 - X[:, 4] / 60
    appeal += rng.normal(size=shape)
    cuts = np.quantile(appeal, (0.5, 0.75, 0.9, 0.97))
    qid = np.repeat(np.arange(n_searches), n_products)
    return X, np.searchsorted(cuts, appeal), qid


def explained():
    """Return the first and the second product of a search not trained on, and the contributions."""
    X, y, qid = shop()
    seen = qid < 250
    ranker = TreeDirectRanker(random_state=0).fit(X[seen], y[seen], qid[seen])
    products = X[qid == 260]
    first, second = products[np.argsort(-ranker.predict(products))[:2]]
    return first, second, np.asarray(ranker.explain(first[None], second[None]))[0]


def drawn(first, second, parts):
    """Return the drawing of an explanation."""
    order = np.argsort(-parts)
    d = diagrams.Drawing(720, 124 + 34 * len(parts))
    d.text(14, 18, "Why does product A rank above product B?", "b")
    for x, text, classes in (
        (16, "feature", "m"),
        (222, "A, first", "e m"),
        (318, "B, second", "e m"),
        (516, "for B  ◂  contribution to the score difference  ▸  for A", "k m"),
    ):
        d.text(x, 44, text, classes)
    middle, scale = 516, 140 / np.abs(parts).max()
    names = list(FEATURES)
    for row, feature in enumerate(order):
        y, part = 62 + row * 34, parts[feature]
        form, width = FEATURES[names[feature]], max(1.0, abs(part) * scale)
        d.box(6, y, 326, 28)
        d.text(16, y + 14, names[feature], "")
        d.text(222, y + 14, form.format(first[feature]), "e")
        d.text(318, y + 14, form.format(second[feature]), "e")
        left = middle if part > 0 else middle - width
        d.bar(round(left), y + 4, round(width), 20, "blue" if part > 0 else "vermilion")
        end, anchor = (middle + width + 8, "") if part > 0 else (middle - width - 8, "e")
        d.text(round(end), y + 14, signed(part), anchor)
    bottom = 62 + len(parts) * 34
    d.parts.append(f'<path d="M{middle} 58 V{bottom}" class="arrow"/>')
    d.text(middle, bottom + 18, f"together {signed(parts.sum())}, so A is above B", "k b")
    d.text(14, bottom + 18, "Exact Shapley values: they add up to the difference", "m")
    d.text(14, bottom + 40, "Synthetic shop; drawn by docs/pictures.py", "m")
    return d


def signed(value):
    """Return a number with its sign."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def svg(theme, explanation):
    """Return the picture in a theme."""
    colors = "".join(
        f"--{'oi' if name in ('blue', 'vermilion') else 'diagram'}-{name}:{color};"
        for name, color in THEMES[theme].items()
    )
    style = f"svg{{font-family:-apple-system,Segoe UI,Helvetica,Arial,sans-serif;{colors}}}"
    names = list(FEATURES)
    parts = explanation[2]
    largest = names[int(np.argmax(parts))]
    alternative = (
        f"Two products of a search with their six features, and what each feature contributes to "
        f"ranking A above B: {largest} most, and together {signed(parts.sum())}"
    )
    return drawn(*explanation).svg(alternative, style + diagrams.RULES) + "\n"


def main():
    """Write both forms."""
    explanation = explained()
    for theme in THEMES:
        path = HERE / "static" / f"pair-{theme}.svg"
        path.write_text(svg(theme, explanation), encoding="utf-8", newline="\n")
        print(path)


if __name__ == "__main__":
    main()
