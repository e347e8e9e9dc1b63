"""Models in memory: what a fitted model of an engine would write to its file."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treerank.checks import shown


def content_of(model: Any) -> bytes:
    r"""Return the content of the file of a Booster, or of a fitted ranker of an engine.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> old = LGBMRanker(n_estimators=1, verbosity=-1).fit([[0.0], [1.0]], [0, 1], group=[2])
    >>> content_of(old)[:5]
    b'tree\n'
    """
    booster = _booster_of(model)
    if hasattr(booster, "model_to_string"):  # LightGBM
        return booster.model_to_string().encode()
    if hasattr(booster, "save_raw"):  # XGBoost
        return bytes(booster.save_raw("json"))
    if type(model).__module__.startswith("catboost"):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            model.save_model(path, format="json")
            return path.read_bytes()
    raise TypeError(
        "path must be a file, a Booster of LightGBM or XGBoost, or a fitted ranker of an engine; "
        f"got {shown(model)}."
    )


def _booster_of(model):
    """Return the Booster of a fitted ranker, up to its best iteration."""
    if hasattr(model, "get_booster"):
        booster, best = model.get_booster(), getattr(model, "best_iteration", None)
        return booster if best is None else booster[: best + 1]
    return getattr(model, "booster_", model)
