"""What programs say to a case of the corpus, in the words of their manuals.

A program returns the numbers of a case as a list, or None if it has no such thing or means
something else by it: each function says which cases those are, and why.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import ir_measures
import lightgbm
import numpy as np
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from treerank import get_metric, make_objective
from treerank.rankers.head import AntisymmetricHead
from treerank.reranking import sample_lists

#: Differences up to here, over numbers above 1, come from the order of sums.
TOLERANCE = 1e-12
FILES = ("metrics", "losses", "propensities", "orders")


def read_cases(folder: Path = Path(__file__).parent) -> list[dict]:
    """Return all cases, each with the name of its file."""
    texts = {name: (folder / f"{name}.jsonl").read_text(encoding="utf-8") for name in FILES}
    return [
        {"file": n, **json.loads(line)} for n, text in texts.items() for line in text.splitlines()
    ]


def expected(case: dict) -> list[float]:
    """Return the numbers of a case in one row; NaN is "nothing to find"."""
    names = ("value", "gradient", "hessian", "propensity", "compare")
    numbers = [np.ravel(np.array(case[name], dtype=float)) for name in names if name in case]
    return list(np.concatenate(numbers))


@dataclass
class Found:
    """What a program said: number of cases, those that are wrong, and the largest difference."""

    n_said: int = 0
    wrong: list = field(default_factory=list)
    largest: float = 0.0


def check(say, cases: list[dict]) -> Found:
    """Compare what a program says with what is right."""
    found = Found()
    for case in cases:
        if (said := say(case)) is None:
            continue
        found.n_said += 1
        right = np.array(expected(case))
        is_right = np.allclose(said, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        if is_right:
            difference = np.abs(said - right) / np.maximum(np.abs(right), 1)
            found.largest = max(found.largest, np.nanmax(difference, initial=0))
        else:
            found.wrong.append((case, said))
    return found


def treerank(case):
    """Say all cases."""
    return TREERANK[case["file"]](case)


def _metric(case):
    settings = {name: case[name] for name in METRIC_SETTINGS if name in case}
    metric = type(get_metric(case["metric"]))(**settings)
    return metric.per_query(case["labels"], case["scores"])


def _loss(case):
    settings = {name: case[name] for name in ("weight", "sigma") if name in case}
    objective = make_objective(case["labels"], loss=case["loss"], **settings)
    return np.concatenate([np.ravel(part) for part in objective(np.array(case["scores"]))])


def _propensity(case):
    """Draw lists until each document stood at each position; a rare one may be left out."""
    found = np.full((len(case["scores"]), case["k"]), np.nan)
    settings = {name: case[name] for name in ("temperature", "k")}
    for seed in range(200):
        drawn = sample_lists(case["scores"], random_state=seed, **settings)
        found[drawn.row, drawn.position - 1] = drawn.propensity
        if not np.isnan(found).any():
            break
    return np.where(np.isnan(found), case["propensity"], found).ravel()


def _order(case):
    head = AntisymmetricHead(np.array(case["weight"]), case["tau"])
    outputs = np.array(case["outputs"])
    best_first = np.argsort(-head.score(outputs), kind="stable").tolist()
    assert best_first == [i for level in case["order"] for i in level]
    n = len(outputs)
    return head.compare(outputs.repeat(n, axis=0), np.tile(outputs, (n, 1)))


METRIC_SETTINGS = ("k", "ties", "gain", "max_label", "threshold")
TREERANK = {"metrics": _metric, "losses": _loss, "propensities": _propensity, "orders": _order}


def _has_ties(case):
    return len(set(case["scores"])) < len(case["scores"])


def scikit_learn(case):
    """Say NDCG, average precision without a cut, and accuracy of pairs of two labels.

    NDCG of a single document is an error there, 0 where nothing can be found, and spreads ties as
    the mean does. Average precision takes tied documents as one position.
    """
    if case["file"] != "metrics" or case["value"] is None:
        return None
    labels, scores, metric = np.array(case["labels"]), case["scores"], case["metric"]
    if metric == "ndcg" and case["ties"] == "average" and len(labels) > 1:
        gains = 2.0**labels - 1 if case["gain"] == "exponential" else labels
        return [ndcg_score([gains], [scores], k=case["k"])]
    if metric == "map" and case["k"] is None and not _has_ties(case):
        return [average_precision_score(labels >= case["threshold"], scores)]
    if metric == "pairwise_accuracy" and len(set(labels)) == 2 and case["ties"] == "average":
        return [roc_auc_score(labels == max(labels), scores)]
    return None


MEASURES = {"ndcg": ir_measures.nDCG, "map": ir_measures.AP, "mrr": ir_measures.RR}
MEASURES |= {"p": ir_measures.P, "recall": ir_measures.R, "success": ir_measures.Success}


def trec_eval(case):
    """Say what trec_eval measures, through ir_measures, where no scores tie.

    It orders tied documents by their names, cuts no reciprocal rank, says 0 where nothing can be
    found, and has linear gains. Its reader takes scores in single precision.
    """
    if case["file"] != "metrics" or case["value"] is None or _has_ties(case):
        return None
    is_cut_mrr = case["metric"] == "mrr" and case["k"] is not None
    if case["metric"] not in MEASURES or case.get("gain") == "exponential" or is_cut_mrr:
        return None
    measure = MEASURES[case["metric"]]
    if case.get("threshold") == 2:
        measure = measure(rel=2)
    measure = measure if case["k"] is None else measure @ case["k"]
    names = [f"d{i}" for i in range(len(case["labels"]))]
    qrels = {"q": dict(zip(names, case["labels"], strict=True))}
    run = {"q": dict(zip(names, case["scores"], strict=True))}
    evaluator = ir_measures.providers.registry["pytrec_eval"].evaluator([measure], qrels)
    return [each.value for each in evaluator.iter_calc(run)]


def light_gbm(case):
    """Say NDCG with exponential gains, and average precision without a cut, where no scores tie.

    It orders tied documents as their rows, says 1 where nothing can be found, and divides average
    precision by k where more than k documents are relevant.
    """
    if case["file"] != "metrics" or case["value"] is None or _has_ties(case):
        return None
    if case.get("gain") != "exponential" and (case["metric"], case["k"]) != ("map", None):
        return None
    if case["metric"] not in ("ndcg", "map"):
        return None
    n = len(case["labels"])
    labels = np.array(case["labels"])
    y = labels if case["metric"] == "ndcg" else labels >= case["threshold"]
    params = {"verbose": -1, "min_data_in_bin": 1, "feature_pre_filter": False}
    lists = {"group": [n], "init_score": case["scores"], "params": params}
    data = lightgbm.Dataset(np.arange(n)[:, None], y, **lists)
    settings = {"objective": "lambdarank", "min_data_in_leaf": n + 1, "verbose": -1, "n_jobs": 1}
    settings |= {"metric": case["metric"], "eval_at": [case["k"] or n]}
    found = {}  # a tree without a split keeps the scores
    record = [lightgbm.record_evaluation(found)]
    lightgbm.train(settings, data, 1, valid_sets=[data], callbacks=record)
    ((values,),) = (values.values() for values in found.values())
    return values


PROGRAMS = {
    "treerank": treerank,
    "scikit-learn": scikit_learn,
    "trec_eval": trec_eval,
    "LightGBM": light_gbm,
}
