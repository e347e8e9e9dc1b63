"""Conformance tests: the laws that every ranker with ``fit(X, y, qid)`` and ``predict`` keeps."""

from treerank.testing.sample import RankingSample, make_ranking_sample
from treerank.testing.suite import LAWS, LawResult, check_ranker, parametrize_with_laws

__all__ = [
    "LAWS",
    "LawResult",
    "RankingSample",
    "check_ranker",
    "make_ranking_sample",
    "parametrize_with_laws",
]
