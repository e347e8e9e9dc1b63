"""Write the golden models of this version: ``python tests/support/golden_models.py``.

Do this once for each release. The files are never changed: each later version has to read them,
and to give the same scores.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from laws import Case
from small_rankers import DATA, NAMES, made

import treerank
from treerank import export

GOLDEN = Path(__file__).parents[1] / "golden"
#: Formats of other programs that ``read_forest`` reads back.
FORMATS = {"lightgbm": "txt", "xgboost": "json", "ranklib": "xml", "json": "forest.json"}


def fitted(name):
    """Return a small ranker of a name, fitted with a seed."""
    with warnings.catch_warnings(action="ignore"):
        return Case(made(name), DATA).unfitted().fit(*DATA)


def write(folder):
    """Write a model file of each name, files of other programs, and the scores of all."""
    folder.mkdir(parents=True)
    scores = {}
    for name in NAMES:
        ranker = fitted(name)
        ranker.save(folder / f"{name}.treerank")
        scores[name] = ranker.predict(DATA.X)
    trees = fitted("histogram")
    for name, ending in FORMATS.items():
        path = folder / f"{name}.{ending}"
        export(trees, path, format=name, check=DATA.X)
    np.savez_compressed(folder / "scores.npz", X=DATA.X, **scores)


if __name__ == "__main__":
    write(GOLDEN / treerank.__version__)
    sys.stdout.write(f"wrote {GOLDEN / treerank.__version__}\n")
