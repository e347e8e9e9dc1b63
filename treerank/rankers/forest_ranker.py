"""Forest ranker: trees of another program as a ranker."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from treerank.checks import check_number
from treerank.documents.columns import Columns
from treerank.documents.eval_set import EvalSet
from treerank.documents.reading import Accepts
from treerank.documents.rows import Rows
from treerank.documents.training_queries import TrainingQueries
from treerank.documents.training_set import TrainingSet
from treerank.feature_parts.components import Components
from treerank.feature_parts.estimator import estimator
from treerank.files.states import unshared
from treerank.forests.forest import Forest, check_trees
from treerank.forests.scoring import forest_scores
from treerank.metrics.registry import AnyMetric
from treerank.numerics.threads import threads_of
from treerank.parameters import Jobs, Rule
from treerank.rankers.calibration import scale_of
from treerank.rankers.head import AntisymmetricHead
from treerank.rankers.ranker import Ranker


@estimator
class ForestRanker(Ranker):
    """Rank by existing trees: predict, compare, explain, calibrate, evaluate, save, export.

    The ranker needs no fit. ``fit`` does not change the trees; it calibrates pair probabilities on
    documents that the trees were not trained on. Models of LightGBM and XGBoost hold the categories
    of data frames; for other models, such as dumps of XGBoost, categorical columns must hold codes.

    Parameters
    ----------
    trees : Forest
        The trees, for example the result of :func:`treerank.read_forest`.
    metric : str or Metric, default="ndcg@10"
        Metric that ``score`` measures.
    n_jobs : int, default=None
        Number of threads; ``None`` and -1 are all processors.

    Examples
    --------
    >>> import lightgbm
    >>> from treerank import make_web_search, read_forest
    >>> X, y, qid = make_web_search(20, random_state=0)
    >>> old = lightgbm.LGBMRanker(n_estimators=3, verbosity=-1, n_jobs=1)
    >>> path = getfixture("tmp_path") / "old.txt"
    >>> _ = old.fit(X, y, group=np.bincount(qid)).booster_.save_model(path)
    >>> ranker = ForestRanker(read_forest(path))
    >>> bool((ranker.predict(X) == old.booster_.predict(X)).all())
    True
    >>> ranker.fit(X, y, qid).predict_pair_proba(X[:1], X[1:2]).round(2)
    array([0.06])
    """

    trees: Annotated[Forest, Rule(check_trees)]
    _: KW_ONLY
    metric: AnyMetric = "ndcg@10"
    n_jobs: Jobs = None

    #: Values before ``fit``.
    calibration_slope_ = 1.0
    head_ = AntisymmetricHead(np.ones(1), "identity")
    _learned: ClassVar = {}
    _accepts = Accepts(sparse=True, clicks=False)
    _stops_early: ClassVar = False

    @property
    def columns_(self) -> Columns:  # type: ignore[override]
        """Names and categories of the columns, if the model file has them."""
        check_trees("trees", self.trees)
        return self.trees.columns

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.trees.n_features

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the trees have names."""
        if self.trees.feature_names is None:
            raise AttributeError("the trees have no names of features")
        return np.array(self.trees.feature_names, dtype=object)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Number of splits of each feature, divided by the number of all splits."""
        check_trees("trees", self.trees)
        return self.trees.split_shares

    @property
    def training_queries_(self) -> TrainingQueries | None:
        """Queries that the trees were trained on, if they know them; ``fit`` trains on none."""
        return getattr(self.trees, "training_queries", None)

    @training_queries_.setter
    def training_queries_(self, queries: TrainingQueries | None) -> None:
        pass

    @property
    def _given_columns(self) -> Sequence[Columns]:  # type: ignore[override]
        """Columns of the trees, whose categories keep their codes in a ranker around this one."""
        return [self.columns_]

    @property
    def _given_queries(self) -> Sequence[TrainingQueries]:  # type: ignore[override]
        """Queries that the trees were trained on, if they know them."""
        return [] if self.training_queries_ is None else [self.training_queries_]

    def components(self) -> Components:
        """Return the trees as components, of which there are no others."""
        check_trees("trees", self.trees)
        return Components(self.trees)

    def _expected_components(self, documents: Rows) -> Components:
        """Return the trees, which no fit changes."""
        return self.components()

    def get_state(self) -> dict[str, Any]:
        """Return what ``fit`` has learned, as plain values; the trees are a parameter."""
        return {
            "calibration_slope": self.calibration_slope_,
            "had_queries": self._had_queries,
            "relevance_scale": self._relevance_scale and unshared(vars(self._relevance_scale)),
        }

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and return the ranker; refuse anything else."""
        check_number("calibration_slope", state["calibration_slope"], at_least=0)
        self._relevance_scale = scale_of(state)
        self.calibration_slope_, self._had_queries = (
            state["calibration_slope"],
            bool(state["had_queries"]),
        )
        return self

    def _learn(self, data: TrainingSet, held_out: EvalSet | None, seed: int) -> None:
        self.calibration_slope_, self._relevance_scale = 1.0, None
        documents = EvalSet(data.documents, data.y, data.groups)
        if documents.has_pairs:
            self._fit_calibration_slope(documents)

    def _scores(self, X: Any) -> np.ndarray:
        return forest_scores(self.trees, X, n_threads=self._n_threads)[:, 0]

    @property
    def _n_threads(self) -> int:  # type: ignore[override]
        """Number of threads, as ``n_jobs`` says."""
        return threads_of(self.n_jobs)

    def _continues(self) -> bool:
        """Tell whether ``fit`` keeps the columns of the trees: it always does."""
        return True

    def __sklearn_is_fitted__(self) -> bool:
        check_trees("trees", self.trees)
        return True
