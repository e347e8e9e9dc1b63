"""Explanation: how much each feature contributes to the margin s(a) - s(b) of two documents.

Contributions, called parts, are exact for trees and linear models, see
:mod:`treerank.forests.shapley`. For all other scores they are sampled, as follows.

Start with document b and replace its features by the features of a, one after the other.
Each feature is credited with the change of the score at its step. The mean over all orders is the
Shapley value of the feature, in the game whose players are the features taken from a. The
definition needs scores alone, so it is the same for trees, networks and linear rankers; for a
linear ranker it gives :math:`w_j (a_j - b_j)`. Orders are sampled. In any sample the parts add up
to the margin. Each order is also walked backwards, so the parts of (b, a) are the negatives of the
parts of (a, b). Users get them as :class:`ExplainedMargins`, which know the names of the features.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from html import escape
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from treerank.checks import check_count, check_sequence, quote
from treerank.display.charts import Waterfall
from treerank.display.tables import MOST_LINES, counted
from treerank.display.texts import clean
from treerank.documents.embeddings import features_of
from treerank.documents.reading import check_n_pairs
from treerank.feature_parts.components import Components, no_trees
from treerank.forests.shapley import margin_parts
from treerank.rankers.scoring import n_threads_of, scores_of

#: Number of features that a sentence names for the order, and at most against it.
_N_NAMED = 3
#: How sentences call the two documents of a pair.
_SIDES = ("A", "B")
#: Number of features that have a bar in notebooks.
_N_BARS = 8
#: Number of pairs that a notebook shows, and of features that a plot shows.
_N_SHOWN, _N_STEPS = 10, 10
#: Colors of parts for A and for B.
_FOR, _AGAINST = "#0072b2", "#d55e00"


class ExplainedMargins(np.ndarray):
    """Contributions of features to margins: an array of shape (n_pairs, n_features) with names.

    Its sum over a row is the score of document A minus the score of document B of this pair.
    ``print`` shows a sentence for each pair: the three largest contributions to the order, and of
    those against it the largest, and up to three that are larger than one of the former.

    Attributes
    ----------
    names : list of str or None
        Name of each feature.
    sides : tuple of str or None
        How sentences call the documents of a pair, by default A and B. None for what was computed
        from two such arrays, such as the margins of two rankers: it tells no order of documents.

    Examples
    --------
    >>> parts = ExplainedMargins.of(np.array([[2.53, -0.4, 1.31]]), ["bm25", "age", "category"])
    >>> print(parts)
    A is above B because of bm25 +2.53, category +1.31, despite age -0.4.
    >>> parts.by_name()
    [{'bm25': 2.53, 'category': 1.31, 'age': -0.4}]
    """

    names: list[str] | None
    sides: tuple[str, str] | None

    @classmethod
    def of(
        cls, parts: np.ndarray, names: Iterable[str], sides: tuple[str, str] | None = _SIDES
    ) -> Self:
        """Return a view of the array ``parts`` with ``names`` of its columns."""
        margins = parts.view(cls)
        margins.names, margins.sides = list(names), sides
        return margins

    def __array_finalize__(self, other: Any) -> None:
        """Take the names of ``other``, the array from which numpy makes this one."""
        self.names = getattr(other, "names", None)
        self.sides = getattr(other, "sides", _SIDES)

    def __array_wrap__(
        self, array: np.ndarray, context: Any = None, return_scalar: bool = False
    ) -> Any:
        """Return what a function of numpy computes; of two such arrays, it has no ``sides``."""
        wrapped = super().__array_wrap__(array, context, return_scalar)
        if context is not None and isinstance(wrapped, ExplainedMargins):
            function, arguments, _ = context
            inputs = arguments[: function.nin]
            if sum(isinstance(one, ExplainedMargins) and one._is_whole for one in inputs) > 1:
                wrapped.sides = None
        return wrapped

    def grouped(self, groups: Mapping[str, Iterable[str]]) -> Self:
        """Return contributions of groups of features, which are the sums of their members.

        Parameters
        ----------
        groups : dict from str to sequence of str
            Features of each group by its name. A column that held an embedding stands for its
            entries: ``parts.grouped({"title": ["title"]})``. Features without a group stay alone.

        Examples
        --------
        >>> parts = ExplainedMargins.of(np.array([[0.5, 0.25, -1.0]]), ["v_0", "v_1", "price"])
        >>> parts.grouped({"v": ["v"]}).by_name()
        [{'price': -1.0, 'v': 0.75}]
        """
        if not self._is_whole or self.names is None:
            raise ValueError(
                "margins must have a column for each feature to be grouped; got shape "
                f"{self.shape}. Group what explain returned."
            )
        column_of, grouped = {name: j for j, name in enumerate(self.names)}, dict[str, list[int]]()
        for group, members in groups.items():
            check_sequence(f"groups[{quote(group)}]", members)
            names = [name for member in members for name in features_of(member, self.names)]
            grouped[group] = [column_of[name] for name in names]
        taken = [j for columns in grouped.values() for j in columns]
        if len({*taken}) < len(taken):
            raise ValueError("groups must not share a feature.")
        alone = {name: [j] for name, j in column_of.items() if j not in taken}
        if clash := grouped.keys() & alone.keys():
            raise ValueError(
                f"groups must have names that no other feature has; got {quote(min(clash))}."
            )
        columns = grouped | alone
        values = np.asarray(self)
        sums = [values[..., members].sum(axis=-1) for members in columns.values()]
        return self.of(np.stack(sums, axis=-1), columns, self.sides)

    def by_name(self) -> list[dict[str, float]]:
        """Return a dict from feature names to contributions for each pair, the largest first.

        They are sorted by magnitude, and contributions of 0 are omitted.
        """
        rows, names = np.atleast_2d(np.asarray(self)), self.names or []
        orders = np.argsort(-np.abs(rows), axis=1, kind="stable")
        return [
            {names[j]: float(row[j]) for j in order if row[j] != 0}
            for row, order in zip(rows, orders, strict=True)
        ]

    def sentences(self) -> list[str]:
        """Return a sentence for each pair: which document ranks above, and why.

        Without ``sides``, it says what the contributions add up to.
        """
        return [_sentence(parts, self.sides) for parts in self.by_name()]

    def chart(self, *, pair: int = 0, most: int = _N_STEPS) -> Waterfall:
        """Return the chart that :meth:`plot` draws: the parts of one pair, largest first.

        ``pair`` is the number of the pair. All features beyond the ``most`` largest share one bar.
        """
        if not self._is_whole or self.names is None:
            raise ValueError(
                f"margins must have a column for each feature to be plotted; got shape "
                f"{self.shape}. Plot what explain returned."
            )
        rows = np.atleast_2d(np.asarray(self))
        if len(rows) == 0:
            raise ValueError("margins must have a pair to be plotted; got none.")
        check_count("pair", pair, at_least=0, at_most=len(rows) - 1)
        check_count("most", most)
        parts = rows[pair]
        order = [j for j in np.argsort(-np.abs(parts), kind="stable") if parts[j] != 0]
        largest, smaller = order[:most], order[most:]
        names, values = [self.names[j] for j in largest], parts[largest]
        if smaller:
            names.append(f"{counted(len(smaller), 'other feature')}")
            values = np.append(values, parts[smaller].sum())
        total = float(parts.sum())
        if self.sides is None:
            side, label = "sum", "sum of contributions"
        else:
            a, b = self.sides
            side = "equal" if total == 0 else f"{a} above {b}" if total > 0 else f"{a} below {b}"
            label = f"score of {a} minus score of {b}"
        return Waterfall(tuple(names), values, x=label, title=f"{side}: {total:+.3g}")

    def plot(self, ax: Any = None, *, pair: int = 0, most: int = _N_STEPS) -> Any:
        """Plot the parts of one pair as a waterfall that ends at its margin; needs Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.
        pair : int, default=0
            Number of the pair.
        most : int, default=10
            Largest number of features with a bar; all others share one.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart(pair=pair, most=most).plot(ax)

    def __str__(self) -> str:
        return "\n".join(self.sentences()) if self._is_whole else super().__str__()

    def __repr__(self) -> str:
        name = type(self).__name__
        values = np.asarray(self)
        if values.ndim == 0:
            return super().__repr__()
        text = np.array2string(values, separator=", ", threshold=60, prefix=f"{name}(")
        return f"{name}({text})" if text.count("\n") < MOST_LINES else f"{name} of {self.shape}"

    def _repr_html_(self) -> str | None:
        """Return each sentence over bars of its largest parts, for notebooks."""
        if not self._is_whole:
            return None
        pairs = self.by_name()
        n_more = len(pairs) - _N_SHOWN
        more = f"<p>… and {counted(n_more, 'more pair')}</p>" if n_more > 0 else ""
        return "".join(_bars(pair, self.sides) for pair in pairs[:_N_SHOWN]) + more

    @property
    def _is_whole(self) -> bool:
        """Whether the array has a column for each name, which slices may have lost."""
        return bool(self.ndim in (1, 2) and self.names and self.shape[-1] == len(self.names))


def _sentence(parts: dict[str, float], sides: tuple[str, str] | None) -> str:
    """Return a sentence on which of two documents ranks above, and because of which features.

    Without ``sides``, it is on the sum of the contributions.
    ``parts`` are sorted by size. No part is left out that is larger than a named one, unless six
    are named.
    """
    margin = sum(parts.values())
    a, b = sides or _SIDES
    first = a[0].upper() + a[1:]
    if margin == 0:
        return (
            "Contributions add up to 0." if sides is None else f"{first} and {b} have equal scores."
        )
    named = [(name, part) for name, part in parts.items() if part * margin > 0][:_N_NAMED]
    opposite = [(name, part) for name, part in parts.items() if part * margin < 0][:_N_NAMED]
    further = ((name, part) for name, part in opposite[1:] if abs(part) >= abs(named[-1][1]))
    against = [*opposite[:1], *further]
    despite = f", despite {_listed(against)}" if against else ""
    if sides is None:
        return f"Contributions add up to {margin:+.3g}: {_listed(named)}{despite}."
    side = "above" if margin > 0 else "below"
    return f"{first} is {side} {b} because of {_listed(named)}{despite}."


def _listed(parts: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {part:+.3g}" for name, part in parts)


def _bars(parts: dict[str, float], sides: tuple[str, str] | None) -> str:
    """Return the sentence of a pair, and a table of its largest parts with bars."""
    largest = list(parts.items())[:_N_BARS]
    rows = [
        f"<tr><td>{escape(clean(name))}</td><td>{part:+.3g}</td>"
        "<td style='text-align:left'><div style="
        f"'height:.8em;width:{12 * abs(part) / abs(largest[0][1]):.2f}em;"
        f"background:{_FOR if part > 0 else _AGAINST}'></div></td></tr>"
        for name, part in largest
    ]
    return f"<p>{escape(clean(_sentence(parts, sides)))}</p><table>{''.join(rows)}</table>"


#: Returns the score of each row of a matrix.
ScoresOf = Callable[[np.ndarray], np.ndarray]
#: Returns the parts of pairs of rows of two matrices.
PartsOfPairs = Callable[[np.ndarray, np.ndarray], np.ndarray]


def parts_of(
    ranker: Any, X_a: Any, X_b: Any, n_orders: int, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how much each feature adds to score(a) - score(b), and the standard errors.

    Both are of shape (n_pairs, n_features). Parts are exact, with errors of 0, for trees, linear
    models and their sums. For networks and rankers without ``components``, ``n_orders`` random
    orders of the features are drawn, each walked in both directions.
    """
    try:
        components = ranker.components().with_linear_networks_merged()
    except ValueError:  # the ranker is no sum of components
        return sampled_parts(partial(scores_of, ranker), X_a, X_b, n_orders, random_state)
    exact = margin_parts(components.forest, X_a, X_b, n_threads=n_threads_of(ranker))
    if components.linear is not None:
        exact += components.linear.contributions(X_a) - components.linear.contributions(X_b)
    if not components.networks:
        return exact, np.zeros_like(exact)
    network_scores = Components(no_trees(X_a.shape[1]), None, components.networks).scores
    parts, errors = sampled_parts(network_scores, X_a, X_b, n_orders, random_state)
    return exact + parts, errors


def sampled_parts(
    scores_of: ScoresOf, X_a: Any, X_b: Any, n_orders: int = 16, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of the margins of pairs of rows, and their standard errors, by sampling.

    Parameters
    ----------
    scores_of : callable
        ``scores_of(X)`` returns the score of each row.
    X_a, X_b : ndarray or sparse matrix of shape (n_pairs, n_features)
        Documents; one of the two may be a single row.
    n_orders : int, default=16
        Number of orders of the features, each walked in both directions.
    random_state : int, default=0
        Seed of the orders, the same for every pair.

    Returns
    -------
    tuple of ndarray, both of shape (n_pairs, n_features)
        Parts, which add up to ``scores_of(X_a) - scores_of(X_b)``, and their standard errors.

    Examples
    --------
    >>> parts, _ = sampled_parts(lambda X: X @ [1.0, 2.0], np.array([[3.0, 1.0]]), np.zeros((2, 2)))
    >>> parts
    array([[3., 2.],
           [3., 2.]])
    """
    n_pairs = check_n_pairs(X_a.shape[0], X_b.shape[0])
    parts, errors = np.empty((2, n_pairs, X_a.shape[1]))
    for n in range(n_pairs):
        changes = _changes_of_score(scores_of, _row(X_a, n), _row(X_b, n), n_orders, random_state)
        parts[n] = changes.sum(axis=0) / n_orders
        errors[n] = changes.std(axis=0) / np.sqrt(max(n_orders - 1, 1))
    return parts, errors


def _changes_of_score(scores_of, a, b, n_orders, random_state):
    """Return the change of the score at the step of each feature, of shape (n_orders, n_features).

    It is the mean over walking an order from ``b`` to ``a`` forward and backward. Features that are
    equal in ``a`` and ``b`` change nothing.
    """
    changes = np.zeros((n_orders, len(a)))
    differing = np.flatnonzero(a != b)  # NaN is among them, and its step changes nothing
    if len(differing) == 0:
        return changes
    rng = np.random.default_rng(random_state)
    for n in range(n_orders):
        order = rng.permutation(len(a))
        order = order[np.isin(order, differing)]
        forward = np.diff(scores_of(_walk(a, b, order)))
        backward = np.diff(scores_of(_walk(a, b, order[::-1])))[::-1]
        # The two are added first, which is the same sum for (b, a), down to the last bit.
        changes[n, order] = (forward + backward) / 2
    return changes


def interactions_of(parts: PartsOfPairs, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Shapley interactions of the features of two documents.

    A feature changes the parts of other features. The interaction of two features is the part of
    one feature where both documents have the other feature of a, minus the part where both have
    the other feature of b.

    Parameters
    ----------
    parts : callable
        ``parts(X_a, X_b)`` returns the parts of pairs of rows.
    a, b : ndarray of shape (n_features,)
        Two documents.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Half of each interaction on either side of the diagonal. The diagonal holds the remainder of
        each part, so that rows add up to the parts.

    Examples
    --------
    >>> def parts(X_a, X_b):
    ...     return sampled_parts(lambda X: X[:, 0] * X[:, 1], X_a, X_b)[0]
    >>> interactions_of(parts, np.ones(2), np.zeros(2))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    matrix = np.zeros((len(a), len(a)))
    differing = np.flatnonzero((a != b) & ~(np.isnan(a) & np.isnan(b)))
    if len(differing) > 1:
        own_cells = np.arange(len(differing)), differing  # row i differs in its own feature
        from_a, from_b = np.tile(b, (len(differing), 1)), np.tile(a, (len(differing), 1))
        from_a[own_cells], from_b[own_cells] = a[differing], b[differing]
        effects = parts(a[None], from_a) - parts(from_b, b[None])
        effects[own_cells] = 0.0
        effects = effects[:, differing]
        matrix[np.ix_(differing, differing)] = (effects + effects.T) / 4
    np.fill_diagonal(matrix, parts(a[None], b[None])[0] - matrix.sum(axis=1))
    return matrix


def interactions_of_pairs(
    ranker: Any, X_a: Any, X_b: Any, n_orders: int, random_state: int
) -> np.ndarray:
    """Return the interactions of each pair of rows, of shape (n_pairs, n_features, n_features).

    See :func:`interactions_of`. ``n_orders`` and ``random_state`` are used where parts are sampled.
    """

    def parts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return parts_of(ranker, a, b, n_orders, random_state)[0]

    n_pairs, n_features = check_n_pairs(X_a.shape[0], X_b.shape[0]), X_a.shape[1]
    matrices = [interactions_of(parts, _row(X_a, n), _row(X_b, n)) for n in range(n_pairs)]
    return np.array(matrices).reshape(n_pairs, n_features, n_features)


def _walk(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return b, then b with the first feature of ``order`` from a, then with the first two, ..."""
    rows = np.tile(b, (len(order) + 1, 1))
    for step, feature in enumerate(order, start=1):
        rows[step:, feature] = a[feature]
    return rows


def _row(X: Any, n: int) -> np.ndarray:
    """Return row ``n`` as a dense array; of a matrix of one row, return this row."""
    row = X[n if X.shape[0] > 1 else 0]
    return row.toarray().ravel() if issparse(row) else row
