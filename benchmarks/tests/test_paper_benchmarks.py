"""The scripts of the papers' tables and figures: each runs, continues, and writes whole files."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from treerank.documents.ranking_data import RankingData
from treerank.metrics import NDCG, AveragePrecision

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _benchmarks_on_path(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS / "paper")
    monkeypatch.chdir(tmp_path)  # where comparisons keep their fits


def run(name, tmp_path, *arguments):
    """Run a script, and return what its files say, which must be whole."""
    options = ["--protocol", "tiny", "--jobs", "1", "--out", str(tmp_path)]
    import_module(name).main([*options, *arguments])
    contents = {path.stem: read_parts(path) for path in sorted(tmp_path.glob("*.jsonl"))}
    for parts in contents.values():
        for content in parts.values():
            check_whole(content)
    return contents


def read_parts(path):
    return import_module("result_files").read_parts(path)


#: The script that says which rankers a file shows, by the beginning of the file's name.
SCRIPTS = {
    "letor4": "letor4",
    "neural-core": "contestants",
    "ranklib": "ranklib",
    "ranknet-ndcg": "ranknet_ndcg",
    "ranknet-table": "ranknet_tables",
    "sortnet-table": "sortnet_tables",
} | {name: name for name in ("figure4", "figure5", "figure6", "table1", "table2", "table3")}


def read(path):
    (script,) = (script for name, script in SCRIPTS.items() if path.name.startswith(name))
    return import_module("protocol").read(path, import_module(script).shown)


def check_whole(content):
    assert {"about", "versions", "machine", "results"} == set(content)
    assert content["about"]["protocol"] == "tiny"
    assert content["about"]["rankers"]
    for ranker in content["about"]["rankers"].values():
        assert {"class", "params", "settled"} == set(ranker)
        assert "." not in ranker["class"]  # a module would refuse the file when it moves
    assert " at 0x" not in json.dumps(content["about"])
    assert {"treerank", "numpy", "python"} <= set(content["versions"])
    assert content["results"]
    for entry in content["results"]:
        assert {"point", "result", "seconds"} == set(entry)
        text = json.dumps(entry["result"], allow_nan=False)  # raises where a number is not finite
        assert re.search(r"\d\.\d", text)


FIGURE5_PARTS = {"a, gaussian classes", "d, synthetic"}


@pytest.mark.parametrize(
    ("script", "arguments", "file", "parts"),
    [
        ("figure5", ["--panels", "a", "d"], "figure5-tiny", FIGURE5_PARTS),
        ("table2", [], "table2-tiny", {"synthetic"}),
        ("table3", [], "table3-tiny", {"synthetic"}),
        ("ranknet_tables", ["--tables", "2"], "ranknet-table2-tiny", {"artificial data"}),
        ("ranknet_ndcg", [], "ranknet-ndcg-tiny", {"synthetic"}),
        ("sortnet_tables", ["--tables", "1"], "sortnet-table1-tiny", {"synthetic"}),
        ("sortnet_tables", ["--tables", "2"], "sortnet-table2-tiny", {"synthetic"}),
        ("letor4", [], "letor4-tiny", {"synthetic"}),
    ],
)
def test_each_script_writes_a_whole_file(script, arguments, file, parts, tmp_path):
    contents = run(script, tmp_path, *arguments)
    assert list(contents) == [file]
    assert set(contents[file]) == parts
    assert read(tmp_path / f"{file}.jsonl") == contents[file]


def test_figures_are_drawn_from_the_files_alone(tmp_path):
    run("table1", tmp_path, "--tests", "binary")
    run("figure4", tmp_path)
    contents = run("figure6", tmp_path, "--data", "synthetic")
    assert set(contents["figure4-tiny"]) == set("abcd")
    assert set(contents["figure6-tiny"]) == {"gaussian classes", "synthetic"}
    for file in ("figure4-tiny", "figure6-tiny"):
        assert read(tmp_path / f"{file}.jsonl") == contents[file]
    drawn = tmp_path / "figures"
    files = [str(path) for path in tmp_path.glob("table1-*.jsonl")]
    import_module("figures_2_3").main([*files, "--out", str(drawn)])
    options = ["--results", str(tmp_path), "--out", str(drawn), "--protocols", "tiny"]
    import_module("draw").main(options)
    names = {"figure2-synthetic", "figure4", "figure6-gaussian-classes", "figure6-synthetic"}
    assert {path.name for path in drawn.iterdir()} == {f"{name}-tiny.svg" for name in names}


def test_the_readme_table_says_what_the_file_says(tmp_path):
    content = run("neural_core", tmp_path, "--no-memory")["neural-core-tiny"]["synthetic"]
    means = content["results"][0]["result"]["metrics"]["ndcg@10"]["mean"]
    readme = tmp_path / "README.md"
    readme.write_text("a\n<!-- results -->\noutdated\n<!-- end of results -->\nb\n")
    options = ["--results", str(tmp_path), "--protocol", "tiny", "--into", str(readme)]
    import_module("readme_table").main(options)
    text = readme.read_text()
    assert text.startswith("a\n<!-- results -->\n| ranker | synthetic |")
    assert text.endswith("\n<!-- end of results -->\nb\n")
    assert "outdated" not in text
    rows = dict(re.findall(r"^\| (.*?) \|(.*)", text, re.MULTILINE)[1:])
    assert len(rows) == len(means) + 1
    assert [name for name, mean in means.items() if f"{mean:.4f}"[1:] not in rows[name]] == []
    assert [name for name, row in rows.items() if "**" in row] == [max(means, key=means.get)]


def test_an_engine_that_is_not_installed_is_left_out(tmp_path, monkeypatch, capsys):
    contestants = import_module("contestants")
    monkeypatch.setattr(contestants, "can_run", lambda r: getattr(r, "engine", "") != "catboost")
    names = ["LGBMRanker", "CatBoostRanker"]
    content = run("neural_core", tmp_path, "--rankers", *names)["neural-core-tiny"]
    assert content["synthetic"]["about"]["names"] == ["LGBMRanker"]
    points = [entry["point"] for entry in content["synthetic"]["results"]]
    assert points == [{"test": "folds"}, {"ranker": "LGBMRanker"}]
    assert "not installed, left out: CatBoostRanker" in capsys.readouterr().err
    assert read(tmp_path / "neural-core-tiny.jsonl") == content


def test_an_engine_is_installed_where_its_package_is_found():
    contestants = import_module("contestants")
    rankers, _ = contestants.contestants("tiny")
    assert contestants.can_run(rankers["neural core, RankNet*"])
    assert not contestants.can_run(contestants.EngineRanker("no_such_engine"))


def test_a_ranker_that_there_is_not_is_refused_by_name(tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("neural_core", tmp_path, "--rankers", "MLPs")
    assert "--rankers must be of 'LightGBMTrees', " in capsys.readouterr().err


@pytest.fixture
def arguments(tmp_path):
    parser = import_module("protocol").parser_of("")
    return parser.parse_args(["--jobs", "1", "--out", str(tmp_path)])


def test_a_killed_run_goes_on_where_it_was(tmp_path, arguments):
    done, points = [], [{"x": x} for x in range(4)]

    def square(about, x):
        if x == 2 and len(done) < 3:
            done.append("killed")
            raise KeyboardInterrupt
        done.append(x)
        return {"square": x * x}

    def measured(points):
        given = {"a": (1, 2)}, points, square
        measure = import_module("protocol").measure
        return measure(arguments, "squares", "x", *given, shown=lambda about: {"rankers": {}})

    with pytest.raises(KeyboardInterrupt):
        measured(points)
    path = tmp_path / "squares-full.jsonl"
    assert len(read_parts(path)["x"]["results"]) == 2
    content = measured(points)
    assert done == [0, 1, "killed", 2, 3]
    assert [entry["result"]["square"] for entry in content["results"]] == [0, 1, 4, 9]
    assert content == read_parts(path)["x"]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    again = measured(points[3:])
    assert [entry["point"]["x"] for entry in again["results"]] == [3, 0, 1, 2]
    assert done == [0, 1, "killed", 2, 3]


def test_what_a_default_was_is_computed_anew_and_never_drawn(tmp_path, capsys, arguments):
    protocol, synthetic, parameters = map(import_module, ("protocol", "synthetic", "parameters"))

    def shown_at(rate, weight="label"):
        ranker = synthetic.star(5, 1, 0, learning_rate=rate)
        ranker.weight = weight
        return lambda about: parameters.about_rankers({"RankNet*": ranker}, {"RankNet*": {}})

    def measured(rate):
        about = {}, [{"x": 0}], lambda about, x: {}
        return protocol.measure(arguments, "e", "x", *about, shown=shown_at(rate))

    measured(0.1)
    assert capsys.readouterr().err.count("e, x {'x': 0}") == 1
    measured(0.1)
    assert not capsys.readouterr().err
    path = tmp_path / "e-full.jsonl"
    assert protocol.read(path, shown_at(0.1))["x"]["about"]["grids"] == {"RankNet*": {}}
    line = "rankers.RankNet*.params.learning_rate was 0.1 and is 0.01"
    with pytest.raises(ValueError, match=re.escape(f"built today; got others in x: {line}")):
        protocol.read(path, shown_at(0.01))
    with pytest.raises(ValueError, match=r"settled.weight was 'label' and is 'uniform'\. Run"):
        protocol.read(path, shown_at(0.1, weight="uniform"))
    measured(0.01)
    said = capsys.readouterr().err
    assert said.startswith(f"e-full, x: begun anew, since {line}\n")
    assert said.count("e, x {'x': 0}") == 1
    assert protocol.read(path, shown_at(0.01))["x"]["results"]


def test_a_file_of_results_is_read_as_it_was_written(tmp_path):
    def content(rankers, results):
        about = {"protocol": "tiny", "rankers": rankers, "empty": {}}
        return {"about": about, "versions": {"a": "1"}, "machine": {"b": None}, "results": results}

    linear = {"class": "Linear", "params": {"rate": 0.1, "sizes": [{"a": 1}, {}]}, "settled": {}}
    other = linear | {"params": {"rate": 0.2, "sizes": []}}
    deep = {"a": {"b": 0.1 + 0.2, "c": {}}, "list": [{"x": 1}]}
    results = [entry(deep, x=1), entry({"n": 1}, x=2, y=3), entry(deep, x=1), entry({}, x=2)]
    parts = {
        "one": content({"r": linear, "s": other}, results),
        "two": content({"r": other}, results[::-1]),
        "three": content({"r": linear, "s": other}, []),
    }
    path = tmp_path / "file.jsonl"
    import_module("result_files").write_parts(path, parts)
    assert read_parts(path) == parts
    assert list(read_parts(path)) == list(parts)
    text = path.read_text()
    shape = '{"point":{"x":null},"result":{"a":{"b":null,"c":null},"list":null},"seconds":null}'
    assert text.count(shape) == 1
    assert text.count('"class"') == 1


def test_test_labels_are_made_binary_whatever_training_has():
    ndcg, average_precision = import_module("data_sets").binary_metrics(4)
    y, scores, qid = [4, 1, 2, 3, 1], [0.0, 1.0, 2.0, 0.0, 1.0], [0, 0, 0, 1, 1]
    relevant = [float(label >= 2) for label in y]
    assert ndcg(y, scores, qid) == NDCG(k=10)(relevant, scores, qid)
    assert average_precision(y, scores, qid) == AveragePrecision()(relevant, scores, qid)
    ndcg, _ = import_module("data_sets").binary_metrics(2, no_relevant=0.0)
    assert ndcg([1, 0, 0, 0], [1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1]) == 0.5


def test_documents_are_held_out_as_the_authors_do():
    qid = np.repeat([0, 1, 2, 3], [9, 10, 20, 10])
    data = RankingData(np.arange(49.0)[:, None], np.zeros(49), qid)
    splits = import_module("data_sets").document_holdouts(data, 2)
    for split in splits:
        assert len(split.test) == round(0.33 * 40)
        both = np.concatenate([split.train.X, split.test.X]).ravel()
        np.testing.assert_array_equal(np.sort(both), np.arange(9.0, 49))
        assert set(split.train.qid) & set(split.test.qid)
    assert splits[0].name != splits[1].name
    assert not np.array_equal(splits[0].test.X, splits[1].test.X)


def entry(result, **point):
    return {"point": point, "result": result, "seconds": 0.0}


def test_shapes_choose_a_rate_by_validation_and_never_by_test():
    shapes = import_module("shapes")
    by_rate = {0.1: [(0.5, 0.1), (0.5, 0.2), (0.9, 0.3)], 0.2: [(0.6, 0.4), (0.4, 0.9), (0.1, 1.0)]}
    results = []
    for optimizer, better in (("Adam", 0.1), ("gradient descent", 0.0)):
        for rate, folds in by_rate.items():
            point = {"optimizer": optimizer, "activation": "tanh", "learning_rate": rate}
            for fold, (validation, test) in enumerate(folds):
                found = {"validation": validation, "test": test + better * fold}
                results.append(entry(found, **point, fold=fold))
    rows = {name: (ours, theirs) for name, ours, theirs, *_ in shapes.table2_rows(results)}
    assert list(rows) == ["tanh, both at 0.1", "tanh, both at 0.2", "tanh, each at its best"]
    np.testing.assert_allclose(rows["tanh, both at 0.1"][1], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(rows["tanh, each at its best"][1], [0.4, 0.2, 0.3])
    np.testing.assert_allclose(rows["tanh, each at its best"][0], [0.4, 0.3, 0.5])


def test_ranklib_is_timed_by_its_own_command(tmp_path):
    jar = tmp_path / "RankLib.py"
    jar.write_text("import sys; assert sys.argv[1:3] == ['-train', 'x'], sys.argv")
    table3 = import_module("table3")
    assert table3.seconds_of_ranklib([sys.executable, str(jar)], "ListNet", Path("x")) > 0
