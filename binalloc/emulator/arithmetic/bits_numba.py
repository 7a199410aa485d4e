"""This module has the compiled counterparts of `bits.py`: same names, same results, one or two machine instructions
each.

Needs Numba. The `numba` engine's loader binds these functions where device code names functions of `bits.py`. Fused
multiply-add is LLVM's `llvm.fma`: a machine instruction, or the C library's exact function where the host has no such
instruction.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from binalloc.emulator.arithmetic.bits import NAN32, NAN64

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_F32, _F64 = ir.FloatType(), ir.DoubleType()


def _float_of(builder: Any, word: Any) -> Any:
    return builder.bitcast(builder.trunc(word, _I32), _F32)


def _word_of(builder: Any, value: Any) -> Any:
    """Return the pattern of an LLVM float as a zero-extended i64, a NaN as the canonical one."""
    bits = builder.bitcast(value, _I32)
    bits = builder.select(builder.fcmp_unordered("uno", value, value), ir.Constant(_I32, NAN32), bits)
    return builder.zext(bits, _I64)


def _long_of(builder: Any, value: Any) -> Any:
    """Return the pattern of an LLVM double as an i64, a NaN as the canonical one."""
    bits = builder.bitcast(value, _I64)
    return builder.select(builder.fcmp_unordered("uno", value, value), ir.Constant(_I64, NAN64), bits)


def _fma(builder: Any, kind: Any, operands: list[Any]) -> Any:
    function = builder.module.declare_intrinsic("llvm.fma", [kind], ir.FunctionType(kind, [kind] * 3))
    return builder.call(function, operands)


@intrinsic
def f32_from_bits(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fpext(_float_of(builder, args[0]), _F64)

    return types.float64(types.int64), codegen


@intrinsic
def bits_from_f32(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _word_of(builder, builder.fptrunc(args[0], _F32))

    return types.int64(types.float64), codegen


@intrinsic
def f64_from_bits(typingctx: Any, lo: Any, hi: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        high = builder.shl(args[1], ir.Constant(_I64, 32))
        return builder.bitcast(builder.or_(high, args[0]), _F64)

    return types.float64(types.int64, types.int64), codegen


@intrinsic
def bits_from_f64(typingctx: Any, x: Any) -> Any:
    pair: Any = types.UniTuple
    result = pair(types.int64, 2)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = _long_of(builder, args[0])
        low = builder.and_(bits, ir.Constant(_I64, 0xFFFFFFFF))
        high = builder.lshr(bits, ir.Constant(_I64, 32))
        return context.make_tuple(builder, result, (low, high))

    return result(types.float64), codegen


@intrinsic
def i64_from_f64(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _long_of(builder, args[0])

    return types.int64(types.float64), codegen


@intrinsic
def f64_from_i64(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _F64)

    return types.float64(types.int64), codegen


@intrinsic
def f64_fma(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _fma(builder, _F64, list(args))

    return types.float64(types.float64, types.float64, types.float64), codegen


@intrinsic
def f32_fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _word_of(builder, _fma(builder, _F32, [_float_of(builder, word) for word in args]))

    return types.int64(types.int64, types.int64, types.int64), codegen
