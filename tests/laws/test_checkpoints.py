"""A fit inside of checkpointing(path) writes its checkpoint, or is refused before training."""

import warnings

import numpy as np
import pytest
from small_rankers import DATA, NAMES, made

from treerank import TreeDirectRanker, checkpointing


class FirstFeature:
    """A feature part of the user's own, which knows nothing of checkpoints."""

    def fit(self, X, objective, validation=None):
        self.fitted = True
        return self

    def transform(self, X):
        assert self.fitted
        return np.asarray(X)[:, 0]


class Resuming(FirstFeature):
    """One that says that it does."""

    resumes = True


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ForestRanker"])
def test_a_fit_writes_its_checkpoint_or_is_refused(name, tmp_path):
    ranker, path = made(name), tmp_path / "fit.checkpoint"
    with warnings.catch_warnings(action="ignore"), checkpointing(path, every=1):
        try:
            ranker.fit(*DATA)
        except ValueError as error:
            refusal = str(error)
        else:
            assert path.exists()
            return
    assert refusal.startswith("checkpointing must be of fits of boosted trees; got ")
    assert not path.exists()


def test_a_feature_part_of_ones_own_says_that_it_goes_on(tmp_path):
    with checkpointing(tmp_path / "fit.checkpoint"):
        with pytest.raises(ValueError, match=r"got TreeDirectRanker\(feature_part=.*FirstFeature"):
            TreeDirectRanker(FirstFeature(), random_state=0).fit(*DATA)
        TreeDirectRanker(Resuming(), random_state=0).fit(*DATA)
    with checkpointing(None):
        TreeDirectRanker(FirstFeature()).fit(*DATA)
