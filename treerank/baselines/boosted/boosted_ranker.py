"""Boosted rankers: an objective on histogram trees of our own."""

from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.feature_parts.inherited_parameters import spell_out
from treerank.rankers.direct_ranker import DirectRanker


class BoostedRanker(DirectRanker):
    """A ranker on :class:`~treerank.feature_parts.histogram.trees.HistogramTrees`.

    Parameters
    ----------
    n_trees : int, default=100
        Trees.
    n_leaves : int, default=31
        Most leaves of a tree.
    max_depth : int, default=-1
        Most splits on a path; -1 is no limit.
    learning_rate : float, default=0.1
        Shrinkage of each tree.
    min_documents : int, default=20
        Fewest documents in a leaf.
    subsample_queries : float, default=1.0
        Chance of each query to take part in a tree.
    precision : {"float32", "int16", "int8"}, default="float32"
        What splits are searched with; whole numbers are faster.
    early_stopping_rounds : int, default=None
        With an ``eval_set``: stop after so many trees without a better ``metric``.
    metric : str or Metric, default="ndcg@10"
        What ``score`` measures, and what early stopping watches.
    tree_options : dict, default=None
        Further parameters of the trees.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the trees there are, up to ``n_trees``.
    n_jobs : int, default=None
        Threads; ``None`` is all cores, or in a worker of joblib its share of them.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.
    """

    def __init__(
        self,
        n_trees=100,
        *,
        n_leaves=31,
        max_depth=-1,
        learning_rate=0.1,
        min_documents=20,
        subsample_queries=1.0,
        precision="float32",
        early_stopping_rounds=None,
        metric="ndcg@10",
        tree_options=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.min_documents = min_documents
        self.subsample_queries = subsample_queries
        self.precision = precision
        self.early_stopping_rounds = early_stopping_rounds
        self.metric = metric
        self.tree_options = tree_options
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __init_subclass__(cls, **kwargs):
        """Spell out the parameters that a subclass passes on."""
        super().__init_subclass__(**kwargs)
        spell_out(cls)

    @property
    def feature_part(self):
        """The trees, unfitted."""
        return HistogramTrees(
            self.n_trees,
            num_leaves=self.n_leaves,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            min_child_samples=self.min_documents,
            subsample_queries=self.subsample_queries,
            precision=self.precision,
            early_stopping_rounds=self.early_stopping_rounds,
            n_jobs=self.n_jobs,
            **(self.tree_options or {}),
        )
