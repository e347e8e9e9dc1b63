import re

import numpy as np
import polars as pl
import pytest
from command_line import SMALL, refusal, run
from sklearn.base import clone

from treerank import HistogramTrees, QueryTimeSplit, TreeDirectRanker, compare, export
from treerank.baselines import PRank, RankSVM
from treerank.datasets.letor import write_letor
from treerank.metrics import get_metric

pytestmark = pytest.mark.slow


@pytest.fixture
def letor_file(tmp_path):
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(20), 6)
    X = rng.normal(size=(120, 3)).round(3)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=120)), 0, 2)
    write_letor(tmp_path / "all.txt", X, y, qid)
    return tmp_path / "all.txt", (X, y, qid)


def row_of(text):
    """Return the name and the values of the ranker, without its seconds."""
    return text.splitlines()[2].split()[:-1]


def test_the_summary_is_the_librarys(letor_file, tmp_path):
    path, data = letor_file
    table = tmp_path / "table.md"
    options = ("--ranker", "PRank", "--folds", 3, "--convention", "letor4", "--output", table)
    command = ["compare", path, *options, "--metric", "ndcg@3", "--store", tmp_path / "fits"]
    result = run(*command, "--notes")
    rankers = {"PRank": PRank()}
    expected = compare(rankers, data, cv=3, metrics=("ndcg@3",), convention="letor4").summary()
    assert row_of(result.stdout) == row_of(f"{expected}")
    assert result.stdout.splitlines()[3:] == f"{expected}".splitlines()[3:]
    assert run(*command).stdout.splitlines() == result.stdout.splitlines()[:3]
    assert re.search(
        r"compared PRank on 3 splits, [0-9. mins]+\n$",
        result.stderr.replace(f"wrote {table}\n", ""),
    )
    assert "| PRank |" in table.read_text(encoding="utf-8")
    assert "3/3  PRank on split 3" in result.stderr
    assert len(list((tmp_path / "fits").iterdir())) == 3


def test_arrows_are_explained_without_notes(letor_file, tmp_path):
    path, (X, y, qid) = letor_file
    for name, labels in {"good": y, "equal": y, "bad": 2 - y}.items():
        TreeDirectRanker("linear").fit(X, labels, qid).save(tmp_path / name)
    explained = "↑ ↓: significantly better or worse than the best; --notes has the tests"
    differ = run("compare", tmp_path / "good", tmp_path / "bad", path)
    assert "↓" in differ.stdout
    assert explained in differ.stderr
    assert explained not in run("compare", tmp_path / "good", tmp_path / "equal", path).stderr
    assert explained not in run("compare", tmp_path / "good", tmp_path / "bad", path, "-q").stderr


@pytest.mark.parametrize(
    "settings", ["ties='stable', gain='linear'", "ties='stable', gain=(0.0, 1.0, 3.0)"]
)
def test_a_comma_in_brackets_is_within_a_metric(letor_file, settings):
    name = f"ndcg({settings})@3"
    assert get_metric(name).name == name
    options = ["--ranker", "PRank", "--metric", f"{name},map", "--metric", "mrr", "--quiet"]
    result = run("compare", letor_file[0], *options)
    header = result.stdout.splitlines()[0]
    assert re.fullmatch(rf"ranker +{re.escape(name)} +map +mrr +fit \(s\)", header)
    options = "--metric", name
    fitted = run("fit", letor_file[0], "-m", letor_file[0].with_suffix(".model"), *options, *SMALL)
    assert fitted.exit_code == 0


def test_hold_outs_take_the_place_of_folds(letor_file):
    result = run(
        "compare", letor_file[0], "--ranker", "PRank", "--hold-outs", 2, "--quiet", "--notes"
    )
    assert "2 splits" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--folds must be at most the number of queries, 1; got 5."),
        (["--folds", 3], "--folds must be at most the number of queries, 1; got 3."),
        (
            ["--hold-outs", 3],
            "there must be at least two queries, of which some are held out; got 1.",
        ),
    ],
)
def test_one_query_is_not_split(tmp_path, options, message):
    path = tmp_path / "one.csv"
    path.write_text("label,query,a\n1,q,2\n0,q,3\n")
    said = refusal("compare", path, "--ranker", "MART", *options, "-q")
    assert said == f"treerank: {message}\n"


def test_tested_queries_are_later_and_users_are_whole(tmp_path):
    qid = np.repeat(np.arange(40), 10)
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(400, 3)), schema=["a", "b", "c"])
    y = (X["a"] > pl.Series(rng.normal(size=400))).cast(int)
    days = pl.Series([f"{day}.50" for day in qid])  # numbers, though no ids that are
    others = {"label": y, "query": qid, "day": days, "user": qid // 3}
    others |= {"one": pl.lit(1), "text": pl.lit("1/2/2026"), "none": pl.Series([None] + [1] * 399)}
    X.with_columns(**others).write_csv(tmp_path / "log.csv")
    command = [
        "compare",
        tmp_path / "log.csv",
        "--ranker",
        "RankSVM",
        "-q",
        "--notes",
        "--time",
        "day",
    ]
    command += ["--drop", "text"]
    found = run(*command, "--groups", "user", "--folds", 3)
    data = X.to_numpy(), y.to_numpy(), qid
    cv = list(QueryTimeSplit(qid, n_splits=3).split(*data, groups=qid // 3))
    assert all(qid[train].max() < qid[test].min() for train, test in cv)
    expected = compare({"RankSVM": RankSVM()}, data, cv=cv, metrics=["ndcg@10", "map"])
    assert found.stdout.splitlines()[3:] == f"{expected.summary()}".splitlines()[3:]
    assert row_of(found.stdout) == row_of(f"{expected.summary()}")
    assert row_of(run(*command, "--folds", 3).stdout) != row_of(found.stdout)
    apart = list(QueryTimeSplit(qid, n_splits=3, gap=4).split(*data))
    expected = compare({"RankSVM": RankSVM()}, data, cv=apart, metrics=["ndcg@10", "map"])
    assert row_of(run(*command, "--folds", 3, "--gap", 4).stdout) == row_of(f"{expected.summary()}")
    assert row_of(run(*command, "--folds", 3).stdout) != row_of(f"{expected.summary()}")
    found = run(*command[:-4], "--clusters", "user", "--drop", "text", "--drop", "day")
    visits = X.to_numpy(), y.to_numpy(), qid
    expected = compare(
        {"RankSVM": RankSVM()}, visits, clusters=qid // 3, metrics=["ndcg@10", "map"]
    )
    assert row_of(found.stdout) == row_of(f"{expected.summary()}")
    late = "--time: must come without --hold-outs"
    one = "--folds must be below the number of queries, 1; got 5. Queries that share a group"
    refused = [
        (["--hold-outs", 3], 2, late),
        (["--groups", "usr"], 1, "Write --groups NAME for another"),
        (["--groups", "one"], 1, one),
        (["--group", "user"], 2, "No such option: --group (Possible options: --drop, --groups"),
        (["--time", "text"], 1, "column 'text': times must be numbers or dates, or texts like 20"),
        (["--time", "none"], 1, "column 'none': must not be missing; got"),
    ]
    for options, code, message in refused:
        assert message in refusal(*command, *options, code=code)


@pytest.mark.parametrize("options", [[], ["--n-jobs", 2]])
def test_text_that_a_ranker_does_not_take_is_answered_by_an_option(tmp_path, options):
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(20), 5)
    table = pl.DataFrame({"a": rng.normal(size=100), "art": rng.choice(["oil", "ink"], 100)})
    table.with_columns(label=rng.integers(2, size=100), query=qid).write_csv(tmp_path / "d.csv")
    command = ["compare", tmp_path / "d.csv", "--ranker", "RankSVM", "-q", *options]
    said = run(*command, code=1).stderr
    assert "or encode the column one-hot. To leave the column out, write --drop art." in said
    assert "X[" not in said
    run(*command, "--drop", "art")


def test_a_mean_over_some_of_the_splits_is_marked(tmp_path):
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(40), 10)
    clicked = rng.integers(2, size=400) * (qid > 12)  # none in the first training set
    table = pl.DataFrame(rng.normal(size=(400, 2))).with_columns(label=clicked, query=qid, day=qid)
    table.write_parquet(tmp_path / "log.parquet")
    command = ["compare", tmp_path / "log.parquet", "--ranker", "RankSVM", "--time", "day"]
    found = run(*command, "--folds", 3)
    assert "RankSVM failed on split 1" in found.stderr
    assert [line.split()[:4] for line in found.stdout.splitlines()[::2]] == [
        ["ranker", "splits", "ndcg@10", "map"],
        ["RankSVM", "2", "of", "3"],
    ]


def test_times_with_zones_are_compared_by_the_instant(tmp_path):
    qid, rng = np.repeat(np.arange(40), 10), np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > rng.normal(size=400)) * 1
    days = np.arange("2026-01-01", "2026-01-11", dtype="datetime64[D]").repeat(4)
    zones = rng.integers(-12, 13, 40)
    hours = [f"{day}T12:00{zone:+03}:00" for day, zone in zip(days, zones, strict=True)]
    table = pl.DataFrame(X).with_columns(label=y, query=qid, time=np.array(hours)[qid])
    table.write_parquet(tmp_path / "log.parquet")
    command = ["compare", tmp_path / "log.parquet", "--ranker", "RankSVM", "-q", "--time", "time"]
    instants = (days + (12 - zones).astype("timedelta64[h]"))[qid]
    cv = QueryTimeSplit(instants, n_splits=3, gap=np.timedelta64(36, "h")).split(X, y, qid)
    expected = compare({"RankSVM": RankSVM()}, (X, y, qid), cv=list(cv), metrics=["ndcg@10", "map"])
    found = run(*command, "--folds", 3, "--gap", 1.5).stdout
    assert row_of(found) == row_of(f"{expected.summary()}")
    named = [f"{time.replace('T', ' ')}:00 UTC" for time in instants.astype("M8[m]").astype(str)]
    table.with_columns(time=pl.Series(named)).write_parquet(tmp_path / "log.parquet")
    assert row_of(run(*command, "--folds", 3, "--gap", 1.5).stdout) == row_of(found)
    mixed = pl.Series(["2026-01-01", *hours[1:]])[qid]
    table.with_columns(time=mixed).write_parquet(tmp_path / "log.parquet")
    said = refusal(*command)
    assert "column 'time': times must all have a zone, or none; got both" in said


@pytest.fixture
def tables(tmp_path):
    """Two models of some columns each, in a CSV file with names, and a file of new queries."""
    qid = np.repeat(np.arange(40), 10)
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(400, 3)), schema=["a", "b", "c"])
    color = pl.Series("color", rng.choice(["red", "blue"], 400))
    y = (X["a"] + (color == "red") > pl.Series(rng.normal(size=400))).cast(int)
    frame = X.with_columns(color)
    train, test = np.flatnonzero(qid < 20), np.flatnonzero(qid >= 20)
    ranker = TreeDirectRanker(HistogramTrees(4), random_state=0)
    columns = {"old": ["c", "a"], "new": ["color", "b", "a"]}
    rankers = {}
    for name, chosen in columns.items():
        rankers[name] = clone(ranker).fit(frame[train][chosen], y.to_numpy()[train], qid[train])
        rankers[name].save(tmp_path / f"{name}.treerank")
    new = frame[test]
    new.with_columns(label=y[test], query=qid[test]).write_csv(tmp_path / "test.csv")
    return tmp_path, rankers, (new, y.to_numpy()[test], qid[test])


def test_models_are_compared_as_they_are(tables):
    folder, rankers, data = tables
    command = ["compare", folder / "old.treerank", folder / "new.treerank", folder / "test.csv"]
    expected = compare(rankers, data)
    assert np.ptp(expected.by_query("map"), axis=1).any()
    assert run(*command, "-q", "--notes").stdout == f"{expected.summary()}\n"
    assert "old and new: fitted before, scored as they are." in str(expected)
    printed = run("evaluate", *command[1:2], command[3], "--metric", "map", "-q").stdout
    assert f"{expected.by_split('map')[0, 0]:.6f}" in printed
    mixed = run(*command, "--ranker", "RankSVM", "-q", "--drop", "color", code=None)
    assert "new failed on split 1" in mixed.stderr  # its column was dropped
    mixed = run(*command, "--ranker", "TreeDirectRanker", "-q", "--metric", "map", "--notes").stdout
    assert "old and new: fitted before, scored as they are; TreeDirectRanker: fitted to" in mixed
    (folder / "b").mkdir()
    rankers["new"].save(folder / "b" / "old.treerank")
    same = run(*command[:2], folder / "b" / "old.treerank", command[3], "-q").stdout
    assert str(folder / "b" / "old.treerank") in same
    trees = folder / "trees.json"
    export(rankers["old"], trees, format="json")
    both = run(*command[:2], trees, command[3], "-q", "--notes").stdout
    assert "trees - old by map: 0.0000 (95 %: 0.0000 to 0.0000)" in both


@pytest.mark.parametrize("option", ["--clusters", "--human-label"])
def test_a_column_with_a_role_may_be_a_feature_of_a_model(tables, option):
    folder, _, (X, y, qid) = tables
    name = option.strip("-")
    X = X.drop("color").with_columns(
        pl.Series(name, qid % 10 if option == "--clusters" else np.arange(len(y)) % 2)
    )
    X.with_columns(label=y, query=qid).write_csv(folder / "data.csv")
    for model, columns in {"with": ["a", name], "without": ["a", "b"]}.items():
        RankSVM().fit(X[columns], y, qid).save(folder / model)
    command = [folder / "data.csv", "-q", "--metric", "map", option, name, "--notes"]
    found = run("compare", folder / "with", folder / "without", *command).stdout
    assert {"--clusters": "20 queries of 10 clusters", "--human-label": "by people"}[
        option
    ] in found
    assert "failed" not in found
    new = [folder / "without", *command, "--ranker", "PRank"]  # what no model uses is no feature
    dropped = run("compare", *new, "--drop", name).stdout.splitlines()
    assert run("compare", *new).stdout.splitlines()[3].split()[:4] == dropped[3].split()[:4]


def test_models_without_names_need_their_number_of_features(letor_file, tmp_path):
    path, (X, y, qid) = letor_file
    for width in (2, 3):
        RankSVM().fit(X[:60, :width], y[:60], qid[:60]).save(tmp_path / f"m{width}.treerank")
    said = refusal("compare", tmp_path / "m2.treerank", tmp_path / "m3.treerank", path, "-q")
    assert "m2 has features without names, so there must be 2 columns of features; got 3" in said
    RankSVM(C=2.0).fit(X[60:], y[60:], qid[60:]).save(tmp_path / "n.treerank")
    found = run("compare", tmp_path / "m3.treerank", tmp_path / "n.treerank", path, "-q", "--notes")
    assert (
        "treerank: warning: rankers['m3'] was fitted to 10 of the 20 test queries" in found.stderr
    )
    assert "One test set, 20 queries" in found.stdout


def test_advice_on_unjudged_queries_and_clusters_names_options(tables):
    folder, _, (X, y, qid) = tables
    labels = pl.Series("label", np.where(qid % 4 == 0, np.nan, y)).fill_nan(None)
    X.drop("color").with_columns(labels, query=qid, user=qid // 2).write_csv(folder / "data.csv")
    command = ["compare", folder / "data.csv", "--ranker", "PRank", "--metric", "map", "-q"]
    n_queries = len(np.unique(qid))
    said = run(*command, "--drop", "user", "--hold-outs", 2).stderr
    assert f"{n_queries // 4} of {n_queries} queries have no judgment, and are split like" in said
    advice = "Leave out the rows of these queries, or, without other splits, write --folds 5, whose"
    assert advice in said
    assert run(*command, "--drop", "user", "--folds", 5).stderr == ""
    said = refusal(*command, "--clusters", "user", "--folds", n_queries)
    assert said.startswith("treerank: --folds must be at most the number of --clusters with a ")
    assert f"Write --folds {n_queries // 2}, or compare" in said
    said = refusal(*command, "--drop", "user", "--folds", n_queries)
    assert said.startswith("treerank: --folds must be at most the number of judged queries, ")


def test_folds_of_a_folder_give_engines_their_validation_sets_and_models_their_tests(tmp_path):
    rng = np.random.default_rng(0)
    for fold in (1, 2):
        (tmp_path / f"Fold{fold}").mkdir()
        for part, name in enumerate(("train", "vali", "test")):
            qid = np.repeat(np.arange(8), 10) + 100 * fold + 1000 * part
            X = rng.normal(size=(80, 3)).round(3)
            y = np.clip(np.round(X[:, 0] + rng.normal(size=80)), 0, 2)
            write_letor(tmp_path / f"Fold{fold}" / f"{name}.txt", X, y, qid)
    model = tmp_path / "old.treerank"
    RankSVM().fit(X, y, qid).save(model)
    options = "--ranker", "LGBMRanker", "--ranker", "TreeDirectRanker", "-q", "--metric", "map"
    found = run("compare", tmp_path, *options, "--notes").stdout
    assert "early stopping: used by LGBMRanker and TreeDirectRanker." in found
    found = run(
        "compare", model, tmp_path, "-q", "--notes", "--metric", "map", "--ranker", "RankSVM"
    )
    assert (
        "old: fitted before, scored as it is; RankSVM: fitted to the training set" in found.stdout
    )
    assert "rankers['old'] was fitted to 8 of the 16 test queries" in found.stderr


def test_folds_of_a_folder_are_not_split_again(tmp_path):
    (tmp_path / "Fold1").mkdir()
    for name in ("train", "vali", "test"):
        (tmp_path / "Fold1" / f"{name}.txt").write_text("1 qid:1 1:0.5\n")
    said = refusal("compare", tmp_path, "--ranker", "PRank", "--folds", 2, "--quiet")
    assert said == "treerank: cv must be None for data in folds; got 2.\n"


def test_an_output_for_which_the_disk_is_full_is_named(letor_file, tmp_path):
    (tmp_path / "table.md").symlink_to("/dev/full")
    options = ("--ranker", "PRank", "--output", tmp_path / "table.md", "--quiet")
    said = refusal("compare", letor_file[0], *options)
    assert said == f"treerank: {tmp_path / 'table.md'}: No space left on device\n"


def test_labels_of_people_are_a_column_beside_those_of_an_llm(tmp_path):
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(60), 10)
    X = pl.DataFrame(rng.normal(size=(600, 2)), schema=["a", "b"])
    y = (X["a"].to_numpy() > rng.normal(size=600)).astype(int)
    llm = np.where(rng.random(600) < 0.8, y, 1 - y)
    human = pl.Series([*y[:320].tolist(), *[None] * 280])
    X.with_columns(llm=llm, query=qid, people=human).write_csv(tmp_path / "data.csv")
    command = ["compare", tmp_path / "data.csv", "--label", "llm", "--human-label", "people"]
    command += ["--ranker", "RankSVM", "--notes", "-q", "--metric", "map"]
    found = run(*command).stdout
    assert "60 queries judged by the LLM and 32 of them by people" in found
    labels = np.where(qid < 32, y, np.nan)
    rankers = {"RankSVM": RankSVM()}
    expected = compare(rankers, (X.to_numpy(), llm, qid), human_labels=labels, metrics="map")
    assert row_of(found) == row_of(f"{expected.summary()}")
    command[command.index("map")] = "map(threshold=2)"
    message = "--human-label must define 'map(threshold=2)' for at least 20 tested queries"
    assert message in refusal(*command, code=1)
    command[command.index("people")] = "no"
    assert "Write --human-label NAME for another" in refusal(*command, code=1)
