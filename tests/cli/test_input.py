"""Bad input exits with 1 and one line that names the place, wrong usage with 2."""

import re
import sys
from unittest.mock import Mock

import pytest
from command_line import SMALL, refusal, run

from treerank.cli.compare import _INSTEAD, NAMES
from treerank.evaluation.engine_rankers import ENGINE_RANKERS, engine_ranker
from treerank.registry import RANKERS, ranker_class


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:2\n0 1:3\n", "line 2, column"),
        ("", "line 1, column 1: a LETOR file must have rows"),
    ],
)
def test_bad_input_exits_with_1_and_one_line_that_names_the_place(tmp_path, text, message):
    path, model = tmp_path / "bad.txt", tmp_path / "m"
    path.write_text(text)
    said = refusal("fit", path, "--model", model, *SMALL, "-q")
    assert said.startswith(f"treerank: {path}")
    assert message in said
    assert not model.exists()


def test_standard_input_is_read_once_so_its_error_is_that_of_the_bad_row(files, tmp_path):
    export = "export", files.model, tmp_path / "o.json", "--format", "solr", "--check", "-", "-q"
    rows = files.test.read_bytes() + b"1 qid:7 1:bad\n"
    said = run(*export, input=rows, code=1).stderr
    assert f"line {len(rows.splitlines())}, column 11" in said
    assert "have rows" not in said


def test_what_is_not_there_or_does_not_fit_is_bad_input(files, tmp_path):
    (tmp_path / "wide.txt").write_text("1 qid:1 1:2\n0 qid:1 1:2 9:1\n")
    table = tmp_path / "data.csv"
    table.write_text("label,query\n")
    places = tmp_path / "places.csv"
    places.write_text("label,query,price,place\n1,1,2,top\n0,1,3,end\n")
    binary = tmp_path / "model.cbm"
    binary.write_bytes(b"CBM1\0")
    fit = "fit", files.train, "-m", tmp_path / "m"
    compare = "compare", files.train, "--ranker", "PRank"
    cases = {
        ("evaluate", tmp_path / "no", files.test): "no: No such file or directory",
        ("rank", files.model, tmp_path / "no"): "no: No such file or directory",
        ("rank", files.test, files.test): "treerank's JSON. Write the model first",
        ("fit", files.train, "-m", tmp_path / "no" / "m"): "no/m: No such file or directory",
        ("rank", files.model, files.test, "--memory", "1GB", "--sparse"): "sparse must not be set",
        ("fit", files.train, "-m", "-"): "-: is standard input; a file to write needs a name",
        ("convert", files.train, "-"): "-: is standard input; a file to write needs a name",
        ("fit", "-", "--valid", "-", "-m", tmp_path / "m"): "-: is standard input, which can be re",
        ("convert", "-", tmp_path / "new.csv"): "--n-features must be set for what is read once; g",
        ("report", files.model, "-", "--baseline", files.model): "which can be read only once, and",
        (*fit, "--loss", "listnet", "--weight", "map"): "--weight must be left out for --loss list",
        (
            "fit",
            places,
            "-m",
            tmp_path / "m",
            "--position",
            "place",
        ): "--position must be numbers; g",
        (*fit, "--num-leaves", 10**6): "--num-leaves must be",
        ("rank", files.model, tmp_path / "wide.txt"): "wide.txt, line 2, column 13",
        ("evaluate", table, files.model): "data.csv: is data; write the model first, then",
        ("export", files.model, table, "--format", "c"): "data.csv: has a name of data; write",
        ("report", files.model, files.test, "-o", "r.pdf"): "the page is HTML; write a name that",
        (
            "report",
            files.model,
            files.test,
            "--metric",
            "map(threshold=9)",
        ): "treerank: --metric mu",
        (*compare, "--output", "table.doc"): "path must end in one of",
        (*compare, "--store", files.test): "store must be a folder; got the file",
        ("compare", files.test, files.model): "Write the model first, then the data",
        ("rank", binary, files.test): "binary format; write `save_model(path, format='json')`\n",
        ("compare", files.model, files.model): "is a model; write models first, then the data",
        ("compare", files.model, files.model, files.test): "is there twice; a model is compared",
    }
    for arguments, message in cases.items():
        said = refusal(*arguments, "-q")
        assert message in said
        assert "np." not in said


@pytest.mark.parametrize("command", ["rank", "evaluate", "compare"])
@pytest.mark.parametrize("name", ["empty.csv", "empty.txt"])
def test_an_empty_file_of_data_is_no_model(files, tmp_path, command, name):
    (tmp_path / name).touch()
    said = refusal(command, files.model, tmp_path / name, "-q")
    message = {"csv": "readable; got 'Empty CSV file'", "txt": "a LETOR file must have rows"}
    assert message[name[-3:]] in said


def test_a_table_of_another_format_is_told_what_rows_are(tmp_path):
    path = tmp_path / "train.dat"
    path.write_text("price,label,query\n1,2,3\n")
    said = refusal("fit", path, "-m", tmp_path / "m", "-q")
    assert "got 'price,label,query'. A row of a LETOR file is like '2 qid:7 1:0.5'" in said


def test_advice_names_options_that_the_command_has(files, tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("doc,label,query\n1,2,3\n")
    commands = {
        ("evaluate", files.model, path): "or drop it by `treerank convert`.",
        ("compare", path, "--ranker", "PRank"): "--drop doc to leave it out",
    }
    for command, advice in commands.items():
        said = run(*command, code=1).stderr
        assert f"Write --id doc if it is the id of documents, {advice}" in said


def test_a_table_that_does_not_fit_a_model_without_names_is_to_be_converted(files, tmp_path):
    path = tmp_path / "test.csv"
    run("convert", files.test, path)
    path.write_text(path.read_text().replace('"label"', '"grade"', 1))
    said = run("rank", files.model, path, code=1).stderr
    assert f"so there must be 8 columns of features; got 9. `treerank convert {path}" in said
    assert "warning" not in said
    run("convert", path, tmp_path / "test.txt", "--label", "grade")
    listed = run("rank", files.model, tmp_path / "test.txt").stdout
    assert listed == run("rank", files.model, files.test).stdout
    path.write_text("label,query,day\n1,2,2026-11-27\n")
    assert "or drop it by `treerank convert`." in run("rank", files.model, path, code=1).stderr


FIT, COMPARE = ["fit", "absent", "--model", "m"], ["compare", "absent"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*FIT, "--loss", "logstic"], "treerank: --loss must be one of ['approx_ndcg', "),
        ([*FIT, "--feature-part", "catboost"], "; got 'catboost'"),
        ([*FIT, "--metric", "ngcd"], "metric must be one of ndcg"),
        (
            [*FIT, "--learning-rate", "0"],
            "--learning-rate must be a finite number above 0; got",
        ),
        ([*FIT, "--early-stopping-rounds", "5"], "must come with --valid"),
        ([*FIT, "--n-estimators", "0"], "Invalid value for '--n-estimators'"),
        ([*FIT, "--trees", "5"], "No such option --trees: write --n-estimators. See"),
        ([*FIT, "--position", "p"], "--position: must come with a table, which has columns"),
        ([*FIT, "--log", "l"], "--log: in Python, write treerank.clicks.evaluate_from_log"),
        ([*FIT, "--qid", "q"], "No such option --qid: write --query. See"),
        (
            [*FIT, "--feature-part", "mlp"],
            "must be one of ['auto', 'histogram', 'lightgbm', 'streaming', 'x",
        ),
        (["export", "m", "o", "--seed", "3"], "No such option: --seed"),
        (["export", "m", "o", "--format", "elastic"], "It is now 'elasticsearch'; the plugin"),
        ([*FIT, "--metric", "map,ndcg"], "must be a single metric, which"),
        (["evaluate", "m", "absent", "--metric", "map,ndgc"], "got 'ndgc'"),
        ([*FIT, "--best", "--num-leaves", "4"], "must come without settings of trees"),
        ([*FIT, "--best", "--feature-part", "xgboost"], "must come without settings of trees"),
        ([*FIT, "--best", "--sparse"], "--sparse: must come without --best"),
        ([*FIT, "--best", "--memory", "1GB"], "--memory: must come without --best"),
        (["trian", "x.csv"], "No such command 'trian': `treerank fit` learns a ranker. See"),
        (["evalute", "m"], "No such command 'evalute'. Did you mean `treerank evaluate`? See"),
        (["xyz"], "No such command 'xyz'. See `treerank --help`."),
        (["evaluate", "m", "a.txt", "b.txt"], "one data file, no model; got a.txt b.txt. Evaluate"),
        (["rank", "m", "x", "--digits", "18"], "--digits"),
        ([*FIT, "--position", "p", "--memory", "1G", "--feature-part", "histogram"], "--position"),
        (
            ["fit", "x.csv", "-m", "m", "--position", "p", "--valid", "0.2"],
            "a --valid file of labe",
        ),
        ([*FIT, "--memory", "4X"], "--memory must be a size of at least 1M, such as 4G; got '4X'"),
        ([*FIT, "--memory", "9" * 400], "--memory must be a size of at least 1M, such as 4G"),
        ([*COMPARE, "--ranker", "Oracle"], "got 'Oracle'"),
        ([*COMPARE, "--ranker", "line"], "got 'line'. 'RankSVM' and 'PRank' are linear models. "),
        ([*COMPARE, "--ranker", "LightGBM"], "'LGBMRanker' is LightGBM's own ranker. See"),
        ([*COMPARE, "--ranker", "PRank", "--cv", 5], "No such option --cv: write --folds. See"),
        ([*COMPARE, "--ranker", "PRank", "--metric", "map", "--metric", "map"], "got 'map' twice"),
        (["evaluate", "m", "absent", "--metric", "ndcg@5,mrr,ndcg@5"], "got 'ndcg@5' twice"),
        ([*COMPARE, "--ranker", "PRank", "--convention", "trec"], "got 'trec'"),
        ([*COMPARE, "--ranker", "PRank", "--metric", "ndgc"], "got 'ndgc'"),
        ([*COMPARE, "--ranker", "PRank", "--folds", 1], "--folds"),
        ([*COMPARE, "--ranker", "PRank", "--folds", 3, "--hold-outs", 3], "come without --folds"),
        ([*COMPARE, "--ranker", "PRank", "--gap", 3], "--gap: must come with --time"),
        (
            [*COMPARE, "--ranker", "PRank", "--clusters", "user", "--human-label", "people"],
            "--clusters: must come without --human-label, which is of queries drawn one by one.",
        ),
        (COMPARE, "Missing option '--ranker', or models before the data"),
        (["compare", "m", "absent", "--folds", 3], "--folds: must come without models"),
        (["compare", "m", "absent", "--hold-outs", 3], "--hold-outs: must come without models"),
    ],
)
def test_wrong_usage_exits_with_2_before_anything_is_read(arguments, message):
    assert message in refusal(*arguments, code=2)


def test_metrics_that_a_convention_lacks_are_refused_before_anything_is_read():
    said = refusal(*COMPARE, "--ranker", "PRank", "--metric", "mrr", "--convention", "letor4")
    assert "metric must be one of ['ndcg', 'map', 'p'] for --convention letor4; got 'mrr'" in said


def test_every_ranker_that_is_named_instead_exists():
    named = {name for text in _INSTEAD.values() for name in re.findall("'(.*?)'", text)}
    assert named <= {*NAMES, *ENGINE_RANKERS}  # of which not all are installed everywhere


@pytest.mark.parametrize("name", ["", ".", "folder", "none/m", "/dev/null/m", "train.txt"])
def test_what_cannot_be_written_is_refused_before_any_work(files, monkeypatch, name):
    monkeypatch.chdir(files.folder)
    (files.folder / "folder").mkdir(exist_ok=True)
    before = files.train.read_bytes()
    for arguments in (
        ("fit", "train.txt", "-m", name),
        ("rank", files.model, "train.txt", "-o", name),
        ("compare", "train.txt", "--ranker", "PRank", "--output", f"none/{name}.md"),
    ):
        assert refusal(*arguments).startswith("treerank: ")  # nothing was read
    assert files.train.read_bytes() == before


def test_a_comparison_of_nothing_but_failures_exits_with_1(files, monkeypatch):
    def fail(*_):
        raise RuntimeError("no")

    monkeypatch.setattr("treerank.baselines.linear.prank.PRank._learn", fail)
    result = run("compare", files.train, "--ranker", "PRank", "--folds", 2, "-q", code=1)
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "treerank: warning: PRank failed on split 1: RuntimeError: no",
        "treerank: no ranker could be fitted; the warnings above say why.",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_ranker_that_is_offered_can_be_made(name):
    made = ranker_class(name)() if name in RANKERS else engine_ranker(name)
    assert made.get_params() is not None


def test_a_ranker_whose_package_is_missing_says_how_to_install_it(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "treerank.feature_parts.networks.mlp", raising=False)
    said = refusal("compare", files.train, "--ranker", "RankNet", "-q")
    assert said == "treerank: MLP needs torch: pip install 'treerank[torch]'\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("1 TB"), "out of memory: 1 TB"),
        (OverflowError("too\nlarge"), "OverflowError: too large (--traceback shows where)"),
        (OSError(28, "No space left on device"), "stdout: No space left on device"),
        (RecursionError(), "RecursionError: "),
    ],
)
def test_errors_of_any_kind_are_one_line(files, monkeypatch, error, message):
    monkeypatch.setattr("treerank.cli.evaluate.get_metric", Mock(side_effect=error))
    said = refusal("evaluate", files.model, files.test, "-q")
    assert said.startswith(f"treerank: {message}")


def test_fewer_trees_than_asked_for_are_explained(tmp_path):
    (tmp_path / "equal.txt").write_text("0 qid:1 1:2\n0 qid:1 1:3\n")
    result = run("fit", tmp_path / "equal.txt", "-m", tmp_path / "m", *SMALL)
    assert "treerank: warning: No pair of documents counts" in result.stderr
    assert re.search(r"fitted \d of 6 trees, no further split improves the ob", result.stderr)


@pytest.mark.parametrize("index", [0, 1, 3])
def test_traceback_shows_where_an_error_came_from(files, tmp_path, index):
    words = ["rank", files.model, tmp_path / "absent"]
    words.insert(index, "--traceback")
    result = run(*words, code=1)
    assert isinstance(result.exception, FileNotFoundError)
    assert "--traceback: No such file" in refusal("rank", "-q", files.model, "--", "--traceback")


def test_an_option_that_takes_one_value_and_comes_twice_is_warned_of(files):
    command = ["evaluate", files.model, files.test, "--metric", "map", "--metric", "mrr", "-q"]
    assert run(*command).stderr == ""
    said = run("rank", files.model, files.test, "--top", 1, "--digits=3", "--top=2", "-q").stderr
    warning = "treerank: warning: --top takes one value and is there 2 times: the last one counts."
    assert said == f"{warning}\n"
