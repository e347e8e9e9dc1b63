r"""Clicks by trust: clicks that a document gets because it stands high, whatever it is.

Clicks of the affine model :math:`\theta_k a + \varepsilon_k` tell the ratio
:math:`\varepsilon_k / \theta_k` of each position up to a constant, which adds to all attractions.
So trust is what a position has more than the middle one, and it does not rise from one position
to the next.
"""

from dataclasses import replace

import numpy as np
from sklearn.isotonic import isotonic_regression

from treerank.clicks.counts import ClickCounts
from treerank.clicks.models.trust_bias import TrustBias


def without_trust(counts: ClickCounts) -> ClickCounts:
    """Return counts without the clicks that trust is expected to explain.

    Where no item was shown at two positions, nothing is known of trust.

    Examples
    --------
    >>> from treerank.clicks import make_click_log
    >>> counts = make_click_log(20_000, random_state=0).counts()
    >>> bool(without_trust(counts).clicked.sum() > 0.95 * counts.clicked.sum())
    True
    """
    if not counts.tells_slots_apart:
        return counts
    model = TrustBias().fit(counts)
    ratio = np.clip(model.trust_ / model.examination_, 0, 1)
    weight = np.maximum(counts.by_slot(counts.clicked), 0.5)
    ratio = isotonic_regression(ratio, sample_weight=weight, increasing=False)
    trusted = np.maximum(ratio - ratio[len(ratio) // 2], 0)
    share = trusted[counts.slot] / (model.attraction_[counts.item] + ratio[counts.slot])
    return replace(counts, clicked=counts.clicked * (1 - share))
