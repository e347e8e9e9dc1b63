import inspect
import math
import warnings

import numba
import numpy as np
import pytest
from numba import njit

from treerank import TreeDirectRanker
from treerank.documents.queries import QueryGroups
from treerank.objectives import PairLoss, PairSettings, make_objective
from treerank.objectives.base import as_objective
from treerank.objectives.factory import get_loss
from treerank.objectives.pairs.losses import PAIR_LOSSES, logistic
from treerank.objectives.sums import FromStart
from treerank.rankers.direct_ranker import objective_for_labels

Y, QID = np.array([0.0, 1, 2, 0]), np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        (Y, {"weight": "dcg"}, r"weight must be a PairWeight or one of \['err'.*got 'dcg'"),
        (Y, {"sigma": 0}, "sigma must be a finite number above 0; got 0"),
        (Y, {"sigma": np.nan}, "sigma must be a finite number above 0; got nan"),
        (Y, {"smoothing": -1.0}, "smoothing must be a finite number of at least 0; got -1.0"),
        (Y, {"query_normalization": 1}, "query_normalization must be one of .*got 1"),
        (Y, {"k": 0}, "k must be a whole number of at least 1; got 0"),
        (Y, {"k": 2**63}, "k must be a whole number"),
        (Y, {"k": 10**30}, "k must be a whole number"),
        (Y, {"weight": "ndcg", "gain": [0, 2, 1]}, "gain must not fall .* of label 2 is lower"),
        (Y, {"weight": "ndcg", "gain": [0, 1]}, "y must be integers below 2.*got 2.0"),
        (Y, {"sample_weight": [1, 1, np.nan, 1]}, "sample_weight must be finite; got nan in row 2"),
        (Y, {"sample_weight": [1, -1, 1, 1]}, "sample_weight must not be negative; got -1.0 in r"),
        (Y, {"sample_weight": [1, 1]}, "sample_weight must have one entry.*got 2 for 4"),
        (Y, {"query_weight": [1, 2, 1, 1]}, "query_weight must be constant within a query"),
        (
            Y,
            {"pairs": "with_ties", "weight": "ndcg"},
            "for pairs of .* got weight='ndcg' and pairs='wi",
        ),
        (Y, {"pairs": "adjacent", "given_pairs": [[0, 1]]}, "pairs must be None or 'all' when"),
        (Y, {"loss": "listnet", "gain": [0, 1]}, "gain must be 'exponential' for loss"),
        (Y, {"loss": "listnet", "given_pairs": [[0, 1]]}, "given_pairs must be None for loss"),
        (Y, {"given_pairs": np.empty((0, 3))}, "given_pairs must list at least one pair; got 0"),
        (Y, {"given_pairs": np.ones((1, 1))}, r"must have the columns.*got shape \(1, 1\)"),
        (Y, {"given_pairs": np.ones((1, 5))}, r"must have the columns.*got shape \(1, 5\)"),
        (Y, {"random_state": 0.5}, r"random_state must be a whole number.*got 0\.5"),
        (Y, {"random_state": -1}, "random_state must be a whole number.*got -1"),
        ([0, np.nan, 1], {}, r"y must be finite; got nan in row 1. Leave documents out"),
        ([0, np.inf, 1], {"loss": "listnet"}, "y must be finite; got inf in row 1"),
        ([0, -1], {"weight": "ndcg"}, "y must not be negative where it has a gain, as in .*-1.0"),
        ([0, -1], {"weight": "label"}, "y must not be negative for weight='label'; got -1.0"),
        ([0, 2000], {"weight": "ndcg"}, "y must be at most 1000 for gain='exponential'; got 2000"),
        ([[0, 1]], {}, r"y must be one-dimensional; got shape \(1, 2\)"),
        ([0, 1000], {"loss": "xendcg"}, r"y must be at least 0 and .* got 1000\.0 in row 1"),
        ([-1, 1], {"loss": "approx_ndcg"}, "y must be at least 0"),
        (
            Y,
            {"qid": QueryGroups.from_qid([2, 1])},
            "qid must group as many documents as y has; got 2 for 4",
        ),
        (Y, {"gain": [[0, 1], [2, 3]]}, "gain must be one-dimensional"),
    ],
)
def test_says_argument_rule_and_value(y, settings, message):
    with pytest.raises(ValueError, match=message):
        make_objective(y, **settings)


ORDERED, BEYOND_EXPONENTIALS = [-5.5, 0.25, 100], [5000, 5001, 5002]


@pytest.mark.parametrize(
    ("loss", "y"), [("logistic", ORDERED), ("listmle", ORDERED), ("listnet", BEYOND_EXPONENTIALS)]
)
def test_losses_without_gains_take_any_labels(loss, y):
    scores = np.array([0.3, -0.2, 0.7])
    found, expected = (make_objective(labels, loss=loss)(scores) for labels in (y, [0, 1, 2]))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "listnet", "half_squared_error"])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0, 0, -np.inf, 0], "scores must be finite; got -inf in row 2"),
        (np.zeros((4, 1)), r"scores must be one-dimensional; got shape \(4, 1\)"),
        (np.zeros(3), "scores must have one entry per document; got 3 for 4"),
        (["a"] * 4, "scores must be numbers"),
    ],
)
def test_scores_that_are_no_numbers_are_refused(loss, scores, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make_objective(Y, QID, loss=loss)(scores)


def plain_loss(margin):
    return margin * margin, 2 * margin, 2.0


def test_errors_call_an_objective_by_its_loss():
    own, listed = make_objective([1, 0], loss=plain_loss), make_objective([1, 0], loss="listnet")
    assert [own.name, listed.name] == ["plain_loss", "ListNetLoss"]
    assert FromStart(own, np.zeros(2)).name == "plain_loss"
    assert (0.5 * own + make_objective([1, 0])).name == "plain_loss + logistic"


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (PairLoss(njit(lambda margin: 0.0)), "'float' object is not iterable"),
        (njit(lambda a, b: a), "not enough arguments: expected 2, got 1"),
    ],
)
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="plain functions are all there is")
def test_a_function_that_numba_cannot_call_is_refused_in_plain_words(loss, reason):
    message = rf"loss must be a function of the margin .*<lambda>.*{reason}"
    with pytest.raises(ValueError, match=message):
        make_objective(Y, QID, loss=loss)


def _of_bool(margin):
    return float(margin > 0), 0.0, 0.0


def test_a_loss_that_numba_cannot_compile_is_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"loss must be a function of the margin .*float\(bool\)"):
        make_objective(Y, QID, loss=_of_bool)


@pytest.mark.parametrize("top", [19, 24, 25, 30, 60])
def test_high_labels_have_finite_err_weights(top):
    with pytest.warns(UserWarning, match=rf"y reaches {top}, of gain .* gain='linear'.* X, y, qid"):
        objective = make_objective([0, 1, top, top], weight="err")
    for scores in (np.zeros(4), np.arange(4.0)):
        for derivative in objective.derivatives(scores):
            assert np.isfinite(derivative).all()
            assert derivative.any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("top", "settings"),
    [(30, {"weight": "map"}), (30, {"weight": "ndcg", "gain": "linear"}), (18, {"weight": "ndcg"})],
)
def test_labels_below_19_and_high_ones_without_exponential_gains_are_no_concern(top, settings):
    make_objective([0, 1, top], **settings)


TABLE = [0, 1, 3]


@pytest.mark.parametrize("gain", [TABLE, tuple(TABLE), np.array(TABLE), np.array(TABLE, float)])
@pytest.mark.parametrize("weight", ["ndcg", "err"])
def test_a_table_of_gains_may_be_any_array(gain, weight):
    scores = np.array([0.3, -0.2, 0.7, 0.0])
    found, named = (make_objective(Y, QID, weight=weight, gain=g) for g in (gain, "exponential"))
    np.testing.assert_array_equal(found.derivatives(scores), named.derivatives(scores))
    ranker = TreeDirectRanker(weight=weight, gain=gain)
    np.testing.assert_array_equal(
        objective_for_labels(ranker, Y, QID).derivatives(scores),
        objective_for_labels(ranker.set_params(gain="exponential"), Y, QID).derivatives(scores),
    )


def test_a_table_of_gains_is_refused_by_a_loss_that_reads_none():
    with pytest.raises(ValueError, match="gain must be 'exponential' for loss='listnet'"):
        make_objective(Y, loss="listnet", gain=np.array(TABLE))


def test_settings_of_pairs_are_those_of_the_ranker_and_shown_by_make_objective():
    settings = inspect.signature(PairSettings).parameters
    shown = inspect.signature(make_objective).parameters
    assert {name: shown[name].default for name in settings} == {
        name: parameter.default for name, parameter in settings.items()
    }
    assert settings.keys() <= inspect.signature(TreeDirectRanker).parameters.keys()
    with pytest.raises(TypeError, match=r"make_objective: .*'wait'\. Write .*weight=None, pairs"):
        make_objective(Y, wait="ndcg")


@numba.njit
def negated_gradient(margin):
    value, gradient, hessian = logistic(margin)
    return value, -gradient, hessian


def negated_kink(margin):
    return (1 - margin, 1.0, 1.0) if margin < 0.3 else (0.0, 0.0, 0.0)


def reward(margin):
    return -math.log1p(math.exp(-margin)), 1 / (1 + math.exp(margin)), 0.25


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (negated_gradient, r"got 0.909 where the value has the slope -0.909, at a margin of -2.3"),
        (PairLoss(negated_gradient), "loss must return the gradient of its value.*Negate the grad"),
        (negated_kink, r"got 1 where the value has the slope -1.*negated_kink"),
        (reward, "loss must fall as the margin grows.*Negate value and gradient"),
    ],
)
def test_a_loss_whose_gradient_or_value_has_the_wrong_sign_is_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        TreeDirectRanker(loss=loss).fit(np.eye(4), Y, QID)


def kink(margin):
    return (0.7 - margin, -1.0, 1.0) if margin < 0.7 else (0.0, 0.0, 0.0)


def clipped(margin):
    return (1 - margin) ** 2, max(2 * (margin - 1), -1.0), 2.0


def flat(margin):
    return 0.0, 0.0, 1.0


def undefined_far_out(margin):
    return -math.log(max(1 + margin, 0.0) + 1e-300), -1 / (1 + abs(margin)), 1.0


@pytest.mark.parametrize("loss", [kink, clipped, flat, plain_loss, undefined_far_out, *PAIR_LOSSES])
def test_kinks_clipped_gradients_and_flat_losses_are_taken(loss):
    own = PAIR_LOSSES[loss].of_margin if isinstance(loss, str) else loss
    make_objective(Y, QID, loss=own)


class RightAt:
    """A loss that falls by 1, whose gradient has the right sign at one margin alone."""

    def __init__(self, margin):
        self.margin = margin

    def __call__(self, margin):
        return -margin, -1.0 if abs(margin - self.margin) < 0.01 else 1.0, 1.0


def test_a_loss_of_ones_own_is_tried_at_six_margins():
    for margin in (-2.3, -1.1, -0.4, 0.3, 0.7, 2.3):
        assert get_loss(RightAt(margin)).of_margin(0.0) == (0.0, 1.0, 1.0)
    for margin in (-3.3, -0.3, 0.4, 1.1, 1.3, 1.4, 1.7, 2.1, 3.3):
        with pytest.raises(ValueError, match="Negate the gradient"):
            get_loss(RightAt(margin))


class ByTwoOutputs:
    """An objective of one's own with two scores for each document, which are to be small."""

    def __init__(self, sign, groups=None):
        self.sign, self.groups, self.n_outputs = sign, groups, 2

    def bind(self, judgments):
        return ByTwoOutputs(self.sign, judgments.groups)

    def __call__(self, scores, *, iteration=0):
        return float((scores**2).sum() / 2), *self.derivatives(scores)

    def derivatives(self, scores, *, iteration=0):
        assert scores.shape == (4, 2)
        return self.sign * scores, np.ones_like(scores)


def test_an_objective_of_two_outputs_whose_gradient_is_negated_is_warned_of():
    with pytest.warns(UserWarning, match="The value of ByTwoOutputs falls where its gradient"):
        make_objective(Y, QID, loss=ByTwoOutputs(-1.0))
    with warnings.catch_warnings(action="error"):
        make_objective(Y, QID, loss=ByTwoOutputs(1.0))


def test_whether_two_outputs_have_anything_to_learn_is_asked_at_zeros_of_both():
    groups = QueryGroups.from_qid(QID)
    assert not as_objective(ByTwoOutputs(1.0, groups)).has_anything_to_learn()


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_equal_queries_count_the_same_whatever_their_documents_weigh(weight):
    settings = {"query_normalization": "equal", "sample_weight": np.full(4, weight)}
    objective = make_objective([1, 0, 1, 0], QID, **settings)
    np.testing.assert_allclose(objective(np.zeros(4))[1], [-1, 1, -1, 1])


@pytest.mark.parametrize(("loss", "expected"), [("logistic", 3.0), ("hinge", 1.0)])
def test_margins_are_log_odds_times_sigma_under_a_likelihood_alone(loss, expected):
    assert make_objective(Y, QID, loss=loss, sigma=3.0).steepness == expected


@pytest.mark.parametrize(("weight", "expected"), [(None, False), (1.0, False), (2.0, True)])
def test_documents_are_weighted_if_some_weight_is_not_1(weight, expected):
    weights = None if weight is None else np.full(4, weight)
    objective = make_objective(Y, QID, sample_weight=weights)
    assert objective.judgments.is_weighted is expected
