import re
import warnings

import numpy as np
import pandas as pd
import pytest
from example_rankers import fitted_rankers, ranking_data, some_ranker

from treerank import make_objective
from treerank.datasets.ranking_data import RankingData
from treerank.feature_parts import StreamingTrees
from treerank.feature_parts.head_fitting import fit_head
from treerank.rankers import NestedRanker, StreamingRanker

pytestmark = pytest.mark.usefixtures("one_thread")


ZEROS = np.zeros(160)
STREAM = StreamingRanker(StreamingTrees(3, n_jobs=1))
NESTED = NestedRanker(some_ranker(), sizes=(3,))
CONSTANT, CHANCE = "the model is constant", "no better than chance"


def labeled(X, y):
    return pd.DataFrame({"price": X[:, 0], "Label": y})


def seven(*columns):
    return np.tile(np.column_stack(columns), (7, 1))


#: Words of a warning, and a call that it is to point at.
CALLS = [
    ("'Label' of X .* its name", lambda X, y, qid: some_ranker().fit(labeled(X, y), y, qid)),
    (
        "'qid' of X .* its name says that it is an id",
        lambda X, y, qid: some_ranker().fit(pd.DataFrame({"a": X[:, 0], "qid": qid}), y, qid),
    ),
    (
        r"Column \d+ of X equals y in all 1120 rows",
        lambda X, y, qid: some_ranker().fit(seven(X, y), seven(y)[:, 0], seven(qid)[:, 0]),
    ),
    (CONSTANT, lambda X, y, qid: some_ranker().fit(X, ZEROS, qid)),
    (CONSTANT, lambda X, y, qid: NESTED.fit(X, ZEROS, qid)),
    (CONSTANT, lambda X, y, qid: STREAM.partial_fit(X, ZEROS, qid)),
    (
        "The weights stopped.* raise head_alpha",
        lambda X, y, qid: fit_head(X, make_objective(y, qid), alpha=1e-6, max_iter=1),
    ),
    (CHANCE, lambda X, y, qid: some_ranker().fit(X, y, qid, eval_set=(X, -y + 3, qid))),
    (CHANCE, lambda X, y, qid: some_ranker().fit(X, y, qid).calibrate(X, -y, qid)),
    (
        "first eval_set is the training set",
        lambda X, y, qid: some_ranker().fit(X, y, qid, eval_set=[(X, y, qid), (X[:9], y[:9])]),
    ),
    (
        "first eval_set is the training set",
        lambda *data: some_ranker().fit(*data, eval_set=[RankingData(*data), (data[0], data[1])]),
    ),
    (
        "no query has anything to find",
        lambda X, y, qid: fitted_rankers()["lightgbm"].score(X, ZEROS, qid),
    ),
]


@pytest.mark.parametrize(("words", "call"), CALLS)
def test_a_warning_points_at_the_call(words, call):
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(*ranking_data())
    found = next(w for w in caught if re.search(words, str(w.message)))
    assert found.filename == __file__
    assert found.lineno in {line for _, _, line in call.__code__.co_lines()}
