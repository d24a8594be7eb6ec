/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversions: between integers, from integers to floats, and between floats. From a float to an
 * integer there is none.
 */
#include "ptx_float.h"

#include <cmath>

namespace fake
{
namespace ptx
{

struct half {
    uint16_t bits;
};
struct bfloat {
    uint16_t bits;
};

template <class S> static double real(const frame &f, const insn *i)
{
    const S v = get<S>(f, i->a);

    if constexpr (std::is_same<S, half>::value) {
        return from_half(v.bits);
    } else {
        return (double) v;
    }
}

template <class D> static void give(frame &f, const insn *i, double v)
{
    if constexpr (std::is_same<D, half>::value) {
        put<uint16_t>(f, i->d, to_half(v));
    } else if constexpr (std::is_same<D, bfloat>::value) {
        put<uint16_t>(f, i->d, to_bfloat(v));
    } else if (4 == sizeof(D) && std::isnan(v)) {
        put<uint32_t>(f, i->d, 0x7fffffff);
    } else {
        put<D>(f, i->d, (D) v);
    }
}

template <class D, class S> static const insn *convert(frame &f, const insn *i)
{
    if constexpr (std::is_integral<S>::value &&
                  (std::is_integral<D>::value || std::is_same<D, float>::value)) {
        put<D>(f, i->d, (D) get<S>(f, i->a)); /* to float: rounded once */
    } else {
        give<D>(f, i, real<S>(f, i));
    }
    return i + 1;
}

template <class D> static handler convert_from(type t)
{
    switch (t) {
    case U8:
        return convert<D, uint8_t>;
    case U16:
        return convert<D, uint16_t>;
    case U32:
        return convert<D, uint32_t>;
    case U64:
        return convert<D, uint64_t>;
    case S8:
        return convert<D, int8_t>;
    case S16:
        return convert<D, int16_t>;
    case S32:
        return convert<D, int32_t>;
    case S64:
        return convert<D, int64_t>;
    default:
        break;
    }
    if constexpr (!std::is_integral<D>::value) {
        return F16 == t   ? convert<D, half>
               : F32 == t ? convert<D, float>
               : F64 == t ? convert<D, double>
                          : (handler) nullptr;
    }
    return nullptr;
}

static handler convert_to(type d, type t)
{
    switch (d) {
    case U8:
        return convert_from<uint8_t>(t);
    case U16:
        return convert_from<uint16_t>(t);
    case U32:
        return convert_from<uint32_t>(t);
    case U64:
        return convert_from<uint64_t>(t);
    case S8:
        return convert_from<int8_t>(t);
    case S16:
        return convert_from<int16_t>(t);
    case S32:
        return convert_from<int32_t>(t);
    case S64:
        return convert_from<int64_t>(t);
    case F16:
        return convert_from<half>(t);
    case BF16:
        return convert_from<bfloat>(t);
    case F32:
        return convert_from<float>(t);
    case F64:
        return convert_from<double>(t);
    default:
        return nullptr;
    }
}

bool decode_convert(statement &s, insn &i)
{
    if ("cvt" != s.name()) {
        return false;
    }
    const type d = s.take_type(), t = s.take_type();
    s.take("rn");
    i.d = s.slot(0);
    i.a = s.slot(1);
    s.need(2 == s.args.size(), "operands");
    i.go = convert_to(d, t);
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */
