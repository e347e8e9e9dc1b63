"""A path that holds no checkpoint is refused before training, and what is there stays."""

import numpy as np
import pytest

from treerank import TreeDirectRanker, checkpointing
from treerank.files.checkpoint import Checkpoint, current_checkpoint

X, Y, QID = [[3.0], [1.0], [2.0]] * 20, [1, 0, 0] * 20, np.repeat(np.arange(20), 3)


def small(random_state=0):
    return TreeDirectRanker("histogram", random_state=random_state)


@pytest.mark.parametrize("kind", ["table", "model", "folder", "nowhere", "number"])
def test_what_a_fit_must_not_replace_is_refused_before_it(kind, tmp_path):
    path, refusal = tmp_path / kind, (ValueError, "path must be a new file, or one that checkpoin")
    if kind == "table":
        path.write_text("a,b\n1,2\n")
    elif kind == "model":
        small().fit(X, Y, QID).save(path)
        refusal = ValueError, "is another file of treerank, such as a model. Write another path"
    elif kind == "folder":
        path.mkdir()
        refusal = ValueError, "path must be a file; got the folder .*/folder/fit.checkpoint' is a"
    elif kind == "nowhere":
        path, refusal = path / "fit", (ValueError, "path must be in a folder that exists; got")
    else:
        path, refusal = 5, (TypeError, "path must be None or the path of a file to write; got 5")
    content = path.read_bytes() if kind in ("table", "model") else None
    entered = False
    with pytest.raises(refusal[0], match=refusal[1]), checkpointing(path):
        entered = True
    assert not entered
    assert content is None or path.read_bytes() == content


def test_a_checkpoint_is_taken_again(tmp_path):
    path, first = tmp_path / "fit", small()
    for _ in range(2):
        with checkpointing(path, every=5):
            ranker = small().fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), first.fit(X, Y, QID).predict(X))


def test_a_fit_is_saved_every_10_iterations_by_each_process_on_its_own(tmp_path):
    with checkpointing(tmp_path / "fit"):
        assert current_checkpoint() == Checkpoint(tmp_path / "fit", every=10, is_writer=True)
        assert Checkpoint(tmp_path / "fit", 10).is_writer
        with checkpointing(None):
            assert current_checkpoint() is None
        assert current_checkpoint() is not None
    assert current_checkpoint() is None


def test_an_empty_path_is_a_folder():
    with pytest.raises(ValueError, match="path must be a file; got the folder"):
        checkpointing("").__enter__()
