import numpy as np
import polars as pl
import pytest
from command_line import refusal, run

from treerank import QueryTimeSplit, compare
from treerank.baselines import PRank, RankSVM
from treerank.datasets.letor import write_letor

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
    result = run("compare", path, *options, "--metric", "ndcg@3", "--store", tmp_path / "fits")
    rankers = {"PRank": PRank()}
    expected = compare(rankers, data, cv=3, metrics=("ndcg@3",), convention="letor4").summary()
    assert row_of(result.stdout) == row_of(f"{expected}")
    assert result.stdout.splitlines()[3:] == f"{expected}".splitlines()[3:]
    assert "| PRank |" in table.read_text(encoding="utf-8")
    assert "3/3  PRank on 3" in result.stderr
    assert len(list((tmp_path / "fits").iterdir())) == 3


def test_hold_outs_take_the_place_of_folds(letor_file):
    result = run("compare", letor_file[0], "--ranker", "PRank", "--hold-outs", 2, "--quiet")
    assert "2 splits" in result.stdout


def test_tested_queries_are_later_and_users_are_whole(tmp_path):
    qid = np.repeat(np.arange(40), 10)
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(400, 3)), schema=["a", "b", "c"])
    y = (X["a"] > rng.normal(size=400)).cast(int)
    days = pl.Series([f"{day}.50" for day in qid])  # numbers, though no ids that are
    others = {"label": y, "query": qid, "day": days, "user": qid // 3}
    others |= {"one": pl.lit(1), "text": pl.lit("1/2/2026"), "none": pl.Series([None] + [1] * 399)}
    X.with_columns(**others).write_csv(tmp_path / "log.csv")
    command = ["compare", tmp_path / "log.csv", "--ranker", "RankSVM", "-q", "--time", "day"]
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
