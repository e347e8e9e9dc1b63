"""Tables, query ids and labels of every kind through every verb of rankers of the tree engines.

A case draws a matrix, some of whose columns are categories, and three forms of it: one for the
fit, one for a continued fit and one for every other call. Forms are arrays, lists, sparse matrices
and data frames of pandas, polars and pyarrow with many types of columns and hostile names. A good
answer is the answer for plain arrays and plain numbers as query ids, bit for bit.
"""

import functools
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from tests.fuzz import pick
from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees

ENGINES = {
    "lightgbm": functools.partial(LightGBMTrees, min_child_samples=2, num_leaves=4, n_jobs=1),
    "xgboost": functools.partial(XGBoostTrees, max_depth=2, n_jobs=1),
    "histogram": functools.partial(HistogramTrees, min_child_samples=2, num_leaves=4, n_jobs=1),
}
NAMES = (
    *("price", "a b", "a_b", "", "ü\n", "\x00", "Column_1", "f0", "0", "none", "=", "[x]<", "a,b"),
    *("x" * 300, "\t", "\u2028", '"', "Tree=0", "Column_0", "{}"),
)
TEXTS = ("blue", "a", "B", "", "ü", "10", "9")


class Table(NamedTuple):
    """A matrix of values that single precision holds, with names and categories of columns."""

    values: np.ndarray
    names: list[str]
    categories: dict[int, list[str]]

    def column(self, place):
        """Return the entries of a column, None where they are missing."""
        texts = self.categories.get(place)
        read = float if texts is None else lambda code: texts[int(code)]
        return [None if v != v else read(v) for v in self.values[:, place]]


def draw_table(random: np.random.Generator) -> Table:
    """Draw a table of few rows and columns."""
    n, d = random.integers(8, 60), random.integers(1, 5)
    values = random.integers(-8, 9, size=(n, d)) / random.choice([1.0, 4.0], size=d)
    values *= random.choice([1.0, 1.0, 1.0, 0.0, 2.0**-120, 2.0**100], size=d)
    values[random.random((n, d)) < random.choice([0.0, 0.0, 0.3])] = np.nan
    names = [NAMES[i] for i in random.permutation(len(NAMES))[:d]]
    categories = {}
    for column in np.flatnonzero(random.random(d) < random.choice([0.0, 0.4])):
        texts = random.permutation(TEXTS)[: random.integers(1, len(TEXTS) + 1)]
        known = random.random(n) >= random.choice([0.0, 0.2])
        used, codes = np.unique(random.choice(texts, size=known.sum()), return_inverse=True)
        values[:, column] = np.nan
        values[known, column] = codes
        categories[int(column)] = used.tolist()
    return Table(values, names, {c: t for c, t in categories.items() if t})


def form_of(random: np.random.Generator, table: Table, kinds: tuple[str, ...]):
    """Return the table in a form of one of some kinds."""
    return FORMS[str(random.choice(kinds))](random, table)


def array(random, table):
    """Return an array of any type that holds the values."""
    values = table.values
    kinds = [np.float64, np.float32, object]
    if _is_whole(values) and not np.isnan(values).any():
        kinds += [np.int8, np.int16, np.int64]
    result = values.astype(pick(random, kinds))
    if result.dtype == object and random.random() < 0.5:
        result[np.isnan(values)] = None
    return pick(random, [np.asfortranarray, np.ascontiguousarray, _strided])(result)


def _is_whole(values):
    """Tell whether all values but the missing ones are whole numbers of 8 bits."""
    known = np.nan_to_num(values)
    return bool((known == np.rint(known)).all() and np.abs(known).max() < 100)


def _strided(values):
    return np.repeat(values, 2, axis=1)[:, ::2]


def listed(random, table):
    """Return lists of numbers."""
    return array(random, table).tolist()


def sparse_matrix(random, table):
    """Return a sparse matrix of any format, with explicit zeros at times."""
    kinds = ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "coo_array", "lil_matrix"]
    dtype = random.choice([np.float64, np.float32])
    return getattr(sparse, pick(random, kinds))(table.values.astype(dtype))


def pandas_frame(random, table):
    """Return a data frame of pandas."""
    index = 10**6 + random.permutation(len(table.values)) if random.random() < 0.3 else None
    columns = [_pandas_column(random, table, c) for c in range(len(table.names))]
    frame = pd.concat(columns, axis=1)
    frame.columns = table.names
    return frame if index is None else frame.set_axis(index)


def _pandas_column(random, table, c):
    values, entries = table.values[:, c], table.column(c)
    if c in table.categories:
        kinds = ["str", "string", object, "category", "listed"]
        kind = pick(random, kinds)
        if kind == "listed":
            kind = pd.CategoricalDtype(random.permutation(TEXTS))
        return pd.Series(entries, dtype=kind)
    kinds = ["float64", "float32", "Float64", "Float32", "object"]
    kinds += ["Int8", "Int64"] * _is_whole(values)
    return pd.Series(values).astype(pick(random, kinds))


def polars_frame(random, table):
    """Return a data frame of polars."""
    columns = [_polars_column(random, table, c) for c in range(len(table.names))]
    return pl.DataFrame(dict(zip(table.names, columns, strict=True)))


def _polars_column(random, table, c):
    values, entries = table.values[:, c], table.column(c)
    if c in table.categories:
        kinds = [pl.String, pl.Categorical, pl.Enum(random.permutation(TEXTS).tolist())]
        return pl.Series(entries, dtype=pick(random, kinds))
    series = pl.Series(values if random.random() < 0.3 else entries, dtype=pl.Float64)
    kinds = [pl.Float64, pl.Float32, *([pl.Int8, pl.Int64] * _is_whole(values))]
    return series.fill_nan(None).cast(pick(random, kinds))


def arrow_table(random, table):
    """Return a table of pyarrow, as a whole or in chunks."""
    columns = [_polars_column(random, table, c).to_arrow() for c in range(len(table.names))]
    whole = pa.table(columns, names=table.names)
    return whole if random.random() < 0.5 else pa.concat_tables([whole[:3], whole[3:]])


FORMS = {
    "array": array,
    "list": listed,
    "sparse": sparse_matrix,
    "pandas": pandas_frame,
    "polars": polars_frame,
    "arrow": arrow_table,
}


def ids_of(random: np.random.Generator, codes: np.ndarray):
    """Return query ids of any type, in the order of the codes."""
    texts = np.array([f"q{code:03}" for code in codes])
    forms = [
        *(codes, codes.astype(random.choice([np.int8, np.uint16, np.float32])), codes.tolist()),
        [code if random.random() < 0.5 else float(code) for code in codes.tolist()],
        *(texts, texts.tolist(), texts.astype(object), texts.astype("S"), pd.Series(texts)),
        *(pd.Series(texts, dtype="string"), pd.Series(texts, dtype="category")),
        *(pl.Series(texts.tolist()), pl.Series(codes.tolist()), pa.array(texts.tolist())),
        pa.chunked_array([codes[:3].tolist(), codes[3:].tolist()]),
        *(codes.astype("datetime64[D]"), pd.Series(codes.astype("datetime64[s]"))),
        [code if code < 2 else f"{code:03}" for code in codes.tolist()],
        [f"a{chr(0) * code}" for code in codes.tolist()],
    ]
    return pick(random, forms)


def labels_of(random: np.random.Generator, y: np.ndarray):
    """Return labels of any type."""
    forms = [y, y.astype(int), y.tolist(), y.astype(np.float32), y.astype(object), pd.Series(y)]
    forms += [pl.Series(y), pa.array(y), pd.array(y.astype(int), dtype="Int64"), tuple(y.tolist())]
    return pick(random, forms)


def case(random: np.random.Generator) -> None:
    """Check the answers for one table, and the refusal of one wrong argument."""
    table = draw_table(random)
    engine = str(random.choice(list(ENGINES)))
    kinds = ("pandas", "polars", "arrow")
    kinds = kinds if table.categories else ("array", "list", *kinds)
    has_zeros_and_gaps = (table.values == 0).any() and np.isnan(table.values).any()
    is_sparse = engine != "histogram" and not table.categories and random.random() < 0.2
    if is_sparse and engine == "xgboost" and has_zeros_and_gaps:
        is_sparse = False  # to XGBoost both are missing in a sparse matrix
    kinds = ("sparse",) if is_sparse else kinds
    if "" in table.names:  # which polars replaces
        kinds = tuple(kind for kind in kinds if kind != "polars")
    codes = random.integers(random.integers(1, 6), size=len(table.values))
    y = random.integers(random.integers(2, 4), size=len(codes)).astype(float)
    given = sparse.csr_matrix(table.values) if is_sparse else table.values
    of_plain = {"categorical_features": list(table.categories) or None}
    usual, drawn = (
        TreeDirectRanker(ENGINES[engine](**settings), warm_start=True, random_state=0)
        for settings in (of_plain, {})
    )
    with warnings.catch_warnings(action="ignore"):
        for n_estimators in (3, 5)[: random.integers(1, 3)]:
            for ranker in (usual, drawn):
                ranker.set_params(feature_part__n_estimators=n_estimators)
            usual.fit(given, y, codes)
            drawn.fit(form_of(random, table, kinds), labels_of(random, y), ids_of(random, codes))
            _check_answers(random, usual, drawn, table, given, kinds, y, codes)


def _check_answers(random, usual, drawn, table, given, kinds, y, codes):
    """Compare what two rankers answer."""
    rows = random.permutation(len(y))[: random.integers(1, len(y) + 1)]
    some = table._replace(values=table.values[rows])
    plain, y, codes = given[rows], y[rows], codes[rows]
    form = lambda: form_of(random, some, kinds)  # noqa: E731
    ids = lambda: ids_of(random, codes)  # noqa: E731
    _same("predict", usual.predict(plain), drawn.predict(form()))
    _same("rank", usual.rank(plain, codes), drawn.rank(form(), ids()))
    _same("top_k", usual.top_k(plain, codes, 2), drawn.top_k(form(), ids(), 2))
    _same("compare", usual.compare(plain, plain[:1]), drawn.compare(form(), _first(form())))
    there = usual.score(plain, y, codes, sample_weight=1 + y)
    _same("score", there, drawn.score(form(), labels_of(random, y), ids(), sample_weight=1 + y))
    if random.random() < 0.2:
        parts = usual.explain(plain, plain[:1], n_orders=1)
        _same("explain", parts, drawn.explain(form(), _first(form()), n_orders=1))


def _first(form):
    """Return the first row of a table in any form."""
    return form.tocsr()[:1] if sparse.issparse(form) else form[:1]


def _same(verb, expected, found):
    if not np.array_equal(expected, found, equal_nan=True):
        raise AssertionError(f"{verb}: {str(expected)[:200]} became {str(found)[:200]}")
