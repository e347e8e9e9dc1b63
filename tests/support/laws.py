"""The laws that every ranker keeps, by name.

A law is a function ``law(ranker, data)`` that fits copies of the unfitted ``ranker``, and raises an
AssertionError that says what was done and what happened. To add one, write it in one of the files.
"""

import warnings
from types import FunctionType

import laws_of_comparison
import laws_of_inputs
import laws_of_learning
import laws_of_ranking
import laws_of_reproduction
import laws_of_score

_FILES = (
    laws_of_inputs,
    laws_of_learning,
    laws_of_reproduction,
    laws_of_ranking,
    laws_of_score,
    laws_of_comparison,
)
LAWS = {
    name: law
    for file in _FILES
    for name, law in vars(file).items()
    if isinstance(law, FunctionType) and law.__module__ == file.__name__ and name[0] != "_"
}


def broken_law(name, ranker, data):
    """Return what happens where a ranker breaks a law, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            LAWS[name](ranker, data)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None
