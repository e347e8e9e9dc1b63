"""Sizes of trees by held-out queries: what is chosen, by an oracle, and where nothing is."""

import numpy as np
import pandas as pd
import pytest

import treerank.rankers.held_out_sizes as held_out_sizes
from treerank import (
    NDCG,
    HistogramTrees,
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    get_metric,
    load,
)
from treerank.documents.rows import Rows
from treerank.documents.training_set import training_set
from treerank.feature_parts.registry import make_feature_part
from treerank.feature_parts.trees.auto_sizes import auto_sizes
from treerank.progress import listening
from treerank.rankers.direct_ranker import objective_for_labels

N, DOCUMENTS, FEATURES = 1000, 5, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N * DOCUMENTS, FEATURES))
QID = np.repeat(np.arange(N), DOCUMENTS)
#: Labels that are mostly chance, and labels that need many leaves.
NOISY = ((X[:, 0] + 6 * RNG.normal(size=len(X))) > 4).astype(int)
CLEAR = (np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] > 0.8).astype(int)
USUAL = auto_sizes(len(X), N, FEATURES)
SMALLER = auto_sizes(len(X), N, FEATURES, leaves=0.4, travel=0.5)


def fitted(y=NOISY, part="auto", rows=slice(None), **settings):
    of_fit = {
        name: settings.pop(name) for name in ("eval_set", "sample_weight") if name in settings
    }
    ranker = TreeDirectRanker(part, **{"random_state": 0} | settings)
    return ranker.fit(X[rows], y[rows], QID[rows], **of_fit)


def sizes_of(ranker):
    trees = ranker.feature_part_
    names = ("n_estimators_", "learning_rate_", "num_leaves_")
    return tuple(getattr(trees, name) for name in names)


def shown(sizes):
    return sizes.n_estimators, sizes.learning_rate, sizes.num_leaves


def test_factors_change_leaves_and_the_sum_of_the_rates():
    assert SMALLER.num_leaves == round(0.4 * 8 * (1000 / 300) ** 0.7)
    travel = 0.5 * 7 * 10**0.15
    assert SMALLER.n_estimators == round(travel / 0.05)
    assert SMALLER.min_child_samples == USUAL.min_child_samples
    large = auto_sizes(10**6, 10**5, 40, leaves=0.4)
    assert large.num_leaves == 127  # the factor comes before the bound


@pytest.mark.parametrize("part", ["auto", "lightgbm", LightGBMTrees(n_jobs=2, max_bin=63)])
def test_noisy_labels_get_smaller_trees_and_clear_ones_the_usual(part):
    assert sizes_of(fitted(NOISY, part)) == shown(SMALLER)
    assert sizes_of(fitted(CLEAR, part)) == shown(USUAL)


def test_the_model_is_that_of_the_same_sizes_and_a_file_keeps_it(tmp_path):
    ranker = fitted()
    sizes = dict(zip(("n_estimators", "learning_rate", "num_leaves"), shown(SMALLER), strict=True))
    expected = fitted(part=LightGBMTrees(**sizes)).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    ranker.save(tmp_path / "m")
    assert sizes_of(load(tmp_path / "m")) == shown(SMALLER)
    assert ranker.feature_part == "auto"


def lead_by_hand(y):
    """Return the lead of smaller trees in NDCG@10, and in the loss, by public means alone."""
    ranker = TreeDirectRanker(random_state=0)
    data = ranker_data(y)
    queries = np.flatnonzero([len(set(y[rows])) == 2 for rows in data])
    drawn = np.random.default_rng(0).permutation(queries)
    n, leads, losses = len(drawn) // 2, [], np.zeros(2)
    for fit, rank in ((drawn[:n], drawn[n:]), (drawn[n : 2 * n], np.r_[drawn[:n], drawn[2 * n :]])):
        train, held_out = (np.concatenate([data[q] for q in np.sort(some)]) for some in (fit, rank))
        numbers = len(train), n, FEATURES
        values = []
        for number, factors in enumerate([(1, 1), (0.4, 0.5)]):
            sizes = auto_sizes(*numbers, leaves=factors[0], travel=factors[1])
            n_trees = round(sizes.n_estimators * sizes.learning_rate / 0.3)
            trees = LightGBMTrees(
                n_trees, learning_rate=0.3, num_leaves=sizes.num_leaves, random_state=0
            )
            objective = objective_for_labels(ranker, y[train], QID[train])
            trees.fit(X[train], objective)
            scores = trees.transform(X[held_out])[:, 0]
            values.append(get_metric("ndcg@10").per_query(y[held_out], scores, QID[held_out]))
            losses[number] += objective_for_labels(ranker, y[held_out], QID[held_out])(scores)[0]
        leads.append(np.nanmean(values[1] - values[0]))
    return np.mean(leads), losses[1] / losses[0] - 1


def ranker_data(y):
    """Return the rows of each query in the canonical order of a fit."""
    data = training_set(Rows(X), y.astype(float), QID)
    return [data.rows[data.groups.codes == q] for q in range(data.groups.n_queries)]


@pytest.mark.parametrize("y", [NOISY, CLEAR])
def test_metric_and_loss_are_those_of_queries_that_were_not_fitted(y, monkeypatch):
    measured, found = held_out_sizes.Fold.measured, []

    def spied(fold, part, factors):
        found.append(measured(fold, part, factors))
        return found[-1]

    monkeypatch.setattr(held_out_sizes.Fold, "measured", spied)
    fitted(y)
    values, losses = ([each[number] for each in found] for number in (0, 1))
    leads = [np.nanmean(values[1] - values[0]), np.nanmean(values[3] - values[2])]
    lead, loss = lead_by_hand(y)
    assert np.mean(leads) == pytest.approx(lead, abs=0.02)  # draws of noise and columns differ
    expected = pytest.approx(loss, abs=0.04)
    assert (losses[1] + losses[3]) / (losses[0] + losses[2]) - 1 == expected
    assert (lead > 0 and loss < 0) == (y is NOISY)


@pytest.mark.parametrize(
    ("lead", "loss", "is_smaller"),
    [(1.01, 0.99, True), (0.99, 0.99, False), (1.01, 1.01, False), (-1.01, 0.99, False)],
)
def test_the_loss_must_fall_and_the_metric_rise_by_its_standard_error(
    lead, loss, is_smaller, monkeypatch
):
    leads = np.array([[0.0, 1.0, np.nan], [2.0, np.nan, 3.0]])
    some = leads[~np.isnan(leads)]
    leads += lead * some.std(ddof=1) / np.sqrt(4) - some.mean()
    values = iter([np.zeros(3), leads[0], np.zeros(3), leads[1]])
    losses = iter([1.5, 2 * loss - 0.5, 0.5, 0.5])
    measured = lambda fold, part, factors: (next(values), next(losses))  # noqa: E731
    monkeypatch.setattr(held_out_sizes.Fold, "measured", measured)
    assert sizes_of(fitted()) == shown(SMALLER if is_smaller else USUAL)


def test_neither_order_nor_threads_nor_the_seed_change_the_sizes(monkeypatch):
    order = np.random.default_rng(1).permutation(len(X))
    renamed = np.random.default_rng(2).permutation(N)[QID]
    expected = fitted()
    scores = expected.predict(X)
    shuffled = TreeDirectRanker(LightGBMTrees(n_jobs=2), random_state=0)
    shuffled.fit(X[order], NOISY[order], renamed[order])
    np.testing.assert_array_equal(shuffled.predict(X), scores)
    assert sizes_of(fitted(random_state=7)) == sizes_of(expected)


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        (LightGBMTrees(num_leaves=31), {}),
        (LightGBMTrees(n_estimators=30), {}),
        (LightGBMTrees(learning_rate=0.2), {}),
        ("auto", {"warm_start": True}),
        ("auto", {"loss": "half_squared"}),
        ("auto", {"metric": lambda y, scores, qid: 1.0}),
        ("auto", {"eval_set": (X[:50] + 1, NOISY[:50], QID[:50] + N)}),
        ("auto", {"eval_set": 0.2}),
        (XGBoostTrees(), {}),
        (HistogramTrees(), {}),
        (["lightgbm", "lightgbm"], {}),
    ],
)
def test_nothing_is_measured_where_the_rule_stays(part, settings, monkeypatch):
    def refused(*args):
        raise AssertionError("no held-out query is to be ranked")

    monkeypatch.setattr(held_out_sizes.Fold, "measured", refused)
    fitted(part=part, **settings)


def test_the_rule_stays_below_1000_queries_and_with_few_that_have_two_labels(monkeypatch):
    rows = slice(DOCUMENTS, None)
    assert sizes_of(fitted(rows=rows)) == shown(auto_sizes(len(X) - 5, N - 1, FEATURES))
    y = np.where(QID < 499, NOISY, 0)
    assert sizes_of(fitted(y)) == shown(USUAL)


@pytest.mark.filterwarnings("ignore:Position bias can only")
@pytest.mark.parametrize("more", ["pairs", "labels", "position"])
def test_the_rule_stays_for_other_kinds_of_labels(more):
    ranker, of_fit, y = TreeDirectRanker(random_state=0), {}, NOISY
    if more == "pairs":
        of_fit["given_pairs"] = [
            [i, i + 1] for i in range(len(X) - 1) if QID[i] == QID[i + 1] and y[i] > y[i + 1]
        ]
    elif more == "labels":
        y = {"a": NOISY, "b": CLEAR}
    else:
        of_fit["position"] = np.tile(np.arange(1, DOCUMENTS + 1), N)
    ranker.fit(X, y, QID, **of_fit)
    assert ranker.feature_part_.num_leaves_ > SMALLER.num_leaves


def test_frames_weights_constraints_and_unjudged_documents_are_chosen_for_too(tmp_path):
    y = NOISY.astype(float)
    y[::50] = np.nan
    levels = pd.Categorical(np.array(["red", "green", "blue"])[np.arange(len(X)) % 7 % 3])
    frame = pd.DataFrame(X, columns=list("abc")).assign(color=levels)
    part = LightGBMTrees(monotone_constraints={"c": -1})
    ranker = TreeDirectRanker(part, random_state=0)
    weight = 1.0 + (QID % 2)
    ranker.fit(frame, y, QID, sample_weight=weight)
    n = int((~np.isnan(y)).sum())
    smaller = auto_sizes(n, N, 4, leaves=0.4, travel=0.5)
    assert sizes_of(ranker) == shown(smaller)
    raised = frame.assign(c=frame["c"] + 1)
    assert (ranker.predict(raised) <= ranker.predict(frame)).all()
    ranker.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(frame), ranker.predict(frame))


def test_a_metric_that_does_not_know_the_labels_stops_no_fit():
    metric = NDCG(10, gain=[0.0])
    with pytest.raises(ValueError, match="gain"):
        fitted(metric=metric).score(X, NOISY, QID)
    assert sizes_of(fitted(metric=metric)) == shown(USUAL)


def test_one_line_says_it_and_listeners_hear_of_the_fit_alone():
    texts, steps = [], []
    with listening(lambda n_done, n_total, note: steps.append((n_done, n_total)), texts.append):
        ranker = fitted()
    n_trees = ranker.feature_part_.n_estimators_
    assert steps == [(i, n_trees) for i in range(1, n_trees + 1)]
    (line,) = [text for text in texts if "held-out" in text]
    assert line.startswith("smaller trees rank held-out queries better (ndcg@10 +0.")


def test_what_is_measured_has_a_seed_of_its_own(monkeypatch):
    seeds, make = [], TreeDirectRanker._make_objective

    def noted(ranker, data, seed):
        seeds.append(seed)
        return make(ranker, data, seed)

    monkeypatch.setattr(TreeDirectRanker, "_make_objective", noted)
    fitted(random_state=5)
    of_fit = [seed for seed in seeds if seed]  # in each fold it is 0, whatever that of the fit is
    assert len(of_fit) == 1
    assert len(seeds) > 2


def pairs_of_documents(n_queries):
    """Return training data of so many queries of two documents."""
    qid = np.repeat(np.arange(n_queries), 2)
    X = np.random.default_rng(3).normal(size=(2 * n_queries, 1))
    return training_set(Rows(X), np.tile([0.0, 1.0], n_queries), qid)


@pytest.mark.parametrize(
    ("n_queries", "n_trees", "n"), [(3100, 156, 1000), (3100, 100, 1000), (1200, 50, 300)]
)
def test_each_fold_fits_up_to_1000_queries_and_ranks_up_to_2000_others(
    n_queries, n_trees, n, monkeypatch
):
    sizes = auto_sizes(2 * n_queries, n_queries, 1)._replace(n_estimators=n_trees)
    monkeypatch.setattr(held_out_sizes, "auto_sizes", lambda *numbers, **factors: sizes)
    data = pairs_of_documents(n_queries)
    drawn = np.random.default_rng(0).permutation(np.arange(n_queries))
    parts = [drawn[:n], drawn[n : 2 * n]]
    others = [drawn[n:], np.append(drawn[:n], drawn[2 * n :])]
    folds = list(held_out_sizes._folds(data, np.arange(n_queries)))
    assert len(folds) == 2
    for part, other, fold in zip(parts, others, folds, strict=True):
        for queries, some in zip((part, other[:2000]), fold, strict=True):
            mask = np.isin(np.arange(n_queries), queries)
            expected = data.take_queries(mask)
            assert some.groups.n_queries == len(queries)
            np.testing.assert_array_equal(some.X[some.rows], expected.X[expected.rows])


def test_trees_that_are_measured_have_the_rate_and_sizes_of_their_factors(monkeypatch):
    data, fits = pairs_of_documents(600), []
    sizes = auto_sizes(1200, 600, 1)
    monkeypatch.setattr(
        held_out_sizes, "fit_part", lambda trees, documents, objective: fits.append(trees)
    )
    outputs = np.column_stack([np.arange(1200.0), np.zeros(1200)])
    monkeypatch.setattr(held_out_sizes, "outputs_of", lambda trees, documents: outputs)
    loss = lambda scores: (float(scores.sum()), None, None)  # noqa: E731
    fold = held_out_sizes.Fold(data, data, None, loss, get_metric("ndcg@10"))
    part, factors = LightGBMTrees(), held_out_sizes.Factors
    for chosen in (held_out_sizes.RULE, held_out_sizes.SMALLER, factors(1.0, 1e-9)):
        values, total = fold.measured(part, chosen)
        assert (len(values), total) == (600, outputs.sum())
    smaller = auto_sizes(1200, 600, 1, leaves=0.4, travel=0.5)
    rounds = [max(1, round(s.n_estimators * s.learning_rate / 0.3)) for s in (sizes, smaller)]
    params = [trees.get_params() for trees in fits]
    assert [p["n_estimators"] for p in params] == [*rounds, 1]
    leaves = [sizes.num_leaves, smaller.num_leaves, sizes.num_leaves]
    assert [p["num_leaves"] for p in params] == leaves
    assert {p["learning_rate"] for p in params} == {0.3}
    assert {p["random_state"] for p in params} == {0}
    assert (held_out_sizes.RULE, factors()) == ((1.0, 1.0), (1.0, 1.0))


def test_sizes_are_chosen_for_trees_of_lightgbm_all_of_which_are_auto():
    data = pairs_of_documents(10)
    found = {
        "lightgbm": held_out_sizes._may_choose(LightGBMTrees(), data),
        "histogram": held_out_sizes._may_choose(HistogramTrees(), data),
        "xgboost": held_out_sizes._may_choose(XGBoostTrees(), data),
        "linear": held_out_sizes._may_choose(make_feature_part("linear"), data),
        "leaves": held_out_sizes._may_choose(LightGBMTrees(num_leaves=31), data),
    }
    assert [name for name, chosen in found.items() if chosen] == ["lightgbm"]
