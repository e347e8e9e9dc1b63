import csv
import io
import itertools
import json
import re
from importlib.metadata import version

import numpy as np
import polars as pl
import pytest
from command_line import ESCAPE, SMALL, refusal, run

import treerank
from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, get_metric
from treerank.cli.app import COMMANDS, EXIT_CODES, INSTEAD, function_of
from treerank.datasets import read_letor, write_letor, write_parquet
from treerank.exports import formats_for
from treerank.exports.hybrid import HYBRID_FORMATS
from treerank.feature_parts import LinearModel
from treerank.feature_parts.registry import make_feature_part
from treerank.rankers.tree_direct_ranker import trees_for_few

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def loaded(files):
    """The model and the test file, by the library."""
    return treerank.load(files.model), read_letor(files.test, comments=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_its_summary_its_examples_and_exit_codes(name):
    shown = re.sub(r"\s+", " ", run(name, "--help").stdout)  # older versions of typer break lines
    command = COMMANDS[name]
    assert function_of(name).__doc__.startswith(command.summary + "\n")
    assert command.summary in run(code=None).stdout
    for example in command.examples:
        assert re.search(rf"(^|\| )treerank {name} ", example + " ")
        assert example in shown
    assert EXIT_CODES in shown
    assert run("--version").stdout == f"treerank {version('treerank')}\n"


def test_fit_writes_what_the_library_would_have_fitted(files, loaded):
    X, y, qid = read_letor(files.train)
    part = LightGBMTrees(n_estimators=6, num_leaves=4, random_state=0, n_jobs=1)
    ranker = treerank.TreeDirectRanker(part, random_state=0).fit(X, y, qid)
    model, test = loaded
    np.testing.assert_array_equal(model.predict(test.X), ranker.predict(test.X))
    assert type(model.feature_part_) is type(model.feature_part) is LightGBMTrees


def test_fit_tells_of_its_progress_on_stderr_alone(files):
    assert files.fit_output.stdout == ""
    n_documents = len(read_letor(files.train))
    read, *lines = files.fit_output.stderr.splitlines()
    size = f"{n_documents} documents of 12 queries, 8 features"
    assert re.fullmatch(rf"read {re.escape(str(files.train))}: {size}, [0-9. mins]+", read)
    assert lines[0] == "growing trees"
    assert "  6/6" in lines
    assert re.fullmatch(r"fitted 6 trees, [0-9. mins]+", lines[-2])
    assert lines[-1] == f"wrote {files.model}"
    assert ESCAPE not in files.fit_output.stderr


def test_early_stopping_shows_its_metric(files, tmp_path):
    arguments = ["--valid", files.valid, "--early-stopping-rounds", 25, "--metric", "map", *SMALL]
    result = run("fit", files.train, "-m", tmp_path / "m", *arguments, "--n-estimators", 50)
    assert re.search(r"\d+/50  map 0\.\d{4}\n", result.stderr)
    model = treerank.load(tmp_path / "m")
    assert model.metric == "map"
    kept = r"  (\d+) of 50 trees are kept: map was best there\n"
    said = rf"{kept}(?:  compiling.*\n)?fitted \1 of 50 trees, .* s\nwrote"
    assert int(re.search(said, result.stderr)[1]) == model.best_iteration_ < 50


@pytest.mark.parametrize("memory", [[], ["--feature-part", "histogram", "--memory", "1GB"]])
def test_queries_of_the_training_file_in_valid_are_warned_of_by_the_option(files, tmp_path, memory):
    arguments = ["-m", tmp_path / "m", "--valid", files.train, *SMALL, *memory]
    said = "12 of 12 queries of --valid are in the training set, too: hold others out."
    assert said in run("fit", files.train, *arguments).stderr


def test_early_stopping_says_where_it_smooths_its_metric(files, tmp_path):
    said = run("fit", files.train, "--valid", files.valid, "-m", tmp_path / "m", *SMALL).stderr
    assert re.search(r"  \d of 6 trees are kept: smoothed ndcg@10 was best there\n", said)


@pytest.mark.parametrize("memory", [[], ["--memory", "1GB", "--feature-part", "histogram"]])
def test_a_share_of_the_queries_may_be_held_out(files, tmp_path, memory):
    model = tmp_path / "share.treerank"
    run("fit", files.train, "--valid", 0.25, "--model", model, *memory, *SMALL)
    part = HistogramTrees if memory else LightGBMTrees
    part = part(6, num_leaves=4, n_jobs=1, random_state=0)
    ranker = treerank.TreeDirectRanker(part, random_state=0)
    ranker.fit(*read_letor(files.train), eval_set=0.25)
    X = read_letor(files.test).X
    np.testing.assert_array_equal(treerank.load(model).predict(X), ranker.predict(X))
    assert treerank.load(model).calibration_slope_ == ranker.calibration_slope_


@pytest.mark.parametrize("share", ["1", "0", "1.5", "nan"])
def test_what_is_neither_a_file_nor_a_share_is_refused(files, tmp_path, share):
    said = run("fit", files.train, "--valid", share, "-m", tmp_path / "m", code=2).stderr
    assert "must be a data file, or a share of the queries above 0 and below 1" in said


def test_a_share_of_less_than_a_query_is_refused_by_the_name_of_the_option(files, tmp_path):
    said = run("fit", files.train, "--valid", "0.001", "-m", tmp_path / "m", code=1).stderr
    assert "--valid must be a share that holds out a query and leaves one; got 0.001 of" in said


def test_sizes_are_chosen_from_the_data_and_shown_in_one_line(files, tmp_path):
    result = run("fit", files.train, "-m", tmp_path / "m")
    sizes = treerank.load(tmp_path / "m").feature_part_
    (line,) = [line for line in result.stderr.splitlines() if "chosen from" in line]
    expected = f"{sizes.n_estimators_} trees of {sizes.num_leaves_} leaves, learning rate "
    assert line.startswith(f"  {expected}")


def test_few_queries_get_trees_of_two_losses_on_any_number_of_threads(tmp_path):
    X, y, qid = treerank.make_web_search(30, documents_per_query=10, n_features=4, random_state=0)
    data, names = tmp_path / "few.txt", ("all", "one", "plain", "stopped")
    write_letor(data, X, y, qid)
    options = [[], ["--n-jobs", 1], ["--feature-part", "lightgbm"], ["--valid", 0.2]]
    said = [
        run("fit", data, "-m", tmp_path / name, *more).stderr
        for name, more in zip(names, options, strict=True)
    ]
    assert ["30 queries are few: trees of" in text for text in said] == [True, True, False, False]
    assert ["fitted 2 parts" in text for text in said] == [True, True, False, False]
    models = [treerank.load(tmp_path / name) for name in names]
    kinds = [type(model.feature_part_).__name__ for model in models]
    assert kinds == ["Ensemble", "Ensemble", "LightGBMTrees", "LightGBMTrees"]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    expected = trees_for_few(30).set_params(random_state=0)
    expected = treerank.TreeDirectRanker(expected, random_state=0).fit(*read_letor(data))
    np.testing.assert_array_equal(models[0].predict(X), expected.predict(X))


def test_best_fits_the_best_ranker(files, tmp_path):
    options = ["--best", "--n-jobs", 1, "--weight", "uniform", "--random-state", 3]
    result = run("fit", files.train, "-m", tmp_path / "m", *options)
    expected = treerank.TreeDirectRanker.best(weight="uniform", random_state=3)
    jobs = {f"feature_part__{place}__n_jobs": 1 for place in (0, 1)}
    expected.set_params(feature_part__random_state=3, **jobs)
    found = treerank.load(tmp_path / "m")
    assert repr(found) == repr(expected)
    assert re.search(
        r"  3/3\n(?:  compiling.*\n)?fitted 3 times 3 parts, [0-9. mins]+\nwrote ", result.stderr
    )


@pytest.mark.parametrize("name", INSTEAD)
def test_a_command_of_another_name_is_answered_with_ours(name):
    said = run(name, "data.csv", code=2).stderr
    assert f"No such command '{name}': `treerank " in said


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--weight", "uniform"], {"weight": "uniform"}),
        (["--loss", "listnet"], {"loss": "listnet"}),
        (["--random-state", "3"], {"random_state": 3}),
        (["--learning-rate", "0.5"], {"feature_part__learning_rate": 0.5}),
    ],
)
def test_options_reach_the_ranker_and_all_else_is_its_default(files, tmp_path, options, settings):
    run("fit", files.train, "-m", tmp_path / "m", *SMALL, "--n-estimators", 2, *options)
    part = LightGBMTrees(n_estimators=2, num_leaves=4, n_jobs=1)
    expected = treerank.TreeDirectRanker(part, random_state=0).set_params(**settings)
    part.set_params(random_state=expected.random_state)
    found = treerank.load(tmp_path / "m")
    assert found.get_params(deep=False).keys() == expected.get_params(deep=False).keys()
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("part", ["lightgbm", "xgboost", "histogram"])
def test_sparse_features_stay_sparse_all_the_way(files, tmp_path, part):
    model = tmp_path / "model"
    own = ["--feature-part", part, *SMALL, "--sparse"]
    run("fit", files.train, "--valid", files.valid, "--model", model, *own)
    expected, trees = treerank.load(model), make_feature_part(part)
    by_hand = treerank.load(model).set_params(feature_part=trees)
    trees.set_params(n_estimators=6, num_leaves=4, random_state=0, n_jobs=1)
    valid = tuple(read_letor(files.valid, n_features=8, sparse=True))
    by_hand.fit(*read_letor(files.train, sparse=True), eval_set=valid)
    X = read_letor(files.test, sparse=True).X
    np.testing.assert_array_equal(by_hand.predict(X), expected.predict(X))
    for command in ("rank", "evaluate"):
        dense = run(command, model, files.test).stdout
        assert run(command, model, files.test, "--sparse").stdout == dense != ""


def test_rank_lists_every_document_best_first(files, loaded):
    result = run("rank", files.model, files.test)
    lines = list(csv.DictReader(io.StringIO(result.stdout), delimiter="\t"))
    model, data = loaded
    scores = dict(zip(data.doc_ids, model.predict(data.X), strict=True))
    ranks = dict(zip(data.doc_ids, model.rank(data.X, data.qid), strict=True))
    assert len(lines) == len(data)
    queries = dict.fromkeys(data.qid.astype(str))
    assert list(dict.fromkeys(line["qid"] for line in lines)) == list(queries)
    for line in lines:
        assert line["score"] == f"{scores[line['document']]:.7g}"
        assert int(line["rank"]) == ranks[line["document"]]
    places = [int(line["rank"]) for line in lines]
    assert all(b in (1, a + 1) for a, b in itertools.pairwise(places))
    whole = run("rank", files.model, files.test, "--digits", 17).stdout
    rows = [line.split("\t") for line in whole.splitlines()[1:]]
    assert all(float(row[3]) == scores[row[1]] for row in rows)
    top = run("rank", files.model, files.test, "--top", 2).stdout.splitlines()[1:]
    ranked = result.stdout.splitlines()[1:]
    assert top == [line for line, row in zip(ranked, rows, strict=True) if int(row[2]) <= 2]
    trec = run("rank", files.model, files.test, "--format", "trec").stdout.splitlines()
    assert trec == [f"{qid} Q0 {name} {place} {score} treerank" for qid, name, place, score in rows]
    numbered = run("rank", files.model, files.valid).stdout.splitlines()[1:]
    numbers = sorted(int(line.split("\t")[1]) for line in numbered)
    assert numbers == list(range(1, len(numbered) + 1))  # where there is no id


@pytest.mark.parametrize(
    ("format", "query"),
    [("tsv", "a\tb"), ("tsv", "a\nb"), ("trec", "red shoes"), ("trec", "x\nevil Q0 d9 1 99 z")],
)
def test_an_id_that_would_be_more_than_a_field_is_refused(files, loaded, tmp_path, format, query):
    data, output = tmp_path / "d.parquet", tmp_path / "run"
    write_parquet(data, loaded[1].X[:2], [1, 0], ["x", query])
    said = run("rank", files.model, data, "--format", format, "-o", output, code=1).stderr
    assert "ids must be without" in said
    assert ("Write --format tsv." if format == "trec" else "Change them in the file.") in said
    assert not output.exists()


def test_an_output_file_is_whole_or_not_there(files, tmp_path, monkeypatch):
    output = tmp_path / "ranked.tsv"
    run("rank", files.model, files.test, "-o", output)
    whole = output.read_text()
    assert whole == run("rank", files.model, files.test).stdout

    def full_disk(*_):
        raise OSError(28, "No space left on device", str(output))

    monkeypatch.setattr("treerank.files.replaced.os.replace", full_disk)
    result = run("rank", files.model, files.test, "--top", 1, "-o", output, code=1)
    assert result.stderr.endswith(f"treerank: {output}: No space left on device\n")
    assert output.read_text() == whole
    assert list(tmp_path.iterdir()) == [output]


def test_evaluate_says_what_the_metrics_say(files, loaded):
    model, (X, y, qid) = loaded
    metrics = ["--metric", "p@3,err"]  # or one by one
    result = run("evaluate", files.model, files.test, *metrics, "--quiet")
    header, means = result.stdout.splitlines()
    assert result.stderr == ""
    assert header == "qid\tp@3\terr"
    expected = [get_metric(name)(y, model.predict(X), qid) for name in ("p@3", "err")]
    assert means == "all\t" + "\t".join(f"{value:.6f}" for value in expected)
    lines = run("evaluate", files.model, files.test, "--per-query").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["qid", *map(str, range(977, 983)), "all"]
    assert lines[1] == "977\tnan\tnan\tnan"


def test_json_holds_the_same_in_full(files, loaded):
    model, (X, y, qid) = loaded
    report = json.loads(run("evaluate", files.model, files.test, "--json", "--per-query").stdout)
    values = get_metric("ndcg@10").per_query(y, model.predict(X), qid)
    assert report["metrics"]["ndcg@10"] == get_metric("ndcg@10")(y, model.predict(X), qid)
    assert (report["documents"], report["queries"]) == (len(y), 6)
    assert [entry["qid"] for entry in report["per_query"]] == np.unique(qid).tolist()
    assert report["per_query"][0]["ndcg@10"] is None  # query 1000 - 23 has nothing to find
    found = [entry["ndcg@10"] for entry in report["per_query"]]
    np.testing.assert_array_equal(np.array(found, dtype=float), values)


@pytest.mark.parametrize("memory", [[], ["--memory", "1GB"]])
def test_queries_that_the_model_was_fitted_to_are_warned_of(files, memory):
    said = "The ranker was fitted to 12 of the 12 queries, so its values are too high."
    assert said in run("evaluate", files.model, files.train, *memory).stderr.replace("\n", " ")
    assert "warning" not in run("evaluate", files.model, files.test, *memory).stderr
    assert "warning" not in run("rank", files.model, files.train, *memory).stderr


def test_dates_as_queries_are_text_in_json(files, loaded, tmp_path):
    X, y, _ = loaded[1]
    dates = np.arange(len(y)).astype("M8[D]")
    write_parquet(tmp_path / "d.parquet", X, y, dates)
    printed = run("evaluate", files.model, tmp_path / "d.parquet", "--json", "--per-query").stdout
    assert json.loads(printed)["per_query"][0]["qid"] == "1970-01-01"


def test_a_query_may_be_named_as_the_mean_is(files, tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 8))
    write_letor(tmp_path / "t", X, [1, 0, 0, 0, 1, 0], ["all"] * 3 + ["b"] * 3)
    lines = run("evaluate", files.model, tmp_path / "t", "--per-query", "--metric", "map").stdout
    names, values = zip(*(line.split("\t") for line in lines.splitlines()[1:]), strict=True)
    assert names == ("all", "b", "all")
    assert float(values[2]) == pytest.approx((float(values[0]) + float(values[1])) / 2, abs=1e-6)


def test_labels_without_relevance_end_in_a_warning_and_nan(files, tmp_path):
    write_letor(tmp_path / "t", np.zeros((3, 8)), np.zeros(3), [1, 1, 2])
    result = run("evaluate", files.model, tmp_path / "t", "--metric", "map", "--json")
    assert json.loads(result.stdout)["metrics"] == {"map": None}
    assert "treerank: warning: map is undefined for every query." in result.stderr


def test_a_sample_is_the_same_again_and_replaces_nothing(tmp_path):
    options = ("--queries", 10, "--random-state", 3)
    run("sample", tmp_path / "a" / "b", *options)
    run("sample", tmp_path / "c", *options)
    sets = {name: read_letor(tmp_path / "c" / f"{name}.txt") for name in ("train", "vali", "test")}
    for name, data in sets.items():
        file = f"{name}.txt"
        assert (tmp_path / "c" / file).read_bytes() == (tmp_path / "a/b" / file).read_bytes()
        assert len(np.unique(data.y)) > 1
    assert [len(np.unique(data.qid)) for data in sets.values()] == [6, 2, 2]
    assert len(set().union(*(data.qid.tolist() for data in sets.values()))) == 10
    again = run("sample", tmp_path / "c", *options, code=1).stderr
    assert again.endswith("train.txt: is there already; --force replaces it.\n")


def test_demo_compares_rankers_at_their_defaults_and_writes_a_report(tmp_path):
    result = run("demo", "--queries", "20", "--output", tmp_path / "page.html")
    rows = [line.split()[0] for line in result.stdout.splitlines() if " ± " in line]
    assert rows[:2] == ["TreeDirectRanker", "LGBMRanker"]
    said = " ".join(result.stderr.split())
    assert "TreeDirectRanker, LGBMRanker" in said
    assert "learn from 20 queries at their defaults, and are tested on 80 others." in said
    assert f"wrote {tmp_path / 'page.html'}, " in said
    assert f"Open it in a browser: {(tmp_path / 'page.html').resolve().as_uri()}" in said
    assert "One test set" in result.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "TreeDirectRanker beside LGBMRanker" in page


def test_export_writes_what_the_library_would(files, loaded, tmp_path):
    result = run("export", files.model, tmp_path / "a", "--format", "solr", "--check", files.test)
    report = treerank.export(loaded[0], tmp_path / "b", format="solr", check=tuple(loaded[1]))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert result.stdout == f"{report}\n"
    assert "0 pairs change order" in result.stdout


def test_export_checks_by_documents_without_labels_or_with_ids(files, loaded, tmp_path):
    table = tmp_path / "documents.parquet"
    X = pl.DataFrame(loaded[1].X, schema=[f"f{i}" for i in range(8)])
    X = X.with_columns(query=pl.Series(loaded[1].qid))
    X.write_parquet(table)
    command = ("export", files.model, tmp_path / "model", "--format", "solr", "--check", table)
    found = run(*command)
    assert "0 pairs change order." in found.stdout, found.stderr
    assert "Write --label NAME" in run(*command, "--label", "grade", code=1).stderr
    assert "Write --query NAME" in run(*command, "--query", "search", code=1).stderr
    X.with_columns(doc=pl.Series(range(len(X))), label=1).write_parquet(table)
    assert f"solr: {len(X)} documents" in run(*command, "--id", "doc").stdout


def test_trees_of_other_programs_rank_files_in_batches(files, tmp_path):
    treerank.load(files.model).feature_part_.booster_.save_model(tmp_path / "model.txt")
    by = [run("rank", tmp_path / "model.txt", files.test, *o) for o in ([], ["--memory", "1GB"])]
    assert by[0].stdout == by[1].stdout


@pytest.mark.parametrize("format", ["opensearch", "solr", "solr-8"])
def test_export_writes_a_feature_set_with_the_names_of_the_model(files, tmp_path, format):
    paths = tmp_path / "model.json", tmp_path / "features.json"
    options = ["--format", format, "--check", files.test, "--features", paths[1]]
    run("export", files.model, paths[0], *options)
    features = json.loads(paths[1].read_text())
    features = features if "solr" in format else features["featureset"]["features"]
    assert ("NaN" in paths[1].read_text()) == (format == "solr")
    assert [feature["name"] for feature in features] == [f"f{i}" for i in range(8)]
    assert '"f0"' in paths[0].read_text()


def test_export_uses_the_feature_set_that_the_engine_has(files, tmp_path):
    path, features = tmp_path / "model.json", tmp_path / "features.json"
    options = ["--format", "opensearch", "--check", files.test, "--features", features]
    options += ["--name", "shop-2026-11-02", "--feature-set", "shop"]
    result = run("export", files.model, path, *options)
    assert "POST _ltr/_featureset/shop/_createmodel" in result.stdout
    assert json.loads(path.read_text())["model"]["name"] == "shop-2026-11-02"
    assert f"wrote {features}: send it by PUT _ltr/_featureset/shop" in result.stderr
    X, y, qid = treerank.read_letor(files.test, n_features=8)
    treerank.export(
        treerank.load(files.model),
        tmp_path / "python.json",
        format="opensearch",
        check=(X, y, qid),
        name="shop-2026-11-02",
        feature_set="shop",
    )
    assert path.read_bytes() == (tmp_path / "python.json").read_bytes()
    for message, *wrong in (
        (
            "--feature-set must come with the name of the model; got 'shop' alone. Write --name",
            "solr",
        ),
        ("--feature-set must be left out for format 'c', which has no", "c", "--name", "shop"),
    ):
        refused = run(
            "export",
            files.model,
            tmp_path / "no",
            "--feature-set",
            "shop",
            "--format",
            *wrong,
            code=1,
        )
        assert message in refused.stderr
    assert not (tmp_path / "no").exists()


def test_export_refuses_before_it_writes(files, tmp_path):
    output = tmp_path / "model.json"
    features, unchecked = tmp_path / "features.json", ("solr", "--allow", "unchecked")
    for code, message, *options in (
        (1, "--check must be given: documents; --allow unchecked accepts this", "solr"),
        (2, "'solr'? See `", "solar"),
        (2, "got 'word'", "word"),
        (2, "got 'all'", "c", "--allow", "all"),
        (1, "format must be one of", "c", "--features", features),
        (2, "--features: must be a file to write, such as f", *unchecked, "--features", "a,b"),
        (1, "model.json: the features must not be written to", *unchecked, "--features", output),
    ):
        assert message in run("export", files.model, output, "--format", *options, code=code).stderr
    assert not output.exists()
    assert not features.exists()
    allowed = run("export", files.model, output, "--format", *unchecked)
    assert "warning: Format 'solr' may score some documents differently" in allowed.stderr
    assert output.exists()


def test_a_file_without_names_is_read_in_the_order_of_a_model_with_names(files, tmp_path):
    table, model = tmp_path / "train.csv", tmp_path / "m"
    run("convert", files.train, table)
    run("fit", table, "-m", model, *SMALL)
    result = run("evaluate", model, files.test)
    assert f"{files.test}: features are taken in the order of the model; 1 is " in result.stderr
    assert "warning" not in result.stderr


def test_the_label_is_named_for_the_table_where_the_other_file_is_letor(files, tmp_path):
    model = tmp_path / "m"
    paths = {name: tmp_path / f"{name}.csv" for name in ("train", "valid")}
    for name, path in paths.items():
        run("convert", getattr(files, name), path)
        path.write_text(path.read_text().replace('"label"', '"grade"', 1))
    said = []
    for train, valid in [(paths["train"], files.valid), (files.train, paths["valid"])]:
        run("fit", train, "--valid", valid, "--label", "grade", "-m", model, *SMALL)
        said.append(run("evaluate", model, files.test, "-q").stdout)
    assert said[0] == said[1]


def test_formats_that_only_python_can_write_are_not_listed(tmp_path):
    X, y, qid = treerank.make_web_search(20, n_features=2, random_state=0)
    frame = pl.DataFrame(X, schema=["bm25.min_max", "dense.min_max"])
    ranker = TreeDirectRanker(LinearModel(positive=True)).fit(frame, y, qid)
    assert {*HYBRID_FORMATS} <= {*formats_for(ranker)}
    ranker.save(tmp_path / "m")
    listed = run("export", tmp_path / "m", "--formats").stdout.split()
    assert "solr" in listed
    assert not {*HYBRID_FORMATS} & {*listed}
    for name in HYBRID_FORMATS:
        said = refusal("export", tmp_path / "m", "o", "--format", name, code=2)
        assert "In Python, treerank.export writes it." in said


def test_formats_are_listed_and_one_that_cannot_hold_the_model_is_refused_before_the_fit(
    files, loaded, tmp_path
):
    listed = run("export", files.model, "--formats").stdout.splitlines()
    assert listed == ["format", *formats_for(loaded[0])]
    for options, message in (
        (["o.json", "--formats"], "--formats: must come with a model alone"),
        (["--formats", "--format", "c"], "--formats: must come with a model alone"),
        ([], "Missing argument 'OUTPUT', or --formats to list"),
        (["o.json"], "Missing option '--format', or --formats to list"),
    ):
        assert message in run("export", files.model, *options, code=2).stderr
    table, model = tmp_path / "t.csv", tmp_path / "m"
    run("convert", files.train, table)
    colors = pl.read_csv(table).with_columns(color=pl.lit("red"))
    colors[5, "color"] = "blue"
    colors.write_csv(table)
    options = ["fit", table, "-m", model, *SMALL, "--export-to"]
    said = refusal(*options, "onnx", "--export-to", "solr", "-q")
    assert "format 'solr' has no categories; got some in column 'color'" in said
    assert not model.exists()
    memory = ["--feature-part", "histogram", "--memory", "1M", "-q"]
    assert "format 'solr' has no categories" in refusal(*options, "solr", *memory)
    run(*options, "onnx", "--export-to", "c")
    assert "onnx" in run("export", model, "--formats").stdout
    assert "--export-to must be one of" in run(*options, "word", code=2).stderr
    run("fit", files.train, "-m", model, *SMALL, "--export-to", "solr")
    best = ["fit", files.train, "-m", model, "--best", "--export-to", "lightgbm", "-q"]
    assert "format 'lightgbm' has no words for trees and a linear model" in refusal(*best)
