"""Decimals: compiled functions that convert decimal text to the nearest float64.

Short decimals need one correctly rounded division (Clinger 1990), longer ones a product of 128
bits (Lemire 2021). If neither is certain to be rounded correctly, or if the text is no number, the
functions say so, and the caller uses Python's ``float``.

A text is an array of bytes. Its last byte is a newline, so no loop needs to check for its end.
"""

import math

import numpy as np

from treerank.numerics.compiling import njit, register_jitable

NEWLINE, SPACE, HASH, COLON, DOT, PLUS, MINUS, ZERO, NINE = b"\n #:.+-09"

_POWERS_OF_TEN = np.array([float(10**k) for k in range(23)])  # float64 has them exactly
_LOWEST_POWER, _HIGHEST_POWER = -280, 280  # no product is subnormal or infinite
_HALF_WORD = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)
_TOP_BIT = np.uint64(63)


def _leading_bits_of_powers_of_five():
    """Return the first 64 bits of each power of five."""
    powers = range(_LOWEST_POWER, _HIGHEST_POWER + 1)
    wide = [5**q << 64 if q >= 0 else (1 << 2000) // 5**-q for q in powers]
    return np.array([n >> (n.bit_length() - 64) for n in wide], dtype=np.uint64)


_POWERS_OF_FIVE = _leading_bits_of_powers_of_five()


@register_jitable
def is_space(byte: int) -> bool:
    """Tell whether a byte separates the tokens of a row."""
    return byte == SPACE or (byte != NEWLINE and 9 <= byte <= 13)


@register_jitable
def ends_token(byte: int) -> bool:
    """Tell whether a byte is not part of a token."""
    return byte in (SPACE, HASH) or 9 <= byte <= 13


@njit
def skip_token(text: np.ndarray, at: int) -> int:
    """Return the end of the token that contains ``at``."""
    while not ends_token(text[at]):
        at += 1
    return at


@register_jitable
def read_digits(text: np.ndarray, at: int, number: int) -> tuple[int, int]:
    """Append digits to a number; return the number and the end of the digits."""
    while ZERO <= text[at] <= NINE:
        number = number * 10 + (int(text[at]) - ZERO)
        at += 1
    return number, at


@register_jitable
def read_number(text: np.ndarray, at: int) -> tuple[float, int, bool]:
    """Return the number that starts at ``at``, the end of its token, and whether it is certain."""
    start = at
    is_negative = text[at] == MINUS
    if is_negative or text[at] == PLUS:
        at += 1
    first = at
    mantissa, at = read_digits(text, at, 0)
    n_digits, exponent = at - first, 0
    if text[at] == DOT:
        point = at + 1
        mantissa, at = read_digits(text, point, mantissa)
        exponent = point - at
        n_digits -= exponent
    if n_digits > 0 and text[at] | 32 == 101:  # e or E
        power, at = _read_exponent(text, at)
        exponent += power
    if n_digits == 0 or not ends_token(text[at]):
        end = skip_token(text, at)
        return math.nan, end, _is_missing(text, start, end)
    if n_digits > 18 and (n_digits > 19 or text[first] != ZERO):
        return math.nan, at, False  # the mantissa has overflowed
    value, is_certain = _round_decimal(mantissa, exponent)
    return -value if is_negative else value, at, is_certain


@register_jitable
def _read_exponent(text, at):
    """Return an exponent such as ``e-05`` and its end; if it is malformed, 0 and its start."""
    start = at
    at += 1
    is_negative = text[at] == MINUS
    if is_negative or text[at] == PLUS:
        at += 1
    exponent, end = read_digits(text, at, 0)
    if end == at or end - at > 4:
        return 0, start
    return -exponent if is_negative else exponent, end


@register_jitable
def _is_missing(text, start, end):
    """Tell whether a token is NULL, as in LETOR 3, or nan, in upper or lower case."""
    word = b"null" if end - start == 4 else b"nan"
    same = end - start == len(word)
    at = 0
    while same and at < len(word):
        same = text[start + at] | 32 == word[at]
        at += 1
    return same


@register_jitable
def _round_decimal(mantissa, exponent):
    """Return ``mantissa * 10**exponent`` correctly rounded, and whether that is certain."""
    if mantissa == 0:
        return 0.0, True
    while mantissa > 2**53 and mantissa % 10 == 0:  # 1.0000000000000000 becomes a short decimal
        mantissa //= 10
        exponent += 1
    if mantissa <= 2**53 and -22 <= exponent <= 22:
        if exponent <= 0:
            return mantissa / _POWERS_OF_TEN[-exponent], True
        return mantissa * _POWERS_OF_TEN[exponent], True
    if exponent < _LOWEST_POWER or exponent > _HIGHEST_POWER:
        return math.nan, False
    return _round_product(mantissa, exponent)


@register_jitable
def _round_product(mantissa, exponent):
    """Return ``mantissa * 10**exponent`` correctly rounded, and whether that is certain.

    The power of five has only its first 64 bits, so the high word of the true product is ``high``
    or ``high + 1``. This changes the result only if the bits after the rounding bit are all ones,
    or all zeros where the number may be exactly between two float64.
    """
    shift = 0
    word = np.uint64(mantissa)
    while word >> _TOP_BIT == 0:
        word = word << np.uint64(1)
        shift += 1
    high = _high_product(word, _POWERS_OF_FIVE[exponent - _LOWEST_POWER])
    upper = np.int64(high >> _TOP_BIT)
    n_rest = 9 + upper
    kept = np.int64(high >> np.uint64(n_rest))  # 53 bits and the rounding bit
    rest = np.int64(high & np.uint64((1 << n_rest) - 1))
    is_certain = rest != (1 << n_rest) - 1 and (rest != 0 or kept & 1 == 0)
    binary_exponent = ((217706 * exponent) >> 16) + 63 + upper - shift - 52
    return math.ldexp(float((kept + (kept & 1)) >> 1), int(binary_exponent)), is_certain


@register_jitable
def _high_product(a, b):
    """Return the high half of the 128-bit product of two words; no step overflows."""
    a_high, a_low = a >> _HALF_WORD, a & _LOW_HALF
    b_high, b_low = b >> _HALF_WORD, b & _LOW_HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF_WORD)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _HALF_WORD) + (other >> _HALF_WORD)
