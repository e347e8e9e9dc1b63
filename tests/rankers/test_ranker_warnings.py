import re
import warnings

import numpy as np
import pandas as pd
import pytest
from example_rankers import fitted_rankers, ranking_data, some_ranker

from treerank import make_objective
from treerank.documents.ranking_data import RankingData
from treerank.feature_parts import StreamingTrees
from treerank.feature_parts.head_fitting import fit_head
from treerank.rankers import NestedRanker, StreamingRanker

pytestmark = pytest.mark.usefixtures("one_thread")
ZEROS = np.zeros(160)
STREAM = StreamingRanker(StreamingTrees(3, n_jobs=1))
NESTED = NestedRanker(some_ranker(), sizes=(3,))
CONSTANT, CHANCE = "the model is constant", "no better than chance"
STOPPED, TRAINING = "The weights stopped.* raise head_alpha", "8 of 8 queries of .*eval_set"
AN_ID, LABEL = (
    "'qid' of X .* its name suggests that it is an id",
    r"Column \d+ of X equals y in all",
)


def with_column(X, **column):
    return pd.DataFrame({"price": X[:, 0], **column})


def seven_times(X, y, qid):
    return np.tile(np.column_stack([X, y]), (7, 1)), np.tile(y, 7), np.tile(qid, 7)


def frame_of_users(X, y, qid):
    """Return 1,120 rows in which the query is a feature, too, and so is the label."""
    X, y, qid = seven_times(X, y, qid)
    return pd.DataFrame(X, columns=[*"abcd", "rating"]).assign(user=qid), y, qid


def frame_of_named_users(*data):
    X, y, qid = frame_of_users(*data)
    names = np.char.add("u", qid.astype(str))
    return X.assign(user=names), y, names


def clicked(X):
    return with_column(X, clicks=X[:, 1])


#: Words of a warning, and a call that it is to point at.
CALLS = [
    ("'Label' of X .* its name", lambda X, y, q: some_ranker().fit(with_column(X, Label=y), y, q)),
    (AN_ID, lambda X, y, qid: some_ranker().fit(with_column(X, qid=qid), y, qid)),
    (LABEL, lambda *data: some_ranker().fit(*seven_times(*data))),
    ("Column 'rating' of X equals y in", lambda *d: some_ranker().fit(*frame_of_users(*d))),
    ("Column 'user' of X equals qid in", lambda *d: some_ranker().fit(*frame_of_users(*d))),
    ("Column 'user' of X equals qid in", lambda *d: some_ranker().fit(*frame_of_named_users(*d))),
    ("'clicks' of X .* only after a list was", lambda X, *d: some_ranker().fit(clicked(X), *d)),
    (CONSTANT, lambda X, y, qid: some_ranker().fit(X, ZEROS, qid)),
    (CONSTANT, lambda X, y, qid: NESTED.fit(X, ZEROS, qid)),
    (CONSTANT, lambda X, y, qid: STREAM.partial_fit(X, ZEROS, qid)),
    (STOPPED, lambda X, y, qid: fit_head(X, make_objective(y, qid), alpha=1e-6, max_iter=1)),
    (CHANCE, lambda X, y, qid: some_ranker().fit(X, y, qid, eval_set=(X, -y + 3, qid))),
    (CHANCE, lambda X, y, qid: some_ranker().fit(X, y, qid).calibrate(X, -y, qid)),
    (TRAINING, lambda *d: some_ranker().fit(*d, eval_set=[d, (d[0][:9], d[1][:9], d[2][:9])])),
    (TRAINING, lambda *d: some_ranker().fit(*d, eval_set=RankingData(*d))),
    ("undefined for every", lambda X, y, qid: fitted_rankers()["lightgbm"].score(X, ZEROS, qid)),
]


@pytest.mark.parametrize(("words", "call"), CALLS)
def test_a_warning_points_at_the_call(words, call):
    with warnings.catch_warnings(record=True, action="always") as caught:
        call(*ranking_data())
    found = next(w for w in caught if re.search(words, str(w.message)))
    assert found.filename == __file__
    assert found.lineno in {line for _, _, line in call.__code__.co_lines()}
