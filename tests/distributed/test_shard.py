"""What one worker does; the workers are threads, which meet as those of an engine do."""

import os
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ranking_sample import make_ranking_sample
from sklearn.base import clone
from worker_fits import (
    SETTINGS,
    assert_equal_fits,
    assert_same,
    fit_in_threads,
    frame_of,
    in_collective,
    model_of,
    network_of,
    shards,
)

from treerank import HistogramTrees, TreeDirectRanker, XGBoostTrees
from treerank.baselines import LambdaMART
from treerank.distributed import shard as shard_module
from treerank.distributed.columns import FrameColumns
from treerank.documents.canonical_order import canonical_order
from treerank.documents.columns import Columns
from treerank.documents.eval_set import EvalSet
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.documents.training_set import global_indices_of
from treerank.feature_parts.histogram import binning
from treerank.feature_parts.trees import bin_sample
from treerank.files.checkpoint import Checkpoint, checkpointing
from treerank.metrics import NDCG, AveragePrecision, ExpectedReciprocalRank
from treerank.progress import ignore_progress
from treerank.rankers.calibration import fit_calibration_slope
from treerank.rankers.early_stopping import mean_over_all

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = make_ranking_sample(n_queries=15)
TREES = XGBoostTrees(n_estimators=4, n_jobs=1)


@pytest.mark.parametrize("name", SETTINGS)
def test_two_or_three_workers_fit_the_model_of_one(name):
    rng = np.random.default_rng(list(SETTINGS).index(name))
    rows = rng.permutation(len(Y))
    settings = SETTINGS[name] | {"random_state": int(rng.integers(100))}
    trees = TREES if name < "e" else HistogramTrees(4, n_jobs=1)
    n_workers = int(rng.integers(2, 4))
    ranker = TreeDirectRanker(trees, **settings)
    assert_same(ranker, n_workers, X[rows], Y[rows], QID[rows], rng=rng)


def test_weights_stopping_calibration_and_names_are_those_of_one_worker():
    trees = XGBoostTrees(n_estimators=9, early_stopping_rounds=2, colsample_bytree=0.6, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=1)
    frame = pd.DataFrame(X, columns=["a", "b c", "ü", "d", "e"])
    weight = (QID % 3).astype(float)  # of a third of the queries 0
    eval_set = frame[::2], Y[::2], QID[::2]
    several = assert_same(ranker, 2, frame, Y, QID, eval_set, sample_weight=weight)
    assert several.feature_names_in_.tolist() == ["a", "b c", "ü", "d", "e"]
    assert_same(ranker, 3, frame, Y, QID, eval_set, query_weight=weight)


def test_documents_without_a_label_are_left_out_as_by_one_worker():
    y = np.where(QID % 4 == 1, np.nan, Y)
    y[::7] = np.nan
    ranker = TreeDirectRanker(HistogramTrees(5, n_jobs=1), random_state=0)
    assert_same(ranker, 3, X, y, QID, (2 * X, np.where(QID % 3 == 2, np.nan, Y), QID))


def test_warnings_count_the_documents_of_all_workers_and_come_once():
    many = np.repeat(np.arange(len(Y)), 30)  # 1,000 rows and more at each worker
    X_many, qid = X[many] + np.random.default_rng(0).normal(size=(len(many), 5)), QID[many]
    X_many[:, 2] = Y[many]
    frame = frame_of(X_many, Y[many], qid)
    valid = frame.assign(query=qid + 100)  # other ids, so that others hold the same documents
    valid.loc[qid < 3, "f0"] += 1.0
    ranker = TreeDirectRanker(HistogramTrees(2, n_jobs=1), random_state=0)
    with warnings.catch_warnings(record=True, action="always") as caught:
        fit_in_threads(ranker, 3, frame, valid)
    messages = sorted(str(each.message) for each in caught)
    assert messages == [
        "12 of 15 queries of eval_set are in the training set, too: hold others out.",
        "Column 'f2' of X equals y in all rows. Leave it out of X.",
    ]


HISTOGRAM_SETTINGS = {
    "default": {},
    "documents and features drawn": {"subsample": 0.5, "colsample_bytree": 0.6},
    "queries drawn": {"subsample_queries": 0.3, "min_child_samples": 1},
    "hardly any document drawn": {"subsample": 0.01, "subsample_queries": 0.01},
    "rounded derivatives": {"precision": "int16", "subsample": 0.7, "min_child_samples": 1},
    "by level, with constraints": {
        "grow_policy": "depthwise",
        "max_depth": 3,
        "monotone_constraints": [1, 0, 0, -1, 0],
    },
}


@pytest.mark.filterwarnings("ignore:All .* documents get the same score")
@pytest.mark.parametrize(("n", "name"), [*enumerate(HISTOGRAM_SETTINGS)])
def test_histogram_trees_too(n, name):
    values = X.copy()
    values[QID == 3, 1] = np.nan  # one worker alone has missing values
    eval_set = 2 * X[QID > 2], Y[QID > 2], QID[QID > 2]
    trees = HistogramTrees(5, n_jobs=1, **HISTOGRAM_SETTINGS[name])
    ranker = TreeDirectRanker(trees, random_state=n)
    assert_same(ranker, 2 + n % 2, values, Y, QID, eval_set=eval_set)


@pytest.mark.parametrize("n_workers", [2, 3])
def test_equal_splits_are_chosen_as_by_one_worker(n_workers):
    copies = np.hstack([X, X, X, X.round(), X[:, ::-1]])  # of four blocks, which tie
    values = np.hstack([copies, np.random.default_rng(0).integers(9, size=(len(Y), 3))])
    settings = {"min_child_samples": 2, "colsample_bytree": 0.4, "n_jobs": 1}
    settings |= {"num_leaves": 31, "learning_rate": 0.1}
    trees = HistogramTrees(n_estimators=5, categorical_features=[25, 26, 27], **settings)
    ranker = TreeDirectRanker(trees, random_state=n_workers)
    one = assert_same(ranker, n_workers, values[::2], Y[::2], QID[::2])
    assert {0, 2} <= set(one.forest().feature // 8)


@pytest.mark.filterwarnings("ignore:All .* documents get the same score")
@pytest.mark.parametrize("trees", [TREES, HistogramTrees(n_estimators=4, min_child_samples=1)])
def test_workers_may_have_no_rows(trees):
    ranker, rows = TreeDirectRanker(trees, random_state=0), QID < 1
    assert_same(ranker, 3, X[rows], Y[rows], QID[rows], (X, Y, QID))


def test_rankers_of_the_papers_and_losses_of_ones_own_keep_what_they_are():
    ranker = LambdaMART(n_estimators=4, random_state=0)
    several = assert_same(ranker, 2, X, Y, QID)
    assert several.get_params() == ranker.get_params()
    assert several.feature_part_.n_jobs is None  # the worker had one thread


@pytest.mark.parametrize("metric", [NDCG(), ExpectedReciprocalRank(), AveragePrecision(k=3)])
@pytest.mark.parametrize("n_workers", [3, 20])
def test_held_out_documents_are_measured_as_by_one_worker(metric, n_workers):
    scores = (Y + np.random.default_rng(0).choice(9, size=len(Y))) / 7
    one = metric.prepared(Y, QID)(scores)
    parts = shards(QID, n_workers, np.random.default_rng(0))

    def measured(workers):
        rows = parts[workers.rank]
        groups = QueryGroups.from_qid(QID[rows], len(rows))
        documents = Rows(X[rows], workers=workers)
        held_out = EvalSet(documents, Y[rows], groups)
        mean = mean_over_all(metric, Y[rows], groups, documents)
        return mean(scores[rows]), fit_calibration_slope(*held_out.of_all(scores[rows]))

    expected = [(one, fit_calibration_slope(scores, Y, QID))] * n_workers
    assert in_collective(n_workers, measured) == expected


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_places_are_those_of_the_canonical_order_of_all_documents(n_workers):
    whole = canonical_order(X, QueryGroups.from_qid(QID), Y)[0].order
    for seed in range(3):
        parts = shards(QID, n_workers, np.random.default_rng(seed))
        orders = [canonical_order(X[r], QueryGroups.from_qid(QID[r], len(r)), Y[r]) for r in parts]

        def placed_by(workers, parts=parts, orders=orders):
            documents = Rows(X[parts[workers.rank]], workers=workers)
            return global_indices_of(documents, *orders[workers.rank])

        placed = np.full(len(Y), -1)
        every_place = in_collective(n_workers, placed_by)
        for rows, (groups, _), places in zip(parts, orders, every_place, strict=True):
            placed[places] = rows[groups.order]
        np.testing.assert_array_equal(X[placed], X[whole])


def test_rows_pass_on_what_depends_on_those_of_all_workers():
    def numbers(workers):
        n = 2 * workers.rank  # the first has no rows
        values = np.arange(n) + 100 * workers.rank
        places = np.arange(n) + (0 if workers.rank == 2 else 4)
        rows = Rows(np.zeros((n, 1)), global_indices=places, workers=workers)
        every = rows.of_all(values)
        np.testing.assert_array_equal(every[rows.numbers_of(n)], values)
        numbers = rows.total(np.array([n])).tolist() + rows.largest(np.array([n])).tolist()
        return [every.tolist(), *numbers, rows.n_total, rows.is_shard, rows.any(n == 2)], (
            rows.holds_first
        )

    every = [100, 101, 200, 201, 202, 203]
    answers, holds_first = zip(*in_collective(3, numbers), strict=True)
    assert list(answers) == [[every, 6, 4, 6, True, True]] * 3
    assert holds_first == (False, False, True)
    alone = Rows(X)
    assert alone.of_all(Y) is Y
    assert (alone.is_shard, alone.holds_first, alone.n_total) == (False, True, len(X))
    assert alone.any(False) is False


def test_every_worker_gets_the_bin_sample_of_one(monkeypatch):
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 20)
    alone = bin_sample.sample_of(Rows(X), 7).array()
    parts = shards(QID, 3, np.random.default_rng(0))

    def sample(workers):
        rows = parts[workers.rank]
        return bin_sample.sample_of(Rows(X[rows], global_indices=rows, workers=workers), 7).array()

    for values in in_collective(3, sample):
        np.testing.assert_array_equal(values, alone)


@pytest.mark.parametrize("n_features", [1, 2, 3, 11])  # fewer than workers, and more
def test_every_worker_has_all_bins_though_it_finds_those_of_some_features(n_features, monkeypatch):
    values = np.column_stack([X, np.round(3 * X), X[:, :1] > 9])[:, -n_features:]
    categorical = [0] if n_features == 11 else []
    alone = binning.find_bins(Rows(values), categorical=categorical)
    parts, n_counted = shards(QID, 3, np.random.default_rng(0)), []
    count = binning.count_distinct

    def counting(*arguments):
        n_counted.append(1)
        return count(*arguments)

    monkeypatch.setattr(binning, "count_distinct", counting)

    def bins_of(workers):
        rows = parts[workers.rank]
        documents = Rows(values[rows], global_indices=rows, workers=workers)
        return binning.find_bins(documents, categorical=categorical)

    for bins in in_collective(3, bins_of):
        for ours, expected in zip(bins, alone, strict=True):
            np.testing.assert_array_equal(ours, expected)
    assert len(n_counted) == n_features  # each by one worker


def test_shares_of_workers_follow_each_other_and_make_up_the_whole():
    for n in range(8):
        shares = [
            Rows(X, workers=SimpleNamespace(rank=rank, world_size=3)).share_of(n)
            for rank in range(3)
        ]
        assert [i for first, last in shares for i in range(first, last)] == [*range(n)]
        assert max(last - first for first, last in shares) == -(-n // 3)
    assert Rows(X).share_of(5) == (0, 5)


@pytest.mark.parametrize("cls", [HistogramTrees, XGBoostTrees])
def test_a_fit_goes_on_from_a_checkpoint_that_all_workers_reach(cls, tmp_path):
    checkpoint = Checkpoint(tmp_path / "fit.checkpoint", every=2)
    settings = {"learning_rate": 0.1, "num_leaves": 7, "colsample_bytree": 0.5, "n_jobs": 1}
    ranker = TreeDirectRanker(cls(n_estimators=4, **settings), random_state=0)
    frame = frame_of(X, Y, QID)
    fit_in_threads(ranker, 2, frame, checkpoint=checkpoint)
    assert os.listdir(tmp_path) == ["fit.checkpoint"]
    longer = clone(ranker).set_params(feature_part__n_estimators=6)
    few = np.random.default_rng(1)  # of 20 workers, some have no rows
    several = fit_in_threads(longer, 20, frame, rng=few, checkpoint=checkpoint)
    with checkpointing(checkpoint.path):
        one = longer.fit(frame.drop(columns=["label", "query"]), Y, QID)
    assert_equal_fits(several, one)
    assert_equal_fits(clone(longer).fit(frame.drop(columns=["label", "query"]), Y, QID), one)


def test_a_checkpoint_that_a_worker_does_not_reach_is_refused(tmp_path, monkeypatch):
    exists = type(tmp_path).exists
    monkeypatch.setattr(
        type(tmp_path), "exists", lambda path: path.suffix != ".reached" and exists(path)
    )
    checkpoint = Checkpoint(tmp_path / "fit.checkpoint", every=2)
    with pytest.raises(ValueError, match="path of checkpointing must be one that all workers"):
        fit_in_threads(TreeDirectRanker(TREES), 2, frame_of(X, Y, QID), checkpoint=checkpoint)
    assert os.listdir(tmp_path) == []


def test_the_error_of_one_worker_is_raised_and_says_where_it_was():
    frame = frame_of(X, Y, QID)
    frame["f2"] = frame["f2"].astype(object).mask(frame["query"] == frame["query"][0], "text")
    with pytest.raises(TypeError, match="Column 'f2' of X must hold numbers") as caught:
        fit_in_threads(TreeDirectRanker(TREES), 3, frame)
    assert re.match("In worker [012]:\n.*_read", caught.value.__notes__[0], re.DOTALL)


def test_an_error_class_of_ones_own_keeps_its_text(monkeypatch):
    class OutOfLuck(Exception):
        pass

    def fail(*arguments, **options):
        raise OutOfLuck("no luck today")

    monkeypatch.setattr(shard_module, "training_set", fail)
    with pytest.raises(RuntimeError, match="OutOfLuck: no luck today"):
        fit_in_threads(TreeDirectRanker(TREES), 2, frame_of(X, Y, QID))


def test_warnings_of_workers_are_told_once():
    y = np.zeros(len(Y))
    with pytest.warns(UserWarning, match="the model is constant") as caught:
        fit_in_threads(TreeDirectRanker(TREES), 3, frame_of(X, y, QID))
    assert len(caught) == 1


def test_tables_of_arrow_and_frames_of_polars_are_read_too():
    pl = pytest.importorskip("polars")
    ranker = TreeDirectRanker(TREES, random_state=0)
    frame = frame_of(X, Y, QID)
    one = model_of(ranker.fit(frame.drop(columns=["label", "query"]), Y, QID))
    for table in (pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        assert model_of(fit_by_one(ranker, table, list(frame.columns))) == one


@pytest.mark.parametrize("n_workers", [1, 2])
def test_features_of_every_precision_are_read_without_loss(n_workers):
    frame = frame_of(X, Y, QID)
    single = frame.astype({f"f{j}": np.float32 for j in range(X.shape[1])})
    columns = FrameColumns.of(list(frame.columns), "label", "query", {}, {})
    task = shard_module.Task(TreeDirectRanker(TREES), columns, 0, None)
    parts = [[single[:50]], [single[:0]], [frame[50:90]], [single[90:]]]
    expected = np.vstack([part[0].iloc[:, : X.shape[1]] for part in parts])

    def read(workers):
        own = [[part[0]] for part in parts[workers.rank :: n_workers]]
        shard = shard_module._read_ahead(task, own).shard
        assert own == [[]] * len(own)
        return shard_module._agreed(workers, columns, Columns(), shard)[0].values[:]

    values = in_collective(n_workers, read)
    assert all(matrix.dtype == np.float64 for matrix in values)
    order = [0, 2, 1, 3] if n_workers == 2 else [0, 1, 2, 3]
    starts = np.cumsum([0, *(len(parts[i][0]) for i in order)])
    at = {i: slice(a, b) for i, a, b in zip(order, starts, starts[1:], strict=False)}
    joined = np.vstack(values)
    np.testing.assert_array_equal(np.vstack([joined[at[i]] for i in range(4)]), expected)


def fit_by_one(ranker, table, names):
    """Fit by one worker that gets all rows."""
    columns = FrameColumns.of(names, "label", "query", {}, {})
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    task = shard_module.Task(ranker, columns, seed, None)
    with network_of(1) as network:
        options = {"n_threads": 1, "listener": ignore_progress}
        outcome = shard_module.fit_shard(task, [[table]], None, 0, network, **options)
    return shard_module.fitted_from(ranker, [outcome])


def test_workers_of_other_versions_are_refused(monkeypatch):
    def version_of_one(name):
        version_of_one.calls += 1
        return f"{version_of_one.calls}.0"

    version_of_one.calls = 0
    monkeypatch.setattr(shard_module, "version", version_of_one)
    with pytest.raises(RuntimeError, match="All workers must have the same versions"):
        fit_in_threads(TreeDirectRanker(TREES), 2, frame_of(X, Y, QID))
