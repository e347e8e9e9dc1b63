"""Bad input exits with 1 and one line that names the place, wrong usage with 2."""

import pytest
from command_line import SMALL, letor_files, run


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return letor_files(tmp_path_factory.mktemp("letor"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:2\n0 1:3\n", "line 2, column"),
        ("1 qid:1 1:2 3:x\n", "line 1, column"),
        ("1 qid:1 2:1 2:1\n", "line 1, column"),
        ("", "line 1, column 1: a LETOR file must have rows"),
        ("0 qid:1 1:2\n0 qid:1 1:3\n", None),
    ],
)
def test_bad_input_exits_with_1_and_one_line_that_names_the_place(tmp_path, text, message):
    path, model = tmp_path / "bad.txt", tmp_path / "m"
    path.write_text(text)
    result = run("fit", path, "--model", model, *SMALL, "-q")
    if message is None:
        assert result.exit_code == 0
        assert result.stderr.startswith("treerank: warning: No pair of documents counts")
        return
    assert result.exit_code == 1
    assert result.stderr.startswith(f"treerank: {path}")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not model.exists()


def test_what_is_not_there_or_no_model_is_bad_input(files, tmp_path):
    cases = {
        ("evaluate", tmp_path / "no", files.test): "no: No such file or directory",
        ("rank", files.model, tmp_path / "no"): "no: No such file or directory",
        ("rank", files.test, files.test): "path must be a treerank model",
        ("fit", files.train, "-m", tmp_path / "no" / "m"): "no/m: No such file or directory",
        ("fit", files.train, "-m", tmp_path / "m", "--feature-part", "linear"): (
            "feature_part must grow trees; got 'linear'"
        ),
        ("fit", files.train, "-m", tmp_path / "m", "--loss", "listnet", "--weight", "map"): (
            "weight must be None for loss='listnet'"
        ),
    }
    for arguments, message in cases.items():
        result = run(*arguments, "-q")
        assert result.exit_code == 1
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_file_of_more_features_than_the_model_is_refused_where_it_says_so(files, tmp_path):
    (tmp_path / "wide.txt").write_text("1 qid:1 1:2\n0 qid:1 1:2 9:1\n")
    result = run("rank", files.model, tmp_path / "wide.txt", "-q")
    assert result.exit_code == 1
    assert f"{tmp_path / 'wide.txt'}, line 2, column 13" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loss", "logstic"], "loss must be one of ['approx_ndcg', "),
        (["--feature-part", "catboost"], "; got 'catboost'"),
        (["--metric", "ngcd"], "metric must be one of ndcg"),
        (["--learning-rate", "0"], "learning_rate must be a finite number above 0; got 0.0"),
        (["--early-stopping-rounds", "5"], "must come with --valid"),
        (["--n-estimators", "0"], "Invalid value for '--n-estimators'"),
        (["--trees", "5"], "No such option"),
    ],
)
def test_wrong_usage_exits_with_2_before_anything_is_read(tmp_path, options, message):
    result = run("fit", tmp_path / "absent", "--model", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_sparse_in_vain_is_refused(files, tmp_path):
    model = tmp_path / "model"
    own = ["--feature-part", "histogram", *SMALL]
    result = run("fit", files.train, "--model", model, *own, "--sparse")
    assert result.exit_code == 2
    assert "must come with a --feature-part that reads sparse features" in result.stderr
    assert run("fit", files.train, "--model", model, *own).exit_code == 0
    result = run("rank", model, files.test, "--sparse")
    assert result.exit_code == 1
    assert "X must be dense for HistogramTrees" in result.stderr


def test_traceback_shows_where_an_error_came_from(files, tmp_path):
    result = run("--traceback", "rank", files.model, tmp_path / "absent")
    assert isinstance(result.exception, FileNotFoundError)
