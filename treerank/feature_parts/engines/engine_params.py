"""Parameters that are handed on to an engine as they are: ``engine_params``."""

from collections.abc import Collection
from typing import Any

import numpy as np

from treerank.checks import shown


def check_engine_params(params: dict[str, Any], taken: Collection[str]) -> None:
    """Refuse ``engine_params`` that are arguments of their own, or that no engine can read."""
    for name, value in params.items():
        entries = value if isinstance(value, list | tuple) else [value]
        if not entries or not all(map(_is_readable, entries)):
            raise ValueError(
                "engine_params must be finite numbers, text, True or False, or lists of these; "
                f"got {shown(value)} for {name!r}."
            )
        if name in taken:
            raise ValueError(
                f"engine_params must not hold what has an argument of its own or is set by the "
                f"objective; got {name!r}."
            )


def _is_readable(value: Any) -> bool:
    """Tell whether engines can read a value: text, or a finite number."""
    return isinstance(value, str) or (
        isinstance(value, bool | int | float | np.number | np.bool_) and bool(np.isfinite(value))
    )
