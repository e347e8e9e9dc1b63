"""Distinct sessions of Parquet files that are larger than memory.

Rows are dealt out to buckets, files in a temporary folder, by the hash of their session. So all rows
of a session are in one bucket, wherever they were, and one bucket at a time is in memory.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from treerank.clicks.distinct_sessions import Sessions, distinct
from treerank.clicks.items import Items
from treerank.clicks.log import ClickLog
from treerank.clicks.parquet_columns import complete, known_ids, parquet_ids, plain
from treerank.datasets.parquet_files import ParquetFiles, as_floats

#: Columns of a bucket.
_ROW = np.dtype([(name, np.int64) for name in ("session", "query", "document")] + ...)
