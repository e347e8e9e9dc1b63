from treerank.objectives.factory import make_objective as make_objective
from treerank.objectives.judgments import Judgments as Judgments
from treerank.objectives.lists.losses import ApproxNDCG as ApproxNDCG
from treerank.objectives.pairs.losses import PairLoss as PairLoss
from treerank.objectives.pairs.rules import Pairs as Pairs
from treerank.objectives.pairs.settings import PairSettings as PairSettings
from treerank.objectives.pairs.weights import PairWeight as PairWeight
from treerank.objectives.sums import weighted_sum as weighted_sum
