"""Report: an HTML page that can be saved, or shown in a notebook."""

from dataclasses import dataclass, field
from pathlib import Path

from treerank.files.replaced import replaced_file
from treerank.reports.markup import element


@dataclass(frozen=True)
class Report:
    """A page about a ranker; :func:`treerank.report` makes it.

    Parameters
    ----------
    html : str
        The whole page.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "report.html"
    >>> Report("<!DOCTYPE html><title>Nothing</title>").save(path)
    >>> path.read_text()
    '<!DOCTYPE html><title>Nothing</title>'
    """

    html: str = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        with replaced_file(path) as file:
            file.write(self._bytes())

    def _bytes(self) -> bytes:
        # Names from files may hold bytes that are no UTF-8.
        return self.html.encode("utf-8", "xmlcharrefreplace")

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, for notebooks."""
        page = self._bytes().decode()
        frame = {"srcdoc": page, "sandbox": "allow-scripts", "title": "Report"}
        return element("iframe", **frame, width="100%", height=800)
