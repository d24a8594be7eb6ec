/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions. */
#include "ptx_float.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace fake
{
namespace ptx
{

/* mod[0]: rounding; mod[1]: FTZ, SAT, and: to a whole number */
enum { WHOLE = 4 };

struct half {
    uint16_t bits;
};
struct bfloat {
    uint16_t bits;
};

template <class T> constexpr bool is_int = std::is_integral<T>::value;

template <class S> static double real(const frame &f, const insn *i)
{
    const S v = get<S>(f, i->a);

    if constexpr (std::is_same<S, half>::value) {
        return from_half(v.bits);
    } else if constexpr (std::is_same<S, bfloat>::value) {
        return from_bfloat(v.bits);
    } else {
        return 0 != (i->mod[1] & FTZ) && std::is_same<S, float>::value &&
                       FP_SUBNORMAL == std::fpclassify(v)
                   ? std::copysign(0.0, (double) v)
                   : (double) v;
    }
}

template <class S> static float to_single(S v, int rounding)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    volatile S from = v;
    volatile float to;

    fesetround(modes[rounding]);
    to = (float) from;
    fesetround(FE_TONEAREST);
    return to;
}

static double whole(double v, int rounding)
{
    return ROUND_ZERO == rounding   ? trunc(v)
           : ROUND_DOWN == rounding ? floor(v)
           : ROUND_UP == rounding   ? ceil(v)
                                    : nearbyint(v);
}

template <class D> static void give(frame &f, const insn *i, double v)
{
    if (0 != (i->mod[1] & SAT)) {
        v = v > 0 ? (v < 1 ? v : 1) : 0;
    }
    if constexpr (std::is_same<D, half>::value) {
        put<uint16_t>(f, i->d, to_half(v, i->mod[0]));
    } else if constexpr (std::is_same<D, bfloat>::value) {
        put<uint16_t>(f, i->d, to_bfloat(v, i->mod[0]));
    } else if constexpr (std::is_same<D, float>::value) {
        float r = ROUND_NEAREST == i->mod[0] ? (float) v : to_single(v, i->mod[0]);
        if (0 != (i->mod[1] & FTZ) && FP_SUBNORMAL == std::fpclassify(r)) {
            r = std::copysign(0.0f, r);
        }
        if (std::isnan(r)) {
            put<uint32_t>(f, i->d, 0x7fffffff);
        } else {
            put<float>(f, i->d, r);
        }
    } else {
        put<double>(f, i->d, v);
    }
}

template <class D, class S> static const insn *convert(frame &f, const insn *i)
{
    if constexpr (is_int<D> && is_int<S>) {
        const S v = get<S>(f, i->a);
        if (0 != (i->mod[1] & SAT)) {
            const __int128 least = std::numeric_limits<D>::min(),
                           most = std::numeric_limits<D>::max();
            put<D>(f, i->d,
                   (D) ((__int128) v < least  ? least
                        : (__int128) v > most ? most
                                              : (__int128) v));
        } else {
            put<D>(f, i->d, (D) v);
        }
    } else if constexpr (is_int<D>) {
        const double v = whole(real<S>(f, i), i->mod[0]);
        const D least = std::numeric_limits<D>::min(), most = std::numeric_limits<D>::max();
        put<D>(f, i->d,
               std::isnan(v)         ? (D) 0
               : v <= (double) least ? least
               : v >= (double) most  ? most
                                     : (D) v);
    } else if constexpr (is_int<S>) {
        const S v = get<S>(f, i->a);
        if constexpr (std::is_same<D, float>::value) {
            put<float>(f, i->d, ROUND_NEAREST == i->mod[0] ? (float) v : to_single(v, i->mod[0]));
        } else {
            give<D>(f, i, (double) v);
        }
    } else {
        const double v = real<S>(f, i);
        give<D>(f, i, 0 != (i->mod[1] & WHOLE) ? whole(v, i->mod[0]) : v);
    }
    return i + 1;
}

/* Two floats to the halves of a register: the first one is the upper half. */
template <class D> static const insn *convert_two(frame &f, const insn *i)
{
    const double high = get<float>(f, i->a), low = get<float>(f, i->b);
    uint32_t r;

    if constexpr (std::is_same<D, half>::value) {
        r = (uint32_t) to_half(high, i->mod[0]) << 16 | to_half(low, i->mod[0]);
    } else {
        r = (uint32_t) to_bfloat(high, i->mod[0]) << 16 | to_bfloat(low, i->mod[0]);
    }
    put<uint32_t>(f, i->d, r);
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
    case F16:
        return convert<D, half>;
    case BF16:
        return convert<D, bfloat>;
    case F32:
        return convert<D, float>;
    case F64:
        return convert<D, double>;
    default:
        return nullptr;
    }
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
    const int to_whole = s.take_of({"rni", "rzi", "rmi", "rpi"});

    i.mod[0] = (uint8_t) (to_whole >= 0 ? to_whole : take_rounding(s));
    i.mod[1] = (uint8_t) ((s.take("ftz") ? FTZ : 0) | (s.take("sat") ? SAT : 0) |
                          (to_whole >= 0 ? WHOLE : 0));
    i.d = s.slot(0);
    i.a = s.slot(1);
    if ((F16X2 == d || BF16X2 == d) && F32 == t) {
        i.b = s.slot(2);
        i.go = F16X2 == d ? convert_two<half> : convert_two<bfloat>;
        return true;
    }
    s.need(2 == s.args.size(), "operands");
    i.go = convert_to(d, t);
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */
