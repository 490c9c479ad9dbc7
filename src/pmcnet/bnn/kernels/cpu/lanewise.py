"""Arithmetic of vectors, lane by lane.

A number beside a vector stands for all lanes, in the vector's precision. Products and sums may
become fused multiply-adds; nothing else is reordered.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, type_callable

from pmcnet.bnn.kernels.cpu.simd import Vector, spread_number

_CONTRACT = ("contract",)


def _operation(symbol: Callable[[Any, Any], Any], instruction: str) -> None:
    """Let an operator act on two vectors, or on a vector and a number."""

    @type_callable(symbol)
    def typed(context: Any) -> Any:
        def result(a: Any, b: Any) -> Any:
            return next((each for each in (a, b) if isinstance(each, Vector)), None)

        return result

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        both = [spread_number(builder, kind, value) for value in args]
        return getattr(builder, instruction)(*both, flags=_CONTRACT)

    for kinds in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
        lower_builtin(symbol, *kinds)(generate)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _operation(_symbol, _instruction)


def _choice(comparison: str) -> Any:
    @intrinsic
    def where(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
        """`yes` in the lanes where a compares so with b, else `no`; NaN compares with nothing."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(a)
            left, right, first, second = (spread_number(builder, kind, value) for value in args)
            return builder.select(builder.fcmp_ordered(comparison, left, right), first, second)

        return a(a, b, yes, no), generate

    return where


where_above, where_below, where_equal = _choice(">"), _choice("<"), _choice("==")


@intrinsic
def power_of_two(typing: Any, vector: Any) -> Any:
    """2^n of whole numbers n, by writing the exponent; n + bias must be a normal exponent."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integers, mantissa, bias = _bits(context, vector)
        n = builder.fptosi(args[0], integers)
        shifted = builder.shl(builder.add(n, _each(integers, bias)), _each(integers, mantissa))
        return builder.bitcast(shifted, context.get_value_type(vector))

    return vector(vector), generate


@intrinsic
def exponent(typing: Any, vector: Any) -> Any:
    """The n with 2^n <= x < 2^(n + 1), for positive normal x."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integers, mantissa, bias = _bits(context, vector)
        bits = builder.lshr(builder.bitcast(args[0], integers), _each(integers, mantissa))
        return builder.sitofp(
            builder.sub(bits, _each(integers, bias)), context.get_value_type(vector)
        )

    return vector(vector), generate


def _bits(context: Any, vector: Vector) -> tuple[Any, int, int]:
    """The integers of a vector's width, the bits of its mantissa, the bias of its exponent."""
    kind = ir.VectorType(ir.IntType(vector.dtype.bitwidth), vector.lanes)
    return (kind, 23, 127) if vector.dtype == types.float32 else (kind, 52, 1023)


def _each(kind: Any, value: int) -> Any:
    return ir.Constant(kind, [value] * kind.count)


def polynomial(coefficients: Sequence[float]) -> Any:
    """The function sum_k c_k x^k of vectors by Horner's rule, its coefficients compiled in."""

    @intrinsic
    def value(typing: Any, vector: Any) -> Any:
        """The polynomial at x."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(vector)
            each = [ir.Constant(kind, [c] * kind.count) for c in coefficients]
            found = each[-1]
            for constant in reversed(each[:-1]):
                product = builder.fmul(found, args[0], flags=_CONTRACT)
                found = builder.fadd(product, constant, flags=_CONTRACT)
            return found

        return vector(vector), generate

    return value


def _function(instruction: str, meaning: str) -> Any:
    @intrinsic
    def value(typing: Any, vector: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(vector)
            name = f"llvm.{instruction}.v{vector.lanes}f{vector.dtype.bitwidth}"
            function = ir.FunctionType(kind, [kind])
            called = cgutils.get_or_insert_function(builder.module, function, name)
            return builder.call(called, [args[0]])

        return vector(vector), generate

    value.__doc__ = meaning
    return value


floor = _function("floor", "The largest whole number not above each lane.")
root = _function("sqrt", "The square root.")


@intrinsic
def totals(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The sums over the lanes of four vectors, as a vector of four lanes.

    Halves of all four are added together, which takes a third of the instructions of four sums.
    """
    result = Vector(a.dtype, 4)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def folded(x: Any, y: Any, n_groups: int) -> Any:
            """Groups of lanes of x and of y to half their size: those of x first."""
            size = 2 * x.type.count // (2 * n_groups)
            starts = [size * group for group in range(2 * n_groups)]
            first = [start + k for start in starts for k in range(size // 2)]
            second = [start + size // 2 + k for start in starts for k in range(size // 2)]
            return builder.fadd(_chosen(builder, x, y, first), _chosen(builder, x, y, second))

        left, right = folded(args[0], args[1], 1), folded(args[2], args[3], 1)
        if left.type.count == 2:
            return _chosen(builder, left, right, [0, 1, 2, 3])
        found = folded(left, right, 2)
        while found.type.count > 4:
            n = found.type.count // 4
            first = [n * group + k for group in range(4) for k in range(n // 2)]
            found = builder.fadd(
                _chosen(builder, found, found, first),
                _chosen(builder, found, found, [index + n // 2 for index in first]),
            )
        return found

    return result(a, b, c, d), generate


def _chosen(builder: Any, x: Any, y: Any, lanes: list[int]) -> Any:
    """Lanes of x, and of y after them."""
    index = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(x, y, index)
