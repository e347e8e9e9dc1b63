"""Modules of Python and JavaScript, and queries of SQL: run by the programs, equal bit for bit."""

import importlib.util
import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawn_forests import drawn_documents, drawn_forest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from treerank import LightGBMTrees, TreeDirectRanker, make_web_search
from treerank.documents.reading import read_documents
from treerank.exports import export, formats_for
from treerank.exports.conversion import converted
from treerank.exports.formats import format_named
from treerank.exports.program_runs import (
    duckdb_scores,
    node_scores,
    python_scores,
    sqlite_scores,
    table_columns,
)
from treerank.exports.uploads import TABLE
from treerank.feature_parts import Ensemble, HistogramTrees, LinearModel, Stages, XGBoostTrees
from treerank.feature_parts.components import Components
from treerank.forests.scoring import forest_scores
from treerank.rankers.calibration import relevance_scale_of

NAMES = ["a", "b", "c", "d"]
COLORS = {3: [f"color {number}" for number in range(40)]}
FORMATS = ["python", "javascript", "sql"]


def sql_by(scores):
    def run(content, X, written):
        return scores(content.decode(), table_columns(X, written), written)

    return run


#: The programs that run a format.
RUNS = {
    "python": ("python", python_scores),
    "javascript": ("javascript", node_scores),
    "sqlite": ("sql", sql_by(sqlite_scores)),
    "duckdb": ("sql", sql_by(duckdb_scores)),
}


def run_named(program):
    format, run = RUNS[program]
    if program == "javascript" and shutil.which("node") is None:
        pytest.skip("needs Node.js")
    if program == "duckdb":
        pytest.importorskip("duckdb")
    return format, run


def loaded(path, name="exported"):
    """Return an exported module of Python."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("program", RUNS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_a_program_scores_hard_numbers_as_the_forest_bit_for_bit(program, seed):
    format, run = run_named(program)
    random = np.random.default_rng(seed)
    is_single = format != "sql" and random.random() < 0.5
    rule = random.choice(["exact", "truncated", "single", "none"])
    forest = drawn_forest(
        random,
        n_trees=int(random.integers(1, 8)),
        huge=not is_single and random.random() < 0.5,
        rule=None if rule == "none" else rule,
        zeros=random.random() < 0.3,
        sum_dtype="float32" if is_single else "float64",
        constant=random.random() < 0.5,
    )
    X = drawn_documents(random, forest, 100)
    if format == "sql":
        codes = np.where(np.isfinite(X[:, 3]), np.clip(np.trunc(X[:, 3]), 0, 39), np.nan)
        X[:, 3] = codes if rule != "none" else X[:, 3]
    levels = COLORS if rule != "none" else {}
    conversion = converted(format, Components(forest), NAMES, X, levels=levels, prefix=TABLE)
    scores, name = run(conversion.content(), X, conversion.written)
    np.testing.assert_array_equal(scores, forest_scores(forest, X)[:, 0])
    assert name.split()[0] in ("Python", "Node.js", "SQLite", "DuckDB")


PARTS = {
    "lightgbm": LightGBMTrees(60, num_leaves=31),
    "histogram": HistogramTrees(30),
    "int16": HistogramTrees(20, precision="int16"),
    "xgboost": XGBoostTrees(30),
    "linear": LinearModel(),
    "both": ["lightgbm", "linear"],
    "ensemble": Ensemble([LightGBMTrees(10), HistogramTrees(10), "linear"], n_bags=2),
    "stages": Stages([LinearModel(), LightGBMTrees(10)]),
    "many": LightGBMTrees(450, num_leaves=4, early_stopping_rounds=None),
}


def drawn_frame(n_queries=400, per_query=25):
    """Return 10,000 documents of which 5 % of the values are missing, with categories."""
    X, y, qid = make_web_search(
        n_queries, documents_per_query=per_query, n_features=8, random_state=0
    )
    random = np.random.default_rng(0)
    X[random.random(X.shape) < 0.05] = np.nan
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    colors = np.array(["red", "grün", "blue", "it's", None], dtype=object)
    chosen = random.integers(5, size=len(X))
    frame["color"] = pd.Categorical(colors[chosen])
    frame["size"] = pd.Categorical(random.integers(3, size=len(X)) * 10)
    return frame, y + (chosen == 1), qid


@pytest.fixture(scope="module")
def documents():
    return drawn_frame()


@pytest.mark.parametrize("part", PARTS)
def test_every_part_scores_ten_thousand_documents_in_every_program(documents, part, tmp_path):
    frame, y, qid = documents
    if part in ("linear", "both", "ensemble", "stages"):
        frame = frame.iloc[:, :8]
    small = frame[:1000], y[:1000], qid[:1000]
    ranker = TreeDirectRanker(PARTS[part], random_state=0).fit(*small)
    known = [each for each in formats_for(ranker) if each in FORMATS]
    assert known == ["javascript", "python", *(["sql"] if part != "xgboost" else [])]
    for program in RUNS:
        format, run = run_named(program)
        if format not in known:
            with pytest.raises(ValueError, match="adds in double precision; got trees of XGBoost"):
                export(ranker, tmp_path / program, format=format, check=frame)
            continue
        levels = ranker.columns_.categories
        report = export(ranker, tmp_path / program, format=format, check=(frame, y, qid))
        assert report.n_changed_pairs == report.n_near_ties == 0
        assert report.program
        coded = np.asarray(read_documents(ranker, frame)[0])
        conversion = converted(
            format, ranker.components(), [*frame], coded, levels=levels, prefix=TABLE
        )
        scores, _ = run((tmp_path / program).read_bytes(), coded, conversion.written)
        np.testing.assert_array_equal(scores, ranker.components().scores(coded))


SMALL = make_web_search(20, documents_per_query=10, n_features=4, random_state=0)
FEW = TreeDirectRanker(LightGBMTrees(4, min_child_samples=5), random_state=0)
#: What could end a string, a comment, a page or a statement in some language, or is a word of it.
PIECES = [
    *("'", '"', "`", "\\", "\n", "\r", "\t", "\u2028", "\u2029", "\x7f", "\ufeff", "\x00"),
    *('"""', "'''", "*/", "/*", "//", "--", "#", ";", "</script>", "<!--", "]]>", "${1}", "{0}"),
    *("%s", "%(a)s", "\\u0027", "\\x27", "\\", "); DROP TABLE documents; --", "' OR '1'='1"),
    *("import os", "__proto__", "constructor", "None", "null", "select", "from", "case", "1e999"),
    *("größe", "価格", "\U0001f600", "é", "e\u0301", " ", ".", ",", "[", "]", "(", ")", "?", ":a"),
]


def hostile_names(random, n):
    """Return names that differ in every program: of several pieces, and a number."""
    drawn = ["".join(random.choice(PIECES, random.integers(1, 5))) for _ in range(n)]
    return [f"{name}{number}" for number, name in enumerate(drawn)]


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(4, 20))]
)
def test_hostile_names_and_categories_change_nothing_that_is_run(seed, tmp_path):
    random = np.random.default_rng(seed)
    names = hostile_names(random, 50)
    X = random.integers(0, 5, (100, 49)).astype(float)
    levels = {name.replace("\0", "") for name in hostile_names(random, 3)}
    levels = sorted(levels | {"it's", "' OR '1'='1", 'say "hi"', "</script>"})
    frame = pd.DataFrame(X, columns=names[:49])
    frame[names[49]] = pd.Categorical(random.choice(levels, 100), categories=levels)
    y = 3 * frame[names[49]].isin(levels[::2]).to_numpy().astype(int)
    qid, table = (
        np.repeat(range(10), 10),
        random.choice(names[1:]).replace(".", "").replace("\0", ""),
    )
    trees = TreeDirectRanker(HistogramTrees(3, min_child_samples=1), random_state=0)
    linear = TreeDirectRanker("linear").fit(frame.iloc[:, :49], y, qid)
    for ranker, documents in ((trees.fit(frame, y, qid), frame), (linear, frame.iloc[:, :49])):
        want = ranker.components().scores(np.asarray(read_documents(ranker, documents)[0]))
        for program in RUNS:
            format, run = run_named(program)
            path = tmp_path / f"{program}.py"
            named = {"name": table} if format == "sql" else {}
            report = export(ranker, path, format=format, check=(documents, y, qid), **named)
            assert report.largest_difference <= 1e-12
            if format == "sql" and ranker is trees:
                assert "IN ('" in path.read_text()
            coded = np.asarray(read_documents(ranker, documents)[0])
            conversion = converted(
                format, ranker.components(), [*documents], coded, None,
                ranker.columns_.categories, named.get("name", TABLE),
            )  # fmt: skip
            scores, _ = run(path.read_bytes(), coded, conversion.written)
            np.testing.assert_array_equal(scores, want)
        records = json.loads(documents.astype(object).to_json(orient="records"))
        module = loaded(tmp_path / "python.py")
        assert module.FEATURES == [*documents]
        assert module.scores(records) == want.tolist()
        assert [module.score(record) for record in records] == want.tolist()
        text = (tmp_path / "javascript.py").read_text()
        assert "</script" not in text
        assert "<!--" not in text


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_node_scores_objects_by_names_and_refuses_others(documents, tmp_path):
    frame, y, qid = (each[:500] for each in documents)
    ranker = TreeDirectRanker(HistogramTrees(10), random_state=0).fit(frame, y, qid)
    export(ranker, tmp_path / "model.mjs", format="javascript", check=frame)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    records[0] |= {"color": "never seen", "size": 10}
    (tmp_path / "documents.json").write_text(json.dumps(records))
    (tmp_path / "run.mjs").write_text(
        """
import fs from "fs";
import { score, code, features, categories } from "./model.mjs";
const said = (call) => { try { return call(); } catch (error) { return error.message; } };
const documents = JSON.parse(fs.readFileSync("documents.json"));
console.log(JSON.stringify({
  scores: documents.map(score), features, color: categories.get("color"),
  codes: [code("color", "red"), code("color", "none"), code("x0", "red"), code("?", "red")],
  errors: [said(() => score({})), said(() => score([1])),
           said(() => score({ ...documents[1], x0: "3" }))],
}));
"""
    )
    run = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, check=True)
    found = json.loads(run.stdout)
    frame = frame.copy()
    frame.loc[0, "color"], frame.loc[0, "size"] = None, 10
    assert found["scores"] == ranker.predict(frame).tolist()
    assert found["features"] == [*frame]
    assert found["color"] == ["blue", "grün", "it's", "red"]
    assert found["codes"] == [3, None, None, None]
    assert found["errors"] == [
        'document must have every feature, null if missing; lacks "x0"',
        "document must have 10 values, those of features; got 1",
        '"x0" must be a number or null; got "3"',
    ]


def test_python_scores_mappings_sequences_and_arrays_and_refuses_others(documents, tmp_path):
    frame, y, qid = (each[:500] for each in documents)
    ranker = TreeDirectRanker(HistogramTrees(10), random_state=0).fit(frame, y, qid)
    path = tmp_path / "model.py"
    export(ranker, path, format="python", check=frame)
    model, want = loaded(path), ranker.predict(frame).tolist()
    coded = np.asarray(read_documents(ranker, frame)[0])
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    for given_documents in (records, coded, coded.tolist(), list(coded), tuple(map(tuple, coded))):
        assert model.scores(given_documents) == want
    assert model.score(records[3] | {"id": "not a feature"}) == want[3]
    assert model.CATEGORIES == {"color": ["blue", "grün", "it's", "red"], "size": [0, 10, 20]}
    assert [model.code("color", "red"), model.code("size", 20), model.code("x0", 1)] == [3, 2, None]
    with pytest.raises(TypeError, match=r"write frame.to_dict\('records'\)"):
        model.scores(frame)
    with pytest.raises(KeyError, match="lacks 'x1'"):
        model.score({"x0": 1})
    with pytest.raises(ValueError, match="must have 10 values, those of FEATURES; got 1"):
        model.score([1])
    with pytest.raises(TypeError, match="'x0' must be a number or None; got '3'"):
        model.score(records[0] | {"x0": "3"})
    with pytest.raises(ValueError, match=r"must have 10 columns; got an array of shape \(2, 3\)"):
        model.scores(np.zeros((2, 3)))
    assert model.scores([]) == model.scores(np.zeros((0, 10))) == []


@pytest.mark.parametrize("packages", [(), ("numpy", "numpy.libs")], ids=["nothing", "NumPy only"])
def test_python_needs_no_package_and_numpy_gives_the_same_bits(packages, documents, tmp_path):
    frame, y, qid = (each[:500] for each in documents)
    part = Ensemble([LightGBMTrees(10), HistogramTrees(10)], n_bags=2)
    ranker = TreeDirectRanker(part, random_state=0).fit(frame, y, qid)
    export(ranker, tmp_path / "model.py", format="python", check=frame)
    home = tmp_path / "packages"
    home.mkdir()
    for name in packages:
        source = Path(np.__file__).parents[1] / name
        if source.exists():
            (home / name).symlink_to(source)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    (tmp_path / "documents.json").write_text(json.dumps(records))
    (tmp_path / "run.py").write_text(
        f"""
import json, sys
sys.path.append({str(home)!r})
import model
scores = model.scores(json.load(open("documents.json")))
loaded = sorted(name for name in ("numpy", "treerank", "sklearn") if name in sys.modules)
print(json.dumps([scores, loaded]))
"""
    )
    command = [sys.executable, "-S", "-E", "run.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    scores, known = json.loads(run.stdout)
    coded = np.asarray(read_documents(ranker, frame)[0])
    assert scores == ranker.components().scores(coded).tolist()
    assert known == [name for name in packages if name == "numpy"]


@pytest.mark.parametrize("label", [1, 2])
def test_probabilities_of_relevance_are_those_of_the_ranker(label, tmp_path):
    X, y, qid = SMALL
    ranker = clone(FEW).fit(X, y, qid).calibrate(X, y, qid)
    scale = relevance_scale_of(ranker)
    lines = np.array([[2.0, 0.5], [5.0, 0.0], [1.0, -2.0], [1.0, -3.0]])
    ranker._relevance_scale = replace(scale, lines=lines, is_line=np.array([True] * 4))
    want, scores = ranker.predict_relevance(X, label), ranker.predict(X).tolist()
    export(ranker, tmp_path / "model.py", format="python", relevance=label)
    relevance = loaded(tmp_path / "model.py").relevance
    np.testing.assert_allclose([relevance(score) for score in scores], want, rtol=1e-12)
    assert (relevance(-1e6), relevance(1e6)) == (0.0, 1.0)
    if shutil.which("node") is not None:
        export(ranker, tmp_path / "model.mjs", format="javascript", relevance=label)
        (tmp_path / "run.mjs").write_text(
            'import { relevance } from "./model.mjs";'
            f"console.log(JSON.stringify({json.dumps(scores)}.map(relevance)));"
        )
        run = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, check=True)
        np.testing.assert_allclose(json.loads(run.stdout), want, rtol=1e-12)
    with pytest.raises(ValueError, match=r"'c', 'javascript', 'onnx' and 'python' can"):
        export(ranker, tmp_path / "model.sql", format="sql", relevance=label)


def test_a_query_adds_the_score_to_a_table_of_any_name_and_says_what_is_missing(tmp_path):
    frame = pd.DataFrame(SMALL[0], columns=["price", 'sales "net"', "select", "d"])
    ranker = clone(FEW).fit(frame, *SMALL[1:])
    path = tmp_path / "model.sql"
    report = export(ranker, path, format="sql", name="shop.all documents", check=frame)
    assert report.largest_difference == 0
    query = path.read_text().rstrip().removesuffix(";")
    connection = sqlite3.connect(":memory:")
    connection.execute("ATTACH ':memory:' AS shop")
    frame.assign(id=[f"d{i}" for i in range(200)]).to_sql("t", connection, index=False)
    connection.execute('CREATE TABLE shop."all documents" AS SELECT * FROM t')
    found = pd.read_sql(f"SELECT id, score FROM ({query}) ORDER BY score DESC LIMIT 3", connection)
    best = np.argsort(-ranker.predict(frame), kind="stable")[:3]
    assert found["score"].tolist() == ranker.predict(frame)[best].tolist()
    connection.execute('ALTER TABLE shop."all documents" DROP COLUMN price')
    with pytest.raises(sqlite3.OperationalError, match=r"no such column: d\.price"):
        connection.execute(query).fetchall()
    connection.close()


@pytest.mark.parametrize("program", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "name", ["main.documents", "temp.d", "lake.shop.documents", "treerank_documents", "d"]
)
def test_a_query_is_checked_whatever_the_database_of_its_table(
    name, program, tmp_path, monkeypatch
):
    run_named(program)  # or skip
    monkeypatch.setattr(
        "treerank.exports.program_runs.find_spec", lambda _: program == "duckdb" or None
    )
    frame = pd.DataFrame(SMALL[0], columns=["price", "treerank_documents", "d", "AS d"])
    frame["shop"] = pd.Categorical(np.where(SMALL[2] % 2, f'FROM "{name}"', '"d"'))
    ranker = TreeDirectRanker(HistogramTrees(250, min_child_samples=1), random_state=0)
    ranker.fit(frame, *SMALL[1:])
    report = export(ranker, tmp_path / "model.sql", format="sql", name=name, check=frame)
    assert report.program.lower().startswith(program)
    assert report.largest_difference == 0
    table = ".".join(f'"{part}"' for part in name.split("."))
    assert f"FROM {table} AS d" in (tmp_path / "model.sql").read_text()


@pytest.mark.parametrize("part", ["linear", HistogramTrees(10), LightGBMTrees(10)])
@pytest.mark.parametrize("kind", ["bool", "boolean"])
def test_a_query_runs_on_a_table_with_truth_values(part, kind, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    X, y, qid = SMALL
    documents = pd.DataFrame({"price": X[:, 0], "count": np.arange(len(X))})
    documents["in_stock"] = pd.array(np.arange(len(X)) % 3 == 0, dtype=kind)
    if kind == "boolean":
        documents.loc[::5, "in_stock"] = None
    y = y + 2 * documents["in_stock"].fillna(False).to_numpy(dtype=bool)
    ranker = TreeDirectRanker(part, random_state=0).fit(documents, y, qid)
    export(ranker, tmp_path / "model.sql", format="sql", check=documents)
    with duckdb.connect() as connection:
        connection.register("documents", documents)
        scores = connection.sql((tmp_path / "model.sql").read_text()).fetchnumpy()["score"]
    np.testing.assert_allclose(scores, ranker.predict(documents), rtol=1e-12, atol=1e-12)
    monkeypatch.setattr("treerank.exports.sql._as_number", lambda name: name)
    with pytest.raises(duckdb.BinderException, match="BOOLEAN"):
        export(ranker, tmp_path / "model.sql", format="sql", check=documents)


def test_a_query_rounds_large_integers_as_the_model_does(tmp_path):
    integers = 2**53 + np.arange(-40, 40)  # of which doubles are those below 2**53, and even ones
    documents = pd.DataFrame({"popularity": integers, "loss": -integers})
    signs = [documents["popularity"].to_numpy() > 2**53 + k for k in (0, 4, 8)]
    ranker = TreeDirectRanker(HistogramTrees(5, min_child_samples=1), random_state=0)
    ranker.fit(documents, np.sum(signs, axis=0), np.zeros(80, dtype=int))
    export(ranker, tmp_path / "model.sql", format="sql", check=documents)
    connection = sqlite3.connect(":memory:")
    documents.to_sql("documents", connection, index=False)
    scores = pd.read_sql((tmp_path / "model.sql").read_text(), connection)["score"]
    np.testing.assert_allclose(scores, ranker.predict(documents), rtol=1e-12)
    connection.close()


@pytest.mark.parametrize("names", [["score", *"bcd"], ["a", "A", "c", "d"], ["Score_2", *"bcd"]])
def test_names_that_a_query_could_not_tell_apart_are_refused(names, tmp_path):
    ranker = clone(FEW).fit(pd.DataFrame(SMALL[0], columns=names), *SMALL[1:])
    assert "sql" not in formats_for(ranker)
    with pytest.raises(ValueError, match=r"format 'sql' .*Rename (a|the) column and fit again"):
        export(ranker, tmp_path / "model.sql", format="sql")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a\0b", 3])
def test_a_table_must_have_a_name(name, tmp_path):
    ranker = clone(FEW).fit(*SMALL)
    with pytest.raises(ValueError, match="name must be the name of a table"):
        export(ranker, tmp_path / "model.sql", format="sql", name=name)


def test_a_query_above_a_megabyte_is_refused(tmp_path):
    X, y, qid = make_web_search(60, documents_per_query=25, n_features=20, random_state=0)
    trees = LightGBMTrees(700, num_leaves=31, min_child_samples=2, early_stopping_rounds=None)
    ranker = TreeDirectRanker(trees, random_state=0).fit(X, y, qid)
    with pytest.raises(
        ValueError, match=r"at most 1 MB.*got 1,\d+,\d+ bytes. Fit fewer or smaller"
    ):
        export(ranker, tmp_path / "model.sql", format="sql")
    assert not list(tmp_path.iterdir())


def test_codes_of_categories_have_no_names_in_a_query(tmp_path):
    X = SMALL[0].copy()
    X[:, 3] = np.random.default_rng(0).integers(5, size=len(X))
    y = (X[:, 3] == 2) * 2
    ranker = TreeDirectRanker(HistogramTrees(5, categorical_features=[3]), random_state=0)
    ranker.fit(X, y, SMALL[2])
    assert "sql" not in formats_for(ranker)
    with pytest.raises(ValueError, match="categories of a data frame; got codes in column 'f3'"):
        export(ranker, tmp_path / "model.sql", format="sql")
    for format in ("python", "javascript"):
        assert export(ranker, tmp_path / format, format=format, check=X).largest_difference == 0


@pytest.mark.parametrize("format", ["python", "javascript"])
def test_categories_that_would_be_one_are_refused(format, tmp_path):
    X = SMALL[0]
    for levels in ([1, True], [1, 1.0]) if format == "python" else ([2**60, 3],):
        conversion = converted(
            format, clone(FEW).fit(*SMALL).components(), NAMES, X, levels={3: levels}
        )
        with pytest.raises(ValueError, match=r"column 'd'\. Make them text and fit again"):
            conversion.content()


def test_a_program_that_cannot_run_the_file_says_so(monkeypatch, tmp_path):
    ranker = clone(FEW).fit(*SMALL)
    conversion = converted("python", ranker.components(), NAMES, SMALL[0])
    with pytest.raises(RuntimeError, match=r"(?s)could not run the file: .*wrong"):
        python_scores(b"raise ValueError('wrong')", SMALL[0], conversion.written)
    changed = conversion.content().replace(b"total = _CONSTANT", b"total = _CONSTANT + 1")
    with pytest.raises(RuntimeError, match="score and scores differ"):
        python_scores(changed, SMALL[0], conversion.written)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    report = export(ranker, tmp_path / "model.mjs", format="javascript", check=SMALL)
    assert (report.program, report.largest_difference) == (None, 0.0)


def test_a_program_that_scores_otherwise_is_refused(monkeypatch, tmp_path):
    from treerank.exports import code_module

    template = (
        (code_module.files("treerank.exports.modules") / "scorer.py")
        .read_text()
        .replace("value <= limit", "value < 0")
        .replace("values <= threshold[node]", "values < 0")
    )

    class Files:
        def __truediv__(self, name):
            return self

        def read_text(self, encoding):
            return template

    monkeypatch.setattr(code_module, "files", lambda package: Files())
    with pytest.raises(ValueError, match=r"format 'python' changes the order of \d+ pairs"):
        export(clone(FEW).fit(*SMALL), tmp_path / "model.py", format="python", check=SMALL)
    assert not list(tmp_path.iterdir())


def test_formats_run_by_the_program_itself_are_these():
    assert [each for each in FORMATS if format_named(each).run is None] == []


def test_documents_of_the_check_may_be_truth_values_where_fit_had_numbers(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"k": rng.integers(5, size=400), "p": rng.normal(size=400)})
    qid = np.repeat(np.arange(20), 20)
    fitted = TreeDirectRanker(HistogramTrees(5), random_state=0).fit(frame, frame["k"] // 2, qid)
    other = frame.assign(k=frame["k"] > 1)
    assert (
        export(
            fitted, tmp_path / "m.sql", format="sql", check=(other, qid % 2, qid)
        ).n_changed_pairs
        == 0
    )
