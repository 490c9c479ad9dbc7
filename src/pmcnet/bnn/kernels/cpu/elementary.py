"""exp, log and tanh of vectors, to a few units in the last place.

NaN stays NaN. Arguments of exp beyond the range of its type count as the end of the range. `log`
wants positive normal numbers.
"""

import math

from numba import njit, types
from numba.extending import overload

from pmcnet.bnn.kernels.cpu.lanewise import (
    exponent,
    floor,
    polynomial,
    power_of_two,
    where_above,
    where_below,
)

inlined = njit(
    nogil=True,
    error_model="numpy",
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    forceinline=True,
)
"""Compiled into whatever calls it."""

_LOG2_E = 1 / math.log(2)
# log 2 in two parts, the first short enough for its product with an exponent to be exact
_HIGH_32, _HIGH_64 = 355 / 512, round(math.log(2) * 2**32) / 2**32
_LOW_32, _LOW_64 = -2.1219444005469057e-4, -4.2009150726810846e-11
_TAYLOR = [1 / math.factorial(k) for k in range(13)]
_exp_32, _exp_64 = polynomial(_TAYLOR[:8]), polynomial(_TAYLOR)
_ODD = [2 / (2 * k + 1) for k in range(16)]
_log_32, _log_64 = polynomial(_ODD[:5]), polynomial(_ODD[:11])
_log1p_32, _log1p_64 = polynomial(_ODD[:8]), polynomial(_ODD)
_SQRT2 = math.sqrt(2)

# tanh(x) = x P(x^2) / Q(x^2) for |x| < 8.5: the fit of these degrees with the least relative error,
# 1.2e-8. Beyond, tanh is 1 in single precision.
_END = 8.5
_tanh_p = polynomial(
    [0.999999988273, 0.134133086125, 0.00353409835174, 2.12521471138e-5, 1.42706105445e-8]
)
_tanh_q = polynomial([1.0, 0.467466314152, 0.0260230279548, 0.000334897858061, 8.14572050425e-7])


@inlined
def clamp(x, low, high):
    """Each lane within the bounds."""
    x = where_above(x, high, high, x)
    return where_below(x, low, low, x)


@inlined
def absolute(x):
    """|x|."""
    return where_below(x, 0.0, 0.0 - x, x)


def exp(x):
    """e^x = 2^n e^r with n whole and |r| at most log(2) / 2."""
    raise NotImplementedError


@overload(exp)
def _exp(x):
    if x.dtype == types.float32:

        def single(x):
            x = clamp(x, -87.0, 88.0)
            n = floor(x * _LOG2_E + 0.5)
            return _exp_32((x - n * _HIGH_32) - n * _LOW_32) * power_of_two(n)

        return single

    def double(x):
        x = clamp(x, -708.0, 709.0)
        n = floor(x * _LOG2_E + 0.5)
        return _exp_64((x - n * _HIGH_64) - n * _LOW_64) * power_of_two(n)

    return double


def log(x):
    """Log x = n log 2 + 2 artanh((f - 1) / (f + 1)) with x = 2^n f and f around 1."""
    raise NotImplementedError


@overload(log)
def _log(x):
    series = _log_32 if x.dtype == types.float32 else _log_64

    def implementation(x):
        n = exponent(x * _SQRT2)  # so that f lies between sqrt(1/2) and sqrt(2)
        f = x * power_of_two(0.0 - n)
        s = (f - 1.0) / (f + 1.0)
        return s * series(s * s) + n * math.log(2)

    return implementation


def log1p(x):
    """log(1 + x) = 2 artanh(x / (2 + x)), for x from 0 to 1."""
    raise NotImplementedError


@overload(log1p)
def _log1p(x):
    series = _log1p_32 if x.dtype == types.float32 else _log1p_64

    def implementation(x):
        s = x / (x + 2.0)
        return s * series(s * s)

    return implementation


@inlined
def logistic(x):
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + exp(0.0 - x))


def tanh_pair(x, y):
    """Tanh of two vectors: x P / Q in float32, and (1 - e) / (1 + e) with e = e^-2|x| in float64.

    Division is slow, so that one gives both: a / b and c / d from 1 / (b d).
    """
    raise NotImplementedError


@overload(tanh_pair)
def _tanh_pair(x, y):
    if x.dtype == types.float32:

        def single(x, y):
            x, y = clamp(x, -_END, _END), clamp(y, -_END, _END)
            x_square, y_square = x * x, y * y
            x_below, y_below = _tanh_q(x_square), _tanh_q(y_square)
            inverse = 1.0 / (x_below * y_below)
            left, right = x * _tanh_p(x_square), y * _tanh_p(y_square)
            return left * (y_below * inverse), right * (x_below * inverse)

        return single

    def double(x, y):
        e, f = exp(absolute(x) * -2.0), exp(absolute(y) * -2.0)
        inverse = 1.0 / ((1.0 + e) * (1.0 + f))
        left, right = (1.0 - e) * ((1.0 + f) * inverse), (1.0 - f) * ((1.0 + e) * inverse)
        return where_below(x, 0.0, 0.0 - left, left), where_below(y, 0.0, 0.0 - right, right)

    return double
