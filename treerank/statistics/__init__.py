"""Statistics: tests of whether one ranker is better than another, and confidence intervals."""

from treerank.statistics.mean_ranks import (
    FriedmanResult,
    NemenyiResult,
    friedman_test,
    nemenyi_test,
)
from treerank.statistics.paired import PairedResult, wilcoxon_test
from treerank.statistics.pairwise_tests import (
    PAIRED_TESTS,
    PairwiseResult,
    adjust_holm,
    pairwise_tests,
)
from treerank.statistics.randomization import bootstrap_interval, randomization_test
from treerank.statistics.resampled import Interval, corrected_interval, corrected_resampled_t_test

__all__ = [
    "PAIRED_TESTS",
    "FriedmanResult",
    "Interval",
    "NemenyiResult",
    "PairedResult",
    "PairwiseResult",
    "adjust_holm",
    "bootstrap_interval",
    "corrected_interval",
    "corrected_resampled_t_test",
    "friedman_test",
    "nemenyi_test",
    "pairwise_tests",
    "randomization_test",
    "wilcoxon_test",
]
