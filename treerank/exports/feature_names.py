"""Feature names: what a program makes of the names of columns, and which ones it does not take."""

from collections.abc import Callable
from dataclasses import dataclass

from treerank.checks import quote


def check_unicode(names: list[str]) -> None:
    r"""Refuse names that no file can hold, since UTF-8 cannot write them.

    Examples
    --------
    >>> check_unicode(["price", "\ud800"])
    Traceback (most recent call last):
    ...
    ValueError: names of columns must be text that UTF-8 can write; got '\ud800'. Rename the ...
    """
    for name in names:
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise ValueError(
                f"names of columns must be text that UTF-8 can write; got {quote(name)}. "
                "Rename the column and fit again."
            )


@dataclass(frozen=True)
class NameRule:
    """Characters that a program does not take in the name of a feature; ``_`` replaces them.

    Parameters
    ----------
    refuses : callable, default=None
        Whether a character is refused; ``None`` if all are taken.
    takes_empty : bool, default=True
        Whether a name may be empty.

    Examples
    --------
    >>> NameRule(lambda char: char in "[]").written(["a[", "a]", "a_"])
    ['a__2', 'a__3', 'a_']
    """

    refuses: Callable[[str], bool] | None = None
    takes_empty: bool = True

    def written(self, names: list[str]) -> list[str]:
        """Return the names in the file, which are distinct if the names of the columns are.

        Names that the program accepts are kept. Of the others, those that would be equal to
        another name get a number at the end.
        """
        cleaned = [self._cleaned(name) for name in names]
        taken = {name for name, other in zip(names, cleaned, strict=True) if name == other}
        for column, name in enumerate(names):
            if cleaned[column] == name:
                continue
            free, number = cleaned[column], 1
            while free in taken:
                number += 1
                free = f"{cleaned[column]}_{number}"
            taken.add(free)
            cleaned[column] = free
        return cleaned

    def _cleaned(self, name: str) -> str:
        refuses = self.refuses
        if refuses is not None:
            name = "".join("_" if refuses(char) else char for char in name)
        return name if name or self.takes_empty else "_"


#: All names are taken.
ANY_NAME = NameRule()
