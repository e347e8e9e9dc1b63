from treerank.statistics.paired import PairedResult as PairedResult
from treerank.statistics.paired import adjust_holm as adjust_holm
from treerank.statistics.randomization import bootstrap_interval as bootstrap_interval
from treerank.statistics.randomization import randomization_test as randomization_test
from treerank.statistics.resampled import Interval as Interval
from treerank.statistics.resampled import corrected_interval as corrected_interval
from treerank.statistics.resampled import corrected_resampled_t_test as corrected_resampled_t_test
