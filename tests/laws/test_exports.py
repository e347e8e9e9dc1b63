"""Every format gives the order of ``predict`` on fresh documents, or refuses before it writes."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from scoring_programs import (
    ARITHMETIC,
    compiled,
    lightgbm_scores,
    onnx_scores,
    run_scores,
    xgboost_scores,
)

from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.documents.reading import read_documents
from treerank.exports import export
from treerank.exports.formats import FORMATS, format_named
from treerank.feature_parts import HistogramTrees, LinearModel

ODD = ["a[", "a]", "größe", "a b", "{x}", "a\\", ""]
RANK_FEATURES = ["bm25(title)", "price", "freshness", "a_1", "attribute(x)", "b.out", "max"]
PARTS = {
    "lightgbm": LightGBMTrees(8, min_child_samples=5),
    "xgboost": XGBoostTrees(8),
    "histogram": HistogramTrees(8),
    "linear": LinearModel(),
}
#: Parts of which one whole group of formats knows nothing.
FOREIGN = {"linear": {"elasticsearch", "lightgbm", "ranklib", "xgboost"}, "xgboost": {"sql"}}


def drawn_data(random, names, *, missing, categories):
    """Return documents of 20 queries: numbers of single precision, many of them equal."""
    X = np.round(random.normal(2.0, 1.0, (200, len(names))) * 4) / 4
    X[:, 1] = np.round(X[:, 1])
    X[random.random(X.shape) < (0.15 if missing else 0.0)] = np.nan
    frame = pd.DataFrame(X, columns=names)
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] > 2) + random.normal(0, 0.3, 200)
    if categories:
        colors = random.choice(["red", "green", "blue", "grün"], 200)
        frame[names[2]] = pd.Categorical(colors)
        y = y + 2 * np.isin(colors, ["red", "grün"])
    return frame, np.clip(np.round(y), 0, 4), np.repeat(range(20), 10)


def program_scores(format, path, X, ranker):
    """Return the scores that the program, or its arithmetic in Python, gives by a file."""
    content, names = path.read_bytes(), [*ranker.feature_names_in_]
    if format_named(format).run is not None:
        written = format_named(format).names.written(names)
        return run_scores(format, content, X, written, ranker.columns_.categories)
    if format == "c":
        return compiled(content, path)(X)
    scores = {"lightgbm": lightgbm_scores, "onnx": onnx_scores, "xgboost": xgboost_scores}
    if format in scores:
        return scores[format](content, X)
    return ARITHMETIC[format](content, X, names)


def assert_same_order(scores, others, qid):
    """Compare all pairs of a query; what differs by a millionth of the range may be a tie."""
    before, after = scores[:, None] - scores, others[:, None] - others
    is_near = np.maximum(np.abs(before), np.abs(after)) <= 1e-6 * np.ptp(scores)
    is_changed = np.sign(before) != np.sign(after)
    assert not (is_changed & ~is_near & (qid[:, None] == qid)).any()


@pytest.mark.parametrize("names", [ODD, RANK_FEATURES], ids=["odd names", "rank features"])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_ranks_fresh_documents_as_the_ranker_or_is_not_written(
    format, part, names, tmp_path
):
    program = {"c": "gcc", "javascript": "node"}.get(format, sys.executable)
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    random, n_written = np.random.default_rng(0), 0
    for missing, categories in ((False, False), (True, False), (False, True)):
        if categories and part == "linear":
            continue
        options = {"missing": missing, "categories": categories}
        data = drawn_data(random, names, **options)
        ranker = TreeDirectRanker(PARTS[part], random_state=0).fit(*data)
        path = tmp_path / f"model{n_written}"
        try:
            export(ranker, path, format=format, check=data)
        except ValueError:
            assert not path.exists()
            continue
        n_written += 1
        fresh, _, qid = drawn_data(random, names, **options)
        X, *_ = read_documents(ranker, fresh)
        scores = program_scores(format, path, X, ranker)
        assert_same_order(ranker.predict(fresh), scores, qid)
    refuses = format in FOREIGN.get(part, ()) or (format == "vespa-expression" and names is ODD)
    assert (n_written > 0) == (not refuses)
