"""Click models: laws over the table of models, and values worked by hand."""

import numpy as np
import polars as pl
import pytest

from treerank.clicks import CLICK_MODELS, ClickLog, make_click_log
from treerank.clicks import log as log_module
from treerank.clicks.models import click_model, walks
from treerank.clicks.models.click_model import log_of_outcome

every_model = pytest.mark.parametrize("name", CLICK_MODELS)


def entropy(proba):
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = proba * np.log(proba), (1 - proba) * np.log(1 - proba)
    return -np.nan_to_num(terms[0]) - np.nan_to_num(terms[1])


@pytest.fixture(scope="module")
def logs():
    """A log that each model can fit, and a large one that was drawn from the fitted model."""
    found = {}
    for name, model in CLICK_MODELS.items():
        log = make_click_log(4000, random_state=0)
        if name == "cascade":
            log = log.taking(np.flatnonzero(log.n_clicks_of_sessions <= 1))
        fitted = model(max_iter=20).fit(log)
        found[name] = log, fitted, fitted.sample(make_click_log(20_000, random_state=1))
    return found


@pytest.fixture(scope="module")
def trusting():
    """A log of users who trust the first positions, and what they do."""
    log, rng = make_click_log(40_000, n_queries=20, random_state=0), np.random.default_rng(0)
    attraction = rng.beta(1, 3, size=len(log.items))
    examination, trust = np.array([[0.7, 0.4, 0.3, 0.2, 0.15], [0.3, 0.1, 0.03, 0.0, 0.0]])
    at = log.position - 1
    proba = examination[at] * attraction[log.item] + trust[at]
    return log.with_clicks(rng.random(len(at)) < proba), attraction, examination, trust


@every_model
def test_the_likelihood_never_falls(logs, name):
    values = logs[name][1].log_posterior_
    assert len(values) > 1
    assert np.diff(values).min() >= -1e-12


@every_model
def test_a_model_is_recovered_from_its_own_sample(logs, name):
    _, truth, sample = logs[name]
    model = CLICK_MODELS[name](max_iter=300, tol=1e-9).fit(sample)
    assert model.examination_ == pytest.approx(truth.examination_, abs=0.06)
    seen = truth.attraction_[truth.items_.rows_of(model.items_)]
    assert np.abs(model.attraction_ - seen).mean() < 0.05
    if hasattr(truth, "continuation_"):
        assert model.continuation_ == pytest.approx(truth.continuation_, abs=0.15)


@every_model
def test_probabilities_are_those_of_samples(logs, name):
    _, truth, sample = logs[name]
    proba = truth.predict_click_proba(sample)
    given = truth.predict_click_proba(sample, given_clicks=True)
    at = sample.position - 1
    clicks = np.bincount(at, sample.clicked) / sample.n_at
    assert np.bincount(at, proba) / sample.n_at == pytest.approx(clicks, abs=0.01)
    assert np.bincount(at, given) / sample.n_at == pytest.approx(clicks, abs=0.01)
    assert truth.log_likelihood(sample) == pytest.approx(-entropy(given).mean(), abs=0.01)
    assert ((truth.perplexity(sample) >= 1) & (truth.perplexity(sample) < 2)).all()


@every_model
def test_documents_that_are_not_shown_have_no_say(logs, name):
    log = logs[name][0]
    some = log.taking(np.flatnonzero(log.query < 5))
    rows = np.unique(some.item)
    names = [column[some.item] for column in (some.items.query, some.items.document)]
    alone = ClickLog.from_columns(some.session, *names, some.position, some.clicked)
    fits = [CLICK_MODELS[name](max_iter=5).fit(each) for each in (some, alone)]
    assert fits[0].examination_ == pytest.approx(fits[1].examination_)
    places = fits[1].items_.rows_of(log.items.taking(rows))
    assert fits[0].attraction_[rows] == pytest.approx(fits[1].attraction_[places])


def parameters_of(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@every_model
@pytest.mark.parametrize("batch_size", [500, 10**6])
def test_a_file_in_batches_gives_the_same_bits_as_a_table(logs, name, batch_size, tmp_path):
    pytest.importorskip("pyarrow")
    log = logs[name][0]
    columns = {"query": log.items.query[log.item], "document": log.items.document[log.item]}
    columns |= {"session": log.session, "position": log.position, "click": log.clicked}
    order = np.random.default_rng(0).permutation(len(log.item))
    table = pl.DataFrame(columns)[order]
    table.write_parquet(tmp_path / "clicks.parquet")
    read = ClickLog.from_parquet(tmp_path / "clicks.parquet", batch_size=batch_size)
    fits = [CLICK_MODELS[name](max_iter=3).fit(each) for each in (log, read)]
    expected, found = map(parameters_of, fits)
    assert (found.pop("items_").document == expected.pop("items_").document).all()
    assert {key: np.array_equal(found[key], expected[key]) for key in expected} == dict.fromkeys(
        expected, True
    )


@every_model
def test_blocks_of_sessions_change_the_last_bits_only(logs, name, monkeypatch):
    log, expected, _ = logs[name]
    values = expected.log_likelihood(log), *expected.perplexity(log)
    for module in (click_model, walks):
        monkeypatch.setattr(module, "BLOCK", 77)
    found = CLICK_MODELS[name](max_iter=20).fit(log)
    assert found.log_posterior_ == pytest.approx(expected.log_posterior_, abs=1e-12)
    assert found.attraction_ == pytest.approx(expected.attraction_, abs=1e-9)
    assert found.examination_ == pytest.approx(expected.examination_, abs=1e-9)
    assert (expected.log_likelihood(log), *expected.perplexity(log)) == pytest.approx(values)


@pytest.fixture(scope="module")
def repeating():
    """A log of sessions of three lengths with one click at most, of which many are alike."""
    rows, rng = [], np.random.default_rng(0)
    for session in range(600):
        documents, left_at = rng.permutation(3)[: 1 + session % 3], rng.integers(4)
        rows += [
            (session, session % 2, document, place + 1, place == left_at)
            for place, document in enumerate(documents)
        ]
    return ClickLog.from_columns(*map(np.array, zip(*rows, strict=True)))


@every_model
def test_sessions_count_as_often_as_they_are_there_in_blocks_of_any_size(
    repeating, name, monkeypatch
):
    assert len(repeating.distinct()) < len(repeating) / 4
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(ClickLog, "distinct", lambda log: log)
        expected = CLICK_MODELS[name](max_iter=10).fit(repeating)
    for module in (click_model, walks):
        monkeypatch.setattr(module, "BLOCK", 7)
    monkeypatch.setattr(log_module, "_SUMMED_AT_ONCE", 20)
    found = CLICK_MODELS[name](max_iter=10).fit(repeating)
    for key, value in parameters_of(expected).items():
        if key not in ("items_", "n_positions_"):
            assert getattr(found, key) == pytest.approx(value, abs=1e-9), key


@every_model
def test_distinct_sessions_are_as_likely_as_all_of_them(logs, name):
    log, model, _ = logs[name]
    few = log.taking(np.repeat(np.arange(40), np.arange(40)))
    distinct = few.distinct()
    assert len(distinct) < len(few) == distinct.n_sessions
    assert model.log_likelihood(distinct) == pytest.approx(model.log_likelihood(few))
    assert model.perplexity(distinct) == pytest.approx(model.perplexity(few))
    assert len(model.sample(distinct, random_state=0)) == len(few)


@every_model
def test_a_log_without_clicks_is_refused(name):
    log = make_click_log(100, random_state=0)
    with pytest.raises(ValueError, match="click must be 1 in some row"):
        CLICK_MODELS[name]().fit(log.with_clicks(np.zeros(len(log.item), dtype=bool)))


def test_a_position_based_model_needs_no_more_than_sums(logs):
    log, fitted, _ = logs["position_based"]
    model = CLICK_MODELS["position_based"](max_iter=20).fit(log.counts())
    assert model.attraction_ == pytest.approx(fitted.attraction_)
    assert model.examination_ == pytest.approx(fitted.examination_)
    assert model.perplexity(log) == pytest.approx(fitted.perplexity(log))


def test_trust_is_told_from_attraction(trusting):
    log, attraction, examination, trust = trusting
    model = CLICK_MODELS["trust_bias"](max_iter=300).fit(log)
    assert model.trust_ == pytest.approx(trust, abs=0.03)
    assert model.examination_ == pytest.approx(examination, abs=0.05)
    assert np.abs(model.attraction_ - attraction).mean() < 0.05
    assert model.perplexity(log).max() < 2


def test_a_prior_is_worth_more_where_items_differ_less(logs):
    log, fitted, _ = logs["position_based"]
    alike = log.with_clicks(np.random.default_rng(0).random(len(log.item)) < 0.3)
    model = CLICK_MODELS["position_based"]
    assert model(max_iter=1).fit(alike).prior_shows_ > 100 > fitted.prior_shows_
    assert model(max_iter=1, prior_shows=3.0).fit(log).prior_shows_ == 3.0


def test_a_prior_is_worth_about_as_much_as_the_one_that_attractions_are_drawn_from():
    rng, item = np.random.default_rng(0), np.repeat(np.arange(400), 40)
    clicked = rng.random(len(item)) < rng.beta(2, 6, size=400)[item]
    log = ClickLog.from_columns(np.arange(len(item)), item, item, np.ones(len(item)), clicked)
    model = CLICK_MODELS["position_based"](max_iter=1).fit(log)
    assert 6 < model.prior_shows_ < 13  # 2 + 6


def test_an_estimated_prior_predicts_other_sessions():
    log = make_click_log(300, random_state=2)
    seen, unseen = (log.taking(np.arange(start, 300, 2)) for start in (0, 1))
    estimated, weak, strong = (
        CLICK_MODELS["position_based"](prior_shows=prior).fit(seen).log_likelihood(unseen)
        for prior in (None, 0.1, 100.0)
    )
    assert estimated > max(weak, strong)


@pytest.mark.parametrize("name", ["position_based", "user_browsing"])
def test_examination_is_found_where_few_impressions_are_clicked(name):
    log, rng = make_click_log(40_000, random_state=0), np.random.default_rng(0)
    attraction = rng.gamma(2.0, 0.01, size=len(log.items))
    log = log.with_clicks(rng.random(len(log.item)) < attraction[log.item] / log.position)
    examination = CLICK_MODELS[name]().fit(log).examination_
    assert examination == pytest.approx(1 / np.arange(1, 6), abs=0.05)


FLAT = ["click_chain", "dynamic_bayesian", "position_based", "user_browsing"]


@pytest.mark.parametrize("name", FLAT)
def test_a_model_of_few_clicks_predicts_as_well_as_the_rates_of_positions(name):
    gains = []
    for seed in range(4):
        log, rng = make_click_log(20_000, random_state=seed), np.random.default_rng(seed)
        log = log.with_clicks(rng.random(len(log.item)) < 0.005)
        seen, unseen = (log.taking(np.arange(start, log.n_sessions, 2)) for start in (0, 1))
        rates = np.bincount(seen.position - 1, seen.clicked) / seen.n_at
        by_rates = log_of_outcome(unseen, rates[unseen.position - 1]).mean()
        gains.append(CLICK_MODELS[name]().fit(seen).log_likelihood(unseen) - by_rates)
    assert np.mean(gains) > -5e-5


def test_a_longer_list_than_in_fit_is_refused(logs):
    model = logs["position_based"][1]
    with pytest.raises(ValueError, match=r"position must be at most 5, as in fit; got 8\."):
        model.predict_click_proba(make_click_log(100, n_positions=8, random_state=0))


def test_items_that_fit_has_not_seen_attract_as_the_prior_mean(logs):
    model = logs["position_based"][1]
    log = ClickLog.from_columns([1], ["another"], ["document"], [1], [0])
    assert model.predict_click_proba(log) == pytest.approx(model.prior_mean_)


def test_user_browsing_needs_no_click_at_the_last_position_but_one():
    log = make_click_log(100, random_state=0)
    first_alone = log.with_clicks(log.clicked & (log.position == 1))
    browsing = CLICK_MODELS["user_browsing"]().fit(first_alone).browsing_
    assert browsing.shape == (5, 5)
    assert browsing[4, 4] == 0.5  # the prior: nothing says more


def test_two_clicks_break_a_cascade(logs):
    log = ClickLog.from_columns([1, 1], ["q", "q"], ["a", "b"], [1, 2], [1, 1])
    with pytest.raises(ValueError, match=r"at most one click per session .* of query 'q'"):
        CLICK_MODELS["cascade"]().fit(log)


@pytest.mark.parametrize("name", ["dependent_click", "dynamic_bayesian", "click_chain"])
def test_what_is_to_expect_of_a_walk_is_the_sum_over_all_ways_to_walk(name):
    log = ClickLog.from_columns(
        [1] * 4, ["q"] * 4, ["a", "b", "c", "d"], [1, 2, 3, 4], [0, 1, 0, 0]
    )
    model = CLICK_MODELS[name](max_iter=3).fit(log)
    expected = model._up(log, model._down(log, model.attraction_)[1])
    weights, a = {}, model.attraction_
    for depth in range(1, 5):  # documents that are examined
        weight = 1.0
        for place in range(depth):
            step = model._steps(place, log.item[place : place + 1], a[log.item[place : place + 1]])
            on = step[0][0] if log.clicked[place] else step[1][0]
            attracts = a[log.item[place]]
            weight *= attracts if log.clicked[place] else 1 - attracts
            if place < 3:
                weight *= on if place < depth - 1 else 1 - on
        weights[depth] = weight if depth >= 2 else 0.0
    total = sum(weights.values())
    examined = [sum(w for d, w in weights.items() if d > place) / total for place in range(4)]
    assert expected.examined == pytest.approx(examined)
    assert expected.went_on[:3] == pytest.approx(examined[1:])
    assert np.exp(model.log_likelihood(log) * 4) == pytest.approx(total)
