"""Engine words: arguments of LGBMRanker and its like are answered by what to write here."""

import functools
import importlib
import inspect
import pickle
import pydoc
import re
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import treerank
from treerank import (
    HistogramTrees,
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    compare,
    make_web_search,
)
from treerank.baselines import LambdaMART, RankNet, SortNet
from treerank.feature_parts import (
    MLP,
    LinearModel,
    NewtonBoosting,
    SoftTrees,
    Stages,
    StreamingTrees,
)
from treerank.feature_parts.engine_words import (
    ADVICE,
    ATTRIBUTES,
    NOTHING,
    OF_ENGINE,
    OF_RANKER,
    THEIRS,
)
from treerank.feature_parts.registry import FEATURE_PARTS, make_feature_part
from treerank.objectives import PairSettings
from treerank.rankers import NestedRanker
from treerank.rankers.direct_ranker import objective_for_labels

VALUES = {
    **dict.fromkeys(("max_cat_threshold", "max_cat_to_onehot", "min_data_in_bin"), 5),
    "bin_construct_sample_cnt": 1000,
    "data_sample_strategy": "goss",
    "device": "cpu",
    "device_type": "cpu",
    **dict.fromkeys(("extra_tree", "extra_trees"), True),
    **dict.fromkeys(("force_col_wise", "force_row_wise"), True),
    "max_bin_by_feature": [7],
    **dict.fromkeys(("mc_method", "monotone_constraining_method"), "advanced"),
    "min_data_per_group": 5,
    "monotone_constraints_method": "intermediate",
    "multi_strategy": "one_output_per_tree",
    "other_rate": 0.1,
    "sampling_method": "uniform",
    "subsample_for_bin": 1000,
    "use_quantized_grad": True,
}
X, Y = np.arange(6.0)[:, None], [0, 1, 2, 0, 1, 2]
TREES = {
    "num_leaves": "TreeDirectRanker(LightGBMTrees(num_leaves=...))",
    "num_iterations": "TreeDirectRanker(LightGBMTrees(n_estimators=...))",
    "eta": "TreeDirectRanker(LightGBMTrees(learning_rate=...))",
    "sigmoid": "TreeDirectRanker(sigma=...)",
}


@pytest.mark.parametrize("word", [*ADVICE, *TREES])
def test_a_word_of_an_engine_is_answered_by_ours(word):
    message = rf"has no {word}; write {re.escape(TREES.get(word) or ADVICE[word])}\."
    for call in (TreeDirectRanker, TreeDirectRanker().set_params):
        with pytest.raises(TypeError, match="TreeDirectRanker " + message):
            call(**{word: 7})
    if word not in ("eval_metric", "eval_set"):
        with pytest.raises(TypeError, match=r"TreeDirectRanker\.fit " + message):
            TreeDirectRanker().fit(X, Y, **{word: 7})


@pytest.mark.parametrize(
    ("word", "value", "advice"),
    [
        ("objective", "rank_xendcg", "TreeDirectRanker(loss='xendcg')."),
        ("objective", "rank:pairwise", "TreeDirectRanker(loss='logistic', weight='uniform')."),
        ("objective", "rank:map", "TreeDirectRanker(loss='logistic', weight='map')."),
        ("objective", "lambdarank", "TreeDirectRanker(loss='logistic', weight='ndcg'), which are"),
        ("loss_function", "QueryRMSE", "TreeDirectRanker(loss='half_squared_error')."),
        ("loss_function", "StochasticRank:metric=NDCG", "TreeDirectRanker(loss='approx_ndcg'), "),
        ("lambdarank_norm", False, "TreeDirectRanker(query_normalization=None), the default."),
        ("lambdarank_norm", True, "TreeDirectRanker(query_normalization='log')."),
        ("lambdarank_pair_method", "mean", "TreeDirectRanker(pairs='all'), the default."),
        ("lambdarank_pair_method", "topk", "TreeDirectRanker(pairs=treerank.objectives.Pairs("),
    ],
)
def test_what_a_value_of_an_engine_asks_for_is_answered(word, value, advice):
    for call in (TreeDirectRanker, LightGBMTrees, partial(TreeDirectRanker().fit, X, Y)):
        with pytest.raises(TypeError, match=rf"has no {word}; write {re.escape(advice)}"):
            call(**{word: value})


@pytest.mark.parametrize(
    ("estimator", "name", "advice"),
    [
        (
            LightGBMTrees(),
            "lambda_l1",
            "LightGBMTrees has no lambda_l1; write LightGBMTrees(reg_al",
        ),
        (MLP(), "alpha", "MLP has no alpha; write MLP(weight_decay=...)"),
        (Stages(["linear"]), "num_trees", "Stages has no num_trees; write TreeDirectRanker(Histo"),
        (Stages(["xgboost"]), "0__max_leaves", "write XGBoostTrees(num_leaves=...)"),
        (
            TreeDirectRanker("xgboost"),
            "feature_part__max_leaves",
            "XGBoostTrees has no max_leaves; write XGBoostTrees(num_leaves=...)",
        ),
        (
            TreeDirectRanker(LightGBMTrees()),
            "feature_part__num_boost_round",
            "LightGBMTrees has no num_boost_round; write LightGBMTrees(n_estimators=...)",
        ),
    ],
)
def test_words_are_answered_where_parameters_are_set_and_in_grids(estimator, name, advice):
    with pytest.raises(TypeError, match=re.escape(advice)):
        estimator.set_params(**{name: 7})
    if isinstance(estimator, TreeDirectRanker):
        with pytest.raises(TypeError, match=re.escape(advice)):
            compare({"a": estimator}, (X, Y), grid={"a": {name: [7]}})


def test_set_params_of_parts_refuses_words_of_no_engine_as_scikit_learn_does():
    for part in map(make_feature_part, FEATURE_PARTS):
        with pytest.raises(ValueError, match="Invalid parameter 'color'"):
            part.set_params(color=7)
    assert LightGBMTrees().set_params(num_leaves=7).num_leaves == 7


@pytest.mark.parametrize("word", [word for words in NOTHING.values() for word in words])
def test_a_word_that_nothing_stands_for_is_answered_by_the_reason(word):
    reason = next(reason for reason, words in NOTHING.items() if word in words)
    message = rf"has no {word}: {re.escape(reason)}\."
    for cls in (TreeDirectRanker, LightGBMTrees, XGBoostTrees, HistogramTrees, LambdaMART):
        with pytest.raises(TypeError, match=f"{cls.__name__} {message}"):
            cls(**{word: 7})
    with pytest.raises(TypeError, match=rf"TreeDirectRanker\.fit {message}"):
        TreeDirectRanker().fit(X, Y, **{word: 7})


@pytest.mark.parametrize("word", ATTRIBUTES)
@pytest.mark.parametrize("ranker", [TreeDirectRanker(), LambdaMART()])
def test_an_attribute_of_another_ranker_is_answered_by_ours(ranker, word):
    assert not hasattr(ranker, word)
    with pytest.raises(AttributeError, match=f"has no {word}; write {re.escape(ATTRIBUTES[word])}"):
        getattr(ranker, word)


def test_the_value_that_stands_for_the_best_score_is_that_of_the_model():
    valid = make_web_search(20, n_features=10, random_state=1)
    ranker = TreeDirectRanker(random_state=0)
    ranker.fit(*make_web_search(60, n_features=10, random_state=0), eval_set=valid)
    with pytest.raises(AttributeError, match=r"write score\(X, y, qid\) with the validation set"):
        ranker.best_score_  # noqa: B018
    values = ranker.evals_result_["validation"]["ndcg@10"]
    assert values[ranker.best_iteration_ - 1] == ranker.score(*valid)
    assert values[ranker.best_iteration_ - 1] < max(values)  # the best are smoothed values


def test_the_advice_on_showing_iterations_shows_them(capsys):
    data = dict(zip(("X", "y", "qid"), make_web_search(20, random_state=0), strict=True))
    ranker = TreeDirectRanker(LightGBMTrees(5, n_jobs=1))
    exec(ADVICE["verbose"], {"treerank": treerank, "ranker": ranker, **data})
    assert "5/5" in capsys.readouterr().err


def test_the_advice_on_the_number_of_trees_has_it_where_there_is_no_best_iteration():
    data = make_web_search(40, documents_per_query=10, n_features=3, random_state=0)
    ranker = TreeDirectRanker(random_state=0).fit(*data)
    assert ranker.best_iteration_ is None
    for word in ("n_estimators_", "tree_count_"):
        assert eval(f"ranker.{ATTRIBUTES[word]}", {"ranker": ranker}) > 0


def test_answers_hide_no_error_of_an_attribute():
    with pytest.raises(NotFittedError):
        TreeDirectRanker().feature_importances_  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"'TreeDirectRanker' object has no attribute 'color_'"
    ):
        TreeDirectRanker().color_  # noqa: B018
    assert pickle.loads(pickle.dumps(TreeDirectRanker(loss="hinge"))).loss == "hinge"


@pytest.mark.parametrize(
    ("cls", "word", "advice"),
    [
        (MLP, "hidden_layer_sizes", "MLP(hidden=...)"),
        (MLP, "alpha", "MLP(weight_decay=...)"),
        (MLP, "num_leaves", "TreeDirectRanker(HistogramTrees(num_leaves=...))"),
        (RankNet, "epochs", "RankNet(n_epochs=...)"),
        (SortNet, "hidden_layer_sizes", "SortNet(n_hidden=...)"),
        (SoftTrees, "max_depth", "SoftTrees(depth=...)"),
        (SoftTrees, "n_trees", "SoftTrees(n_estimators=...)"),
        (LinearModel, "reg_lambda", "LinearModel(alpha=...)"),
        (LinearModel, "loss", "TreeDirectRanker(LinearModel(), loss=...)"),
        (MLP, "warm_start", "TreeDirectRanker(warm_start=True)"),
        (TreeDirectRanker, "epochs", "TreeDirectRanker(MLP(n_epochs=...))"),
        (partial(TreeDirectRanker, "mlp"), "max_iter", "TreeDirectRanker(MLP(n_epochs=...))"),
        (partial(NewtonBoosting, Ridge()), "alpha", "NewtonBoosting(Ridge(alpha=...))"),
        (
            partial(NewtonBoosting, Ridge()),
            "loss",
            "TreeDirectRanker(NewtonBoosting(...), loss=...)",
        ),
        (partial(NestedRanker, LambdaMART()), "num_tree", "NestedRanker(LambdaMART(n_estimators=."),
    ],
)
def test_words_of_networks_and_linear_models_are_answered(cls, word, advice):
    with pytest.raises(TypeError, match=f" has no {word}; write {re.escape(advice)}"):
        cls(**{word: 7})


def test_answers_with_another_part_say_that_the_given_one_lacks_the_word():
    message = r"TreeDirectRanker and LinearModel have no n_jobs; write TreeDirectRanker\(LightGBM"
    with pytest.raises(TypeError, match=message):
        TreeDirectRanker("linear", n_jobs=1)


def test_words_of_predict_are_answered():
    ranker = TreeDirectRanker(LightGBMTrees(1, min_child_samples=1)).fit(X, Y)
    answers = {
        "pred_contrib": r"explain\(X_a, X_b\) says",
        "num_iteration": "The trees of the best",
    }
    for word, answer in answers.items():
        with pytest.raises(TypeError, match=f"predict has no {word}. {answer}"):
            ranker.predict(X, **{word: True})


@pytest.mark.parametrize(
    ("cls", "word", "advice"),
    [
        (
            TreeDirectRanker,
            "cat_smooth",
            "TreeDirectRanker(LightGBMTrees(engine_params={'cat_smooth'",
        ),
        (LightGBMTrees, "cat_smooth", "LightGBMTrees(engine_params={'cat_smooth': ...})"),
        (XGBoostTrees, "cat_smooth", "TreeDirectRanker(HistogramTrees(cat_smooth=...))"),
        (
            TreeDirectRanker,
            "device",
            "TreeDirectRanker(XGBoostTrees(engine_params={'device': ...})",
        ),
        (LightGBMTrees, "lambda_l2", "LightGBMTrees(reg_lambda=...)"),
        (
            XGBoostTrees,
            "monotone_constraints_method",
            "TreeDirectRanker(LightGBMTrees(engine_params={'monotone_constraints_method': ...}))",
        ),
        (LightGBMTrees, "bagging_seed", "LightGBMTrees(random_state=...)"),
        (TreeDirectRanker, "feature_fraction_seed", "TreeDirectRanker(random_state=...)"),
        (LightGBMTrees, "lambdarank_norm", "TreeDirectRanker(query_normalization='log')"),
        (XGBoostTrees, "min_split_loss", "XGBoostTrees(min_split_gain=...)"),
        (LightGBMTrees, "categorical_feature", "LightGBMTrees(categorical_features=...)"),
        (LightGBMTrees, "sigmoid", "TreeDirectRanker(LightGBMTrees(), sigma=...)"),
        (LightGBMTrees, "path_smooth", "LightGBMTrees(engine_params={'path_smooth': ...})"),
        (XGBoostTrees, "lambda", "XGBoostTrees(reg_lambda=...)"),
        (XGBoostTrees, "bagging_freq", "TreeDirectRanker(LightGBMTrees(subsample_freq=...))"),
        (HistogramTrees, "iterations", "HistogramTrees(n_estimators=...)"),
        (StreamingTrees, "depth", "StreamingTrees(max_depth=...)"),
        (LambdaMART, "feature_fraction", "LambdaMART(colsample_bytree=...)"),
        (LambdaMART, "max_bin", "TreeDirectRanker(HistogramTrees(max_bin=...))"),
        (LambdaMART, "loss", "TreeDirectRanker(loss=...)"),
    ],
)
def test_trees_and_boosted_rankers_answer_too(cls, word, advice):
    message = re.escape(f"{cls.__name__} has no {word}; write {advice}")
    with pytest.raises(TypeError, match=message):
        cls(**{word: 7})


@pytest.mark.parametrize(
    ("trees", "word"),
    [(trees, w) for trees in (LightGBMTrees, XGBoostTrees) for w in OF_ENGINE[trees.__name__]],
)
def test_what_only_an_engine_knows_is_taken_where_the_answer_says(trees, word):
    with pytest.raises(TypeError, match=rf"engine_params={{'{word}': \.\.\.}}"):
        trees(**{word: 1})
    value = VALUES.get(word, 0.5)
    part = trees(n_estimators=1, n_jobs=1, engine_params={word: value})
    part.fit(np.array(X), objective_for_labels(TreeDirectRanker(), Y))


def test_answers_fit_the_trees_that_are_given_and_the_call():
    with pytest.raises(TypeError, match=r"write TreeDirectRanker\(XGBoostTrees\(max_depth=...\)\)"):
        TreeDirectRanker(XGBoostTrees(), max_depth=5)
    with pytest.raises(TypeError, match=r"TreeDirectRanker\(LightGBMTrees\(num_leaves=...\)\)"):
        TreeDirectRanker("linear", num_leaves=5)
    with pytest.raises(TypeError, match=r"TreeDirectRanker\(HistogramTrees\(subsample=...\)\)"):
        TreeDirectRanker("histogram", subsample=0.5)
    with pytest.raises(TypeError, match=r"fit has no metric; write LambdaMART\(metric=\.\.\.\)"):
        LambdaMART().fit(X, Y, metric="map")
    with pytest.raises(TypeError, match=r"got one of lightgbm\. Write .*50.*with treerank\.show"):
        TreeDirectRanker().fit(X, Y, callbacks=[lightgbm.early_stopping(5)])


def test_words_with_another_meaning_in_fit_are_answered_by_the_one_there():
    with pytest.raises(TypeError, match=r"fit has no pairs; write given_pairs=\[\(better_row, wor"):
        TreeDirectRanker("linear").fit(X, Y, pairs=[[1, 0]])
    with pytest.raises(TypeError, match=r"fit has no weight; write sample_weight in fit, one weig"):
        TreeDirectRanker("linear").fit(X, Y, weight=Y)
    for word in ("eval_sample_weight", "sample_weight_eval_set"):
        with pytest.raises(TypeError, match=f"has no {word}: each query of an eval_set counts the"):
            TreeDirectRanker("linear").fit(X, Y, **{word: [Y]})


def is_answered(call, word):
    try:
        call(**{word: 1})
    except TypeError as error:
        return f"has no {word}" in str(error)
    return True


def test_all_names_that_lightgbm_has_for_a_parameter_are_answered_if_one_is():
    try:
        aliases = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    except AttributeError:
        pytest.skip("LightGBM lists its aliases elsewhere")
    for name, others in aliases.items():
        words = [name, *others]
        assert len({is_answered(LightGBMTrees, word) for word in words}) == 1, words


@pytest.mark.parametrize(
    ("package", "ranker", "unanswered"),
    [("lightgbm", "LGBMRanker", set()), ("xgboost", "XGBRanker", {"feature_weights"})],
)
def test_all_arguments_of_fit_of_lightgbm_and_xgboost_are_answered(package, ranker, unanswered):
    theirs = getattr(importlib.import_module(package), ranker)
    words = inspect.signature(theirs.fit).parameters.keys()
    words -= inspect.signature(TreeDirectRanker.fit).parameters.keys()
    call = functools.partial(TreeDirectRanker("linear").fit, X, Y)
    assert {word for word in words if not is_answered(call, word)} == unanswered


def test_answers_name_parameters_that_there_are():
    parts = LightGBMTrees().get_params().keys()
    ranker = TreeDirectRanker().get_params(deep=False).keys()
    assert ranker - parts == {*OF_RANKER, *inspect.signature(PairSettings).parameters}
    networks = {"depth", *MLP().get_params(), *LinearModel().get_params(), *SortNet().get_params()}
    assert THEIRS.keys() <= parts | ranker | networks


def test_words_of_the_pages_on_moving_are_answered():
    ours = {*inspect.signature(TreeDirectRanker.fit).parameters, *TreeDirectRanker().get_params()}
    ours |= {"max_depth", *ADVICE, *(word for words in THEIRS.values() for word in words)}
    for name in ("catboost", "lightgbm", "xgboost"):
        page = Path(__file__).parents[2] / "docs" / "move" / f"{name}.md"
        rows = re.findall(r"^\| (`.*?) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
        words = set(re.findall(r"\b(\w+)=", " ".join(row for row in rows if "save" not in row)))
        assert words & ours == words != set()


def test_other_words_are_left_to_python():
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        TreeDirectRanker().set_params(colour=1)
    with pytest.raises(
        TypeError, match=r"argument 'colour'. Write TreeDirectRanker\(feature_part="
    ):
        TreeDirectRanker(colour=1)
    with pytest.raises(TypeError, match=r"argument 'num_leavs'. Did you mean 'num_leaves'\?$"):
        LightGBMTrees(num_leavs=1)
    with pytest.raises(
        TypeError, match=r"^fit: .*'sample_wieght'. Did you mean 'sample_weight'\?$"
    ):
        TreeDirectRanker().fit(X, Y, sample_wieght=Y)
    with pytest.raises(TypeError, match=r"^fit: .*'color'. Write fit\(X, y=None.*\)\.$"):
        TreeDirectRanker().fit(X, Y, color=Y)  # and not a word of several workers


@pytest.mark.parametrize(
    "function",
    [TreeDirectRanker, TreeDirectRanker.fit, TreeDirectRanker.explain, LambdaMART, XGBoostTrees],
)
def test_signatures_show_types_and_defaults(function):
    parameters = inspect.signature(function).parameters.values()
    hints = {p.name: p.annotation for p in parameters if p.name != "self"}
    assert inspect.Parameter.empty not in hints.values()
    assert "Annotated" not in str(inspect.signature(function))
    if inspect.isclass(function):
        assert {p.name: p.default for p in parameters} == function().get_params(deep=False)


def test_signatures_show_the_types_that_a_caller_writes():
    shown = str(inspect.signature(TreeDirectRanker))
    assert "sigma: float = 1.0, k: int | None = None" in shown
    assert "sample_weight: 'ArrayLike | None' = None" in str(
        inspect.signature(TreeDirectRanker.fit)
    )
    assert "sigma: float = 1.0" in pydoc.plain(pydoc.render_doc(TreeDirectRanker))
    part = str(inspect.signature(LightGBMTrees))
    assert "learning_rate: Union[Literal['auto'], float] = 'auto'" in part.replace("typing.", "")
    assert "n_jobs: int | None = None" in part


def test_help_begins_with_plain_types_and_shows_fit_before_plumbing():
    text = pydoc.plain(pydoc.render_doc(TreeDirectRanker))
    lines = [line.strip(" |") for line in text.splitlines()]
    assert "Annotated" not in "".join(lines[:10])
    starts = {
        name: next(i for i, line in enumerate(lines) if line.startswith(f"{name}("))
        for name in ("fit", "set_fit_request", "set_output", "get_params", "get_state")
    }
    assert min(starts, key=starts.get) == "fit"
