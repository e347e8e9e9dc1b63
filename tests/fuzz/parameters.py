"""Parameters: of any public class or function, times values of every kind.

One or two arguments get a value drawn from ``VALUES``, beside few iterations and tiny data. A good
answer is a result of finite numbers, or a ValueError or TypeError with a short message that names
one of these arguments.
"""

import inspect
import itertools
import warnings
from functools import cache, partial

import numpy as np

from treerank.datasets.web_search import make_web_search
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.metrics import METRICS
from treerank.model_selection import QueryKFold, QueryShuffleSplit
from treerank.objectives import make_objective
from treerank.objectives.lists.losses import LISTWISE
from treerank.objectives.pairs.rules import Pairs
from treerank.parameters import Rule, rules_of
from treerank.registry import RANKERS, ranker_class

LARGEST_MESSAGE = 1000
NUMBERS = [-1, 0, 1, 2, 3, 1.5, 0.5, 0.1, 1e-10, 1e-300, 1e300, 10**10, 2**31, 2**63, 10**400]
ODD_NUMBERS = [np.nan, np.inf, -np.inf, -1e400, np.float32(1), np.float32(0.5), np.int64(3), 1 + 2j]
WORDS = ["", "x", "auto", "all", "ndcg", "ndcg@3", "hinge", "listnet", "cpu", "step", b"x"]
OTHERS = [[], [1], [1, 0, -1], [[0, 1]], (), (2, 1), {}, {"x": 1}, {0: 1}, set(), object(), int]
ARRAYS = [np.array([1, 2]), np.array([True, False, True]), np.zeros((2, 2)), np.bool_(True)]
HUGE = ["x" * 10**6, [0] * 10**6, np.zeros(10**5)]
FUNCTIONS = [lambda *given: 0.5, np.random, np.random.RandomState(0), np.random.default_rng(0)]
VALUES = [None, True, False, *NUMBERS, *ODD_NUMBERS, *WORDS, *OTHERS, *ARRAYS, *HUGE, *FUNCTIONS]
#: Values that many arguments allow.
NEAR = [None, True, False, 1, 2, 3, 5, 10, 0, 0.5, 0.01, 1.0, 0.9, [1, 0, 0], (4, 2)]
#: A user may ask for as many of these as there is time for.
ITERATIONS = {
    *("n_estimators", "n_epochs", "n_generations", "n_restarts", "n_sweeps", "n_steps"),
    *("max_iter", "n_splits", "early_stopping_rounds", "n_perceptrons", "max_estimators"),
}
FEW = {
    **{"n_estimators": 2, "n_epochs": 2, "n_generations": 5, "n_restarts": 1, "n_sweeps": 1},
    **{"n_steps": 2, "max_iter": 2, "n_perceptrons": 3, "min_child_samples": 1},
}
SMALL = {"n_queries": 3, "documents_per_query": 5, "n_features": 4, "random_state": 0}


@cache
def data():
    """Return features, labels and query ids of 48 documents."""
    random = np.random.default_rng(0)
    X = random.normal(size=(48, 3))
    return X, np.digitize(X[:, 0] + random.normal(size=48), [0, 1]), np.repeat(np.arange(6), 8)


@cache
def targets():
    """Return what is called, by name: the signature and a function of the arguments."""
    found = {name: (ranker_class(name), fitted_ranker) for name in RANKERS}
    found |= {name: (feature_part_class(name), fitted_part) for name in FEATURE_PARTS}
    found |= {cls.__name__: (cls, splits) for cls in (QueryKFold, QueryShuffleSplit)}
    found |= {name: (type(metric), measured) for name, metric in METRICS.items()}
    found |= {name: (type(loss), lowered) for name, loss in LISTWISE.items()}
    found |= {"Pairs": (Pairs, paired), "make_objective": (make_objective, priced)}
    found |= {"make_web_search": (make_web_search, generated)}
    return {name: pair for name, pair in found.items() if arguments(pair[0])}


@cache
def forest():
    """Return a few trees."""
    X, y, qid = data()
    part = feature_part_class("lightgbm")(n_estimators=2, min_child_samples=1)
    return ranker_class("TreeDirectRanker")(part).fit(X, y, qid).forest()


def arguments(call):
    """Return the names of the arguments that get other values."""
    kept = ("y", "qid", "sample_weight", "query_weight", "given_pairs", "dtype")
    return [name for name in inspect.signature(call).parameters if name not in kept]


def fitted_ranker(cls, params, with_held_out):
    """Return the scores of a ranker; a slow search is shortened."""
    X, y, qid = data()
    if "trees" in arguments(cls):
        params = {"trees": forest()} | params
    if "ranker" in arguments(cls):
        params = {"ranker": ranker_class("RankSVM")()} | params
    few = {name: value for name, value in FEW.items() if name in arguments(cls)}
    if "feature_part" in arguments(cls):
        few["feature_part"] = feature_part_class("streaming")(2, min_child_samples=1)
    if "hidden" in arguments(cls):
        few["hidden"] = (3,)
    eval_set = (X, y, qid) if with_held_out else None
    return cls(**(few | params)).fit(X, y, qid, eval_set=eval_set).predict(X)


def fitted_part(cls, params, with_held_out):
    """Return the outputs of a feature part."""
    X, y, qid = data()
    few = {name: value for name, value in FEW.items() if name in arguments(cls)}
    validation = (X, lambda scores: -abs(float(scores.sum()))) if with_held_out else None
    part = cls(**(few | params)).fit(X, make_objective(y, qid), validation=validation)
    outputs = part.transform(X)
    return outputs if isinstance(outputs, np.ndarray) else outputs.toarray()


def splits(cls, params, _):
    """Return the rows of the first splits."""
    X, _, qid = data()
    found = cls(**params).split(X, qid=qid)
    return np.concatenate([np.concatenate(rows) for rows in itertools.islice(found, 2)])


def measured(cls, params, _):
    """Return the values of a metric."""
    X, y, qid = data()
    return np.nan_to_num(cls(**params).per_query(y, X[:, 0], qid))


def lowered(cls, params, _):
    """Return the gradient of a loss."""
    return priced(make_objective, {"loss": cls(**params)}, False)


def paired(cls, params, _):
    """Return the gradient of a loss over certain pairs."""
    return priced(make_objective, {"pairs": cls(**params)}, False)


def priced(make, params, _):
    """Return the gradient of an objective."""
    X, y, qid = data()
    objective = make(y, qid, **params)
    scores = np.repeat(X[:, :1], objective.n_outputs, axis=1)
    gradient, hessian = objective.derivatives(scores[:, 0] if scores.shape[1] == 1 else scores)
    return np.stack([gradient, hessian])


def generated(make, params, _):
    """Return all numbers of a data set."""
    small = {name: value for name, value in SMALL.items() if name in arguments(make)}
    return np.nan_to_num(np.concatenate([np.ravel(array) for array in make(**(small | params))]))


def drawn_value(random, call, name):
    """Return a value for an argument, of any kind or likely to be allowed, but nothing endless."""
    rule = rules_of(call).get(name) if isinstance(call, type) else None
    values = (
        VALUES
        if random.random() < 0.6
        else [*NEAR, *(rule or Rule(None)).bounds.get("allowed", ())]
    )
    value = values[random.integers(len(values))]
    endless = name in ITERATIONS and isinstance(value, int) and not isinstance(value, bool)
    return 2 if endless and value > 3 else value


def case(random: np.random.Generator) -> None:
    """Call one target with one or two arguments of any kind."""
    names = sorted(targets())
    name = names[random.integers(len(names))]
    call, run = targets()[name]
    n_drawn = min(1 + (random.random() < 0.3), len(arguments(call)))
    drawn = random.choice(arguments(call), n_drawn, replace=False).tolist()
    params = {argument: drawn_value(random, call, argument) for argument in drawn}
    outcome(name, partial(run, call, params, random.random() < 0.5), params)


def outcome(name, run, params):
    """Run a case and return how it ended; raise AssertionError where the answer is not good."""
    text = f"{name}({', '.join(f'{k}={short(v)}' for k, v in params.items())})"
    result, error = attempt(run)
    if error is None:
        assert np.isfinite(result).all(), f"{text}: numbers that are not finite"
        return "constant" if np.ptp(result) == 0 else "made"
    assert isinstance(error, ValueError | TypeError), f"{text}: {short(error)}"
    # Scores may grow without bound under a penalty, too; the remedy is the same.
    named = any(argument in str(error) for argument in (*params, "learning_rate"))
    assert named, f"{text}: no argument is named by {short(error)}"
    assert len(str(error)) <= LARGEST_MESSAGE, f"{text}: a message of {len(str(error))} characters"
    return "refused"


def attempt(run):
    """Return the result, or the error, of a call whose warnings do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(), None
        except Exception as error:
            return None, error


def short(value):
    """Return the first characters of the text of a value."""
    try:
        return repr(value)[:300]
    except ValueError:  # a number of too many digits
        return f"a huge {type(value).__name__}"
