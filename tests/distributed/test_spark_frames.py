"""Fits by Spark on this machine; ``.ci/spark`` runs them, too, with Spark Connect."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ranking_sample import make_ranking_sample
from spark_session import CONNECT, make_session, spread
from worker_fits import assert_equal_fits, model_of

from treerank import HistogramTrees, TreeDirectRanker, XGBoostTrees
from treerank.distributed import fit, predict

pyspark = pytest.importorskip("pyspark")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),  # of Spark, about newer pandas
]

X, Y, QID = make_ranking_sample(n_queries=15)
NAMES = ["a", "b.b", "c ü", "d", "e"]
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=Y, query=[f"q{q}" for q in QID])
TREES = HistogramTrees(n_estimators=4, n_jobs=1)
RANKER = TreeDirectRanker(TREES, random_state=0)
ENDLESS = TreeDirectRanker(HistogramTrees(n_estimators=10**6, n_jobs=1))


@pytest.fixture(scope="module")
def session():
    session = make_session()
    yield session
    session.stop()


def fit_alone(ranker, frame=FRAME, **options):
    """Fit on one machine."""
    return ranker.fit(frame[NAMES], frame["label"], frame["query"], **options)


@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize(
    "trees",
    [
        HistogramTrees(4, n_jobs=1),
        HistogramTrees(4, precision="int16", subsample=0.7, n_jobs=1),
        XGBoostTrees(4, n_jobs=1),
    ],
)
def test_any_partitions_give_the_model_of_one_machine(session, trees, n_workers):
    ranker = TreeDirectRanker(trees, random_state=3)
    fitted = fit(ranker, spread(session, FRAME, 7), "label", "query", n_workers=n_workers)
    assert_equal_fits(fitted, fit_alone(ranker))


def test_weights_gaps_of_labels_and_an_eval_set_too(session):
    frame = FRAME.assign(weight=QID % 3, document=[f"d{i}" for i in range(len(Y))])
    frame["label"] = frame["label"].mask(np.arange(len(Y)) % 5 == 1).astype(float)
    frame["d"] = frame["d"].mask(np.arange(len(Y)) % 3 == 1)
    ranker = TreeDirectRanker(HistogramTrees(9, early_stopping_rounds=2, n_jobs=1), random_state=0)
    valid = frame.assign(a=2 * frame["a"])
    fitted = fit(
        ranker,
        spread(session, frame, 5),
        sample_weight="weight",
        document="document",
        eval_set=spread(session, valid, 3),
        n_workers=2,
    )
    eval_set = valid[NAMES], valid["label"], valid["query"]
    one = fit_alone(ranker, frame, sample_weight=frame["weight"], eval_set=eval_set)
    assert_equal_fits(fitted, one)


def test_text_of_all_workers_has_the_codes_of_one_machine(session):
    rng = np.random.default_rng(0)
    brands = np.where(QID < 3, "rare " + FRAME["query"], rng.choice(["x", "y", "z"], len(Y)))
    frame = FRAME.assign(brand=pd.Series(brands, dtype="str"))
    frame["label"] = frame["label"] + frame["brand"].isin(["x", "z"])
    frame.loc[::7, "brand"] = None
    trees = HistogramTrees(5, min_child_samples=5, n_jobs=1)
    ranker = TreeDirectRanker(trees, random_state=0)
    one = ranker.fit(frame[[*NAMES, "brand"]], frame["label"], frame["query"])
    fitted = fit(ranker, spread(session, frame, 5), n_workers=2)
    assert_equal_fits(fitted, one)
    assert fitted.columns_ == one.columns_
    few = frame[frame["query"] == "q1"]  # a worker has no rows
    trees.set_params(min_child_samples=1)
    fitted = fit(ranker, spread(session, few, 3), n_workers=2)
    assert_equal_fits(fitted, ranker.fit(few[[*NAMES, "brand"]], few["label"], few["query"]))
    scored = predict(fitted, spread(session, few, 2)).toPandas()
    np.testing.assert_array_equal(
        scored["score"], fitted.predict(scored[[*NAMES, "brand"]].astype({"brand": "str"}))
    )


def test_a_worker_may_have_no_rows(session):
    frame = FRAME[FRAME["query"] == "q3"]
    ranker = TreeDirectRanker(XGBoostTrees(3, min_child_weight=0, n_jobs=1), random_state=0)
    fitted = fit(ranker, spread(session, frame, 3), n_workers=2)
    assert_equal_fits(fitted, fit_alone(ranker, frame))


def test_scores_are_a_column_also_of_no_rows(session):
    frame, ranker = spread(session, FRAME, 3), fit_alone(RANKER)
    scored = pd.DataFrame([row.asDict() for row in predict(ranker, frame).collect()])
    assert len(scored) == len(FRAME)
    np.testing.assert_array_equal(scored["score"], ranker.predict(scored[NAMES]))
    assert predict(ranker, frame.where("label > 100")).collect() == []
    with pytest.raises(ValueError, match="frame must have no column 'score' yet"):
        predict(ranker, predict(ranker, frame))


def test_what_cannot_be_fitted_is_refused(session):
    frame = spread(session, FRAME, 2)
    day = pyspark.sql.functions.current_date()
    with pytest.raises(ValueError, match=r"got date in the column 'c'\. .* drop=\['c'\]"):
        fit(RANKER, frame.withColumn("c", day), n_workers=2)
    with pytest.raises(ValueError, match="feature_part must be 'histogram' for several workers wh"):
        fit(TreeDirectRanker("xgboost"), frame.withColumn("c", frame["query"]), n_workers=2)
    with pytest.raises(ValueError, match="frame must have rows; got none"):
        fit(RANKER, frame.where("label > 100"), n_workers=2)
    with pytest.raises(ValueError, match="client must be None for a data frame of Spark"):
        fit(RANKER, frame, client=3)
    with pytest.raises(ValueError, match="label must be a column of frame"):
        fit(RANKER, frame, "grade")
    if CONNECT:
        with pytest.raises(ValueError, match="n_workers must be given where Spark does not tell"):
            fit(RANKER, frame)
    else:
        with pytest.raises(ValueError, match="n_workers must be at most 2"):
            fit(RANKER, frame, n_workers=9)


def test_errors_are_those_of_the_user(session):
    def fail(batches):
        raise ZeroDivisionError("of my own function")
        yield from batches

    frame = spread(session, FRAME.rename(columns={"b.b": "b"}), 2)
    with pytest.raises(Exception, match="of my own function"):
        fit(RANKER, frame.mapInArrow(fail, frame.schema), n_workers=2)
    missing = frame.withColumn("query", pyspark.sql.functions.lit(None).cast("string"))
    with pytest.raises(ValueError, match="qid must not be missing") as caught:
        fit(RANKER, missing, n_workers=2)
    assert "Java" not in str(caught.value)


def test_two_fits_at_once(session):
    ranker, fitted = TreeDirectRanker(TREES, random_state=1), {}
    frame = spread(session, FRAME, 3)

    def run(name, ranker):
        fitted[name] = fit(ranker, frame, n_workers=2)

    threads = [threading.Thread(target=run, args=pair) for pair in ((0, RANKER), (1, ranker))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert model_of(fitted[0]) == model_of(fit_alone(RANKER))
    assert model_of(fitted[1]) == model_of(fit_alone(ranker))


def python_workers():
    """Return the processes that run the tasks of a fit."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().split(b"\0")
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if b"pyspark.daemon" in command and _is_ours(parent):
            maps = (path / "maps").read_text()
            if "libxgboost" in maps:
                found.append(int(path.name))
    return sorted(found)


def _is_ours(pid):
    """Tell whether a process descends from this one."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


@pytest.mark.skipif(CONNECT, reason="the workers belong to the server of Spark Connect")
def test_the_death_of_a_worker_is_one_sentence_and_the_next_fit_works(session):
    frame, killed = spread(session, FRAME, 3), []
    fit(RANKER, frame, n_workers=2)

    def kill():
        time.sleep(6)
        killed.append(time.monotonic())
        os.kill(python_workers()[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(RuntimeError, match=r"Every worker must live .* lost one") as caught:
        fit(ENDLESS, frame, n_workers=2)
    assert time.monotonic() - killed[0] < 10
    assert "\n" not in str(caught.value)
    thread.join()
    assert model_of(fit(RANKER, frame, n_workers=2)) == model_of(fit_alone(RANKER))


def test_ctrl_c_ends_the_fit_and_the_session_works_on(session):
    frame, times = spread(session, FRAME, 3), []
    fit(RANKER, frame, n_workers=2)

    def interrupt():
        time.sleep(6)
        times.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        fit(ENDLESS, frame, n_workers=2)
    assert time.monotonic() - times[0] < 10
    thread.join()
    assert model_of(fit(RANKER, frame, n_workers=2)) == model_of(fit_alone(RANKER))


def test_a_task_that_fails_by_itself_is_told_from_a_worker_that_died():
    from treerank.distributed.spark_frames import _death

    text = "Could not recover from a failed barrier ResultStage. Most recent failure reason: "
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1\n'
    missing = "ModuleNotFoundError: No module named 'xgboost'"
    error = _death(f"{text}PythonException: {trace}{missing}\n\tat org.apache.spark")
    assert str(error) == f"A task of the fit failed on a worker of Spark: {missing}"
    assert "Spark has lost one" in str(_death(f"{text}Python worker exited unexpectedly (crashed)"))


def test_embeddings_are_scored_and_fits_say_how_to_write_them(session):
    vectors = np.random.default_rng(0).normal(size=(len(Y), 2))
    features = FRAME[NAMES].assign(v=vectors.tolist())
    ranker = RANKER.fit(features, Y, QID)
    frame = session.createDataFrame(features.assign(row=range(len(Y))))
    scored = predict(ranker, frame).toPandas().sort_values("row")
    np.testing.assert_array_equal(scored["score"], ranker.predict(features))
    labeled = session.createDataFrame(features.assign(label=Y, query=QID))
    with pytest.raises(ValueError, match="Of an embedding, make columns 'v_0', 'v_1' and so on"):
        fit(RANKER, labeled, "label", "query")
