"""Requests and drafts of features: what an engine takes, and negative values that no query has."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.exports import export, write_feature_set
from treerank.exports.uploads import FEATURE_SETS, UPLOADS
from treerank.rankers import ForestRanker

random = np.random.default_rng(0)
X = random.normal(loc=[0.0, 9.0], size=(60, 2))
y, qid = np.round(X[:, 0] + 2).clip(0, 4), np.repeat(range(6), 10)
RANKER = TreeDirectRanker(LightGBMTrees(3, min_child_samples=2), random_state=0).fit(X, y, qid)
N_NEGATIVE = int((X[:, 0] < 0).sum())
BY_QUERY = [format for format in UPLOADS if not format.startswith("solr")]


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("format", BY_QUERY)
def test_a_report_counts_the_negative_values_that_no_query_can_return(format, form, tmp_path):
    report = export(RANKER, tmp_path / "m", format=format, check=form(X), allow="rounding")
    assert report.n_negative == {"f0": N_NEGATIVE}
    assert f"negative values of 'f0' ({N_NEGATIVE} documents): the search would" in str(report)
    report = export(RANKER, tmp_path / "m", format="solr", check=form(X))
    assert report.n_negative == {}
    assert "negative" not in str(report)


def test_a_request_with_drafts_of_features_warns_of_negative_values(tmp_path):
    path = tmp_path / "m.json"
    with pytest.warns(UserWarning, match=rf"has drafts .* 'f0' \({N_NEGATIVE} documents\): the s"):
        export(RANKER, path, format="elasticsearch", check=X, name="shop")
    for options in ({"name": "shop"}, {"check": X}):  # nothing to count, or no drafts
        options = {"check": None, "allow": "unchecked"} | options
        if options["check"] is None:
            with pytest.warns(UserWarning, match="check must be given"):
                report = export(RANKER, path, format="elasticsearch", **options)
            assert report.n_negative == {}
        else:
            export(RANKER, path, format="elasticsearch", **options)
    export(RANKER, path, format="opensearch", check=X, name="shop")


@pytest.mark.parametrize("format", FEATURE_SETS)
def test_a_feature_set_warns_of_splits_below_zero(format, tmp_path):
    path = tmp_path / "f.json"
    if format.startswith("solr"):
        write_feature_set(RANKER, path, format=format)
    else:
        with pytest.warns(UserWarning, match=r"'f0' \(\d+ splits below 0\): the search would fail"):
            write_feature_set(RANKER, path, format=format)
    above = TreeDirectRanker(LightGBMTrees(3, min_child_samples=2), random_state=0)
    write_feature_set(above.fit(X + 9, y, qid), path, format=format)  # without a warning


def test_a_split_by_category_is_not_below_zero(tmp_path):
    frame = pd.DataFrame({"color": random.choice(["red", "green", "blue"], 60), "price": X[:, 1]})
    ranker = TreeDirectRanker("histogram", random_state=0).fit(frame, frame.color == "red", qid)
    forest = ranker.forest()
    assert forest.is_by_set.any()
    forest = replace(forest, threshold=np.where(forest.is_by_set, -1.0, forest.threshold))
    ranker = ForestRanker(forest)  # the threshold of such a split says nothing
    write_feature_set(ranker, tmp_path / "f.json", format="opensearch")


def test_a_request_of_elastic_holds_queries_and_no_names_of_inputs(tmp_path):
    with pytest.warns(UserWarning, match="check must be given"):
        export(RANKER, tmp_path / "m.json", format="elasticsearch", allow="unchecked", name="shop")
    assert json.loads((tmp_path / "m.json").read_text()).keys() == {
        "inference_config",
        "definition",
    }


WRONG = ["../../_all?x=1 y", "Shop", "", "-shop", "shop-", "_shop", "shop.", "s" * 65, "shop\n", 3]


@pytest.mark.parametrize("name", WRONG)
def test_a_name_that_no_path_takes_is_refused_for_models_and_for_features(name, tmp_path):
    for format in FEATURE_SETS:
        with pytest.raises(ValueError, match=r"name must be .*small letters, digits, '_', '-' and"):
            write_feature_set(RANKER, tmp_path / "f", format=format, name=name)
    for format in UPLOADS:
        with pytest.raises(ValueError, match=r"name must be .*small letters, digits, '_', '-' and"):
            export(RANKER, tmp_path / "m", format=format, check=X, name=name)
    assert not list(tmp_path.iterdir())


def test_names_up_to_64_characters_are_taken(tmp_path):
    for name in ("s", "shop", "s" * 64, "1.a-b_2"):
        report = export(RANKER, tmp_path / "m", format="solr", check=X, name=name)
        assert report.upload == "PUT solr/COLLECTION/schema/model-store"
        assert write_feature_set(RANKER, tmp_path / "f", format="solr", name=name)
        assert json.loads((tmp_path / "m").read_text())["name"] == name


@pytest.mark.filterwarnings("ignore:No query can return the negative values")
@pytest.mark.parametrize(
    ("format", "version", "expected"),
    [
        ("opensearch", "2.18", "opensearch-2"),
        ("opensearch", "3.1.9", "opensearch-2"),
        ("opensearch", "3.2", "opensearch-3.2"),
        ("opensearch", "3.7.4", "opensearch-3.2"),
        ("opensearch", "3.8.0", "opensearch"),
        ("opensearch", "3.10", "opensearch"),
        ("opensearch", "10", "opensearch"),
        ("solr", "9", "solr-8"),
        ("solr", "9.2", "solr"),
        ("elasticsearch-plugin", "2023-12", "elasticsearch-plugin-2023"),
        ("elasticsearch-plugin", "2024-02-01", "elasticsearch-plugin"),
    ],
)
def test_a_version_of_a_program_has_its_format(format, version, expected, tmp_path):
    paths = [tmp_path / "by_version", tmp_path / "by_name"]
    found = export(RANKER, paths[0], format=format, version=version, check=X)
    assert found == export(RANKER, paths[1], format=expected, check=X)
    assert found.format == expected
    assert paths[0].read_bytes() == paths[1].read_bytes()
    drafts = [write_feature_set(RANKER, paths[0], format=format, version=version)]
    drafts.append(write_feature_set(RANKER, paths[1], format=expected))
    assert drafts[0] == drafts[1]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "onnx", "version": "1"}, "version must be left out for format 'onnx'"),
        (
            {"format": "opensearch-2", "version": "2.1"},
            "version must be left out .* 'opens",
        ),
        ({"format": "opensearch", "version": 2.18}, "version must be .*text of numbers|str"),
        ({"format": "opensearch", "version": "new"}, "version must be text of numbers, .*'new'"),
        *(
            (
                {"format": "elasticsearch-plugin", "version": version},
                f"version must be the month .* such as '2024-02', .* got '{version}'",
            )
            for version in ("9.1", "8", "2024", "2024-13", "2024.02")
        ),
        ({"format": "elastic"}, "format 'elastic' is now 'elasticsearch'; the plugin"),
        ({"format": "elasticsearch-2023"}, "is now 'elasticsearch-plugin' with version='2023-12'"),
    ],
)
def test_a_version_that_no_format_has_and_names_of_before_are_refused(arguments, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        export(RANKER, tmp_path / "m", **arguments, check=X)
    assert not (tmp_path / "m").exists()
