"""Draw Figures 4, 5 and 6 of the DirectRanker paper from the files of results.

    python benchmarks/paper/draw.py

Nothing is computed anew. Every file that exists is drawn into ``build/figures``, which git ignores:
Figures 4 and 5 with one panel per part, Figure 6 once per data set, with the true classes below the
sorted list.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import figure4
import figure5
import figure6
import numpy as np
from protocol import FIGURES, PROTOCOLS, RESULTS, read, say
from style import COLORS, GRAY, line_styles, tidy

LABELS = {
    "n_classes": "relevance classes",
    "n_features": "features",
    "label_noise": "standard deviation of label noise",
    "n_train": "training documents",
    "kept share of relevant documents": "share of relevant documents kept",
}
LOGARITHMIC = ("n_train", "kept share of relevant documents")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the files")
    parser.add_argument("--out", type=Path, default=FIGURES)
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=["full", "quick"])
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for protocol in arguments.protocols:
        for script in (figure4, figure5):
            name = f"{script.__name__}-{protocol}"
            parts = parts_there(arguments.results / f"{name}.jsonl", script)
            if parts:
                save(draw_panels(parts), arguments.out / f"{name}.svg")
        for data, content in parts_there(
            arguments.results / f"figure6-{protocol}.jsonl", figure6
        ).items():
            name = f"figure6-{data.replace(' ', '-')}-{protocol}.svg"
            save(draw_lists(content, data), arguments.out / name)


def parts_there(path, script):
    """Return the parts of a file, or an empty dictionary if there is no such file."""
    return dict(sorted(read(path, script.shown).items())) if path.is_file() else {}


def save(figure, path):
    """Write a figure and close it."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": path.name}):  # the same file for the same results
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    say(f"drew {path}")


def panel_axes(n_panels):
    """Return a figure and its axes, at most two side by side."""
    import matplotlib.pyplot as plt

    n_rows = (n_panels + 1) // 2
    size = (6.8 if n_panels > 1 else 3.4, 2.4 * n_rows)
    figure, axes = plt.subplots(
        n_rows, min(2, n_panels), figsize=size, layout="constrained", squeeze=False
    )
    for spare in axes.ravel()[n_panels:]:
        spare.axis("off")
    return figure, axes.ravel()[:n_panels]


def shared_legend(figure, axes, **options):
    """Draw one legend for all panels: in the place of a panel that is missing, or below them."""
    entries = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    look = {"fontsize": 7, "title_fontsize": 7, "frameon": False, "columnspacing": 1.0} | options
    if len(figure.axes) > len(axes):
        figure.axes[-1].legend(entries.values(), entries, loc="center left", **look)
    elif len(entries) > 1:
        look = {"loc": "outside lower center", "ncols": len(entries)} | look
        figure.legend(entries.values(), entries, **look)


def draw_panels(parts):
    """Draw one panel per part: NDCG@20 over what was varied, with the standard error."""
    figure, axes = panel_axes(len(parts))
    panels = {part: curves_of(content["results"]) for part, content in parts.items()}
    names = dict.fromkeys(name for curves in panels.values() for name in curves)
    styles = dict(zip(names, line_styles(len(names)), strict=True))
    for axis, (part, content) in zip(axes, parts.items(), strict=True):
        for name, points in panels[part].items():
            x, mean, error = np.array(points).T
            look = {"marker": "o", "markersize": 3, "linewidth": 1} | styles[name]
            axis.errorbar(x, mean, error, label=name, **look)
        about = content["about"]
        if about["varied"] in LOGARITHMIC:
            axis.set_xscale("log")
        tidy(axis, x=LABELS[about["varied"]], y="NDCG@20")
        axis.set_title(f"({part[0]}) {about.get('data', figure6.GAUSSIAN)}", fontsize=8, loc="left")
    shared_legend(figure, axes)
    return figure


def curves_of(results):
    """Return per ranker the points (value, mean, standard error over data sets)."""
    values = defaultdict(list)
    for entry in results:
        point = entry["point"]
        values[point.get("ranker", "RankNet*"), point["value"]].append(entry["result"]["ndcg@20"])
    curves = defaultdict(list)
    for (ranker, value), found in values.items():
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        curves[ranker].append((value, np.mean(found), error))
    return {ranker: sorted(points) for ranker, points in curves.items()}


def draw_lists(content, data):
    """Draw r along sorted lists, with true classes below and the boundaries found."""
    drawn = [entry for entry in content["results"] if "list" in entry["result"]]
    figure, axes = panel_axes(len(drawn))
    for axis, entry in zip(axes, drawn, strict=True):
        draw_list(axis, entry["result"]["list"])
        how = "classes merged in training" if entry["point"]["merged"] else "all classes trained"
        axis.set_title(f"{data}, {how}", fontsize=8, loc="left")
    shared_legend(figure, axes, title="label", handlelength=0.8)
    return figure


def draw_list(axis, found):
    """Draw one sorted list."""
    places, r = figure6.places_drawn(found["n_documents"]), np.array(found["r"])
    labels = np.array(found["labels"])
    axis.plot(places, r, color="black", linewidth=1)
    axis.set_yscale("log")
    low = r.min() / 3
    for label in np.unique(labels):
        here = places[labels == label]
        look = {"s": 6, "marker": "|", "color": COLORS[label % len(COLORS)], "rasterized": True}
        axis.scatter(here, np.full(len(here), low), label=str(label), **look)
    for position in found["found"]:
        axis.axvline(position, color=GRAY, linewidth=0.8, linestyle="--")
    tidy(axis, x="place in the sorted list", y="r of neighbors / median")
    axis.tick_params(axis="y", which="minor", labelleft=False)


if __name__ == "__main__":
    main()
