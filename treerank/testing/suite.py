"""Suite: all laws by name, and what tries them on a ranker.

A law is a function ``law(ranker, data)`` that fits copies of the unfitted ``ranker``, raises
AssertionError with what was done and what came of it, or ``unittest.SkipTest`` if the ranker has
not what the law is about. The first line of its docstring is what users read. To add a law, write
it where its kin are and list it in ``LAWS``.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from unittest import SkipTest

from treerank.testing.arrival import (
    float32_features,
    fortran_order,
    inputs_unchanged,
    interleaved_rows,
    query_names,
    query_order,
    row_order,
    string_qids,
)
from treerank.testing.comparison import (
    antisymmetry,
    comparing_agrees_with_predict,
    even_probability,
    pair_probabilities,
    pseudometric,
    totality,
    transitivity,
)
from treerank.testing.evaluation import grid_search, score_in_unit_interval, score_is_ndcg, ties
from treerank.testing.learning import (
    equal_labels,
    queries_without_relevance,
    shifted_scores,
    single_document_queries,
    single_documents_only,
)
from treerank.testing.ranking import (
    one_by_one,
    ranks_agree_with_predict,
    ranks_are_permutations,
    top_k_agrees_with_rank,
)
from treerank.testing.reproduction import (
    cloning,
    fitting_again,
    pickling,
    refit,
    saving,
    threads,
)
from treerank.testing.sample import make_ranking_sample

#: Every law, by the name that users select it by.
LAWS = {
    "row_order": row_order,
    "query_order": query_order,
    "interleaved_rows": interleaved_rows,
    "query_names": query_names,
    "string_qids": string_qids,
    "float32_features": float32_features,
    "fortran_order": fortran_order,
    "inputs_unchanged": inputs_unchanged,
    "equal_labels": equal_labels,
    "single_document_queries": single_document_queries,
    "single_documents_only": single_documents_only,
    "queries_without_relevance": queries_without_relevance,
    "shifted_scores": shifted_scores,
    "refit": refit,
    "fitting_again": fitting_again,
    "threads": threads,
    "pickling": pickling,
    "cloning": cloning,
    "saving": saving,
    "one_by_one": one_by_one,
    "ranks_are_permutations": ranks_are_permutations,
    "ranks_agree_with_predict": ranks_agree_with_predict,
    "top_k_agrees_with_rank": top_k_agrees_with_rank,
    "score_in_unit_interval": score_in_unit_interval,
    "score_is_ndcg": score_is_ndcg,
    "ties": ties,
    "grid_search": grid_search,
    "antisymmetry": antisymmetry,
    "transitivity": transitivity,
    "totality": totality,
    "comparing_agrees_with_predict": comparing_agrees_with_predict,
    "pair_probabilities": pair_probabilities,
    "even_probability": even_probability,
    "pseudometric": pseudometric,
}

ON_FAIL = ("raise", "report")


@dataclass(frozen=True)
class LawResult:
    """What became of one law.

    Attributes
    ----------
    name : str
        Name of the law.
    passed : bool
        Whether it holds; False if it was skipped.
    message : str
        If it does not hold: what should, what was done and what came of it.
    skipped : str
        Why it was not tried, or "".
    """

    name: str
    passed: bool
    message: str = ""
    skipped: str = ""


def check_ranker(estimator, *, laws=None, data=None, on_fail="raise"):
    """Check that a ranker keeps the laws of ranking.

    The estimator is never fitted itself. Parameters called ``random_state`` that are None are
    set to 0 in its copies, and warnings are silenced: degenerate data deserve some.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with ``fit(X, y, qid)`` and ``predict(X)`` and scikit-learn's ``get_params``.
        Laws on ``rank``, ``top_k``, ``score``, ``compare``, ``predict_pair_proba``, ``distance``
        and ``save`` are skipped where it has no such method.
    laws : iterable of str or dict from str to law, default=None
        Some of :data:`LAWS` by name, or laws of your own; None is all of ``LAWS``.
    data : RankingSample, default=None
        On what to try them; None is ``make_ranking_sample()``, of some 140 documents. Engines
        that sum in another order for each number of threads, or each order of queries, may
        show it only on more: pass a larger sample before you rely on them.
    on_fail : {"raise", "report"}, default="raise"
        Raise AssertionError at the first law that does not hold, or go on and tell.

    Returns
    -------
    list of LawResult
        One per law, in their order.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.feature_parts.engines.lightgbm import LightGBMTrees
    >>> from treerank.testing import check_ranker
    >>> ranker = TreeDirectRanker(LightGBMTrees(n_estimators=3))
    >>> check_ranker(ranker, laws=["row_order"])
    [LawResult(name='row_order', passed=True, message='', skipped='')]
    """
    if on_fail not in ON_FAIL:
        raise ValueError(f"on_fail must be one of {list(ON_FAIL)}; got {on_fail!r}.")
    chosen = _choose(laws)
    data = make_ranking_sample() if data is None else data
    return [_result(estimator, name, law, data, on_fail) for name, law in chosen.items()]


def parametrize_with_laws(estimators, *, laws=None):
    """Make a pytest decorator that runs a test once per estimator and law.

    Parameters
    ----------
    estimators : iterable of estimator
        As for :func:`check_ranker`.
    laws : iterable of str or dict from str to law, default=None
        As for :func:`check_ranker`.

    Returns
    -------
    pytest.MarkDecorator
        For a test of two arguments, ``estimator`` and ``law``.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.testing import parametrize_with_laws
    >>> @parametrize_with_laws([TreeDirectRanker()])
    ... def test_is_a_ranker(estimator, law):
    ...     law(estimator)
    """
    import pytest

    cases = [
        pytest.param(
            estimator,
            partial(_hold, name=name, law=law),
            id="".join(f"{estimator!r}-{name}".split()),
        )
        for estimator in estimators
        for name, law in _choose(laws).items()
    ]
    return pytest.mark.parametrize(("estimator", "law"), cases)


def _choose(laws):
    if laws is None or isinstance(laws, Mapping):
        return LAWS if laws is None else laws
    names = [laws] if isinstance(laws, str) else list(laws)
    for name in names:
        if name not in LAWS:
            raise ValueError(f"laws must be among {sorted(LAWS)}; got {name!r}.")
    return {name: LAWS[name] for name in names}


def _result(estimator, name, law, data, on_fail):
    try:
        _hold(estimator, data, name=name, law=law)
    except SkipTest as reason:
        return LawResult(name, passed=False, skipped=str(reason))
    except AssertionError as failure:
        if on_fail == "raise":
            raise
        return LawResult(name, passed=False, message=str(failure))
    return LawResult(name, passed=True)


def _hold(estimator, data=None, *, name, law):
    """Try a law; whatever goes wrong is an AssertionError that begins with the law itself."""
    sentence = (law.__doc__ or "").partition("\n")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            law(estimator, make_ranking_sample() if data is None else data)
        except SkipTest:
            raise
        except AssertionError as failure:
            raise AssertionError(f"{name}: {sentence} {failure}") from None
        except Exception as error:
            what = f"It raised {type(error).__name__}: {error}"
            raise AssertionError(f"{name}: {sentence} {what}") from error
