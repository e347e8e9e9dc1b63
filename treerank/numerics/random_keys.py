"""Random numbers by key: each number is a hash of its key.

A key is ``(seed, iteration, document)``, three non-negative integers. A key always has the same
number, in whatever order and by whatever thread the numbers are computed. A random generator with
a state would give other numbers when parallel threads use it in another order.

The hash uses splitmix64 streams [1]_. The seed starts a stream; output number ``iteration`` of
this stream starts another stream; its output number ``document`` becomes the random number. To
add a distribution, transform the result of :func:`uniform`.

References
----------
.. [1] Steele, Lea and Flood (2014). Fast splittable pseudorandom number generators. OOPSLA.
"""

import math

import numpy as np

from treerank.numerics.compiling import njit, register_jitable

_MASK = 0xFFFFFFFFFFFFFFFF
_STEP = 0x9E3779B97F4A7C15  # an odd step reaches all 2^64 states; the golden ratio spreads them
_FEW = 8192  # numbers that NumPy computes in less time than is worth a kernel


@register_jitable
def uniform(seed: int, iteration: int, document: int) -> float:
    """Return the random number of (seed, iteration, document), uniform on the open interval (0, 1).

    The same three numbers always give the same one. It is one of the 2^52 midpoints ``(i + 1/2) /
    2^52``: never 0 or 1, so that its logarithm is finite.

    Examples
    --------
    >>> uniform(0, 0, 1) == uniform(0, 0, 1), uniform(0, 0, 1) == uniform(0, 1, 1)
    (True, False)
    """
    return uniform_of(stream(seed, iteration), document)


@register_jitable
def stream(seed: int, iteration: int) -> int:
    """Return the state of an iteration, a 64-bit number, from which :func:`uniform_of` draws.

    Examples
    --------
    >>> uniform_of(stream(0, 1), 2) == uniform(0, 1, 2)
    True
    """
    # All of one type, so that numba compiles one function.
    return _stream_output(_stream_output(np.uint64(0), np.uint64(seed)), np.uint64(iteration))


@register_jitable
def uniform_of(state: int, document: int) -> float:
    """Return the uniform number of a document, given the iteration's state of :func:`stream`."""
    bits = _stream_output(np.uint64(state), np.uint64(document))
    # 52 bits only: the largest of 53 bits plus a half would be rounded to 1.0.
    return ((bits >> 12) + 0.5) * 2.0**-52


def uniforms(seed: int, iteration: int, documents: np.ndarray) -> np.ndarray:
    """Return an array of :func:`uniform` for each of the documents' numbers.

    Examples
    --------
    >>> import numpy as np
    >>> uniforms(0, 0, np.array([1, 2, 1])).round(3)
    array([0.971, 0.278, 0.971])
    """
    if len(documents) > _FEW:
        return np.asarray(uniforms_of_many(seed, iteration, documents))
    bits = documents.astype(np.uint64)  # the steps of _stream_output and uniform_of
    bits = (bits + np.uint64(1)) * np.uint64(_STEP) + np.uint64(stream(seed, iteration))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    bits = (bits ^ (bits >> np.uint64(31))) >> np.uint64(12)
    return np.asarray((bits + 0.5) * 2.0**-52)


@njit(nogil=True)
def uniforms_of_many(seed: int, iteration: int, documents: np.ndarray) -> np.ndarray:
    """Return :func:`uniforms` of many numbers: faster, but first it is compiled."""
    numbers = np.empty(len(documents))
    for i in range(len(documents)):
        numbers[i] = uniform(seed, iteration, documents[i])
    return numbers


@register_jitable
def gumbel(state: int, document: int) -> float:
    """Return a document's standard Gumbel number, given the iteration's state of :func:`stream`.

    Sorting scores with independent Gumbel noise draws an order from the Plackett-Luce model. The
    number, ``-log(-log(uniform_of(...)))``, is between about -3.6 and 36.8.

    Examples
    --------
    >>> -3.7 < gumbel(stream(0, 0), 1) < 36.8
    True
    """
    return -math.log(-math.log(uniform_of(state, document)))


@register_jitable
def _stream_output(state, index):
    """Return output number ``index`` of the splitmix64 stream that starts at ``state``."""
    # With numba, int() keeps uint64, which wraps around. Without numba, int() gives a Python
    # integer, which the masks wrap around; a product of numpy's uint64 would warn of overflow.
    # No small literal may be mixed with uint64: the sum of uint64 and int64 is float64.
    bits = (int(np.uint64(state)) + int(np.uint64(index)) * _STEP + _STEP) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)
