"""Store: what a comparison has finished, so that a kill costs the fit it hits and no other.

One file per ranker and split holds the scores of the test set. Its name ends in a key: a digest
of the ranker's class and parameters, the search, the data and the version of treerank; so what
has changed is done anew, and metrics may be added without fitting anything again. A function
of your own counts by its name alone: rename it, or empty the folder, when you change its code.
Reading a file runs no code.
"""

import dataclasses
import io
import json
import math
import platform
import re
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import joblib
import numpy as np

from treerank.evaluation.fitting import Fitted
from treerank.files.replaced import replaced_file

_UNNAMABLE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Store:
    """A folder of finished fits.

    Attributes
    ----------
    folder : Path
        Made when the first fit is finished.
    """

    folder: Path

    def read(self, job, key):
        """Return what was stored, or None if there is nothing whole."""
        try:
            content = io.BytesIO(self._path(job, key).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                return Fitted(file["scores"], **{name: about[name] for name in _COSTS})
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def write(self, job, key, fitted, configuration):
        """Keep a fit; the file appears only once it is whole."""
        about = {name: getattr(fitted, name) for name in _COSTS}
        about["best_params"] = described(about["best_params"])
        about |= {"configuration": configuration, "versions": versions()}
        content = io.BytesIO()
        np.savez_compressed(content, scores=fitted.scores, about=json.dumps(about))
        self.folder.mkdir(parents=True, exist_ok=True)
        with replaced_file(self._path(job, key)) as file:
            file.write(content.getvalue())

    def _path(self, job, key):
        name = "-".join(_UNNAMABLE.sub("_", part) for part in (job.name, job.split.name))
        return self.folder / f"{name[:80]}-{key[:20]}.npz"


_COSTS = ("best_params", "search_seconds", "fit_seconds", "predict_seconds")


def versions():
    """Return the versions that results may depend on."""
    packages = ("treerank", "numpy", "scipy", "scikit-learn", "lightgbm")
    return {name: version(name) for name in packages} | {"python": platform.python_version()}


def configuration_of(ranker, search, split):
    """Return all that the scores depend on, as JSON values."""
    return {
        "ranker": described(ranker),
        "search": described(search),
        "data": split.fingerprint,
        "treerank": version("treerank"),
    }


def key_of(configuration):
    """Return a digest."""
    return joblib.hash(json.dumps(configuration, sort_keys=True), hash_name="sha1")


def described(value):
    """Return a value as JSON values that tell apart what gives different results.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> described(DecisionTreeRegressor(max_depth=2))["class"]
    'sklearn.tree._classes.DecisionTreeRegressor'
    >>> described({"rate": np.float64(0.5), "trees": (1, 2)})
    {'rate': 0.5, 'trees': [1, 2]}
    """
    match value:
        case None | bool() | str() | int():
            return value
        case np.generic():
            return described(value.item())
        case float():
            return value if math.isfinite(value) else repr(value)
        case np.ndarray():
            return {"array": joblib.hash(value)}
        case list() | tuple():
            return [described(entry) for entry in value]
        case dict():
            return {str(name): described(entry) for name, entry in value.items()}
        case type():
            return f"{value.__module__}.{value.__qualname__}"
    return _described_object(value)


def _described_object(value):
    kind = {"class": described(type(value))}
    if hasattr(value, "get_params"):
        return kind | {"params": described(value.get_params(deep=False))}
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return kind | {"fields": described(fields)}
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return (
        kind | {"attributes": described(vars(value))} if hasattr(value, "__dict__") else repr(value)
    )
