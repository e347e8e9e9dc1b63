"""
Scoring in C
============

A ranker that consists of trees becomes a single C file without dependencies. Its scores equal those
in Python, bit for bit.
"""

# %%
# Export
# ------
# C computes in double precision, as the ranker does, so there is no need to check documents.

# sphinx_gallery_thumbnail_path = "generated/diagrams/export.svg"
import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from treerank import LightGBMTrees, TreeDirectRanker, export, make_web_search

X, y, qid = make_web_search(n_queries=30, documents_per_query=20, n_features=20, random_state=0)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
ranker = TreeDirectRanker(LightGBMTrees(n_estimators=50), random_state=0).fit(X, y, qid)
folder = Path(tempfile.mkdtemp())
report = export(ranker, folder / "ranker.c", format="c", check=(X, y, qid))
print(report)
assert report.largest_difference == 0

# %%
# Compile and call
# ----------------
# ``treerank_score`` takes rows of features and is safe to call from several threads. A program
# of your own declares it and links this file; here, Python calls it from a shared library.

if shutil.which("gcc"):
    library = folder / "ranker.so"
    command = ["gcc", "-std=c99", "-O2", "-shared", "-fPIC", "-o", library, folder / "ranker.c"]
    subprocess.run([*command, "-lm"], check=True)
    score = ctypes.CDLL(str(library)).treerank_score
    score.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    score.restype = None
    scores = np.empty(len(X))
    score(X.ctypes.data, len(X), scores.ctypes.data)
    assert np.array_equal(scores, ranker.predict(X))
    print(f"C scores {len(X)} documents as Python does")
else:
    print("gcc is not installed")
shutil.rmtree(folder)
