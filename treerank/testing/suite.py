"""Suite: all laws by name, and functions that test a ranker by them.

A law is a function ``law(ranker, data)`` that fits copies of the unfitted ``ranker``. It raises an
AssertionError that says what was done and what happened, or ``unittest.SkipTest`` if the ranker has
not what the law needs. Error messages begin with the first line of its docstring. To add a law,
write it in one of the files of laws.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any, Literal
from unittest import SkipTest

from treerank.checks import check_choice
from treerank.testing import (
    comparison_laws,
    input_laws,
    learning_laws,
    ranking_laws,
    reproduction_laws,
    score_laws,
)
from treerank.testing.sample import RankingSample, make_ranking_sample

Law = Callable[[Any, RankingSample], None]
_FILES = input_laws, learning_laws, reproduction_laws, ranking_laws, score_laws, comparison_laws
#: All laws, by the names by which users choose them: the public functions of the files of laws.
LAWS: dict[str, Law] = {
    name: law
    for file in _FILES
    for name, law in vars(file).items()
    if isinstance(law, FunctionType) and law.__module__ == file.__name__ and name[0] != "_"
}


@dataclass(frozen=True)
class LawResult:
    """The result of one law.

    Parameters
    ----------
    name : str
        Name of the law.
    passed : bool
        Whether the law holds; False if it was skipped.
    message : str, default=""
        If the law does not hold: the law, what was done and what happened.
    skipped : str, default=""
        The reason if the law was skipped.

    Examples
    --------
    >>> LawResult("row_order", passed=True)
    LawResult(name='row_order', passed=True, message='', skipped='')
    """

    name: str
    passed: bool
    message: str = ""
    skipped: str = ""


def check_ranker(
    estimator: Any,
    *,
    laws: Iterable[str] | Mapping[str, Law] | None = None,
    data: RankingSample | None = None,
    on_fail: Literal["raise", "report"] = "raise",
) -> list[LawResult]:
    """Check that a ranker keeps the laws of ranking.

    Copies of the estimator are fitted, never the estimator itself. Parameters called
    ``random_state`` that are None are set to 0 in the copies. Warnings are ignored, because some
    laws use data from which nothing can be learned.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with ``fit(X, y, qid)`` and ``predict(X)`` and scikit-learn's ``get_params``.
        Laws on ``rank``, ``top_k``, ``score``, ``compare``, ``predict_pair_proba``, ``distance``
        and ``save`` are skipped if it has no such method.
    laws : iterable of str or dict from str to law, default=None
        Names of :data:`LAWS`, or your own laws by name; None is all of ``LAWS``.
    data : RankingSample, default=None
        Data of the tests; None is ``make_ranking_sample()``, with about 140 documents. Some
        engines depend on the number of threads or on the order of queries only if there are more
        documents: pass a larger sample for a stricter test.
    on_fail : {"raise", "report"}, default="raise"
        Whether to raise AssertionError at the first law that does not hold, or to test all laws.

    Returns
    -------
    list of LawResult
        One result per law, in their order.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.feature_parts.engines.lightgbm import LightGBMTrees
    >>> from treerank.testing import check_ranker
    >>> ranker = TreeDirectRanker(LightGBMTrees(n_estimators=3))
    >>> check_ranker(ranker, laws=["row_order"])
    [LawResult(name='row_order', passed=True, message='', skipped='')]
    """
    check_choice("on_fail", on_fail, ("raise", "report"))
    chosen = _choose(laws)
    data = make_ranking_sample() if data is None else data
    return [_result(estimator, name, law, data, on_fail) for name, law in chosen.items()]


def parametrize_with_laws(
    estimators: Iterable[Any], *, laws: Iterable[str] | Mapping[str, Law] | None = None
) -> Any:
    """Make a pytest decorator that runs a test once per estimator and law.

    Parameters
    ----------
    estimators : iterable of estimator
        Unfitted rankers, as for :func:`check_ranker`.
    laws : iterable of str or dict from str to law, default=None
        Names of :data:`LAWS`, or your own laws by name; None is all of ``LAWS``.

    Returns
    -------
    pytest.MarkDecorator
        For a test with two arguments, ``estimator`` and ``law``; it should call
        ``law(estimator)``.

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
            partial(_test_law, name=name, law=law),
            id="".join(f"{estimator!r}-{name}".split()),
        )
        for estimator in estimators
        for name, law in _choose(laws).items()
    ]
    return pytest.mark.parametrize(("estimator", "law"), cases)


def _choose(laws):
    """Return laws by name."""
    if laws is None or isinstance(laws, Mapping):
        return LAWS if laws is None else laws
    names = [laws] if isinstance(laws, str) else list(laws)
    for name in names:
        check_choice("laws", name, LAWS)
    return {name: LAWS[name] for name in names}


def _result(estimator, name, law, data, on_fail):
    """Test a law and return its result."""
    try:
        _test_law(estimator, data, name=name, law=law)
    except SkipTest as reason:
        return LawResult(name, passed=False, skipped=str(reason))
    except AssertionError as failure:
        if on_fail == "raise":
            raise
        return LawResult(name, passed=False, message=str(failure))
    return LawResult(name, passed=True)


def _test_law(estimator, data=None, *, name, law):
    """Test a law; any error becomes an AssertionError whose message begins with the law."""
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
            what = f"The test raised {type(error).__name__}: {error}"
            raise AssertionError(f"{name}: {sentence} {what}") from error
