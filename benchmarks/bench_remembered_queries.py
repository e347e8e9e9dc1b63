"""What does a ranker pay for remembering its training queries, in memory and in the model file?"""

import tempfile
from pathlib import Path

from timing import say_versions

from treerank import HistogramTrees, TreeDirectRanker, make_web_search
from treerank.documents.training_queries import MOST_REMEMBERED


def file_size(ranker, folder):
    """Return the bytes of the model file of a ranker."""
    path = Path(folder) / "model"
    ranker.save(path)
    return path.stat().st_size


def main():
    """Print the bytes of a query in memory, and the size of a model file with and without them."""
    say_versions()
    print(f"at most {MOST_REMEMBERED:,} queries are remembered")
    print("| queries | bytes a query in memory | file without, kB | file with, kB |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for n_queries in (1_000, 70_000):
            X, y, qid = make_web_search(
                n_queries, documents_per_query=4, n_features=5, random_state=0
            )
            ranker = TreeDirectRanker(HistogramTrees(20, num_leaves=8), random_state=0)
            queries = ranker.fit(X, y, qid).training_queries_
            n_bytes = sum(part.nbytes for part in (queries.ids, queries.documents, queries.sizes))
            with_queries = file_size(ranker, folder)
            ranker.training_queries_ = None
            without = file_size(ranker, folder)
            sizes = f"{without / 1e3:.1f} | {with_queries / 1e3:.1f}"
            print(f"| {len(queries.ids):,} | {n_bytes / len(queries.ids):.0f} | {sizes} |")


if __name__ == "__main__":
    main()
