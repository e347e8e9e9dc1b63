"""Nobody but an estimator itself, or what reads documents for its fit, writes its attributes."""

import ast
import re
from pathlib import Path

import treerank

PACKAGE = Path(treerank.__file__).parent
#: ``check_features(estimator, X, reset=True)`` is the ``validate_data`` of scikit-learn.
READERS = {"documents/features.py", "documents/reading.py"}


def written_from_outside(tree):
    """Yield assignments such as ``ranker.columns_ = ...`` to what is not ``self``."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in (leaf for each in targets for leaf in ast.walk(each)):
            is_store = isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
            is_fitted = is_store and re.fullmatch(r"(?!__)\w+_", target.attr)
            if is_fitted and ast.unparse(target.value) != "self":
                yield ast.unparse(node)


def test_no_fitted_attribute_is_written_into_another_estimator():
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {line}"
        for path in PACKAGE.rglob("*.py")
        for line in written_from_outside(ast.parse(path.read_text()))
        if path.relative_to(PACKAGE).as_posix() not in READERS
    }
    assert not found
