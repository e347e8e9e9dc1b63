"""RankLib's rows of Table 1 of the DirectRanker paper, on the folds, by the paper's measure.

    python benchmarks/paper/ranklib.py --jar RankLib-2.10.jar --data ../MQ2008

The jar comes with the paper's public code. RankLib trains on the labels as they are, and its own
NDCG@10 of the validation set stops it. ``--work`` keeps its models and scores.
"""

import functools
import subprocess
from pathlib import Path

import numpy as np
from data_sets import answered, binary_metrics, name_of
from protocol import measure, parser_of

from treerank.datasets.letor import read_letor
from treerank.documents.ranking_data import RankingData

NUMBERS = {"AdaRank": "3", "LambdaMART": "6"}
SETTINGS = "-tree 200 -leaf 10 -shrinkage 0.1 -estop 50 -metric2t NDCG@10 -thread 1 -silent"


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of Fold1 to Fold5")
    parser.add_argument("--work", type=Path, default=Path("build/ranklib"))
    arguments = parser.parse_args(argv)
    arguments.work.mkdir(parents=True, exist_ok=True)
    about = {"data": name_of(arguments.data), "jar": arguments.jar.name, "settings": SETTINGS}
    folds = sorted(path.name for path in arguments.data.glob("Fold*"))
    points = [{"ranker": ranker, "fold": fold} for ranker in NUMBERS for fold in folds]
    run = functools.partial(run_point, arguments)
    content = measure(arguments, "ranklib", about["data"], about, points, run, shown=shown)
    for ranker in NUMBERS:
        found = [e["result"] for e in content["results"] if e["point"]["ranker"] == ranker]
        print(ranker, *(f"{m} {np.mean([f[m] for f in found]):.4f}" for m in found[0]))


def shown(about):
    """Return no ranker: none of them is ours."""
    return {"rankers": {}}


def run_point(arguments, about, ranker, fold):
    """Train on a fold, and score its test set."""
    folder, work = arguments.data / fold, arguments.work
    scores, model = work / f"{ranker}-{fold}.scores", work / f"{ranker}-{fold}.model"
    if not scores.exists():
        train = ["-train", folder / "train.txt", "-validate", folder / "vali.txt"]
        command = ["java", "-cp", arguments.jar, "ciir.umass.edu.eval.Evaluator"]
        settings = ["-ranker", NUMBERS[ranker], *SETTINGS.split(), "-save", model]
        subprocess.run([*command, *train, *settings], check=True, capture_output=True)
        test = ["-load", model, "-rank", folder / "test.txt", "-score", scores]
        subprocess.run([*command, *test], check=True, capture_output=True)
    _, y, qid = read_letor(folder / "test.txt")
    by_line = np.loadtxt(scores, usecols=2)
    test = answered(RankingData(by_line, y, qid))
    return {metric.name: metric(test.y, test.X, test.qid) for metric in binary_metrics(y.max())}


if __name__ == "__main__":
    main()
