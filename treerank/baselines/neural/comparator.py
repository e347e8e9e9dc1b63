r"""Comparator: SortNet's network that compares two documents, and is antisymmetric by construction.

Hidden units come in pairs that share their weights: unit i computes :math:`h_i(x, y) =
\tanh(\langle v_i, x \rangle + \langle u_i, y \rangle + b_i)` and its dual :math:`h_{i'}(x, y) =
h_i(y, x)`. The outputs "x above y" and "y above x" swap their weights in the same way, so that
swapping the documents swaps the outputs, bit for bit. The comparator need not be transitive.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from scipy.special import expit

from treerank.feature_parts.networks.training import one_thread, own_modes
from treerank.files.states import array

_BLOCK = 256
#: Rules of the fields of a comparator in model files.
COMPARATOR_RULES = {
    "first": array("float64", "n_hidden", "n_features"),
    "second": array("float64", "n_hidden", "n_features"),
    "bias": array("float64", "n_hidden"),
    "ahead": array("float64", "n_hidden"),
    "behind": array("float64", "n_hidden"),
    "output_bias": array("float64"),
}


class Comparator(NamedTuple):
    """Weights of a comparator.

    Attributes
    ----------
    first, second : ndarray of shape (n_hidden, n_features)
        Weights of the hidden units for the first document and for the second.
    bias : ndarray of shape (n_hidden,)
        Biases of the hidden units.
    ahead, behind : ndarray of shape (n_hidden,)
        Weights of the hidden units in "the first above the second" and in the opposite.
    output_bias : ndarray of shape ()
        Bias of both outputs.
    """

    first: np.ndarray
    second: np.ndarray
    bias: np.ndarray
    ahead: np.ndarray
    behind: np.ndarray
    output_bias: np.ndarray

    @classmethod
    def at_random(cls, n_features: int, n_hidden: int, seed: int) -> Self:
        """Return a comparator with small random weights and biases 0."""
        rng = np.random.default_rng(seed)
        wide, narrow = (2 * n_features) ** -0.5, (2 * n_hidden) ** -0.5
        first, second = rng.uniform(-wide, wide, (2, n_hidden, n_features))
        ahead, behind = rng.uniform(-narrow, narrow, (2, n_hidden))
        return cls(first, second, np.zeros(n_hidden), ahead, behind, np.zeros(()))

    def without_preference(self) -> Self:
        """Return a comparator that prefers no document to another."""
        return self._replace(ahead=0 * self.ahead, behind=0 * self.behind)

    def project(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(as_first, as_second)``: what documents add to hidden units in either place.

        Both have shape (n_documents, n_hidden). They are rounded to single precision, so that the
        scores of a document do not depend on the documents that come with it.
        """
        both = np.concatenate([self.first, self.second]).T
        result = np.empty((len(X), both.shape[1]))
        for start in range(0, len(X), _BLOCK):
            result[start : start + _BLOCK] = X[start : start + _BLOCK] @ both
        as_first, as_second = np.split(result.astype(np.float32).astype(np.float64), 2, axis=1)
        return as_first, as_second

    def prefer(self, as_first: np.ndarray, as_second: np.ndarray, i: Any, j: Any) -> np.ndarray:
        """Return the preference for documents ``i`` over ``j``, pair by pair, from -1 to 1.

        ``as_first`` and ``as_second`` come from :meth:`project`.
        """
        hidden = np.tanh(as_first[i] + as_second[j] + self.bias)
        dual = np.tanh(as_first[j] + as_second[i] + self.bias)
        above = (self.ahead * hidden + self.behind * dual).sum(axis=-1) + self.output_bias
        below = (self.ahead * dual + self.behind * hidden).sum(axis=-1) + self.output_bias
        return expit(above) - expit(below)

    @own_modes()
    def trained(
        self,
        X: np.ndarray,
        pairs: tuple[np.ndarray, np.ndarray],
        weight: np.ndarray,
        check: Callable[["Comparator"], float],
        n_epochs: int,
        batch_size: int,
        learning_rate: float,
        seed: int,
    ) -> "Comparator":
        """Return the best comparator of ``n_epochs`` over the pairs.

        Parameters
        ----------
        X : ndarray of shape (n_documents, n_features)
            Documents.
        pairs : tuple of ndarray (better, worse)
            Rows.
        weight : ndarray of shape (n_pairs,)
            Weight of each pair.
        check : callable
            ``check(comparator)``, lower is better, called after each epoch.
        n_epochs, batch_size, learning_rate, seed
            Settings of gradient descent by Adam.
        """
        tensors = [torch.tensor(part, dtype=torch.float32, requires_grad=True) for part in self]
        optimizer = torch.optim.Adam(tensors, lr=learning_rate)
        documents = torch.from_numpy(X.astype(np.float32))
        better, worse = (torch.from_numpy(part) for part in pairs)
        scaled = torch.from_numpy((weight / weight.mean()).astype(np.float32))
        rng = np.random.default_rng(seed)
        best: Comparator = self
        best_value = check(self)
        with one_thread():
            for _ in range(n_epochs):
                turn = torch.from_numpy(rng.permutation(len(better)))
                for batch in turn.split(batch_size):
                    pair = documents[better[batch]], documents[worse[batch]]
                    cost = _squared_error(tensors, *pair)
                    optimizer.zero_grad()
                    (scaled[batch] * cost).mean().backward()
                    optimizer.step()
                now = Comparator(*(part.detach().double().numpy().copy() for part in tensors))
                value = check(now)
                if value < best_value:
                    best, best_value = now, value
        return best


def _squared_error(tensors, better, worse):
    first, second, bias, ahead, behind, output_bias = tensors
    hidden = torch.tanh(better @ first.T + worse @ second.T + bias)
    dual = torch.tanh(worse @ first.T + better @ second.T + bias)
    above = torch.sigmoid(hidden @ ahead + dual @ behind + output_bias)
    below = torch.sigmoid(dual @ ahead + hidden @ behind + output_bias)
    return (1 - above) ** 2 + below**2
