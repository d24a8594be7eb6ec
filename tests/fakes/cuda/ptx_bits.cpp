/* SPDX-License-Identifier: BSD-3-Clause */
/* Bits and predicates. */
#include "ptx_int.h"

namespace fake
{
namespace ptx
{

WRAPPING(op_and, &);
WRAPPING(op_or, |);
WRAPPING(op_xor, ^);
struct op_not {
    template <class T> static T of(T a)
    {
        return (T) ~(uint64_t) a;
    }
};
struct op_not_predicate {
    template <class T> static T of(T a)
    {
        return (T) !a;
    }
};
/* Shifts by the number of bits, or more, give 0, or copies of the sign. */
template <class T, int right> static const insn *shift(frame &f, const insn *i)
{
    const T a = get<T>(f, i->a);
    const uint32_t n = get<uint32_t>(f, i->b), most = 8 * sizeof(T);

    if (right) {
        put<T>(f, i->d, n < most ? (T) (a >> n) : a < 0 ? (T) -1 : (T) 0);
    } else {
        put<T>(f, i->d, n < most ? (T) ((uint64_t) a << n) : (T) 0);
    }
    return i + 1;
}

template <class T> static const insn *popc(frame &f, const insn *i)
{
    put<uint32_t>(f, i->d, (uint32_t) __builtin_popcountll(get<T>(f, i->a)));
    return i + 1;
}
template <class T> static const insn *bfi(frame &f, const insn *i)
{
    const unsigned pos = (unsigned) f.r[i->c] & 255, len = (unsigned) f.r[i->e] & 255;
    const uint64_t ones = len >= 64 ? ~0ull : (1ull << len) - 1;
    const uint64_t mask = pos >= 64 ? 0 : ones << pos, a = get<T>(f, i->a), b = get<T>(f, i->b);

    put<T>(f, i->d, (T) ((b & ~mask) | (pos >= 64 ? 0 : a << pos & mask)));
    return i + 1;
}
static const insn *prmt(frame &f, const insn *i)
{
    const uint64_t bytes = get<uint32_t>(f, i->a) | (uint64_t) get<uint32_t>(f, i->b) << 32;
    const uint32_t select = get<uint32_t>(f, i->c);
    uint32_t r = 0;

    for (unsigned k = 0; k < 4; k++) {
        const unsigned which = select >> 4 * k & 15;
        uint32_t byte = (uint32_t) (bytes >> 8 * (which & 7)) & 255;
        if (which & 8) {
            byte = byte & 128 ? 255 : 0;
        }
        r |= byte << 8 * k;
    }
    put<uint32_t>(f, i->d, r);
    return i + 1;
}
/* ---- decoding ---- */

static handler shift_right(type t)
{
    return type_signed(t)                     ? SIGNED(shift, COMMA 1)
           : U16 == t || U32 == t || U64 == t ? UNSIGNED(shift, COMMA 1)
                                              : BITS(shift, COMMA 1);
}

handler bitwise(const std::string &name, type t)
{
    if (PRED == t) {
        return "and" == name   ? two<uint8_t, op_and>
               : "or" == name  ? two<uint8_t, op_or>
               : "xor" == name ? two<uint8_t, op_xor>
               : "not" == name ? one<uint8_t, op_not_predicate>
                               : (handler) nullptr;
    }
    return "and" == name                ? BITS(two, COMMA op_and)
           : "or" == name               ? BITS(two, COMMA op_or)
           : "xor" == name              ? BITS(two, COMMA op_xor)
           : "not" == name              ? BITS(one, COMMA op_not)
           : "shl" == name              ? BITS(shift, COMMA 0)
           : "shr" == name              ? shift_right(t)
           : "popc" == name             ? BITS(popc)
           : "bfi" == name              ? BITS(bfi)
           : "prmt" == name && B32 == t ? prmt
                                        : (handler) nullptr;
}

} /* namespace ptx */
} /* namespace fake */
