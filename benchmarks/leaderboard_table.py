"""Leaderboard table: mean ranks over the queries of all data sets, as Markdown."""

import numpy as np
from mean_ranks import LEVEL, critical_difference


def pooled(parts):
    """Return the rankers, best first, their mean ranks over all sets, and the queries of these."""
    found = [content["results"][0]["result"] for content in parts.values()]
    names = [name for name in found[0]["rank"] if all(name in f["rank"] for f in found)]
    sizes = [f["n_queries"] for f in found]
    ranks = np.average([[f["rank"][n] for n in names] for f in found], axis=0, weights=sizes)
    order = np.argsort(ranks, kind="stable")
    return [names[i] for i in order], ranks[order], sum(sizes)


def render(parts):
    """Return the table as Markdown."""
    names, ranks, n_queries = pooled(parts)
    found = {data: content["results"][0]["result"] for data, content in parts.items()}
    head = ["ranker", "mean rank", *found, *(f"s, {data}" for data in found)]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for name, rank in zip(names, ranks, strict=True):
        cells = [
            f"{f['mean'][name]:.3f} ± {f['error'][name]:.3f}" if name in f["mean"] else "failed"
            for f in found.values()
        ]
        seconds = [f"{f['seconds'].get(name, np.nan):.1f}" for f in found.values()]
        rows.append([name, f"{rank:.2f}", *(c.replace("0.", ".") for c in cells), *seconds])
    failures = [failure for f in found.values() for failure in f["failures"]]
    notes = [
        f"Ranks over {n_queries:,} queries; mean ranks that differ by more than "
        f"{critical_difference(len(names), n_queries):.2f} differ at {LEVEL:g} (Nemenyi).",
        *failures,
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n\n" + "\n".join(notes)
