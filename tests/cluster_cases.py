"""Data and rankers for the tests of clusters."""

import pandas as pd

from treerank import TreeDirectRanker
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.testing import make_ranking_sample

DATA = make_ranking_sample(n_queries=15)
X, Y, QID = DATA.X, DATA.y, DATA.qid
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(label=Y, query=[f"q{q}" for q in QID])
FEATURES = FRAME[list("abcde")]
TREES = XGBoostTrees(n_estimators=9, early_stopping_rounds=2, n_jobs=1)
RANKER = TreeDirectRanker(TREES, random_state=0)
EVAL_SET = FEATURES[:90], Y[:90], QID[:90]
