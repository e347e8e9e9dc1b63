"""Click models by name. To add one, list it here: the tests find it."""

from treerank.clicks.models.cascade import Cascade
from treerank.clicks.models.click_chain import ClickChain
from treerank.clicks.models.click_model import ClickModel
from treerank.clicks.models.dependent_click import DependentClick
from treerank.clicks.models.dynamic_bayesian import DynamicBayesian
from treerank.clicks.models.position_based import PositionBased
from treerank.clicks.models.trust_bias import TrustBias
from treerank.clicks.models.user_browsing import UserBrowsing

CLICK_MODELS: dict[str, type[ClickModel]] = {
    "cascade": Cascade,
    "click_chain": ClickChain,
    "dependent_click": DependentClick,
    "dynamic_bayesian": DynamicBayesian,
    "position_based": PositionBased,
    "trust_bias": TrustBias,
    "user_browsing": UserBrowsing,
}
