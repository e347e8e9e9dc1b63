"""Boosted trees: what the feature parts that are sums of trees have in common.

Training is a loop: an engine computes the scores of its trees so far, asks for the gradient and
the hessian of the objective there, and grows one more tree. To add an engine, derive a dataclass
from :class:`BoostedTrees` with the methods that its docstring lists. Its fields are its own
parameters, or parameters of :class:`BoostedTrees` with another default. Checks, continued fits
and early stopping are here.
"""

from dataclasses import KW_ONLY, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.checks import check_count, check_sequence, quote, warn_user
from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.feature_parts.base import Validation, check_validation
from treerank.feature_parts.components import Components
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.rows import as_rows
from treerank.feature_parts.trees.arguments import Groups, Signs, SomeColumns, column_indices
from treerank.feature_parts.trees.auto_sizes import Sizes, auto_sizes
from treerank.feature_parts.trees.category_codes import check_codes
from treerank.feature_parts.trees.fixed_point import LARGEST, FixedPointDerivatives
from treerank.feature_parts.trees.lost_values import warn_of_lost_values
from treerank.feature_parts.trees.resuming import saver_of
from treerank.files.states import count, history, optional, unshared
from treerank.forests.building import folded, sample_trees
from treerank.forests.forest import CodeRule, Forest, SumDtype
from treerank.forests.scoring import forest_scores
from treerank.numerics.threads import kernel_threads, threads_of
from treerank.objectives.base import Objective, as_objective
from treerank.parameters import (
    Auto,
    Count,
    Jobs,
    LearningRate,
    NotNegative,
    Rule,
    Seed,
    Share,
    check_parameters,
)
from treerank.progress import LearningCurves, Progress, patience_of, say

#: Parameters of trees that engines have, too, mostly under the same names.
TREE_PARAMETERS = (
    *("colsample_bytree", "learning_rate", "max_bin", "max_depth", "min_child_weight"),
    *("min_split_gain", "num_leaves", "reg_alpha", "reg_lambda", "subsample"),
)
#: Engines store counts in 32 bits; more bins than this would not fit into memory.
MOST, MOST_BINS = 2**31 - 1, 2**20
#: Rows whose scores are computed at a time.
_BATCH = 16_384


class GrowthTask(NamedTuple):
    """The input of ``grow``: ``n_new`` iterations are added to the trees of ``earlier``.

    Attributes
    ----------
    rows : Rows
        Training documents.
    derivatives : FixedPointDerivatives
        Gradient and hessian of the objective, as a function of scores.
    n_new : int
        Number of iterations to add.
    earlier : object or None
        The engine's model of an earlier fit.
    n_resumed : int
        Number of iterations of this fit that a checkpoint holds, including those without a split.
    validation_rows : Rows or None
        Documents for early stopping.
    progress : Progress
        Gets the scores of ``validation_rows`` after each iteration, and decides when to stop.
    seed : int
        Seed of everything random.
    sizes : Sizes
        Sizes of the trees.
    needs_values : bool
        Whether thresholds of earlier trees, which come from other rows, may lie inside bins of
        these rows: engines then need values in addition to bins.
    categorical : tuple of int
        Columns with codes of categories.
    n_threads : int
        Number of threads that grow the trees.
    """

    rows: Rows
    derivatives: FixedPointDerivatives
    n_new: int
    earlier: Any
    n_resumed: int
    validation_rows: Rows | None
    progress: Progress
    seed: int
    sizes: Sizes
    needs_values: bool
    categorical: tuple[int, ...]
    n_threads: int


@estimator
class BoostedTrees(BaseEstimator):
    """Base class of feature parts that are sums of trees.

    All engines share the parameters here, with LightGBM's names and defaults. A subclass has these
    methods, where ``booster`` is the model of the engine:

    - ``grow(task)`` returns the booster that a :class:`GrowthTask` asks for;
    - ``read_booster(booster)`` returns its trees as a forest, which scores rows bit for bit as the
      engine does, or raises a ``ValueError`` if no forest can hold them;
    - ``importance()`` returns the gain of each feature;
    - ``dump_booster(booster)`` and ``restore_booster(model)`` turn a booster into plain values and
      back; ``restore_booster`` refuses values that no booster has;
    - ``describe(booster)`` returns its numbers of features, of outputs and of iterations.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of iterations, with ``warm_start`` in all. This and the other "auto" come from the
        numbers of documents, queries and features, see
        :func:`~treerank.feature_parts.trees.auto_sizes.auto_sizes`. With many queries, rankers may
        choose smaller ones for LightGBM, see :class:`~treerank.rankers.TreeDirectRanker`.
    learning_rate : float or "auto", default="auto"
        Factor on the values of each tree.
    num_leaves : int or "auto", default="auto"
        Largest number of leaves of a tree.
    max_depth : int, default=-1
        Largest number of splits on a path from the root to a leaf; -1 is no limit.
    min_child_weight : float, default=1e-3
        Smallest sum of hessians in a leaf.
    subsample : float, default=1.0
        Share of documents drawn for each tree.
    colsample_bytree : float or "auto", default="auto"
        Share of features drawn for each tree.
    reg_alpha : float, default=0.0
        L1 penalty of leaves.
    reg_lambda : float, default=0.0
        L2 penalty of leaves.
    min_split_gain : float, default=0.0
        Smallest gain of a split.
    max_bin : int, default=255
        Largest number of bins of a feature.
    monotone_constraints : sequence of {-1, 0, 1} or dict of column to sign, default=None
        -1 if the score may only fall with a feature, 1 if it may only rise, 0 for both, and for
        categories.
    interaction_constraints : list of lists of columns, default=None
        Groups of features. All features on a path from the root to a leaf are in one group. A
        feature in no group is never used; XGBoost uses it, but alone on its path.
    categorical_features : sequence of indices or names, default=None
        Columns with codes of categories, which are whole numbers from 0 and below 2^31, for XGBoost
        below 2^24, or NaN if missing. Columns of a data frame that are text or categories are
        categorical anyway.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Number of iterations without a better value on ``validation`` after which the fit stops.
        The trees up to the best iteration are kept. "auto" is ``2.5 / learning_rate`` with
        ``validation``, and smooths the values before it compares them. None keeps all trees.
    warm_start : bool, default=False
        Whether ``fit`` adds trees to the previous fit. In a ranker, its own ``warm_start`` says so.
    n_jobs : int, default=None
        Number of threads; ``None`` is all cores, or the share of a joblib worker.
    random_state : int, RandomState instance or None, default=None
        Seed of everything random.

    Attributes
    ----------
    booster_ : object
        The model of the engine. Do not change it: scores may come from a copy.
    best_iteration_ : int
        Number of iterations kept.
    evals_result_ : dict
        ``{"validation": {name of the metric: values}}``, one value per iteration.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Shares in the gain, which sum to 1, or zeros if no tree has a split.
    n_features_in_, n_outputs_ : int
        Number of columns of X, and of ``transform``: one per output of the objective.
    n_estimators_, learning_rate_, num_leaves_, min_child_samples_, colsample_bytree_ : number
        The sizes of the fit: parameters, or chosen from the data where they are "auto". An engine
        has the sizes that are its parameters.

    Examples
    --------
    >>> from treerank import HistogramTrees, LightGBMTrees
    >>> [issubclass(trees, BoostedTrees) for trees in (HistogramTrees, LightGBMTrees)]
    [True, True]
    """

    #: Entries of X per thread below which a further thread costs more than it saves.
    cells_per_thread: ClassVar[int] = 2**16
    #: Largest size of a gradient or a hessian that the engine can compute with.
    largest_derivative: ClassVar[float] = LARGEST
    #: Whether the part takes documents as :class:`treerank.documents.rows.Rows`.
    accepts_rows: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    #: Whether X may be read in batches, see :class:`treerank.documents.ranking_data.Batches`.
    accepts_batches: ClassVar[bool] = False
    #: How a value becomes the code of a category, and the precision in which trees are added.
    category_rule: ClassVar[CodeRule] = "exact"
    sum_dtype: ClassVar[SumDtype] = "float64"
    #: Largest code of a category that the engine can store.
    most_code: ClassVar[int] = 2**31 - 1
    #: How the engine rounds features, if it does.
    rounding: ClassVar[str] = ""
    #: Settings with which several workers grow the same trees as one; None if they cannot.
    settings_by_workers: ClassVar[dict[str, Any] | None] = None
    #: Settings with which a fit resumed from a checkpoint equals an uninterrupted fit.
    settings_to_resume: ClassVar[dict[str, Any]] = {"subsample": 1.0, "colsample_bytree": 1.0}

    n_estimators: Auto | Count = "auto"
    _: KW_ONLY
    learning_rate: Auto | LearningRate = "auto"
    num_leaves: Auto | Annotated[int, Rule(check_count, at_least=2, at_most=MOST)] = "auto"
    max_depth: Annotated[int, Rule(check_count, no_limit=-1, at_most=MOST)] = -1
    min_child_weight: NotNegative = 1e-3
    subsample: Share = 1.0
    colsample_bytree: Auto | Share = "auto"
    reg_alpha: NotNegative = 0.0
    reg_lambda: NotNegative = 0.0
    min_split_gain: NotNegative = 0.0
    max_bin: Annotated[int, Rule(check_count, at_least=2, at_most=MOST_BINS)] = 255
    monotone_constraints: Annotated[Signs, Rule(check_sequence, or_mapping=True)] | None = None
    interaction_constraints: Groups | None = None
    categorical_features: SomeColumns | None = None
    early_stopping_rounds: Auto | Count | None = "auto"
    warm_start: bool = False
    n_jobs: Jobs = None
    random_state: Seed = None

    evals_result_: dict[str, dict[str, list[float]]] = field(init=False)
    n_outputs_: int = field(init=False)
    _sizes: Sizes = field(init=False)
    #: Number of iterations before those whose values are in ``evals_result_``.
    _measured_after: int | None = field(init=False)
    #: Number of iterations of earlier fits whose trees have been removed.
    _n_removed: int = field(init=False)

    @all_or_nothing
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Grow the trees; row ``i`` of ``X`` gets score ``i`` of ``objective``.

        Before each tree, ``derivatives(scores, iteration=t)`` of the objective is called; ``t``
        counts all iterations, including those of an earlier fit and of trees that have been
        removed. The metric of ``validation`` is computed after each.
        """
        objective, rows = as_objective(objective), as_rows(X, sparse=True)
        self._check_parameters(validation)
        n_features = rows.shape[1]
        categorical = self._categorical_columns(rows.columns, n_features)
        if self.categorical_features is not None:  # of a data frame, this package chose the codes
            check_codes(rows, categorical, self.most_code)
        if self.rounding:
            warn_of_lost_values(rows, self.as_read, self.rounding)
        n_documents, n_queries = rows.total(np.array([len(rows), objective.n_queries])).tolist()
        self._refuse_empty_draws(n_documents)
        earlier = self._earlier_booster(n_features, objective.n_outputs)
        start = 0 if earlier is None else self.describe(earlier)[2]
        n_removed = 0
        if self._continues_itself():
            n_removed = vars(self).get("_n_removed", 0) + self.best_iteration_ - start
        sizes = self._sizes_for(n_documents, n_queries, n_features)
        n_new = self._count_new(start, sizes.n_estimators)
        if n_new == 0:
            warn_user(
                f"No trees are added: warm_start=True continues a fit of {start} iterations, and "
                f"n_estimators={quote(self.n_estimators)} is {sizes.n_estimators} in all. Set a "
                f"larger n_estimators, such as {2 * start}."
            )
            return self
        rounds = self.early_stopping_rounds
        patience = patience_of(rounds, validation, sizes.patience)
        newest = sizes.newest if rounds == "auto" else 1.0
        first = start + n_removed  # random numbers of removed trees are not drawn again
        saver = saver_of(self, rows, objective, validation, first, sizes)
        metric = validation and validation[1]
        derivatives = FixedPointDerivatives(
            objective, len(rows), first, self.largest_derivative, rows.largest
        )
        progress = Progress(metric, patience, start, start + n_new, saver, newest)
        needs_values = earlier is not None
        measured_after = start
        if validation is not None and needs_values:
            is_unchanged = earlier is self.booster_
            before = self.evals_result_.get("validation", {}).get(progress.name, [])
            before = before if is_unchanged else []  # values of other trees
            known = vars(self).get("_measured_after")  # older files lack it
            if before:
                measured_after = max(start - len(before), 0) if known is None else known
            before = before[: start - measured_after]
            watched = as_rows(validation[0], n_features, sparse=True)
            forest = self._forest if is_unchanged else self.read_booster(earlier)
            scores = scores_before(forest, watched, self.n_outputs_, self.n_threads)
            scores = scores[:, 0] if self.n_outputs_ == 1 else scores
            progress.continue_after(before, scores, comparable=known is not None)
        earlier, n_new = self._resumed(earlier, n_new, derivatives, progress)
        task = GrowthTask(
            rows=rows,
            derivatives=derivatives,
            n_new=n_new,
            earlier=earlier,
            n_resumed=derivatives.iteration - first,
            validation_rows=validation and as_rows(validation[0], n_features, sparse=True),
            progress=progress,
            seed=check_random_state(self.random_state).randint(2**30),
            sizes=sizes,
            needs_values=needs_values,
            categorical=categorical,
            n_threads=self.n_threads_for(len(rows) * n_features),
        )
        with kernel_threads(self.n_threads):
            booster = self.grow(task)
        kept = progress.kept()
        if kept is not None:
            curve = f"smoothed {progress.name}" if newest < 1 else progress.name
            say(f"{kept} of {sizes.n_estimators} trees are kept: {curve} was best there")
        self._measured_after, self._n_removed = measured_after, n_removed
        return self._set_booster(booster, progress.history(), sizes)

    def transform(self, X: Any) -> np.ndarray:
        """Return f(x), the sums of the trees, of shape (n_documents, n_outputs_)."""
        if "booster_" not in vars(self):  # the check reads tags, which takes long
            check_is_fitted(self)
        rows = as_rows(X, self.n_features_in_, sparse=True)
        return forest_scores(self._forest, rows.array(), n_threads=self.n_threads)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the gain."""
        check_is_fitted(self)
        importance = np.asarray(self.importance(), dtype=np.float64)
        return importance / max(importance.sum(), np.finfo(np.float64).tiny)

    def n_threads_for(self, n_cells: int) -> int:
        """Return the number of threads that grow trees on an X of this many entries.

        With ``n_jobs=None``, few entries get few threads.
        """
        busy = max(1, n_cells // self.cells_per_thread)
        return self.n_threads if self.n_jobs is not None else min(busy, self.n_threads)

    @property
    def n_threads(self) -> int:
        """Largest number of threads of engine and kernels, as ``n_jobs`` says."""
        return threads_of(self.n_jobs)

    def forest(self) -> Forest:
        """Return the trees as a :class:`~treerank.forests.forest.Forest` of the same scores."""
        check_is_fitted(self)
        return self._forest

    def components(self, weight: np.ndarray) -> Components:
        """Return the trees with a weight for each output, as additive components."""
        return Components(folded(self.forest(), weight))

    def expected_components(self, documents: Rows) -> Components:
        """Return trees of the kind that ``fit`` grows on such documents."""
        levels, n_features = documents.columns.categories, documents.shape[1]
        n_categories = {
            column: len(levels[column]) if column in levels else 1
            for column in self._categorical_columns(documents.columns, n_features)
        }
        trees = sample_trees(
            n_features, n_categories, rule=self.category_rule, sum_dtype=self.sum_dtype
        )
        return Components(trees)

    @cached_property
    def _forest(self) -> Forest:
        forest: Forest = self.read_booster(self.booster_)
        return forest

    def get_state(self) -> dict[str, Any]:
        """Return the fitted state: the model of the engine and the values on validation data."""
        check_is_fitted(self)
        state = {
            "model": self.dump_booster(self.booster_),
            "evals_result_": self.evals_result_,
            "sizes": self._sizes._asdict(),
            "measured_after": vars(self).get("_measured_after"),
            "n_removed": vars(self).get("_n_removed", 0),
        }
        return unshared(state)

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and refuse anything else."""
        check_parameters(self)
        history("evals_result_", state["evals_result_"], {})
        sizes = Sizes.of_state(state["sizes"])
        booster = self.restore_booster(state["model"])
        # Older files have neither of these numbers.
        measured_after, n_removed = state.get("measured_after"), state.get("n_removed", 0)
        of_booster = count(at_most=self.describe(booster)[2])
        optional(of_booster)("measured_after", measured_after, {})
        check_count("n_removed", n_removed, at_least=0, at_most=MOST)
        self._measured_after, self._n_removed = measured_after, n_removed
        return self._set_booster(booster, LearningCurves(state["evals_result_"]), sizes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the forest, which is read from the booster."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_forest"}

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags, with the one for sparse matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @staticmethod
    def as_read(values: np.ndarray) -> np.ndarray:
        """Return features as the engine rounds them, as :attr:`rounding` says."""
        return values

    def _continues_itself(self) -> bool:
        return self.warm_start and "booster_" in vars(self)

    def _refuse_empty_draws(self, n_documents: int) -> None:
        """Refuse a ``subsample`` of less than one document."""
        if 0 < self.subsample * n_documents < 1:
            raise ValueError(
                f"subsample must draw one of {n_documents} documents; got {quote(self.subsample)}."
            )

    def _check_parameters(self, validation: Validation | None) -> None:
        check_parameters(self)
        check_validation(self, validation)

    def _sizes_for(self, n_documents: int, n_queries: int, n_features: int) -> Sizes:
        """Return the sizes of the trees, and report the ones that were chosen.

        A value "auto" becomes the size of the earlier trees if the fit continues them, else the
        size from :func:`auto_sizes`.
        """
        params = self.get_params(deep=False)
        names = params.keys() & set(Sizes._fields)
        chosen = {name: params[name] for name in names if params[name] != "auto"}
        if self._continues_itself():  # new trees have the sizes of the earlier ones
            chosen = self._sizes.of_tree() | chosen
        sizes = auto_sizes(n_documents, n_queries, n_features, chosen)
        if len(chosen) < len(sizes):
            numbers = f"{n_queries} queries, {n_documents} documents, {n_features} features"
            say(f"{sizes.described()}; {'set or ' if chosen else ''}chosen from {numbers}")
        return sizes

    def _count_new(self, start: int, n_estimators: int) -> int:
        """Return the number of iterations to add to ``start`` earlier ones, up to ``n_estimators``.

        Refuses more earlier iterations than ``n_estimators``, unless that is "auto".
        """
        n_new = n_estimators - start
        if self.n_estimators == "auto":
            return max(n_new, 0)
        if n_new < 0:
            raise ValueError(
                f"n_estimators must be at least {start}, the iterations done already, with "
                f"warm_start=True; got {quote(self.n_estimators)}."
            )
        return n_new

    def _earlier_booster(self, n_features: int, n_outputs: int) -> Any:
        """Return the booster that ``warm_start`` continues, or None.

        Refuses data with other numbers of features or outputs than in the earlier fit.
        """
        if not self._continues_itself():
            return None
        for name, n_now, n_before in (
            ("X must have as many features", n_features, self.n_features_in_),
            ("objective must have as many outputs", n_outputs, self.n_outputs_),
        ):
            if n_now != n_before:
                raise ValueError(f"{name} as in the earlier fit, {n_before}; got {n_now}.")
        return self.booster_

    def _resumed(
        self, earlier: Any, n_new: int, derivatives: FixedPointDerivatives, progress: Progress
    ) -> tuple[Any, int]:
        """Return ``(earlier, n_new)`` of the rest of a fit whose first trees a checkpoint holds.

        Without such trees they are returned unchanged. ``derivatives`` and ``progress`` go on from
        the last of them.
        """
        state = progress.saver and progress.saver.saved()
        if not state:
            return earlier, n_new
        start, booster = progress.n_done, self.restore_booster(state["model"])
        n_trees = self.describe(booster)[2]
        # Iterations whose trees had no split, and were thrown away, count, too.
        n_done = n_trees - start + state["progress"]["n_without_split"]
        n_left = n_new - n_done
        if n_left <= 0:
            return earlier, n_new
        progress.resume(state["progress"], n_trees)
        derivatives.iteration += n_done
        return booster, n_left

    def _categorical_columns(self, columns: Columns, n_features: int) -> tuple[int, ...]:
        """Return the indices of the columns with codes of categories."""
        chosen = () if self.categorical_features is None else self.categorical_features
        of_codes = column_indices("categorical_features", chosen, n_features, columns.names)
        return tuple(sorted({*of_codes, *columns.categories}))

    def _set_booster(self, booster, evals_result, sizes):
        self._sizes = sizes
        for name in set(sizes._fields) & set(self.get_params(deep=False)):
            setattr(self, f"{name}_", getattr(sizes, name))
        self.booster_, self.evals_result_ = booster, evals_result
        self.__dict__.pop("_forest", None)  # of an earlier fit
        self.n_features_in_, self.n_outputs_, self.best_iteration_ = self.describe(booster)
        return self


def scores_before(earlier: Forest | None, rows: Rows, n_outputs: int, n_threads: int) -> np.ndarray:
    """Return the scores of rows by the trees of an earlier fit, batch by batch; 0 without one.

    They are of shape (n_rows, n_outputs).
    """
    scores = np.zeros((len(rows), n_outputs))
    if earlier is not None:
        for at, batch in rows.batches(_BATCH):
            scores[at] = forest_scores(earlier, batch, n_threads=n_threads)
    return scores
