"""Parameters that are set after a fit change nothing of what ``predict`` takes until the next fit.

The feature part, or the inner ranker, decides whether ``predict`` takes sparse matrices.
"""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from small_rankers import DATA, NAMES, made

from treerank import TreeDirectRanker, load
from treerank.datasets import Batches, RankingData

pytestmark = pytest.mark.filterwarnings("ignore")

SPARSE = csr_matrix(DATA.X)
#: Other values of the parameters: one that reads sparse matrices, and one that does not.
OTHERS = {
    "feature_part": ["lightgbm", "mlp"],
    "ranker": [TreeDirectRanker("lightgbm"), TreeDirectRanker("mlp")],
}
CASES = [
    pytest.param(name, parameter, value, id=f"{name}-{parameter}-{number}")
    for name in NAMES
    for parameter in OTHERS.keys() & made(name).get_params(deep=False).keys()
    for number, value in enumerate(OTHERS[parameter])
]


def outcome(ranker, X):
    try:
        return ranker.predict(X).tolist()
    except TypeError as error:
        return type(error)


@pytest.mark.parametrize(("name", "parameter", "value"), CASES)
def test_predict_takes_what_the_fitted_ranker_reads(name, parameter, value, tmp_path):
    ranker = made(name).fit(*DATA)
    scores = outcome(ranker, SPARSE)
    ranker.set_params(**{parameter: value})
    assert outcome(ranker, SPARSE) == scores
    if name != "StreamingRanker":  # which is not saved with another feature part
        ranker.save(tmp_path / "model")
        assert outcome(load(tmp_path / "model"), SPARSE) == scores


@pytest.mark.parametrize("name", ["lightgbm", "mlp", "NestedRanker"])
def test_fit_takes_what_the_parameters_read(name):
    ranker = made(name).fit(*DATA)
    before = ranker.predict(DATA.X)
    (parameter,) = OTHERS.keys() & ranker.get_params(deep=False).keys()
    sparse, dense = OTHERS[parameter]
    data = SPARSE, DATA.y, DATA.qid
    with pytest.raises(TypeError, match="X must be dense for"):
        ranker.set_params(**{parameter: dense}).fit(*data)
    np.testing.assert_array_equal(ranker.predict(DATA.X), before)
    with pytest.raises(TypeError, match="X must be dense for"):
        ranker.fit(*DATA, eval_set=data)
    ranker.set_params(**{parameter: sparse}).fit(*data, eval_set=data)
    assert outcome(ranker, SPARSE) == ranker.predict(DATA.X).tolist()


@pytest.mark.parametrize("name", ["histogram", "mlp", "AdaRank"])
def test_the_last_fit_predicts_until_the_next_one_has_learned(name):
    ranker = made(name).fit(*DATA)
    before, predicted = ranker.predict(DATA.X), []
    whole = RankingData(*DATA)

    def batches():
        ranker.predict(DATA.X)  # as to choose documents by the last fit
        yield whole

    source = [Batches(batches)] if ranker._accepts.batches else DATA
    ranker.fit(*source, callbacks=[lambda *_: predicted.append(ranker.predict(DATA.X))])
    assert predicted
    assert all((scores == before).all() for scores in predicted)
