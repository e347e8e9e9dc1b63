"""What functions of inspection return does not depend on how a data frame holds its columns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treerank.inspection
from treerank import TreeDirectRanker
from treerank.feature_parts import Ensemble
from treerank.inspection import (
    boundaries,
    data_sheet,
    drift,
    duplicates,
    effect,
    explain_lead,
    permutation_importance,
    single_features,
    top_certainty,
)

RNG = np.random.default_rng(0)
N, SHOPS = 200, [*"abcde"]
SHOP, QID = RNG.integers(0, 5, N), np.repeat(np.arange(20), 10)
PRICE = RNG.normal(size=N).round(1)
Y = np.digitize(PRICE + np.array([0.0, 3.0, 0.0, 1.0, -2.0])[SHOP], [0.5, 2.5])
SHOP_NAMES = np.where(np.arange(N) % 17, np.array(SHOPS, dtype=object)[SHOP], None)
FRAME = pd.DataFrame({"shop": SHOP_NAMES, "price": PRICE, "size": RNG.integers(1, 4, N)})
FORMS = {
    "categories in another order": FRAME.assign(shop=pd.Categorical(FRAME["shop"], SHOPS[::-1])),
    "categories that do not occur": FRAME.assign(shop=pd.Categorical(FRAME["shop"], ["+", *SHOPS])),
    "polars": pl.from_pandas(FRAME),
    "Arrow": pa.Table.from_pandas(FRAME),
    "columns in another order": FRAME[["size", "shop", "price"]],
}
with warnings.catch_warnings(action="ignore"):
    PARTS = Ensemble(["histogram"] * 2, random_state=0)
    RANKER = TreeDirectRanker(PARTS, random_state=0).fit(FRAME, Y, QID)


def by_column(X, values):
    names = X.column_names if isinstance(X, pa.Table) else X.columns
    return dict(zip(names, np.asarray(values).tolist(), strict=True))


def sheet(X):
    summary = data_sheet(X, Y, QID)
    return by_column(X, summary.missing), by_column(X, summary.distinct), repr(summary)


def importances(X):
    measured = permutation_importance(
        RANKER, X, Y, QID, groups={"shop": ["shop"], "rest": ["price", "size"]}
    )
    return measured.names, measured.drops.tolist()


#: What each function makes of a frame, to compare.
INSPECTED = {
    "boundaries": lambda X: repr(boundaries(RANKER, X)),
    "data_sheet": sheet,
    "drift": lambda X: (by_column(X, drift(X, FRAME[:90])), drift(FRAME[:90], X).tolist()),
    "duplicates": lambda X: duplicates(X, QID, FRAME[40:90]).in_reference.tolist(),
    "effect": lambda X: [repr(effect(RANKER, X, QID, feature=name)) for name in ("shop", "price")],
    "explain_lead": lambda X: repr(explain_lead(RANKER, X, QID)),
    "permutation_importance": importances,
    "single_features": lambda X: by_column(X, single_features(X, Y, QID)),
    "top_certainty": lambda X: top_certainty(RANKER, X, QID).tolist(),
}
#: These take labels and scores, and no documents.
WITHOUT_DOCUMENTS = {"calibration_curve", "costly_rank_changes", "slices"}


def test_every_function_of_documents_is_inspected():
    assert INSPECTED.keys() | WITHOUT_DOCUMENTS == set(treerank.inspection.__all__)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", INSPECTED)
def test_the_form_of_a_frame_changes_nothing(name, form):
    assert INSPECTED[name](FORMS[form]) == INSPECTED[name](FRAME)
