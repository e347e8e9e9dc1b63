"""Statistics: tests of whether one ranker is better than another, and confidence intervals."""

from treerank.statistics.paired import PairedResult, adjust_holm
from treerank.statistics.randomization import bootstrap_interval, randomization_test
from treerank.statistics.resampled import Interval, corrected_interval, corrected_resampled_t_test

__all__ = [
    "Interval",
    "PairedResult",
    "adjust_holm",
    "bootstrap_interval",
    "corrected_interval",
    "corrected_resampled_t_test",
    "randomization_test",
]
