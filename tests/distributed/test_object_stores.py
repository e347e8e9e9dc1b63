"""A store that speaks S3, on this machine: workers read from it what a fit needs."""

import dask.dataframe as dd
import distributed
import numpy as np
import pytest
from ranking_sample import make_ranking_sample
from s3_server import s3_server
from worker_fits import assert_equal_fits, frame_of

from treerank import HistogramTrees, TreeDirectRanker
from treerank.distributed import fit, predict

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

X, Y, QID = make_ranking_sample(n_queries=15)
FRAME = frame_of(X, Y, [f"q{q}" for q in QID])
LOCAL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
LOCAL |= {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}


def test_workers_read_from_an_object_store_with_folders_of_hive():
    with s3_server("frames") as (_, files, options):
        for day in range(3):
            for part in range(4):
                rows = FRAME[np.arange(len(FRAME)) % 12 == 4 * day + part]
                with files.open(f"frames/train/day={day}/part-{part}.parquet", "wb") as file:
                    rows.to_parquet(file)
        with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster):
            train = dd.read_parquet("s3://frames/train/", storage_options=options)
            ranker = TreeDirectRanker(HistogramTrees(n_estimators=4, n_jobs=1), random_state=0)
            fitted = fit(ranker, train, drop="day")
            assert len(predict(fitted, train)) == len(FRAME)
    features = FRAME.drop(columns=["label", "query"])
    assert_equal_fits(fitted, ranker.fit(features, FRAME["label"], FRAME["query"]))
