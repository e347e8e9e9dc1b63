"""treelite: a checkpoint that treelite and tl2cgen read; needs the package ``treelite``.

treelite itself reads the text of LightGBM, and XGBoost's JSON for trees that are added in single
precision. It does not take tiny numbers for zero as LightGBM does, but cannot read numbers below
2.3e-308. They are 0 here.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from treerank.exports.comparison import BELOW_SINGLE, Comparison
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.lightgbm_model import STATISTICS, write_lightgbm
from treerank.exports.written import Written
from treerank.exports.xgboost_model import write_xgboost


def _without_subnormal(numbers: np.ndarray) -> np.ndarray:
    return np.where(np.abs(numbers) < np.finfo(np.float64).tiny, 0.0, numbers)


def write_treelite(written: Written) -> Iterator[bytes]:
    """Yield the checkpoint."""
    from treelite import frontend

    if written.thresholds.dtype == "float32":
        yield frontend.from_xgboost_json("".join(write_xgboost(written))).serialize_bytes()
        return
    values = _without_subnormal(written.forest.values)
    # treelite would forget the sides of missing values where zeros are missing, too.
    forest = replace(written.forest, values=values, missing_up_to=-1.0)
    thresholds = _without_subnormal(written.thresholds)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        with path.open("w") as file:
            trees = Written(forest, thresholds, written.names)
            file.writelines(write_lightgbm(trees, left_out=STATISTICS))
        yield frontend.load_lightgbm_model(path).serialize_bytes()


TREELITE = Format(
    write_treelite,
    Consumer(
        Comparison(_without_subnormal, _without_subnormal),
        categories="truncated",
        missing_category="right",
    ),
    single=Consumer(BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32", categories="single"),
    whole_codes=True,
)
