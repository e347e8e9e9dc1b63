r"""Prediction-powered inference: a mean from few values by people and many by a model.

People have judged n of N queries, and an LLM all of them. Let :math:`y_i` be the metric of query i
under human labels and :math:`f_i` the one under the LLM's. The estimate comes from a regression,

.. math:: \hat\theta = \bar y_n + \hat\lambda\,(\bar f_N - \bar f_n), \qquad
          \hat\lambda = \frac{\mathrm{Cov}_n(y, f)}{\mathrm{Var}_n(f)}

which is unbiased for a large n however wrong the LLM is: its errors are measured on the n queries,
and subtracted. With a slope of 1 it is the estimate of Angelopoulos et al. (2023), and with the
best slope it is the estimate of PPI++ and of double sampling (Cochran, 1977). The variance is

.. math:: \widehat{\mathrm{Var}} = \Big(1 - \frac nN\Big) \frac{1}{n (n - 1)}
          \sum_i \Big(\frac{e_i}{1 - h_i}\Big)^2 + \frac{s_y^2}{N}

with residuals e and leverages h of the regression (HC3, which few queries need), and intervals take
t with n - 2 degrees of freedom.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from treerank.checks import check_column, warn_user
from treerank.display.results import Shown
from treerank.documents.queries import ByRow, QueryGroups
from treerank.parameters import Level, check_arguments
from treerank.statistics.paired import PairedResult, check_values
from treerank.statistics.resampled import Interval

#: Fewest values by people, fewest without a warning, and least correlation without a warning.
FEWEST, FEW, WEAK = 20, 30, 0.4


@dataclass(frozen=True, repr=False)
class PredictionPowered(Shown):
    """An estimate from values by people and by an LLM; :func:`prediction_powered_mean` makes it.

    Parameters
    ----------
    interval : Interval
        The mean under human labels, with its confidence interval.
    n_human, n_llm : int
        Number of values by people, and by the LLM.
    effective_n : float
        Number of values by people alone that would have the same variance.
    correlation : float
        Correlation of the two over the values by people; 0 if one of them is constant.
    slope : float
        Slope of the regression; 0 takes nothing from the LLM.
    standard_error : float
        Standard error of the mean.
    human_mean, llm_mean : float
        Mean under human labels alone and under the LLM's alone, which is biased.
    unit : {"queries", "documents"}, default="queries"
        What the values are of.

    Examples
    --------
    >>> interval = Interval(0.58, 0.54, 0.61, level=0.95)
    >>> print(PredictionPowered(interval, 60, 500, 91.2, 0.63, 0.7, 0.02, 0.57, 0.65))
    0.5800 (95 %: 0.5400 to 0.6100); 60 human and 500 LLM-graded queries: as precise as 91 human \
ones (correlation 0.63)
    """

    interval: Interval
    n_human: int
    n_llm: int
    effective_n: float
    correlation: float
    slope: float
    standard_error: float
    human_mean: float
    llm_mean: float
    unit: str = "queries"

    @property
    def sample(self) -> str:
        """Sentence on the sample sizes, the effective sample size and the correlation."""
        gain = f"as precise as {self.effective_n:,.0f} human ones"
        if round(self.effective_n) <= self.n_human and self.n_human < self.n_llm:
            gain = "the LLM's grades added nothing"
        return (
            f"{self.n_human:,} human and {self.n_llm:,} LLM-graded {self.unit}: {gain} "
            f"(correlation {self.correlation:.2f})"
        )

    @property
    def is_weak(self) -> bool:
        """Whether the LLM's values and the human values correlate by less than ``WEAK`` in size."""
        return abs(self.correlation) < WEAK

    @property
    def is_small(self) -> bool:
        """Whether fewer than ``FEW`` values are by people."""
        return self.n_human < FEW

    @property
    def smallness(self) -> str:
        """Sentence that warns of intervals from so few values by people."""
        return (
            f"Intervals of fewer than {FEW} human {self.unit} are a little too narrow where values "
            f"are skewed; there are {self.n_human}."
        )

    def test(self) -> PairedResult:
        """Return the two-sided t-test of whether the mean, such as a mean difference, is 0."""
        mean, error = self.interval.estimate, self.standard_error
        statistic = mean / error if error > 0 else np.copysign(np.inf, mean) if mean else 0.0
        p_value = 2 * stats.t.sf(abs(statistic), self.n_human - 2)
        name = "prediction-powered t-test"
        return PairedResult(name, self.n_human, float(mean), float(statistic), float(p_value))

    def __str__(self) -> str:
        """Return the estimate and its sample in one line."""
        return f"{self.interval}; {self.sample}"

    _shown = __str__


@check_arguments
def prediction_powered_mean(
    *,
    human: ArrayLike,
    llm: ArrayLike,
    judged: ArrayLike | None = None,
    qid: ByRow = None,
    level: Level = 0.95,
) -> PredictionPowered:
    """Estimate a mean under human labels, from a few human labels and many from an LLM.

    The values are a metric's values by query, such as ``NDCG(10).per_query(y, scores, qid)``, or
    differences of two rankers. The interval covers the mean under human labels however bad
    the LLM is; a good LLM makes it narrower. This needs a random sample: people must have judged
    queries drawn at random from the LLM's queries, and the LLM's prompt must not have been tuned on
    them. Neither can be checked from the values.

    For metrics that are sums over documents, such as precision, people don't need to judge whole
    queries: pass values by document, and ``qid``. If the same number of judgments is spread over
    the documents of all queries, the variance is several times smaller.

    Parameters
    ----------
    human : array-like of shape (n_values,)
        Values under human labels; NaN where there is none.
    llm : array-like of shape (n_values,)
        Values by the LLM's labels. NaN, as for a query in which the LLM finds nothing relevant,
        is replaced by the mean of the other values, so that the query still counts.
    judged : array-like of shape (n_values,), default=None
        Mask of the judged values. It tells unjudged queries from judged ones without relevant
        documents, whose value is NaN, too. The mean is over the queries with relevant documents.
        None means the values that are not NaN.
    qid : array-like of shape (n_values,), default=None
        Query of each document, if the values are of documents; None means they are of queries.
        The similarity of documents of one query is estimated from the LLM's grades.
    level : float, default=0.95
        Coverage of the confidence interval.

    Returns
    -------
    PredictionPowered
        Print it, or read its ``interval``, ``effective_n`` and ``correlation``.

    Warns
    -----
    UserWarning
        If there are fewer than 30 values by people, if the correlation is below 0.4, where the LLM
        adds almost nothing, or if the judged documents are all documents of their queries: then
        they are no random draw of documents.

    Raises
    ------
    ValueError
        If there are fewer than 20 values by people.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), Prediction-powered inference.
    Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient prediction-powered inference.
    Cochran (1977), Sampling techniques, section 12.7.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.beta(6, 4, size=500)
    >>> llm = 0.2 + 0.6 * truth + 0.1 * rng.normal(size=500)  # lenient, and not exact
    >>> human = np.where(np.arange(500) < 60, truth, np.nan)
    >>> print(prediction_powered_mean(human=human, llm=llm))
    0.5785 (95 %: 0.5504 to 0.6065); 60 human and 500 LLM-graded queries: as precise as 101 human \
ones (correlation 0.70)
    """
    result = prediction_powered(human, llm, judged, qid, level)
    if result.is_small:
        warn_user(result.smallness)
    if qid is not None and _are_whole_queries(human, judged, qid):
        warn_user(
            "People have judged whole queries, whose documents are alike, so the interval of "
            "values by document is too narrow. Pass values by query, such as "
            "Precision(10).per_query(y, scores, qid), without qid; or let people judge documents "
            "that are drawn at random."
        )
    if result.is_weak:
        warn_user(
            "The LLM's labels add almost nothing: their correlation with human labels is "
            f"{result.correlation:.2f}, below {WEAK}. Let people judge more, or improve the LLM "
            "judge."
        )
    return result


def prediction_powered(
    human: ArrayLike,
    llm: ArrayLike,
    judged: ArrayLike | None = None,
    qid: ByRow = None,
    level: float = 0.95,
) -> PredictionPowered:
    """Return the estimate of :func:`prediction_powered_mean`, without its warnings."""
    y, f = check_values("human", human), check_values("llm", llm)
    if len(y) != len(f):
        raise ValueError(
            f"human and llm must have a value for the same queries; got {len(y)} and {len(f)} "
            "values. Where nobody has judged, human is NaN."
        )
    is_judged = ~np.isnan(y)
    if judged is not None:
        mask = check_column("judged", judged, len(y)).astype(bool)
        if (is_judged & ~mask).any():
            row = int(np.argmax(is_judged & ~mask))
            raise ValueError(f"judged must be true where human has a value; got false in {row}.")
        n_defined, is_judged = int(is_judged.sum()), mask
    else:
        n_defined = int(is_judged.sum())
    unit = "queries" if qid is None else "documents"
    check_n_human(n_defined, unit)
    if np.isnan(f).all():
        raise ValueError("llm must have values; got NaN alone.")
    llm_mean = float(np.nanmean(f))
    f = np.where(np.isnan(f), llm_mean, f)
    y, f_judged = y[is_judged], f[is_judged]
    is_defined = ~np.isnan(y)
    human_mean = float(y[is_defined].mean())
    # The contribution of each query to the mean over defined values: a linearized ratio.
    share = np.where(is_defined, y - human_mean, 0.0) / is_defined.mean()
    spread = float(share.var(ddof=1))
    is_constant = spread == 0 or np.ptp(f_judged) == 0
    correlation = 0.0 if is_constant else float(np.corrcoef(share, f_judged)[0, 1])
    groups = None if qid is None else QueryGroups.from_qid(qid, len(f))
    design_effect = 1.0 if groups is None else _design_effect(f, groups, correlation)
    shift, variance, slope = regression_estimate(share, f_judged, llm_mean, len(f), design_effect)
    error = float(np.sqrt(variance))
    n = len(y)
    estimate, half = human_mean + float(shift), float(stats.t.ppf((1 + level) / 2, n - 2)) * error
    return PredictionPowered(
        interval=Interval(estimate, estimate - half, estimate + half, level=float(level)),
        n_human=n,
        n_llm=len(f),
        effective_n=spread / float(variance) if variance > 0 else float(n),
        correlation=correlation,
        slope=float(slope),
        standard_error=error,
        human_mean=human_mean,
        llm_mean=llm_mean,
        unit=unit,
    )


def regression_estimate(
    y: np.ndarray, f: np.ndarray, f_mean: np.ndarray | float, n_all: int, design_effect: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(estimates, HC3 variances, slopes)`` of regression estimates of a mean.

    The last axis of ``y`` and ``f`` holds the n values by people and by the LLM on the same
    queries; other axes are separate estimates. ``f_mean`` is the LLM's mean over all ``n_all``
    queries. ``design_effect`` scales the part of the variance that comes from having only ``n_all``
    values; it is above 1 where these are documents of whole queries.

    Examples
    --------
    >>> y, f = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> estimate, variance, slope = regression_estimate(y, f, 3.0, n_all=8)
    >>> estimate, variance.round(4), slope
    (np.float64(3.4), np.float64(0.4392), np.float64(1.3))
    """
    n = y.shape[-1]
    y_mean, few_mean = y.mean(axis=-1), f.mean(axis=-1)
    f_centered, y_centered = f - few_mean[..., None], y - y_mean[..., None]
    squares = (f_centered**2).sum(axis=-1)
    size = np.abs(f).max(axis=-1)
    is_flat = squares <= n * (1e-12 * size) ** 2  # the LLM's values are constant
    divisor = np.where(is_flat, 1.0, squares)
    slope = np.where(is_flat, 0.0, (f_centered * y_centered).sum(axis=-1) / divisor)[()]
    estimate = y_mean + slope * (f_mean - few_mean)
    residual = y_centered - slope[..., None] * f_centered
    leverage = 1 / n + np.where(is_flat[..., None], 0.0, f_centered**2 / divisor[..., None])
    # If a single value of f differs, there is no slope without it: predict the mean of the others.
    is_alone = leverage > 1 - 1e-9
    left_out = np.where(
        is_alone, y_centered * n / (n - 1), residual / np.where(is_alone, 1.0, 1 - leverage)
    )
    of_few = (left_out**2).sum(axis=-1) / (n * (n - 1)) * (1 - n / n_all)
    return estimate, of_few + design_effect * y.var(axis=-1, ddof=1) / n_all, slope


def check_n_human(n: int, unit: str = "queries", name: str = "human") -> None:
    """Refuse fewer than ``FEWEST`` values by people.

    For the message, ``unit`` is what they are of, and ``name`` is the argument that holds them.
    """
    if n < FEWEST:
        raise ValueError(
            f"{name} must have values of at least {FEWEST} {unit}, whose intervals can be trusted; "
            f"got {n}. Let people judge more {unit}, drawn at random."
        )


def _are_whole_queries(human: ArrayLike, judged: ArrayLike | None, qid: ByRow) -> bool:
    """Tell whether the judged documents make up whole queries, but not all of them."""
    mask = ~np.isnan(check_values("human", human)) if judged is None else judged
    is_judged = np.asarray(mask).astype(bool)
    groups = QueryGroups.from_qid(qid, len(is_judged))
    counts = np.bincount(groups.codes, is_judged, minlength=groups.n_queries)
    is_whole = counts == groups.sizes
    # Of a query with one document, nothing can be told.
    return bool(
        (is_whole | (counts == 0)).all()
        and not is_whole.all()
        and (groups.sizes[is_whole] > 1).any()
    )


def _design_effect(f: np.ndarray, groups: QueryGroups, correlation: float) -> float:
    """Return how many times larger a mean's variance is if whole queries are sampled.

    It is 1 + (m - 1) r for m documents per query with the intraclass correlation r. ``f`` are the
    LLM's grades of documents, and ``correlation`` is the correlation of the LLM's and the human
    grades. The LLM's errors make its grades less alike than human grades: if errors of different
    documents are independent, the human r is the LLM's r divided by the squared correlation. The
    result lies between 1 and the ratio for r = 1, which it equals if either has no variance.
    """
    sizes = np.bincount(groups.codes, minlength=groups.n_queries)
    largest = float((sizes**2).sum() / sizes.sum())
    sums = np.bincount(groups.codes, weights=f - f.mean(), minlength=groups.n_queries)
    spread = f.var()
    if spread == 0 or correlation == 0:
        return largest
    # Sorted, so that no bit depends on the ids of the queries.
    of_llm = float(np.sort(sums**2).sum()) / (len(f) * spread)
    return float(np.clip(1 + (of_llm - 1) / correlation**2, 1.0, largest))
