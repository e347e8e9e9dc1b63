"""Laws of comparison: ``compare`` is an order and ``predict_pair_proba`` a probability.

Each law is tested on random pairs or triples of documents, some of which are equal.
"""

import numpy as np
from law_tools import fit

N_DRAWN = 200


def antisymmetry(ranker, data):
    """r(b, a) is -r(a, b)."""
    compare, (a, b) = _fitted(ranker, data, "compare", 2)
    forth, back = compare(a, b), compare(b, a)
    # The law of totality finds NaN, which has no sign.
    wrong = ~((forth == -back) | (np.isnan(forth) & np.isnan(back)))
    _require_none(wrong, "r(a, b) = {:.6g} but r(b, a) = {:.6g}", forth, back)


def transitivity(ranker, data):
    """If r(a, b) >= 0 and r(b, c) >= 0 then r(a, c) >= 0."""
    compare, (a, b, c) = _fitted(ranker, data, "compare", 3)
    ab, bc, ac = compare(a, b), compare(b, c), compare(a, c)
    wrong = (ab >= 0) & (bc >= 0) & (ac < 0)
    _require_none(wrong, "r(a, b) = {:.6g} and r(b, c) = {:.6g} but r(a, c) = {:.6g}", ab, bc, ac)


def totality(ranker, data):
    """For any two documents, r(a, b) >= 0 or r(b, a) >= 0."""
    compare, (a, b) = _fitted(ranker, data, "compare", 2)
    forth, back = compare(a, b), compare(b, a)
    wrong = ~((forth >= 0) | (back >= 0))
    _require_none(wrong, "r(a, b) = {:.6g} and r(b, a) = {:.6g}", forth, back)


def comparing_agrees_with_predict(ranker, data):
    """r(a, b) has the same sign as the difference of the two scores."""
    fitted = fit(ranker, data)
    a, b = _draw(data, 2)
    value, margin = fitted.compare(a, b), fitted.predict(a) - fitted.predict(b)
    wrong = np.isfinite(value) & (np.sign(value) != np.sign(margin))
    _require_none(wrong, "r(a, b) = {:.6g} where the scores differ by {:.6g}", value, margin)


def pair_probabilities(ranker, data):
    """p(a, b) + p(b, a) = 1, and both lie between 0 and 1."""
    probability, (a, b) = _fitted(ranker, data, "predict_pair_proba", 2)
    forth, back = probability(a, b), probability(b, a)
    wrong = ~((np.abs(forth + back - 1) <= _rounding(forth)) & (forth >= 0) & (back >= 0))
    _require_none(wrong, "p(a, b) = {:.6g} and p(b, a) = {:.6g}", forth, back)


def even_probability(ranker, data):
    """p(a, a) is one half."""
    probability, (a,) = _fitted(ranker, data, "predict_pair_proba", 1)
    value = probability(a, a)
    _require_none(value != 0.5, "p(a, a) = {:.6g}", value)


def pseudometric(ranker, data):
    """d(a, a) = 0, d(a, b) = d(b, a) >= 0, and d(a, b) <= d(a, c) + d(c, b)."""
    distance, (a, b, c) = _fitted(ranker, data, "distance", 3)
    same, forth, back = distance(a, a), distance(a, b), distance(b, a)
    _require_none(same != 0, "d(a, a) = {:.6g}", same)
    _require_none(~(forth >= 0), "d(a, b) = {:.6g}", forth)
    _require_none(forth != back, "d(a, b) = {:.6g} but d(b, a) = {:.6g}", forth, back)
    through_c = distance(a, c) + distance(c, b)
    wrong = forth > through_c + _rounding(forth)
    _require_none(wrong, "d(a, b) = {:.6g} but d(a, c) + d(c, b) = {:.6g}", forth, through_c)


def _fitted(ranker, data, method, n_documents):
    """Return a method of the fitted ranker and documents to call it with."""
    bound = getattr(fit(ranker, data), method)
    return lambda *documents: np.asarray(bound(*documents)), _draw(data, n_documents)


def _draw(data, n_documents):
    """Draw documents with replacement; in the last draws, all documents are the same."""
    rows = np.random.default_rng(5).integers(len(data.X), size=(n_documents, N_DRAWN))
    rows[:, -10:] = rows[0, -10:]
    return [data.X[some] for some in rows]


def _rounding(values):
    """Return the rounding error of a sum of two values, which may have single precision."""
    return 4 * np.finfo(values.dtype).eps * np.abs(values).max()


def _require_none(wrong, what_is, *values):
    """Require that no draw is wrong; the message shows the values of the first that is."""
    if np.any(wrong):
        first = int(np.argmax(wrong))
        example = what_is.format(*(value[first] for value in values))
        raise AssertionError(
            f"This does not hold for {np.count_nonzero(wrong)} of {len(wrong)} draws of documents; "
            f"in one of them, {example}."
        )
