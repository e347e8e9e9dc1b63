"""Columns: a model remembers label, queries, ids and the date of days; positions of clicks."""

from datetime import date
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
import xgboost
from command_line import SMALL, refusal, run

import treerank
from treerank import LightGBMTrees, TreeDirectRanker
from treerank.cli.report import _column_scores
from treerank.clicks import simulate_clicks
from treerank.datasets import read_letor, write_letor
from treerank.forests.reading import read_forest
from treerank.rankers import ForestRanker
from treerank.rankers.model_file import columns_in

pytestmark = pytest.mark.slow
NAMED = ["--label", "grade", "--query", "search", "--id", "sku"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A table with columns of other names, and a model that was fitted to it."""
    folder = tmp_path_factory.mktemp("shop")
    X, y, qid = treerank.make_web_search(30, documents_per_query=12, n_features=4, random_state=0)
    table = pl.DataFrame(X, schema=["a", "b", "c", "d"]).with_columns(
        grade=y.astype(int), search=qid, sku=pl.Series([f"p{i}" for i in range(len(y))])
    )
    table.write_csv(folder / "shop.csv")
    run("fit", folder / "shop.csv", "-m", folder / "m", *NAMED, *SMALL)
    return folder, table


def test_columns_are_named_once(shop):
    folder, _ = shop
    model, path = folder / "m", folder / "shop.csv"
    assert columns_in(model) == {"label": "grade", "query": "search", "document": "sku"}
    for command in (["evaluate"], ["rank"], ["compare"]):
        printed = run(*command, model, path, "-q").stdout
        named = NAMED if command != ["rank"] else NAMED[2:]
        assert printed == run(*command, model, path, "-q", *named).stdout
    assert "p0" in run("rank", model, path, "-q").stdout
    assert "RankSVM" in run("compare", model, path, "-q", "--ranker", "RankSVM").stdout
    export = ["export", model, folder / "o.json", "--format", "solr", "--check", path]
    assert "ndcg@10" in run(*export).stdout
    page = folder / "page.html"
    run("report", model, path, "-o", page, "-q")
    assert "p0" in page.read_text(encoding="utf-8")


SIZES = {"size": ["38", "39", "M"], "code": ["01", "x", "02"], "day": ["2026-01-01", "?", "new"]}


def test_categories_of_training_stay_text_where_all_cells_are_numbers_or_dates(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    table = pl.DataFrame({"label": rng.integers(0, 2, n), "query": np.repeat(range(6), 20)})
    table = table.with_columns(
        a=rng.normal(size=n), **{name: pl.Series(rng.choice(SIZES[name], n)) for name in SIZES}
    )
    train, today, model = tmp_path / "train.csv", tmp_path / "today.csv", tmp_path / "m"
    table.write_csv(train)
    is_today = pl.col("size") != "M"
    constant = {"code": pl.lit("01"), "day": pl.lit("2026-01-01")}
    table.filter(is_today).with_columns(**constant).write_csv(today)
    memory = ["--memory", "1M"]
    for more in ([], [*memory, "--feature-part", "histogram"]):
        run("fit", train, "-m", model, *SMALL, "--valid", today, *more)
    run("fit", train, "-m", model, *SMALL, "--days-since", "2026-01-01")
    printed = run("rank", model, today, "-q").stdout
    assert printed == run("rank", model, today, "-q", *memory).stdout
    frame = pl.read_csv(today, schema_overrides=dict.fromkeys(SIZES, pl.String))
    scores = treerank.load(model).predict(frame.select("a", *SIZES))
    shown = [line.split("\t")[1::2] for line in printed.splitlines()[1:]]
    assert {int(row): float(score) for row, score in shown} == pytest.approx(
        dict(enumerate(scores, 1)), rel=1e-6
    )
    page, c_file = tmp_path / "page.html", tmp_path / "m.c"
    run("evaluate", model, today)
    run("report", model, today, "-o", page, "--train", train, "--baseline", model)
    run("compare", model, today)
    run("export", model, c_file, "--format", "c", "--check", today)
    run("fit", train, "-m", model, *SMALL, "--drop", "day")
    run("compare", model, today, "--ranker", "MART", "--drop", "day")


def test_columns_of_a_model_are_found_below_empty_lines_and_whatever_lines_end_with(shop, tmp_path):
    folder, _ = shop
    model, text = folder / "m", (folder / "shop.csv").read_bytes()
    printed = [run(word, model, folder / "shop.csv", "-q").stdout for word in ("rank", "evaluate")]
    for content in (b"\n" + text, text.replace(b"\n", b"\r")):
        (tmp_path / "t.csv").write_bytes(content)
        again = [run(word, model, tmp_path / "t.csv", "-q").stdout for word in ("rank", "evaluate")]
        assert again == printed


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["fit", "shop.csv", "--id", "grade"], "--label and --id must be different columns"),
        (["fit", "shop.csv", "--query", "sku"], "--query and --id must be different columns"),
        (["fit", "shop.csv", "--n-features", "3"], "--n-features must not be set for a file of"),
        (["fit", "shop.txt"], "--label must not be set for a file of format LETOR"),
        (["fit", "shop.csv", "--days-since", "2026-99-01"], "--days-since must be a date such as"),
        (["export", "m", "o.sql", "--format", "sql", "--version", "3"], "--version must be left"),
        (["export", "m", "o.json", "--format", "solr", "--version", "x"], "--version must be text"),
    ],
)
def test_refusals_name_the_options_that_are_typed(shop, command, message):
    folder, _ = shop
    name, file, *options = command
    fitted = ["-m", folder / "other", *NAMED] if name == "fit" else []
    assert message in refusal(name, folder / file, *fitted, *options)


def test_names_with_commas_stand_in_quotes(shop, tmp_path):
    _, table = shop
    table.rename({"a": "price, net", "b": "tax"}).write_csv(tmp_path / "t.csv")
    for option, names in {"--features": '"price, net", tax', "--drop": '"price, net",d'}.items():
        run("convert", tmp_path / "t.csv", tmp_path / "o.csv", *NAMED, option, names)
        kept = pl.read_csv(tmp_path / "o.csv").columns[3:]
        assert kept == (["price, net", "tax"] if option == "--features" else ["tax", "c"])


def test_what_is_given_counts_and_what_a_table_lacks_is_its_default(shop):
    folder, table = shop
    other = folder / "other.parquet"
    renamed = table.rename({"search": "query", "grade": "label"}).drop("sku")
    renamed.with_columns(clicks=pl.lit(0)).write_parquet(other)
    expected = run("evaluate", folder / "m", folder / "shop.csv", "-q").stdout
    assert run("evaluate", folder / "m", other, "-q").stdout == expected
    said = run("evaluate", folder / "m", other, "-q", "--label", "clicks").stdout
    assert "nan" in said
    assert run("rank", folder / "m", other, "-q").stdout.splitlines()[1].split("\t")[1].isdigit()
    said = refusal("evaluate", folder / "m", other, "-q", "--label", "no")
    assert "the column for label must exist" in said
    assert "Write --label NAME for another." in said


def test_models_of_two_labels_ask_for_one(shop):
    folder, table = shop
    path = folder / "both.csv"
    table.with_columns(sold=(pl.col("grade") > 1).cast(int)).write_csv(path)
    drop = ["--drop", "grade", "--label", "sold", *NAMED[2:]]
    run("fit", path, "-m", folder / "sold.m", *drop, *SMALL)
    said = refusal("compare", folder / "m", folder / "sold.m", path, "-q")
    assert "--label must be given: " in said
    assert " with grade and " in said
    assert "m  " in run("compare", folder / "m", folder / "sold.m", path, "-q", *NAMED[:2]).stdout


def test_a_model_of_a_file_without_columns_remembers_none(files):
    assert columns_in(files.model) == {}


def test_clicks_at_positions_teach_what_the_library_learns_from_them(tmp_path):
    X, y, qid = treerank.make_web_search(40, documents_per_query=15, n_features=5, random_state=0)
    log = simulate_clicks(y, qid, X[:, 4], random_state=0)
    rows = log.items.document[log.item]
    frame = pl.DataFrame(X[rows], schema=["a", "b", "c", "d", "e"])
    columns = {"clicked": np.asarray(log.clicked, dtype=int), "query": qid[rows]}
    frame.with_columns(**columns, rank=log.position).write_csv(tmp_path / "clicks.csv")
    command = ["fit", tmp_path / "clicks.csv", "-m", tmp_path / "m", *SMALL, "--label", "clicked"]
    result = run(*command, "--position", "rank")
    trees = LightGBMTrees(6, num_leaves=4, n_jobs=1, random_state=0)
    ranker = TreeDirectRanker(trees, random_state=0)
    ranker.fit(frame, columns["clicked"], columns["query"], position=log.position)
    model = treerank.load(tmp_path / "m")
    assert model.feature_names_in_.tolist() == frame.columns
    np.testing.assert_array_equal(model.predict(frame), ranker.predict(frame))
    np.testing.assert_array_equal(model.propensities_, ranker.propensities_)
    shown = f"over the first: 1: 1.00, 2: {ranker.propensities_[1]:.2f}, "
    assert f"  how often users look at a position, {shown}" in result.stderr
    said = refusal(*command, "--position", "place", "-q")
    assert "column 'place': the column for position must exist" in said
    assert "Write --position NAME for another." in said


def test_dates_are_counted_from_the_date_of_the_model(shop, tmp_path, monkeypatch):
    _, table = shop
    days = [f"2026-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(len(table))]
    dated = table.with_columns(at=pl.Series(days).str.to_date())
    for suffix in ("csv", "parquet"):
        path, model = tmp_path / f"t.{suffix}", tmp_path / suffix
        getattr(dated, f"write_{suffix}")(path)
        assert "Write --days-since 2026-01-01 for the" in refusal("fit", path, "-m", model, *NAMED)
        run("fit", path, "-m", model, *NAMED, *SMALL, "--days-since", "2026-01-01")
        assert columns_in(model)["days_since"] == "2026-01-01"
        ranker = treerank.load(model)
        by_hand = (dated["at"] - date(2026, 1, 1)).dt.total_days()
        scores = ranker.predict(dated.with_columns(at=by_hand))
        lines = run("rank", model, path, "-q", "--digits", "17").stdout.splitlines()[1:]
        found = {row[1]: float(row[3]) for row in (line.split("\t") for line in lines)}
        assert found == dict(zip(dated["sku"], scores.tolist(), strict=True))
        for command in (["evaluate"], ["rank"], ["compare"], ["evaluate", "--memory", "1M"]):
            printed = run(command[0], model, path, "-q", *command[1:]).stdout
            given = ["--days-since", "2026-01-01"]
            assert printed == run(command[0], model, path, "-q", *command[1:], *given).stdout
        other = run("rank", model, path, "-q", "--days-since", "2020-01-01").stdout
        assert other != run("rank", model, path, "-q").stdout
        run("report", model, path, "-o", tmp_path / "page.html", "-q")
        export = ["export", model, tmp_path / "o.json", "--format", "solr", "--check", path]
        exported = run(*export)
        assert "ndcg@10" in exported.stdout
        assert "o.json: takes dates as numbers, the days since 2026-01-01" in exported.stderr
    run("fit", path, "-m", tmp_path / "late", *NAMED, *SMALL, "--days-since", "2026-06-01")
    dates = {"at": (dated["at"] - date(2026, 6, 1)).dt.total_days()}
    baseline = []
    monkeypatch.setattr(
        "treerank.cli.report.make_report",
        lambda *_, **options: baseline.append(options["baseline"]) or Mock(),
    )
    run("report", model, path, "--baseline", tmp_path / "late", "-o", tmp_path / "page.html", "-q")
    scores = treerank.load(tmp_path / "late").predict(dated.with_columns(**dates))
    np.testing.assert_array_equal(baseline[0], scores)  # not by the date of the other model
    said = refusal("compare", model, tmp_path / "late", path)
    assert "--days-since must be given" in said
    assert "2026-06-01" in said
    converted = tmp_path / "c.csv"
    run("convert", path, converted, *NAMED, "--days-since", "2026-01-01", "-q")
    assert pl.read_csv(converted)["at"].to_list() == pytest.approx(by_hand.to_list())
    letor = ["evaluate", model, tmp_path / "none.txt", "--days-since", "2026-01-01"]
    assert "--days-since must not be set for a file of" in run(*letor, code=1).stderr


def test_a_file_for_validation_has_the_dates_of_the_training_file(shop, tmp_path):
    _, table = shop
    days = pl.Series([f"2026-01-{1 + i % 28:02d}" for i in range(len(table))]).str.to_date()
    table.with_columns(at=days).write_parquet(tmp_path / "t.parquet")
    path, options = tmp_path / "t.parquet", [*NAMED, *SMALL, "--days-since", "2026-01-01"]
    run("fit", path, "-m", tmp_path / "m", "--valid", path, *options)
    memory = ["--memory", "1M", "--feature-part", "histogram"]
    run("fit", path, "-m", tmp_path / "n", *memory, *options)
    for model in ("m", "n"):
        assert columns_in(tmp_path / model)["days_since"] == "2026-01-01"
        run("evaluate", tmp_path / model, path, "-q")


def test_embeddings_of_a_table_are_features_of_every_command(shop, tmp_path):
    _, table = shop
    vectors = np.random.default_rng(0).normal(size=(len(table), 3)).astype(np.float32)
    lists = [None if row == 7 else vector.tolist() for row, vector in enumerate(vectors)]
    embedded = table.with_columns(v=pl.Series(lists, dtype=pl.List(pl.Float32)))
    path, by_entry = tmp_path / "t.parquet", tmp_path / "t.csv"
    embedded.write_parquet(path)
    run("convert", path, by_entry, *NAMED, "-q")
    assert pl.read_csv(by_entry).columns[-3:] == ["v_0", "v_1", "v_2"]
    said = run("fit", path, "-m", tmp_path / "m", "--valid", path, *NAMED, *SMALL).stderr
    assert said.count(", 7 features, ") == 2
    run("fit", by_entry, "-m", tmp_path / "n", "--valid", by_entry, *NAMED, *SMALL)
    memory = ["--memory", "1M", "--feature-part", "histogram"]
    run("fit", path, "-m", tmp_path / "h", *memory, *NAMED, *SMALL)
    ranker = treerank.load(tmp_path / "m")
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c", "d", "v_0", "v_1", "v_2"]
    for command in (["evaluate"], ["rank"], ["evaluate", "--memory", "1M"]):
        printed = {
            run(command[0], tmp_path / model, data, "-q", *command[1:]).stdout
            for model in ("m", "n")
            for data in (path, by_entry)
            if command != ["rank"] or (model, data) == ("m", path)
        }
        assert len(printed) == 1
    other = embedded.with_columns(v=pl.Series([[1.0]] * len(table)))
    other.write_parquet(tmp_path / "other.parquet")
    said = refusal("evaluate", tmp_path / "m", tmp_path / "other.parquet", "-q")
    assert "Column 'v' of X must have 3 numbers in each row, as in fit; got 1 in row 0" in said
    compared = run("compare", tmp_path / "m", tmp_path / "h", path, "-q").stdout
    assert "ndcg" in compared.lower()
    run("report", tmp_path / "m", path, "-o", tmp_path / "page.html", "-q", "--train", path)
    assert "v_1" in (tmp_path / "page.html").read_text(encoding="utf-8")
    scores = [_column_scores(data, "v_1") for data in (path, by_entry)]
    np.testing.assert_allclose(*scores, rtol=1e-6)
    for name in ("v_3", "a_0"):
        said = refusal("report", tmp_path / "m", path, "--baseline", name, "-q")
        assert "--baseline must be a file or one of ['a', 'b', 'c', 'd', 'grade'" in said
        assert said.endswith(f"; got {name}.\n")
    export = ["export", tmp_path / "m", tmp_path / "o.py", "--format", "python", "--check", path]
    assert "0 pairs change order" in run(*export).stdout
    run("convert", path, tmp_path / "t.txt", *NAMED[:4], "--drop", "sku", "-q")
    assert read_letor(tmp_path / "t.txt").X.shape == (len(table), 7)


def xgboost_files(folder, names, n_unused):
    """Write LETOR rows, a model of XGBoost that does not use the last features, and its dump."""
    X, y, qid = treerank.make_web_search(30, documents_per_query=12, n_features=11, random_state=0)
    X[:, 11 - n_unused :] = 1
    write_letor(folder / "test.txt", X, y, qid)
    data = xgboost.DMatrix(X, y, qid=qid, feature_names=names)
    model = xgboost.train({"objective": "rank:ndcg", "nthread": 1}, data, 30)
    model.save_model(folder / "model.json")
    (folder / "dump.json").write_text("[" + ",".join(model.get_dump(dump_format="json")) + "]")


def test_features_with_names_in_no_order_are_not_read_from_letor_rows(tmp_path):
    names = [f"feature_{j + 1}" for j in range(11)]
    xgboost_files(tmp_path, names, n_unused=0)
    dump, test = tmp_path / "dump.json", tmp_path / "test.txt"
    ForestRanker(read_forest(dump)).save(tmp_path / "saved")
    export = "export", dump, tmp_path / "new.json", "--format", "json", "--check", test
    commands = [[c, dump, test] for c in ("evaluate", "rank", "report", "compare")]
    for command in [*commands, export, ["rank", tmp_path / "saved", test, "--memory", "1GB"]]:
        said = refusal(*command)
        assert f"{test}: must be a CSV or Parquet file, whose columns have names" in said
    run("convert", test, tmp_path / "test.csv")
    ForestRanker(read_forest(dump, feature_names=names)).save(tmp_path / "named")
    found = [
        run("evaluate", tmp_path / model, tmp_path / data, "-q").stdout
        for model, data in [("model.json", "test.txt"), ("dump.json", "test.csv"),
                            ("named", "test.txt")]
    ]  # fmt: skip
    assert found[0] == found[1] == found[2]


def test_data_may_have_features_that_come_after_all_that_trees_use(tmp_path):
    xgboost_files(tmp_path, None, n_unused=2)
    model, dump, test = (tmp_path / name for name in ("model.json", "dump.json", "test.txt"))
    ranker = ForestRanker(read_forest(model))
    treerank.export(ranker, tmp_path / "model.xml", format="ranklib", check=read_letor(test))
    expected = run("evaluate", model, test, "-q").stdout
    table = pl.DataFrame(read_letor(test).X, schema=[f"f{j}" for j in range(11)])
    table = table.select(reversed(table.columns)).with_columns(
        label=read_letor(test).y, query=read_letor(test).qid
    )
    table.write_csv(tmp_path / "test.csv")
    run("convert", test, tmp_path / "test.parquet")
    for trees in (dump, tmp_path / "model.xml"):
        for data in (test, tmp_path / "test.csv", tmp_path / "test.parquet"):
            for memory in ([], ["--memory", "1GB"]):
                assert run("evaluate", trees, data, "-q", *memory).stdout == expected
    assert run("compare", model, dump, test, "-q", "--metric", "map").stdout.count("±") == 2
    run("convert", test, tmp_path / "other.csv")
    text = (tmp_path / "other.csv").read_text().replace("feature_", "column_")
    (tmp_path / "other.csv").write_text(text)
    said = refusal("rank", dump, tmp_path / "other.csv", "-q")
    assert "there must be 9 columns of features; got 11" in said
