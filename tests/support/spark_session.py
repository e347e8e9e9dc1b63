"""Spark on this machine, classic or by Spark Connect, and frames whose partitions hold any rows."""

import os
import sys
from pathlib import Path

import numpy as np

#: Whether tests go through Spark Connect, as a client without a SparkContext does.
CONNECT = os.environ.get("TREERANK_SPARK_CONNECT") == "1"


def make_session(n_slots=2):
    """Start Spark on this machine, with so many slots."""
    from pyspark.sql import SparkSession

    paths = os.pathsep.join(str(p) for p in (Path(__file__).parents[2], Path(__file__).parent))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([paths, os.environ.get("PYTHONPATH", "")])
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder
    builder = (builder.remote if CONNECT else builder.master)(f"local[{n_slots}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def spread(session, frame, n_partitions):
    """Return a frame of Spark whose partitions hold any rows."""
    shuffled = frame.sample(frac=1, random_state=1)
    rows = [tuple(map(_plain, row)) for row in shuffled.itertuples(index=False)]
    types = {"O": "string", "f": "double", "i": "bigint", "T": "string"}
    kinds = [types.get(np.dtype(frame[n].to_numpy().dtype).kind, "string") for n in frame]
    schema = ", ".join(f"`{n.replace('`', '``')}` {k}" for n, k in zip(frame, kinds, strict=True))
    return session.createDataFrame(rows, schema).repartition(n_partitions)


def _plain(value):
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value
