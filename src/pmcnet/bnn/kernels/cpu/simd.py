"""Vectors of floating-point numbers as a type of numba.

LLVM vectorises loops where it can prove that arrays do not overlap, which it often cannot. Here a
kernel says itself what is a vector: `load` reads consecutive numbers, operators act lane by lane,
`store` writes them back; `lanewise` has the arithmetic. A vector fills two registers, a narrow one
fills one.
"""

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

_WIDTHS = {"avx512f": 64, "avx": 32}  # bytes of a register; 16 without either
_HOST = get_host_cpu_features()
REGISTER = next((width for name, width in _WIDTHS.items() if _HOST.get(name)), 16)
_ANY_ORDER = ("contract", "reassoc", "nsz")


class Vector(types.Type):
    """So many lanes of one floating-point type."""

    def __init__(self, dtype: Any, lanes: int) -> None:
        self.dtype, self.lanes = dtype, lanes
        super().__init__(name=f"Vector({dtype}, {lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    """A vector is a value of LLVM's vector type, kept in registers."""

    def __init__(self, manager: Any, kind: Vector) -> None:
        element = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(element, kind.lanes))


def _lanes(dtype: Any, registers: int) -> int:
    return registers * REGISTER * 8 // dtype.bitwidth


def _item(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Pointer to an item of an array, without the wrap-around of negative indices."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index])


def spread_number(builder: Any, kind: Any, value: Any) -> Any:
    """A number in all lanes of an LLVM vector type; a vector as it is."""
    if isinstance(value.type, ir.VectorType):
        return value
    if isinstance(value.type, ir.IntType):
        value = builder.sitofp(value, kind.element)
    elif isinstance(value.type, ir.DoubleType) and isinstance(kind.element, ir.FloatType):
        value = builder.fptrunc(value, kind.element)
    elif isinstance(value.type, ir.FloatType) and isinstance(kind.element, ir.DoubleType):
        value = builder.fpext(value, kind.element)
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, undefined, lanes)


def _loading(registers: int) -> Any:
    @intrinsic
    def load(typing: Any, array: Any, index: Any) -> Any:
        """The consecutive items of an array from `index` on."""
        kind = Vector(array.dtype, _lanes(array.dtype, registers))

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            item = _item(context, builder, signature.args[0], args[0], args[1])
            pointer = builder.bitcast(item, context.get_value_type(kind).as_pointer())
            found = builder.load(pointer)
            found.align = array.dtype.bitwidth // 8
            return found

        return kind(array, types.intp), generate

    return load


def _spreading(registers: int) -> Any:
    @intrinsic
    def spread(typing: Any, array: Any, index: Any) -> Any:
        """One item of an array in all lanes."""
        kind = Vector(array.dtype, _lanes(array.dtype, registers))

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(_item(context, builder, signature.args[0], args[0], args[1]))
            return spread_number(builder, context.get_value_type(kind), value)

        return kind(array, types.intp), generate

    return spread


def _zeros(registers: int) -> Any:
    @intrinsic
    def zero(typing: Any, array: Any) -> Any:
        """0 in all lanes, in the precision of an array."""
        kind = Vector(array.dtype, _lanes(array.dtype, registers))

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(context.get_value_type(kind), None)

        return kind(array), generate

    return zero


def _counting(registers: int) -> Any:
    @intrinsic
    def lanes(typing: Any, array: Any) -> Any:
        """How many items of an array a vector holds."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.get_constant(types.intp, _lanes(array.dtype, registers))

        return types.intp(array), generate

    return lanes


load_narrow, load = _loading(1), _loading(2)
lanes_narrow, lanes = _counting(1), _counting(2)
spread = _spreading(2)
zero_narrow, zero = _zeros(1), _zeros(2)


@intrinsic
def like(typing: Any, vector: Any, number: Any) -> Any:
    """A number in all lanes of a vector like this one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return spread_number(builder, context.get_value_type(vector), args[1])

    return vector(vector, number), generate


@intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Any:
    """Write the lanes to an array, from `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        item = _item(context, builder, signature.args[0], args[0], args[1])
        pointer = builder.bitcast(item, context.get_value_type(vector).as_pointer())
        builder.store(args[2], pointer).align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@intrinsic
def add_to(typing: Any, array: Any, index: Any, number: Any) -> Any:
    """`array[index] += number`, or as many items as a vector has lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        item = _item(context, builder, signature.args[0], args[0], args[1])
        pointer = builder.bitcast(item, args[2].type.as_pointer())
        before = builder.load(pointer)
        before.align = array.dtype.bitwidth // 8
        after = builder.store(builder.fadd(before, args[2]), pointer)
        after.align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    kind = number if isinstance(number, Vector) else array.dtype
    return types.void(array, types.intp, kind), generate


def _lane(k: int) -> Any:
    @intrinsic
    def lane(typing: Any, vector: Any) -> Any:
        """The number in one lane."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.extract_element(args[0], ir.Constant(ir.IntType(32), k))

        return vector.dtype(vector), generate

    return lane


lane_0, lane_1, lane_2 = _lane(0), _lane(1), _lane(2)


@intrinsic
def total(typing: Any, vector: Any) -> Any:
    """The sum of all lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(vector)
        name = f"llvm.vector.reduce.fadd.v{vector.lanes}f{vector.dtype.bitwidth}"
        function = ir.FunctionType(kind.element, [kind.element, kind])
        reduce = cgutils.get_or_insert_function(builder.module, function, name)
        return builder.call(reduce, [ir.Constant(kind.element, 0.0), args[0]], fastmath=_ANY_ORDER)

    return vector.dtype(vector), generate
