"""Every ranker in a comparison gets the same queries and the same validation set, as is said.

What a ranker gets is read from the calls of its own ``fit``: of all that the registry lists, of
rankers and regressors of the engines, of estimators of scikit-learn and of one's own, and of
pipelines that end in any of them. What is fitted before, or is a file, has no such call.
"""

import functools
import inspect

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from small_rankers import DATA, made
from xgboost import XGBRegressor

from treerank import QueryShuffleSplit, compare
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import RankingData
from treerank.evaluation import Split
from treerank.evaluation.engine_rankers import ENGINE_RANKERS, engine_ranker
from treerank.registry import RANKERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),
]

FEW = {"CatBoostRanker": {"iterations": 5, "thread_count": 1}}


class Own(BaseEstimator):
    """Takes queries, and no validation set."""

    def fit(self, X, y, qid):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0] + X[:, 1]


def engine(name):
    if name == "CatBoostRanker":
        pytest.importorskip("catboost")
    return engine_ranker(name).set_params(**FEW.get(name, {"n_estimators": 5, "n_jobs": 1}))


SINGLE = {name: functools.partial(made, name) for name in RANKERS if name != "ForestRanker"}
SINGLE |= {name: functools.partial(engine, name) for name in ENGINE_RANKERS}
SINGLE |= {
    "LGBMRegressor": lambda: LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1),
    "XGBRegressor": lambda: XGBRegressor(n_estimators=5, n_jobs=1),
    "scikit-learn": LinearRegression,
    "own": Own,
}
#: Kinds that have no use for a validation set.
WITHOUT = {"scikit-learn", "own"}
#: Kinds that learn in one step, whatever the validation set.
IN_ONE_STEP = {"RankSVM", "ColumnRanker"}


def piped(name):
    return make_pipeline(FunctionTransformer(), SINGLE[name]())


KINDS = SINGLE | {f"piped {name}": functools.partial(piped, name) for name in SINGLE}


def some_unjudged(rows):
    """Return documents as data of a split, of which every seventh has no label."""
    X, y, qid = DATA
    y = np.where(np.arange(len(rows)) % 7 == 3, np.nan, np.asarray(y, dtype=float)[rows])
    return RankingData(np.asarray(X)[rows], y, np.asarray(qid)[rows])


def drawn_splits():
    """Return splits with validation sets; queries have names, and rows are in any order."""
    X, y, qid = DATA
    for number, (rest, test) in enumerate(QueryShuffleSplit(2, random_state=0).split(X, y, qid)):
        inner = QueryShuffleSplit(1, test_size=0.4, random_state=1)
        (train, valid), rng = next(inner.split(rest, qid=qid[rest])), np.random.default_rng(number)
        parts = [some_unjudged(rng.permutation(each)) for each in (rest[train], rest[valid], test)]
        yield Split(str(number), parts[0], parts[2], parts[1])


SPLITS = list(drawn_splits())


def of_queries(X, y, qid=None, sizes=None):
    """Return the documents of each query, by their features and labels."""
    if sizes is not None:
        qid = np.repeat(np.arange(len(sizes)), sizes)
    keys = [row.tobytes() for row in np.nan_to_num(np.asarray(X, dtype=np.float32), nan=-9.0)]
    rows = np.empty(len(keys), dtype=object)
    rows[:] = list(zip(keys, np.asarray(y, dtype=float).tolist(), strict=True))
    return {frozenset(rows[each]) for each in QueryGroups.from_qid(qid, len(rows)).rows}


def expected(data):
    judged = ~np.isnan(data.y)
    return of_queries(data.X[judged], data.y[judged], data.qid[judged])


def got(arguments):
    """Return the queries that a call of ``fit`` trains on, and those that it watches, if any."""
    given = {name: value for name, value in arguments.items() if value is not None}
    queries = {"qid": given.get("qid", given.get("group_id")), "sizes": given.get("group")}
    watched = given.get("eval_set")
    if "eval_X" in given:
        watched = [(given["eval_X"][0], given["eval_y"][0])]
    if hasattr(watched, "get_group_id_hash"):  # a pool of CatBoost
        ids = np.asarray(watched.get_group_id_hash())
        watched = of_queries(watched.get_features(), watched.get_label(), ids)
    elif isinstance(watched, list):
        ((X, y),) = watched
        watched = of_queries(X, y, sizes=given.get("eval_group", [None])[0])
    elif watched is not None:
        watched = of_queries(*watched)
    return of_queries(given["X"], given["y"], **queries), watched


@pytest.fixture
def calls(monkeypatch):
    """Return a function that records the calls of ``fit`` of a class from then on."""
    recorded = []

    def record(cls):
        original = cls.fit

        @functools.wraps(original)
        def fit(self, *args, **kwargs):
            arguments = inspect.signature(original).bind(self, *args, **kwargs)
            recorded.append(got(dict(arguments.arguments)))
            return original(self, *args, **kwargs)

        monkeypatch.setattr(cls, "fit", fit)
        return recorded

    return record


def last_of(ranker):
    return ranker[-1] if hasattr(ranker, "steps") else ranker


def as_one(queries):
    return frozenset().union(*queries)


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_fitted_to_the_training_set_and_watches_the_validation_set(name, calls):
    ranker = KINDS[name]()
    recorded = calls(type(last_of(ranker)))
    comparison = compare({"it": ranker}, SPLITS, metrics=["ndcg@10"])
    assert comparison.failures == ()
    assert len(recorded) == len(SPLITS)
    kind = name.removeprefix("piped ")
    watches, stops = kind not in WITHOUT, kind not in WITHOUT | IN_ONE_STEP
    for (trained, watched), split in zip(recorded, SPLITS, strict=True):
        pairs = [(trained, expected(split.train))]
        assert (watched is not None) == watches
        pairs += [(watched, expected(split.validation))] if watches else []
        for found, wanted in pairs:
            assert as_one(found) == as_one(wanted)
            assert found == wanted or len(found) == 1  # of a regressor, which knows no queries
        outcome = comparison.outcomes["it", split.name]
        assert outcome.watched == stops
        np.testing.assert_array_equal(outcome.queries, np.unique(split.test.qid))
    notes = comparison.summary().notes
    assert f"Validation set, for early stopping: used by {'it' if stops else 'none'}." in notes
    assert comparison.fitted_before == ()
    assert not any(key.endswith("_") for key in vars(last_of(ranker)) if name != "CatBoostRanker")


@pytest.mark.parametrize("name", ["ForestRanker", *KINDS])
def test_each_kind_that_is_fitted_is_scored_as_it_is(name, calls, tmp_path):
    train, test = SPLITS[0].train.judged(), SPLITS[0].test
    ranker = made(name) if name == "ForestRanker" else fitted(KINDS[name](), train)
    rankers = {"it": ranker}
    if name in RANKERS:
        rankers["file"] = tmp_path / "it.treerank"
        ranker.save(rankers["file"])
    recorded = calls(type(last_of(ranker)))
    scores = ranker.predict(test.X)
    for data, others in ((test, {}), (SPLITS[:1], {"new": Ridge()})):
        comparison = compare(rankers | others, data, metrics=["ndcg@10"])
        assert recorded == []
        assert comparison.failures == ()
        assert comparison.fitted_before == tuple(rankers)
        (split,) = comparison.splits
        for one in rankers:
            values = comparison.outcomes[one, split].values["ndcg@10"]
            reference = compare({"given": Given(test.X, scores)}, test, metrics=["ndcg@10"])
            np.testing.assert_array_equal(values, reference.by_query("ndcg@10")[:, 0])
        assert "fitted before, scored as" in str(comparison.summary())
    assert recorded == []


class Given:
    """Has scores of documents."""

    def __init__(self, X, scores):
        self.X, self.scores = X, scores

    def predict(self, X):
        assert X is self.X
        return self.scores


def fitted(ranker, data):
    """Return a ranker that is fitted as its users fit it, to rows sorted by query."""
    ranker = clone(ranker)
    last = last_of(ranker)
    order = QueryGroups.from_qid(data.qid).order
    X, y, qid = data.X[order], data.y[order], data.qid[order]
    words = inspect.signature(last.fit).parameters
    given = {
        "group": np.unique(qid, return_counts=True)[1],
        "group_id": np.unique(qid, return_inverse=True)[1],
        "qid": qid,
    }
    word = next((word for word in ("qid", "group", "group_id") if word in words), None)
    metadata = {} if word is None else {word: given[word]}
    if last is ranker:
        return ranker.fit(X, y, **metadata)
    prefix = ranker.steps[-1][0]
    return ranker.fit(X, y, **{f"{prefix}__{word}": each for word, each in metadata.items()})
