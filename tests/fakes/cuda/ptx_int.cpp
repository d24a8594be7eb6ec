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
struct op_add_sat {
    template <class T> static T of(T a, T b)
    {
        const int64_t sum = (int64_t) a + (int64_t) b;
        return (T) (sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
    }
};
struct op_sub_sat {
    template <class T> static T of(T a, T b)
    {
        const int64_t sum = (int64_t) a - (int64_t) b;
        return (T) (sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
    }
};
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
struct op_abs {
    template <class T> static T of(T a)
    {
        return a < 0 ? (T) (0 - (uint64_t) a) : a;
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
/* |a - b| + c */
template <class T> static const insn *sad(frame &f, const insn *i)
{
    const T a = get<T>(f, i->a), b = get<T>(f, i->b);
    put<T>(f, i->d,
           op_add::of<T>((T) (a < b ? (uint64_t) b - (uint64_t) a : (uint64_t) a - (uint64_t) b),
                         get<T>(f, i->c)));
    return i + 1;
}

/* mod[0]: a carry comes in; mod[1]: and goes out. It is kept in slot e. */
template <class T, int minus> static const insn *carry(frame &f, const insn *i)
{
    const T a = get<T>(f, i->a), b = get<T>(f, i->b);
    const unsigned in = i->mod[0] ? (unsigned) f.r[i->e] : 0;
    const unsigned __int128 sum =
        minus ? (unsigned __int128) a - b - in : (unsigned __int128) a + b + in;

    put<T>(f, i->d, (T) sum);
    if (i->mod[1]) {
        f.r[i->e] = (unsigned) (sum >> 8 * sizeof(T)) & 1;
    }
    return i + 1;
}
/* mod[2]: the upper half of the product */
template <class T> static const insn *mad_carry(frame &f, const insn *i)
{
    const unsigned __int128 product = (unsigned __int128) get<T>(f, i->a) * get<T>(f, i->b);
    const unsigned __int128 sum =
        (unsigned __int128) (T) (i->mod[2] ? product >> 8 * sizeof(T) : product) + get<T>(f, i->c) +
        (i->mod[0] ? (unsigned) f.r[i->e] : 0);

    put<T>(f, i->d, (T) sum);
    if (i->mod[1]) {
        f.r[i->e] = (unsigned) (sum >> 8 * sizeof(T)) & 1;
    }
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
        return s.take("sat") ? (S32 == t ? two<int32_t, op_add_sat> : nullptr)
                             : EITHER(two, COMMA op_add);
    }
    if ("sub" == name) {
        return s.take("sat") ? (S32 == t ? two<int32_t, op_sub_sat> : nullptr)
                             : EITHER(two, COMMA op_sub);
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
           : "abs" == name ? SIGNED(one, COMMA op_abs)
           : "neg" == name ? SIGNED(one, COMMA op_neg)
           : "sad" == name ? EITHER(sad)
                           : (handler) nullptr;
}

/* addc, subc, madc take a carry; .cc gives one. */
static handler with_carry(statement &s, insn &i, const std::string &name, type t)
{
    const type wide = S32 == t || B32 == t ? U32 : S64 == t || B64 == t ? U64 : t;

    i.mod[0] = 'c' == name.back();
    i.mod[1] = s.take("cc");
    i.e = 0; /* the slot of the carry (ptx_parse.cpp) */
    if ('m' == name[0]) {
        i.mod[2] = s.take("hi");
        s.need(i.mod[2] || s.take("lo"));
        return U32 == wide   ? mad_carry<uint32_t>
               : U64 == wide ? mad_carry<uint64_t>
                             : (handler) nullptr;
    }
    return "add" == name.substr(0, 3) ? (U32 == wide   ? carry<uint32_t, 0>
                                         : U64 == wide ? carry<uint64_t, 0>
                                                       : (handler) nullptr)
                                      : (U32 == wide   ? carry<uint32_t, 1>
                                         : U64 == wide ? carry<uint64_t, 1>
                                                       : (handler) nullptr);
}

bool decode_int(statement &s, insn &i)
{
    static const std::map<std::string, unsigned> sources = {
        {"add", 2},  {"sub", 2},   {"mul", 2}, {"mad", 3},  {"div", 2},  {"rem", 2},
        {"min", 2},  {"max", 2},   {"abs", 1}, {"neg", 1},  {"sad", 3},  {"and", 2},
        {"or", 2},   {"xor", 2},   {"not", 1}, {"cnot", 1}, {"shl", 2},  {"shr", 2},
        {"brev", 1}, {"popc", 1},  {"clz", 1}, {"bfe", 3},  {"bfi", 4},  {"prmt", 3},
        {"lop3", 4}, {"bfind", 1}, {"shf", 3}, {"addc", 2}, {"subc", 2}, {"madc", 3}};
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
    bool cc = false;
    for (const std::string &word : s.words) {
        cc = cc || "cc" == word;
    }
    s.need(n + 1 == s.args.size(), "operands");
    i.d = s.slot(0);
    i.a = s.slot(1);
    i.b = n > 1 ? s.slot(2) : -1;
    i.c = n > 2 ? s.slot(3) : -1;
    i.e = n > 3 ? s.slot(4) : -1;
    i.go = cc || "addc" == name || "subc" == name || "madc" == name ? with_carry(s, i, name, t)
                                                                    : arithmetic(s, name, t);
    if (nullptr == i.go) {
        i.go = bitwise(s, i, name, t);
    }
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */
