/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions on integers: of one and two operands, and one for each type. */
#ifndef FAKECUDA_PTX_INT_H
#define FAKECUDA_PTX_INT_H

#include "ptx_code.h"

namespace fake
{
namespace ptx
{

template <class T, class F> static const insn *one(frame &f, const insn *i)
{
    put<T>(f, i->d, F::of(get<T>(f, i->a)));
    return i + 1;
}
template <class T, class F> static const insn *two(frame &f, const insn *i)
{
    put<T>(f, i->d, F::of(get<T>(f, i->a), get<T>(f, i->b)));
    return i + 1;
}

/* Sums and products wrap around: they are computed without a sign. */
#define WRAPPING(name, op)                               \
    struct name {                                        \
        template <class T> static T of(T a, T b)         \
        {                                                \
            return (T) ((uint64_t) (a) op(uint64_t)(b)); \
        }                                                \
    }
/* The instruction of a type. */
#define SIGNED(H, ...)                   \
    (S16 == t   ? H<int16_t __VA_ARGS__> \
     : S32 == t ? H<int32_t __VA_ARGS__> \
     : S64 == t ? H<int64_t __VA_ARGS__> \
                : (handler) nullptr)
#define UNSIGNED(H, ...)                  \
    (U16 == t   ? H<uint16_t __VA_ARGS__> \
     : U32 == t ? H<uint32_t __VA_ARGS__> \
     : U64 == t ? H<uint64_t __VA_ARGS__> \
                : (handler) nullptr)
#define BITS(H, ...)                      \
    (B16 == t   ? H<uint16_t __VA_ARGS__> \
     : B32 == t ? H<uint32_t __VA_ARGS__> \
     : B64 == t ? H<uint64_t __VA_ARGS__> \
                : (handler) nullptr)
#define EITHER(H, ...) (type_signed(t) ? SIGNED(H, __VA_ARGS__) : UNSIGNED(H, __VA_ARGS__))
#define COMMA ,

/* Instructions on bits and predicates (ptx_bits.cpp); nullptr: it is none of these. */
handler bitwise(const std::string &name, type t);

} /* namespace ptx */
} /* namespace fake */

#endif
