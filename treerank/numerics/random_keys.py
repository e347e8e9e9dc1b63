"""Random numbers by key: noise that depends on what it is for, not on when it is drawn.

A key is ``(seed, iteration, document)``, three non-negative integers. Its number is a hash of
the three, so any thread may ask for it, in any order, any number of times, and gets the same
bits. A generator with a state could not be shared by parallel queries without that.

The hash is a tree of splitmix64 streams [1]_: the seed starts a stream, of which ``iteration``
picks one output, which starts a stream, of which ``document`` picks one output. To add a
distribution, transform :func:`uniform`.

References
----------
.. [1] Steele, Lea and Flood (2014). Fast splittable pseudorandom number generators. OOPSLA.
"""

import math

import numpy as np

from treerank.numerics.compiling import njit

_MASK = 0xFFFFFFFFFFFFFFFF
_STEP = 0x9E3779B97F4A7C15  # odd fraction of the golden ratio: visits all 2^64 states


@njit
def uniform(seed, iteration, document):
    """Return the number of a key, uniform on the open interval (0, 1).

    Parameters
    ----------
    seed, iteration, document : int
        The key; non-negative.

    Returns
    -------
    float
        One of the 2^52 midpoints ``(i + 1/2) / 2^52``: neither 0 nor 1, so logarithms are safe.

    Examples
    --------
    >>> from treerank.numerics.random_keys import uniform
    >>> uniform(0, 0, 1) == uniform(0, 0, 1), uniform(0, 0, 1) == uniform(0, 1, 1)
    (True, False)
    """
    bits = _stream_output(_stream_output(_stream_output(0, seed), iteration), document)
    # 53 bits and a half would round up to 1.0.
    return ((bits >> 12) + 0.5) * 2.0**-52


@njit
def uniforms(seed, iteration, documents):
    """Return the number of each of many keys.

    Parameters
    ----------
    seed, iteration : int
        As for :func:`uniform`.
    documents : ndarray of int, shape (n_documents,)
        Last words of the keys.

    Returns
    -------
    ndarray of shape (n_documents,)
        ``uniform(seed, iteration, document)`` of each document.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.numerics.random_keys import uniforms
    >>> uniforms(0, 0, np.array([1, 2, 1])).round(3)
    array([0.971, 0.278, 0.971])
    """
    numbers = np.empty(len(documents))
    for i in range(len(documents)):
        numbers[i] = uniform(seed, iteration, documents[i])
    return numbers


@njit
def gumbel(seed, iteration, document):
    """Return the number of a key, standard Gumbel.

    Scores plus independent Gumbel noise, sorted, are a draw of the Plackett-Luce order.

    Parameters
    ----------
    seed, iteration, document : int
        The key; non-negative.

    Returns
    -------
    float
        ``-log(-log(uniform(...)))``, between about -3.6 and 36.8.

    Examples
    --------
    >>> from treerank.numerics.random_keys import gumbel
    >>> -3.7 < gumbel(0, 0, 1) < 36.8
    True
    """
    return -math.log(-math.log(uniform(seed, iteration, document)))


@njit
def _stream_output(state, index):
    """Output number ``index`` of the splitmix64 stream that starts at ``state``."""
    # int() keeps uint64 under numba and makes a Python int without it, where a product of
    # numpy's uint64 would warn of its overflow; the masks do the same wrapping there.
    # No small literal may meet them: uint64 + int64 is float64.
    bits = (int(np.uint64(state)) + int(np.uint64(index)) * _STEP + _STEP) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)
