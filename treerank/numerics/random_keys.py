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

import numpy as np

from treerank.numerics.bits import bits_of, number_of
from treerank.numerics.compiling import njit, register_jitable

_MASK = 0xFFFFFFFFFFFFFFFF
_STEP = 0x9E3779B97F4A7C15  # an odd step reaches all 2^64 states; the golden ratio spreads them
#: Bits of the square root of a half.
_SQRT_HALF = np.int64(np.float64(0.5**0.5).view(np.int64))
#: log(2) as a number of few bits, whose multiples are exact, and the rest of it.
_LOG_2 = 0xB17217F7 * 2.0**-32, 1.9082149292705878e-10
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
    return uniform_of(np.uint64(stream(seed, iteration)), document)


@register_jitable
def stream(seed: int, iteration: int) -> int:
    """Return the state of an iteration, a 64-bit number, from which :func:`uniform_of` draws.

    Examples
    --------
    >>> uniform_of(np.uint64(stream(0, 1)), 2) == uniform(0, 1, 2)
    True
    """
    # All of one type, so that numba compiles one function.
    return _stream_output(_stream_output(np.uint64(0), np.uint64(seed)), np.uint64(iteration))


@register_jitable(inline="always")
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


@register_jitable(inline="always")
def log_of(x: float) -> float:
    r"""Return the logarithm of a positive, normal number, to a few units in the last place.

    It is the series of :math:`2 \operatorname{artanh} s` for a number between the square roots of a
    half and of 2, plus a multiple of :math:`\log 2`. Without branches, loops that call it are done
    in vectors: they take a third of the time of the C library's logarithm. And its bits are the
    same on every machine.

    Examples
    --------
    >>> float(log_of(1.0)), float(log_of(0.5) + np.log(2))
    (0.0, 0.0)
    """
    bits = bits_of(np.float64(x))
    power = (bits - _SQRT_HALF) >> 52  # of two: the other factor is near 1
    above_1 = number_of(np.int64(bits - (power << 52))) - 1.0
    s = above_1 / (2.0 + above_1)
    z = s * s  # after 1/19, the series changes no bits
    series = 1 / 13 + z * (1 / 15 + z * (1 / 17 + z * (1 / 19)))
    series = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * series))))
    k = np.float64(power)
    return k * _LOG_2[0] + (2.0 * s + (k * _LOG_2[1] + 2.0 * s * z * series))


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
