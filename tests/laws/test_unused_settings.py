"""A setting that is not the default changes the scores, or a warning or an error says otherwise.

The law is over all rankers and feature parts that the registries list. A parameter that is not in
the table is not tested.
"""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from small_rankers import DATA, NAMES, SMALL_TREES, made

from treerank import LightGBMTrees, TreeDirectRanker
from treerank.baselines import ListNet, RankNetStar
from treerank.feature_parts import MLP, Ensemble
from treerank.feature_parts.base import traits_of
from treerank.feature_parts.registry import FEATURE_PARTS, make_feature_part
from treerank.objectives import Pairs
from treerank.objectives.factory import LOSSES
from treerank.objectives.pairs.losses import PAIR_LOSSES
from treerank.rankers import NestedRanker

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

#: Another value of each parameter than in ``small_rankers`` and the defaults.
VALUES = {
    **{"loss": "hinge", "weight": "map", "pairs": "top_10", "k": 3, "smoothing": 0.5},
    **{"sigma": 2.0, "query_normalization": "log", "head_alpha": 0.01, "alpha": 3.0, "C": 3.0},
    **{"learning_rate": 0.2, "max_depth": 1, "num_leaves": 3, "min_child_weight": 20.0},
    **{"reg_alpha": 3.0, "reg_lambda": 5.0, "subsample": 0.5, "subsample_freq": 1},
    **{"subsample_queries": 0.5, "colsample_bytree": 0.3, "losses": ("listnet", "listnet")},
    **{"activation": "relu", "dropout": 0.5, "decay_rate": 0.1, "decay_epochs": 3},
    **{"momentum": 0.5, "weight_decay": 3.0, "degree": 3, "depth": 3, "gamma": 1.0},
}
#: Settings that change nothing in a fit as short as those here.
ONE_EPOCH = "the first step does not depend on it"
FIRST_SIGNS = {"smoothing": "the first step of Adam depends on signs alone"}
EXCEPTIONS = {
    "ListNet": {"momentum": ONE_EPOCH},
    "ListNetStar": dict.fromkeys(("decay_rate", "decay_epochs"), ONE_EPOCH),
    "RankNetStar": dict.fromkeys(("decay_rate", "decay_epochs"), ONE_EPOCH),
    "LambdaRank": {"momentum": ONE_EPOCH},
    "RankNet": {"momentum": ONE_EPOCH},
    "RankProp": {"momentum": ONE_EPOCH},
    "mlp": FIRST_SIGNS,
    "polynomial": FIRST_SIGNS | {"weight_decay": "its weights are 0 before the first step"},
    "soft_trees": FIRST_SIGNS,
}


def answers(ranker):
    """Return the scores of the training documents, and the warnings of the fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = ranker.fit(DATA.X, DATA.y, DATA.qid).predict(DATA.X)
    return np.asarray(scores), {str(warning.message) for warning in caught}


def seeded(name, **settings):
    ranker = made(name).set_params(**settings)
    seeds = [n for n in ranker.get_params() if n.split("__")[-1] == "random_state"]
    return ranker.set_params(**dict.fromkeys(seeds, 0))


@pytest.mark.parametrize("name", NAMES)
def test_callbacks_are_called_or_a_warning_says_that_they_are_not(name):
    numbers = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        callbacks = [lambda n_done, n_total, values: numbers.append(n_done)]
        seeded(name).fit(DATA.X, DATA.y, DATA.qid, callbacks=callbacks)
    said = [warning for warning in caught if "callbacks are not used" in str(warning.message)]
    assert bool(numbers) != bool(said)
    assert bool(said) or name not in ("linear", "RankSVM", "ForestRanker", "ColumnRanker")


#: All rankers, and stages that record no metrics.
RECORDING = {name: seeded(name) for name in NAMES} | {
    f"nested {name}": NestedRanker(seeded(name), sizes=(3,)) for name in ("RankSVM", "linear")
}


@pytest.mark.parametrize("eval_metric", ["map", None])
@pytest.mark.parametrize("name", RECORDING)
def test_metrics_are_recorded_or_a_warning_says_that_they_are_not(name, eval_metric):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker = clone(RECORDING[name]).fit(
            DATA.X, DATA.y, DATA.qid, eval_set=DATA, eval_metric=eval_metric
        )
    said = [warning for warning in caught if "eval_metric is not recorded" in str(warning.message)]
    is_recorded = bool(getattr(ranker, "evals_result_", None))
    assert len(said) == (eval_metric is not None and not is_recorded)


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_counts_or_a_message_says_that_it_does_not(name):
    scores, said = answers(seeded(name))
    assert not [message for message in said if "replaces" in message or "left out" in message]
    silent = []
    for parameter in seeded(name).get_params():
        short = parameter.split("__")[-1]
        if short not in VALUES or short in EXCEPTIONS.get(name, {}):
            continue
        try:
            others, more = answers(seeded(name, **{parameter: VALUES[short]}))
        except ValueError as error:
            others, more = None, {str(error)}
        is_named = any(re.search(rf"\b{short}\b", message) for message in more - said)
        if not is_named and others is not None and np.array_equal(others, scores):
            silent.append(parameter)
    assert silent == []


LINEAR = (
    "A fit of feature_part='linear', whose weights are fitted by convex optimization, replaces "
)
#: Rankers with a setting that nothing reads, and the one warning of their fits.
UNUSED = {
    "loss": (
        TreeDirectRanker("linear", loss="hinge"),
        LINEAR + "loss='hinge' by loss='logistic'. Write loss='logistic', or take trees, such as "
        "feature_part='lightgbm'.",
    ),
    "listwise loss": (
        TreeDirectRanker("linear", loss="listnet"),
        "replaces loss='listnet' by loss=",
    ),
    "weight": (
        TreeDirectRanker("linear", loss="logistic", weight="ndcg", k=3, smoothing=1.0),
        LINEAR + "weight='ndcg', k=3, smoothing=1.0 by weight='query', k=None, smoothing=0.0. ",
    ),
    "pairs": (TreeDirectRanker("linear", pairs=Pairs(top=3)), " by pairs='all'. Write pairs='all'"),
    "loss of labels": (
        TreeDirectRanker("linear", loss="half_squared_error"),
        " by loss='logistic', weight='uniform'. Write loss='logistic', weight='uniform', or take",
    ),
    "rank of a fixed weight": (
        TreeDirectRanker("lightgbm", weight="query", k=3),
        "A fit with weight='query', which ignores ranks, replaces k=3 by k=None. Write k=None.",
    ),
    "head of one output": (
        TreeDirectRanker("lightgbm", head_alpha=1.0),
        "head_alpha must be left out for feature_part='lightgbm', the weights of whose outputs the "
        "ranker does not fit; got 1.0, which is not used.",
    ),
    "rows that are not drawn": (
        TreeDirectRanker(LightGBMTrees(subsample=0.5)),
        "subsample must be below 1 and subsample_freq above 0 .*; got subsample=0.5 and .*_freq=0",
    ),
    "decay": (TreeDirectRanker(MLP(decay_rate=0.1, n_epochs=1)), "decay_rate .* for decay=None"),
    "momentum": (TreeDirectRanker(MLP(momentum=0.5, n_epochs=1)), "for optimizer='adam', which"),
    "dropout": (ListNet(dropout=0.5, n_epochs=1), "dropout must be left out for hidden=()"),
    "dropout of outputs": (
        RankNetStar((4,), dropout=0.2, n_epochs=1),
        "dropout must be left out for hidden=(4,), whose only layer is f(x) and has no hidden",
    ),
    "losses of an ensemble": (
        TreeDirectRanker(
            Ensemble(["linear", "lightgbm"], losses=["listmle", None], n_bags=0, n_refits=1)
        ),
        "losses are not used for parts whose weights .* linear models; got 'listmle', which 'logis",
    ),
}


@pytest.mark.parametrize(("ranker", "rule"), UNUSED.values(), ids=UNUSED)
def test_one_warning_names_the_setting_what_is_used_and_what_to_write(ranker, rule):
    with pytest.warns(UserWarning, match=".*".join(map(re.escape, rule.split(".*")))) as caught:
        ranker.set_params(random_state=0).fit(DATA.X, DATA.y, DATA.qid)
    assert [warning.filename for warning in caught] == [__file__]


CONVEX = [name for name in FEATURE_PARTS if traits_of(make_feature_part(name)).fits_convex]
LISTWISE = sorted(set(LOSSES) - set(PAIR_LOSSES))


@pytest.mark.parametrize("n_bags", [0, 2])
@pytest.mark.parametrize(
    "settings", [{}, {"weight": "uniform"}, {"sigma": 2.0}, {"loss": "listnet"}]
)
@pytest.mark.parametrize("loss", LISTWISE)
@pytest.mark.parametrize("name", CONVEX)
def test_none_is_advised_for_a_replaced_loss_where_the_model_stays_the_same(
    name, loss, settings, n_bags
):
    part = Ensemble([name, SMALL_TREES], losses=[loss, None], n_bags=n_bags, n_refits=1)
    ranker = TreeDirectRanker(part, random_state=0, **settings)
    scores, said = answers(ranker)
    others, silence = answers(ranker.set_params(feature_part__losses=None))
    (message,) = said
    assert silence == set()
    assert np.allclose(scores, others, rtol=1e-9) == message.endswith(" None for these parts.")


class ByGap(TreeDirectRanker):
    """A ranker whose author has set the weight."""

    def __init__(self, feature_part="linear", *, weight="ndcg", random_state=0):
        super().__init__(feature_part, weight=weight, random_state=random_state)


@pytest.mark.parametrize(
    "ranker",
    [
        TreeDirectRanker("linear"),
        TreeDirectRanker("linear", loss="logistic", weight="query", smoothing=0.0, pairs=None),
        TreeDirectRanker(
            "linear", weight="label_gap", pairs="adjacent", gain="linear", threshold=2
        ),
        TreeDirectRanker(["linear", "lightgbm"], weight="map", loss="hinge", k=3),
        TreeDirectRanker(["linear"], weight="map"),  # by which the weights of parts are fitted
        RankNetStar((4,), activation="relu", n_epochs=1),  # of the outputs
        TreeDirectRanker("lightgbm", weight="uniform", pairs="top_10", smoothing=0.5),
        TreeDirectRanker("lightgbm", weight="map", k=3, smoothing=0.5),
        TreeDirectRanker(LightGBMTrees(subsample=0.5, subsample_freq=1)),
        ByGap(),
    ],
)
def test_what_is_used_or_left_at_its_default_is_no_warning(ranker):
    ranker.set_params(random_state=0).fit(DATA.X, DATA.y, DATA.qid)


#: Rankers that are networks, and settings that decide which others are read.
NETWORKS = [name for name in NAMES if "optimizer" in made(name).get_params(deep=False)]
DECIDING = {
    "optimizer": ["adam", "adamw", "sgd"],
    "decay": [None, "step"],
    "hidden": [(4,), (4, 2)],
}


@pytest.mark.parametrize("parameter", DECIDING)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_defaults_of_a_network_are_no_warning_whatever_else_is_set(name, parameter):
    for value in DECIDING[parameter]:
        ranker = type(made(name))(n_epochs=1, random_state=0, **{parameter: value})
        ranker.fit(DATA.X, DATA.y, DATA.qid)
