"""Rows that are read in batches give the model, scores and ranks of the same rows in memory."""

import numpy as np
import pandas as pd
import pytest
from command_line import refusal, run

from treerank import HistogramTrees, TreeDirectRanker, compare, read_batches, report
from treerank.datasets import Batches, write_letor, write_parquet
from treerank.documents.features import check_matrix
from treerank.documents.rows import Rows
from treerank.feature_parts.trees import bin_sample
from treerank.inspection import permutation_importance

pytestmark = pytest.mark.slow

rng = np.random.default_rng(0)
N = 900
X = rng.normal(size=(N, 4)).astype(np.float32)
X[rng.random(X.shape) < 0.1] = np.nan
Y = np.digitize(np.nan_to_num(X[:, 0]), [-0.5, 0.5]).astype(float)
QID = np.array([f"q{i // 20}" for i in range(N)])
COLORS = rng.choice(np.array(["red", "blue", "green"], dtype=object), size=N)
COLORS[:500] = "red"  # the first batch does not have all categories
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(color=pd.Categorical(COLORS))
#: Ends of batches: within queries, in another order than the rows.
PARTS = [slice(700, N), slice(0, 33), slice(33, 34), slice(34, 700)]
ORDER = np.concatenate([np.arange(N)[part] for part in PARTS])


def ranker(kind=HistogramTrees, **parameters):
    part = kind(n_estimators=4, num_leaves=6, max_bin=15, n_jobs=1, **parameters)
    return TreeDirectRanker(part, random_state=0)


def batches(table, y=Y):
    return Batches([(table[part], y[part], QID[part]) for part in PARTS])


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(bin_sample, "SAMPLE_SIZE", 300)


@pytest.mark.parametrize("ids", [list(QID), QID.astype(object)], ids=["list", "object"])
def test_ids_of_objects_are_those_of_other_batches_too(ids):
    parts = Batches([(X[part], Y[part], ids[part]) for part in PARTS])
    expected, found = ranker().fit(batches(X)), ranker().fit(parts)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.score(parts) == expected.score(X, Y, QID)


@pytest.mark.parametrize(
    "parameters", [{}, {"subsample": 0.5}, {"early_stopping_rounds": 2}], ids=str
)
@pytest.mark.parametrize("table", [X, FRAME], ids=["array", "frame"])
def test_the_model_is_that_of_the_rows_in_memory(table, parameters):
    other = np.maximum(Y, 1)
    expected = ranker(**parameters).fit(table, Y, QID, eval_set=(table, other, QID))
    found = ranker(**parameters).fit(batches(table), eval_set=batches(table, other))
    assert found.evals_result_ == expected.evals_result_
    assert found.calibration_slope_ == expected.calibration_slope_
    assert found.columns_ == expected.columns_
    scores = expected.predict(table)
    np.testing.assert_array_equal(found.predict(table), scores)
    np.testing.assert_array_equal(found.predict(batches(table)), scores[ORDER])
    np.testing.assert_array_equal(found.rank(batches(table)), expected.rank(table, QID)[ORDER])
    assert found.score(batches(table)) == expected.score(table, Y, QID)


def test_unjudged_rows_are_left_out(tmp_path):
    y = np.where(rng.random(N) < 0.3, np.nan, Y)
    y[700:720] = np.nan  # a whole batch of the files
    other = np.where(rng.random(N) < 0.3, np.nan, np.maximum(Y, 1))
    expected = ranker().fit(FRAME, y, QID, eval_set=(FRAME, other, QID))
    found = ranker().fit(batches(FRAME, y), eval_set=batches(FRAME, other))
    assert found.evals_result_ == expected.evals_result_
    np.testing.assert_array_equal(found.predict(FRAME), expected.predict(FRAME))
    write_parquet(tmp_path / "train.parquet", X, y, QID)
    of_file = ranker().fit(read_batches(tmp_path / "train.parquet", batch_size=20))
    scores = of_file.feature_part_.transform(X)[:, 0]
    np.testing.assert_array_equal(scores, ranker().fit(X, y, QID).predict(X))
    y = pd.Series(y)
    for kind in (
        list,
        lambda part: part.astype("Float64"),
        lambda part: part.reset_index(drop=True),
    ):
        parts = [(X[part], kind(y[part]), QID[part]) for part in (slice(700, 720), slice(0, 700))]
        found = ranker().fit(Batches(parts))
        expected = ranker().fit(X[:720], y[:720], QID[:720])
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    nothing = batches(X, np.full(N, np.nan))
    with pytest.raises(ValueError, match=f"y must hold a label in some row; .* in all {N}"):
        ranker().fit(nothing)
    file = tmp_path / "unjudged.parquet"
    FRAME[["a", "b"]].assign(label=np.nan, query=QID).to_parquet(file)
    unjudged = read_batches(file, batch_size=100)
    shown = f"Batches of {file}, read anew in every iteration."
    # Lines are also broken at hyphens, of which the path may have some.
    assert "".join(str(unjudged).split()) == "".join(shown.split())
    with pytest.raises(ValueError, match=r"unjudged\.parquet: y must hold .* write label='?NAME"):
        ranker().fit(unjudged)
    with pytest.raises(ValueError, match=r"eval_set: .*unjudged\.parquet: y must hold a label"):
        ranker().fit(batches(FRAME[["a", "b"]]), eval_set=unjudged)


def test_batches_may_be_without_rows_and_others_are_named():
    expected = ranker().fit(X, Y, QID)
    empty = X[:0], Y[:0], QID[:0]
    for parts in ([empty, (X, Y, QID)], [(X, Y, QID), empty]):
        found = ranker().fit(Batches(parts))
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    with pytest.raises(ValueError, match="X must have rows; got no batch with any"):
        ranker().fit(Batches([empty]))
    for wrong, got in (((X, Y), "<class 'tuple'> of 2"), (X, "<class 'numpy.ndarray'>")):
        with pytest.raises(TypeError, match=f"source must give batches .*; got {got}"):
            ranker().fit(Batches([wrong]))
    with pytest.raises(TypeError, match="data must be in memory, or the path of a file"):
        compare({"trees": ranker()}, batches(X))


def test_files_are_read_in_batches(tmp_path):
    expected = ranker().fit(X, Y, QID).predict(X)
    write_letor(tmp_path / "train.txt", X, Y, QID)
    for name, rows in {"0": slice(500), "1": slice(500, N)}.items():
        write_parquet(tmp_path / f"{name}.parquet", X[rows], Y[rows], QID[rows])
    for path in (tmp_path / "train.txt", tmp_path):
        found = ranker().fit(read_batches(path, batch_size=70))
        np.testing.assert_array_equal(found.feature_part_.transform(X)[:, 0], expected)


def test_query_ids_of_a_letor_file_are_text_if_any_is(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("1 qid:7 1:1\n" * 400_000 + "1 qid:a 3:1\n")  # more than one block
    parts = list(read_batches(path, batch_size=1))
    assert len(parts) > 1
    assert {part.qid.dtype.kind for part in parts} == {"U"}
    assert {part.X.shape[1] for part in parts} == {3}


def test_what_cannot_be_read_in_batches_is_refused():
    with pytest.raises(TypeError, match="source must be a function or a collection"):
        Batches(iter([]))
    for part in ("lightgbm", "mlp"):
        with pytest.raises(TypeError, match="only rankers with trees of this package"):
            TreeDirectRanker(part).fit(batches(X))
    with pytest.raises(ValueError, match="pairs and positions must be None where X is Batc"):
        ranker().fit(batches(X), sample_weight=np.ones(N))
    for call in (ranker().fit, ranker().fit(X, Y, QID).predict):
        with pytest.raises(ValueError, match="X must have rows; got no batch"):
            call(Batches([]))
    with pytest.raises(ValueError, match="has 3 features, but TreeDirectRanker is expecting 4"):
        ranker().fit(Batches([(X, Y, QID), (X[:, :3], Y, QID)]))
    sizes = iter([N, N, N, N - 1])
    shrinking = Batches(lambda: [(X[:n], Y[:n], QID[:n]) for n in [next(sizes)]])
    with pytest.raises(ValueError, match=f"X must have as many rows as before, {N}; got {N - 1}"):
        ranker().fit(shrinking)


def test_the_shell_reads_files_in_batches_where_memory_is_given(tmp_path):
    data, model = tmp_path / "train.parquet", tmp_path / "model.treerank"
    write_parquet(data, FRAME, Y, QID)
    settings = ["--feature-part", "histogram", "--n-estimators", "4", "--valid", data, "--quiet"]
    models, outputs = [], []
    for memory in ([], ["--memory", "1MB"]):
        run("fit", data, "--model", model, *settings, *memory)
        models.append(model.read_bytes())
        for command in ("rank", "evaluate"):
            outputs.append(run(command, model, data, "--quiet", *memory).stdout)
    assert models[0] == models[1]
    assert outputs[:2] == outputs[2:]
    assert len(outputs[0].splitlines()) == N + 1
    said = refusal("fit", data, "--model", model, "--memory", "4GB", code=2)
    assert "must come with --feature-part histogram" in said


def test_what_needs_rows_in_memory_refuses_batches_by_name():
    fitted, rows = ranker().fit(X, Y, QID), batches(X)
    calls = {
        "X_a": lambda: fitted.explain(rows, X[:1]),
        "X must": lambda: permutation_importance(fitted, rows, Y, QID, n_repeats=1),
        "eval_set": lambda: fitted.fit(X, Y, QID, eval_set=(rows, Y, QID)),
        "check": lambda: check_matrix("check", rows),
        "X": lambda: report(fitted, rows),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=rf"^{name}.* be a matrix in memory; got .*Batches"):
            call()


def test_a_file_without_rows_has_no_batches_either(tmp_path):
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"empty\.txt, line 1, .* must have rows; got none"):
        list(read_batches(tmp_path / "empty.txt", n_features=3))


def test_standard_input_is_read_in_batches_once(tmp_path):
    path, model = tmp_path / "train.txt", tmp_path / "model.treerank"
    write_letor(path, X, Y, QID)
    ranker().fit(X, Y, QID).save(model)
    content, memory = path.read_bytes(), ["--memory", "1MB"]
    expected = run("rank", model, path).stdout
    assert run("rank", model, "-", *memory, input=content).stdout == expected
    fit_again = ["fit", "-", "--model", model, *memory, "--n-features", 4]
    again = run(*fit_again, "--feature-part", "histogram", input=content, code=1)
    assert "-: must be a file, to be read again" in again.stderr


def test_an_eval_set_in_batches_stays_in_its_file(monkeypatch):
    array = Rows.array

    def array_of_some(rows):
        assert len(rows) < N  # a sample of rows tells the bins
        return array(rows)

    train, valid = batches(X), batches(2 * X)
    expected = ranker().fit(train, eval_set=valid).predict(X)
    with monkeypatch.context() as patched:
        patched.setattr(Rows, "array", array_of_some)
        fitted = ranker().fit(train, eval_set=valid)
    np.testing.assert_array_equal(fitted.predict(X), expected)
