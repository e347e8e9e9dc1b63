"""C sources: several models in one program."""

import ctypes
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.exports import export
from treerank.feature_parts import LinearModel, Stages
from treerank.rankers.calibration import relevance_scale_of

random = np.random.default_rng(0)
X = random.normal(size=(60, 3))
qid = np.repeat(range(6), 10)


FEW = TreeDirectRanker(LightGBMTrees(5, min_child_samples=2), random_state=0)


def fitted(column):
    y = X[:, column] > 0.3
    trees = LightGBMTrees(5, min_child_samples=2)
    return TreeDirectRanker(trees, random_state=0).fit(X, y, qid).calibrate(X, y, qid)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_two_models_with_relevance_link_into_one_program(tmp_path):
    rankers = {"shop": fitted(0), "news_2": fitted(1)}
    for name, ranker in rankers.items():
        scale = relevance_scale_of(ranker)
        scale.is_line[:] = True
        report = export(ranker, tmp_path / f"{name}.c", format="c", name=name, relevance=1)
        assert report.upload is None
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    sources = [str(tmp_path / f"{name}.c") for name in rankers]
    subprocess.run(["gcc", *flags, "-o", str(tmp_path / "m.so"), *sources, "-lm"], check=True)
    program = ctypes.CDLL(str(tmp_path / "m.so"))
    for name, ranker in rankers.items():
        scores = np.empty(len(X))
        score = getattr(program, f"{name}_score")
        score(*(ctypes.c_void_p(X.ctypes.data), ctypes.c_size_t(60)), scores.ctypes.data_as(P))
        np.testing.assert_array_equal(scores, ranker.predict(X))
        relevance = getattr(program, f"{name}_relevance")
        relevance.argtypes, relevance.restype = [ctypes.c_double], ctypes.c_double
        found = [relevance(each) for each in scores]
        np.testing.assert_allclose(found, ranker.predict_relevance(X, 1), rtol=1e-12)
        (first, *_) = (ctypes.c_char_p * 3).in_dll(program, f"{name}_feature_names")
        assert first == b"f0"


P = ctypes.c_void_p


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_names_of_columns_are_whole_strings_that_differ(tmp_path):
    frame = pd.DataFrame(X, columns=["a\0x", "a\0y", 'größe "\\n?'])
    ranker = TreeDirectRanker(LightGBMTrees(2), random_state=0).fit(frame, X[:, 0] > 0, qid)
    report = export(ranker, tmp_path / "m.c", format="c", name="shop")
    assert report.renamed == {"a\0x": "a_x", "a\0y": "a_y"}
    flags = ["-std=c99", "-shared", "-fPIC", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    command = ["gcc", *flags, "-o", str(tmp_path / "m.so"), str(tmp_path / "m.c"), "-lm"]
    subprocess.run(command, check=True)
    names = (ctypes.c_char_p * 3).in_dll(ctypes.CDLL(str(tmp_path / "m.so")), "shop_feature_names")
    assert [name.decode() for name in names] == ["a_x", "a_y", 'größe "\\n?']


def test_all_that_a_linker_sees_begins_with_the_name(tmp_path):
    path = tmp_path / "m.c"
    export(fitted(0), path, format="c", name="shop")
    assert "treerank_" not in path.read_text().lower()
    named = path.read_text()
    export(fitted(0), path, format="c")
    assert path.read_text() == named.replace("shop_", "treerank_").replace("SHOP_", "TREERANK_")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_file_that_includes_two_models_knows_the_number_of_features_of_each(tmp_path):
    frame = pd.DataFrame({"color": pd.Categorical(np.where(X[:, 0] > 0, "red", "blue"))})
    frame["size"] = X[:, 1]
    trees = Stages([LinearModel(), LightGBMTrees(5, min_child_samples=2)])
    rankers = {"shop": fitted(0), "news": clone(FEW).fit(frame, X[:, 0] > 0.3, qid)}
    rankers["line"] = TreeDirectRanker(trees, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0.3, qid)
    for name, ranker in rankers.items():
        export(ranker, tmp_path / f"{name}.c", format="c", name=name)
    source = "".join(f'#include "{name}.c"\n' for name in rankers)
    macros = ", ".join(f"{name.upper()}_N_FEATURES" for name in rankers)
    source += f"const int widths[] = {{{macros}}};\n"
    source += "const double nodes = 1, keys = 2, N_TREES = 3;\n"  # no name is taken
    (tmp_path / "main.c").write_text(source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    command = ["gcc", *flags, "-o", str(tmp_path / "m.so"), str(tmp_path / "main.c"), "-lm"]
    subprocess.run(command, check=True)
    program = ctypes.CDLL(str(tmp_path / "m.so"))
    assert [*(ctypes.c_int * 3).in_dll(program, "widths")] == [3, 2, 3]
    for name, matrix in (("shop", X), ("line", X)):
        scores = np.empty(len(X))
        score = getattr(program, f"{name}_score")
        score(P(matrix.ctypes.data), ctypes.c_size_t(60), scores.ctypes.data_as(P))
        np.testing.assert_allclose(scores, rankers[name].predict(matrix), rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["my-shop", "1shop", "Shop", "", "_shop", "shop ", "größe", "int x"]
)
def test_a_name_that_cannot_begin_a_name_of_c_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"name must be small letters, digits and '_', and begin"):
        export(fitted(0), tmp_path / "m.c", format="c", name=name)
    assert not list(tmp_path.iterdir())
