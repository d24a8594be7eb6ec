/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers: sums, products and quotients. */
#include "ptx_int.h"

namespace fake
{
namespace ptx
{

WRAPPING(op_add, +);
WRAPPING(op_sub, -);
WRAPPING(op_mul, *);
struct op_mul_hi {
    template <class T> static T of(T a, T b)
    {
        typedef
            typename std::conditional<std::is_signed<T>::value, __int128, unsigned __int128>::type
                W;
        return (T) ((W) a * (W) b >> 8 * sizeof(T));
    }
};
/* A division by zero has no defined result; here it has all bits, as on devices. */
struct op_div {
    template <class T> static T of(T a, T b)
    {
        return 0 == b                                    ? (T) -1
               : (T) -1 == b && std::is_signed<T>::value ? (T) (0 - (uint64_t) a)
                                                         : (T) (a / b);
    }
};
struct op_rem {
    template <class T> static T of(T a, T b)
    {
        return 0 == b ? a : (T) -1 == b && std::is_signed<T>::value ? (T) 0 : (T) (a % b);
    }
};
struct op_min {
    template <class T> static T of(T a, T b)
    {
        return a < b ? a : b;
    }
};
struct op_max {
    template <class T> static T of(T a, T b)
    {
        return a > b ? a : b;
    }
};
struct op_neg {
    template <class T> static T of(T a)
    {
        return (T) (0 - (uint64_t) a);
    }
};
template <class T> struct twice;
template <> struct twice<int16_t> {
    typedef int32_t type;
};
template <> struct twice<int32_t> {
    typedef int64_t type;
};
template <> struct twice<uint16_t> {
    typedef uint32_t type;
};
template <> struct twice<uint32_t> {
    typedef uint64_t type;
};

template <class T> static const insn *mul_wide(frame &f, const insn *i)
{
    typedef typename twice<T>::type W;
    put<W>(f, i->d, (W) ((uint64_t) get<T>(f, i->a) * (uint64_t) get<T>(f, i->b)));
    return i + 1;
}
template <class T> static const insn *mad_wide(frame &f, const insn *i)
{
    typedef typename twice<T>::type W;
    put<W>(
        f, i->d,
        (W) ((uint64_t) get<T>(f, i->a) * (uint64_t) get<T>(f, i->b) + (uint64_t) get<W>(f, i->c)));
    return i + 1;
}
template <class T, class F> static const insn *mad(frame &f, const insn *i)
{
    put<T>(f, i->d, op_add::of<T>(F::of(get<T>(f, i->a), get<T>(f, i->b)), get<T>(f, i->c)));
    return i + 1;
}
/* ---- decoding ---- */

/* Instructions on 16 or 32 bits whose results have twice as many. */
#define WIDE(H)               \
    (S16 == t   ? H<int16_t>  \
     : S32 == t ? H<int32_t>  \
     : U16 == t ? H<uint16_t> \
     : U32 == t ? H<uint32_t> \
                : (handler) nullptr)

static handler arithmetic(statement &s, const std::string &name, type t)
{
    if ("add" == name) {
        return EITHER(two, COMMA op_add);
    }
    if ("sub" == name) {
        return EITHER(two, COMMA op_sub);
    }
    if ("mul" == name) {
        return s.take("wide") ? WIDE(mul_wide)
               : s.take("hi") ? EITHER(two, COMMA op_mul_hi)
               : s.take("lo") ? EITHER(two, COMMA op_mul)
                              : (handler) nullptr;
    }
    if ("mad" == name) {
        return s.take("wide") ? WIDE(mad_wide)
               : s.take("hi") ? EITHER(mad, COMMA op_mul_hi)
               : s.take("lo") ? EITHER(mad, COMMA op_mul)
                              : (handler) nullptr;
    }
    return "div" == name   ? EITHER(two, COMMA op_div)
           : "rem" == name ? EITHER(two, COMMA op_rem)
           : "min" == name ? EITHER(two, COMMA op_min)
           : "max" == name ? EITHER(two, COMMA op_max)
           : "neg" == name ? SIGNED(one, COMMA op_neg)
                           : (handler) nullptr;
}

bool decode_int(statement &s, insn &i)
{
    static const std::map<std::string, unsigned> sources = {
        {"add", 2}, {"sub", 2}, {"mul", 2}, {"mad", 3},  {"div", 2}, {"rem", 2},
        {"min", 2}, {"max", 2}, {"neg", 1}, {"and", 2},  {"or", 2},  {"xor", 2},
        {"not", 1}, {"shl", 2}, {"shr", 2}, {"popc", 1}, {"bfi", 4}, {"prmt", 3}};
    const auto found = sources.find(s.name());
    statement probe = s;

    if (sources.end() == found) {
        return false;
    }
    const type t = s.take_type();
    if (t >= F16) {
        s = probe; /* of floats */
        return false;
    }
    const unsigned n = found->second;
    const std::string name = s.name();
    s.need(n + 1 == s.args.size(), "operands");
    i.d = s.slot(0);
    i.a = s.slot(1);
    i.b = n > 1 ? s.slot(2) : -1;
    i.c = n > 2 ? s.slot(3) : -1;
    i.e = n > 3 ? s.slot(4) : -1;
    i.go = arithmetic(s, name, t);
    if (nullptr == i.go) {
        i.go = bitwise(name, t);
    }
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */
