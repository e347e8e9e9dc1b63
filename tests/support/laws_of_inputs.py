"""Laws of the input: the order of rows, the names of queries and the type of X change no score."""

import numpy as np
from law_tools import fit, require, require_same_scores, seeded


def row_order(ranker, data):
    """Shuffling the rows of each query changes no score."""
    rng = np.random.default_rng(1)
    shuffled = np.concatenate([rng.permutation(rows) for rows in data.rows_by_query])
    _require_same_model(ranker, data, data.taking(shuffled), "After the rows were shuffled")


def query_order(ranker, data):
    """Another order of the queries changes no score."""
    blocks = data.rows_by_query
    order = np.random.default_rng(2).permutation(len(blocks))
    shuffled = np.concatenate([blocks[query] for query in order])
    _require_same_model(ranker, data, data.taking(shuffled), "After the queries were shuffled")


def interleaved_rows(ranker, data):
    """The rows of a query may be anywhere among the rows of other queries."""
    within = np.concatenate([np.arange(len(rows)) for rows in data.rows_by_query])
    by_query = np.concatenate(data.rows_by_query)
    mixed = by_query[np.argsort(within, kind="stable")]
    _require_same_model(ranker, data, data.taking(mixed), "After the queries were interleaved")


def query_names(ranker, data):
    """Other query ids change no score."""
    other_ids = 1000 + np.random.default_rng(3).permutation(data.codes.max() + 1)
    renamed = data.having(qid=other_ids[data.codes])
    _require_same_model(ranker, data, renamed, "After the queries were renamed")


def string_qids(ranker, data):
    """Query ids may be strings."""
    named = data.having(qid=np.array([f"query {code:05d}" for code in data.codes]))
    _require_same_model(ranker, data, named, "With strings for query ids, in the same order")


def float32_features(ranker, data):
    """Features may have the type float32."""
    narrow = data.X.astype(np.float32)
    wide = data.having(X=narrow.astype(np.float64))
    given = data.having(X=narrow)
    _require_same_model(ranker, wide, given, "With the same features as float32", given.X)


def fortran_order(ranker, data):
    """Features may be stored column by column."""
    given = data.having(X=np.asfortranarray(data.X))
    _require_same_model(ranker, data, given, "With the same features in Fortran order", given.X)


def inputs_unchanged(ranker, data):
    """The methods fit and predict do not change their arguments."""
    given = data.copy()
    seeded(ranker).fit(given.X, given.y, qid=given.qid).predict(given.X)
    for name in ("X", "y", "qid"):
        n_changed = np.count_nonzero(getattr(given, name) != getattr(data, name))
        require(
            n_changed == 0, f"After fit and predict, {n_changed} entries of {name} are different."
        )


def _require_same_model(ranker, data, changed_data, what_was_done, X=None):
    """Require equal scores from fits to two data sets; the second one scores ``X`` if given."""
    expected = fit(ranker, data).predict(data.X)
    actual = fit(ranker, changed_data).predict(data.X if X is None else X)
    require_same_scores(actual, expected, what_was_done)
