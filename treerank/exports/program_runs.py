"""Scores of exported files, computed by the programs that will run them, where these are installed.

A run takes the content of the file, the documents and the written model, and returns the scores and
the name of the program; ``None`` if the program is not installed.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treerank.exports.written import Written

#: Larger thresholds only tell missing values from all others.
_HUGE = 1e30


class ProgramRun(NamedTuple):
    """Scores that a program has computed.

    Attributes
    ----------
    scores : ndarray of shape (n_documents,)
        The scores.
    program : str
        Name and version of the program.
    """

    scores: np.ndarray
    program: str


#: ``run(content, X, written)`` scores documents with the program itself.
Run = Callable[[bytes, np.ndarray, Written], ProgramRun | None]

#: Name of the table with the documents of a check.
_TABLE = "treerank_documents"
_MOST_SECONDS = 600
_ONE_BY_ONE = 1000  # documents that are also scored without NumPy
_PYTHON = f"""
import json, sys
import model
documents = json.load(open("documents.json"))
scores = model.scores(documents)
if scores[:{_ONE_BY_ONE}] != [model.score(document) for document in documents[:{_ONE_BY_ONE}]]:
    sys.exit("score and scores differ")
json.dump(scores, open("scores.json", "w"))
"""
_NODE = """
import fs from "fs";
import { score } from "./model.mjs";
const documents = JSON.parse(fs.readFileSync("documents.json"));
fs.writeFileSync("scores.json", JSON.stringify(documents.map((document) => score(document))));
"""


def python_scores(content: bytes, X: np.ndarray, written: Written) -> ProgramRun | None:
    """Return the scores of an exported module in a separate Python process."""
    # No -I: Python must find the module in the folder of the script.
    command = [sys.executable, "-s", "-B", "run.py"]
    scores = _scores_of(command, {"model.py": content, "run.py": _PYTHON.encode()}, X)
    return ProgramRun(scores, f"Python {'.'.join(map(str, sys.version_info[:3]))}")


def node_scores(content: bytes, X: np.ndarray, written: Written) -> ProgramRun | None:
    """Return the scores of an exported module in Node.js; None if that is not installed."""
    node = shutil.which("node")
    if node is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    scores = _scores_of([node, "run.mjs"], {"model.mjs": content, "run.mjs": _NODE.encode()}, X)
    return ProgramRun(scores, f"Node.js {version}")


def sql_scores(content: bytes, X: np.ndarray, written: Written) -> ProgramRun:
    """Return the scores of the query in DuckDB, or in SQLite where that is not installed."""
    columns = table_columns(X, written)
    if find_spec("duckdb") is None:
        return sqlite_scores(content.decode(), columns, written)
    return duckdb_scores(content.decode(), columns, written)


def sqlite_scores(query: str, columns: list[list[Any]], written: Written) -> ProgramRun:
    """Return the scores of a query in SQLite, for the values of each column."""
    connection = sqlite3.connect(":memory:")
    try:
        names = ["treerank_row INTEGER", *(quoted(name) for name in written.names)]
        connection.execute(f"CREATE TABLE {_TABLE} ({', '.join(names)})")
        marks = ", ".join("?" * len(names))
        rows = zip(range(len(columns[0]) if columns else 0), *columns, strict=True)
        connection.executemany(f"INSERT INTO {_TABLE} VALUES ({marks})", rows)
        body = _body(query, written)
        scores = connection.execute(f"SELECT score FROM ({body}) ORDER BY treerank_row")
        values = [row[0] for row in scores]
    finally:
        connection.close()
    return ProgramRun(np.array(values, dtype=np.float64), f"SQLite {sqlite3.sqlite_version}")


def duckdb_scores(query: str, columns: list[list[Any]], written: Written) -> ProgramRun:
    """Return the scores of a query in DuckDB, for the values of each column."""
    import duckdb
    import pyarrow

    rows = np.arange(len(columns[0]) if columns else 0)
    arrays = [pyarrow.array(rows), *(pyarrow.array(values) for values in columns)]
    documents = pyarrow.table(arrays, names=["treerank_row", *written.names])
    with duckdb.connect() as connection:
        connection.register(_TABLE, documents)
        body = _body(query, written)
        scores = connection.execute(f"SELECT score FROM ({body}) ORDER BY treerank_row")
        values = scores.fetchnumpy()["score"]
    return ProgramRun(np.asarray(values, dtype=np.float64), f"DuckDB {duckdb.__version__}")


def quoted(name: str) -> str:
    """Return a name as a quoted SQL identifier.

    Examples
    --------
    >>> quoted('a "b" c') == '"a ""b"" c"'
    True
    """
    return '"' + name.replace('"', '""') + '"'


def table_name(written: Written) -> str:
    """Return the name of the table, quoted in its parts, such as schema and table."""
    return ".".join(map(quoted, written.prefix.split(".")))


def _body(query: str, written: Written) -> str:
    """Return a query of the table of the check, without its final semicolon.

    The table that the user names may be in a database or a schema that is not here. It comes last
    in the query, after all texts of categories.
    """
    before, table, after = query.rstrip().removesuffix(";").rpartition(table_name(written))
    return f"{before}{_TABLE if table else ''}{after}"


def number_columns(written: Written) -> set[int]:
    """Return the columns that cannot be of truth values, whose thresholds are from 0 to 1."""
    forest, sizes = written.forest, np.abs(written.thresholds)
    is_other = (sizes > 1) & (sizes < _HUGE) & ~forest.is_leaf
    return {*forest.feature[is_other].tolist()}


def table_columns(X: np.ndarray, written: Written) -> list[list[Any]]:
    """Return the values of each column of the table, in its type; None if missing."""
    return [
        _column(X[:, j], written.levels.get(j), j in written.booleans) for j in range(X.shape[1])
    ]


def _column(values: np.ndarray, levels: list[Any] | None, is_boolean: bool) -> list[Any]:
    """Return the values of a table column: categories decoded, and None if missing."""
    if levels is None:
        kind = bool if is_boolean else float
        return [None if value != value else kind(value) for value in values.tolist()]
    plain = [level.item() if isinstance(level, np.generic) else level for level in levels]
    return [None if code != code else plain[int(code)] for code in values.tolist()]


def _scores_of(command: list[str], programs: dict[str, bytes], X: np.ndarray) -> np.ndarray:
    """Run a program in a temporary folder, and return the scores that it writes.

    ``programs`` maps names of files to their content; ``X`` are the documents, which become a file,
    too.
    """
    rows = [[None if value != value else value for value in row] for row in X.tolist()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in programs.items():
            (folder / file).write_bytes(content)
        # JSON has no infinity, but numbers that are too large are read as infinity.
        text = json.dumps(rows).replace("Infinity", "1e999")
        (folder / "documents.json").write_text(text, encoding="utf-8")
        run = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_MOST_SECONDS
        )
        if run.returncode:
            raise RuntimeError(f"{command[0]} could not run the file: {run.stderr[-500:].strip()}")
        scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return np.array(scores, dtype=np.float64)
