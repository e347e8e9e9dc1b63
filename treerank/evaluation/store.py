"""Store: a folder of finished fits, so that a comparison that was killed can be continued.

One file per ranker and split holds the scores of the test set. Its name ends in a key: a digest
of the ranker's class and parameters, the search, the data and the versions of treerank and of the
packages that it uses. So a fit whose configuration has changed is repeated, and another metric
needs no new fit. A function of your own counts by its name alone: rename it, or empty the folder,
when you change its code. Reading a file runs no code.
"""

import contextlib
import dataclasses
import io
import json
import math
import platform
import re
import zipfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from treerank.datasets.folds import Split
from treerank.evaluation.fits import Fitted, Search
from treerank.files.replaced import check_output, replaced_file

#: Packages that scores may depend on, where they are installed.
_PACKAGES = ("treerank", "numpy", "scipy", "scikit-learn", "numba", "lightgbm", "xgboost", "torch")


@dataclass(frozen=True)
class Store:
    """A folder of finished fits, created if it does not exist."""

    folder: Path

    def check(self) -> None:
        """Refuse before any fit a folder that cannot be written."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"store must be a folder; got the file {str(self.folder)!r}.")
        self.folder.mkdir(parents=True, exist_ok=True)
        check_output(self.folder / "fit.npz")

    def read(self, job: Any, key: str) -> Fitted | None:
        """Return the stored fit, or None if there is none or its file is damaged."""
        try:
            content = io.BytesIO(self._path(job, key).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                return Fitted(file["scores"], about["best_params"], tuple(about["seconds"]))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def write(self, job: Any, key: str, fitted: Fitted, configuration: dict[str, Any]) -> None:
        """Store a fit; the file appears only when it is complete."""
        about = {"best_params": describe(fitted.best_params), "seconds": fitted.seconds}
        about["configuration"] = configuration
        content = io.BytesIO()
        np.savez_compressed(content, scores=fitted.scores, about=json.dumps(about))
        with replaced_file(self._path(job, key)) as file:
            file.write(content.getvalue())

    def _path(self, job: Any, key: str) -> Path:
        """Return the file of a fit."""
        names = (re.sub(r"[^A-Za-z0-9._-]+", "_", part) for part in (job.name, job.split.name))
        name = "-".join(names)
        return self.folder / f"{name[:80]}-{key[:20]}.npz"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results may depend on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def configuration_of(ranker: Any, search: Search | None, split: Split) -> dict[str, Any]:
    """Return everything that the scores depend on, as JSON values."""
    return {
        "ranker": describe(ranker),
        "search": describe(search),
        "data": split.fingerprint,
        "versions": versions(),
    }


def key_of(configuration: dict[str, Any]) -> str:
    """Return a digest of a configuration."""
    return joblib.hash(json.dumps(configuration, sort_keys=True), hash_name="sha1")


def describe(value: Any) -> Any:
    """Return a value as JSON values, different ones for values that give different results.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> describe(DecisionTreeRegressor(max_depth=2))["class"]
    'sklearn.tree._classes.DecisionTreeRegressor'
    >>> describe({"rate": np.float64(0.5), "trees": (1, 2)})
    {'rate': 0.5, 'trees': [1, 2]}
    """
    match value:
        case None | bool() | str() | int():
            return value
        case np.generic():
            return describe(value.item())
        case float():
            return value if math.isfinite(value) else repr(value)
        case np.ndarray():
            return {"array": joblib.hash(value)}
        case list() | tuple():
            return [describe(entry) for entry in value]
        case dict():
            return {str(name): describe(entry) for name, entry in value.items()}
        case type():
            return f"{value.__module__}.{value.__qualname__}"
    return _describe_object(value)


def _describe_object(value: Any) -> Any:
    """Return the class and the parameters, fields or attributes of an object."""
    kind = {"class": describe(type(value))}
    if hasattr(value, "get_params"):
        return kind | {"params": describe(value.get_params(deep=False))}
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return kind | {"fields": describe(fields)}
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__dict__"):
        return kind | {"attributes": describe(vars(value))}
    return repr(value)
