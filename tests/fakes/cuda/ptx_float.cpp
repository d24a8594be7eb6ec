/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floats in single and double precision, rounded to nearest, and the formats of half precision. A
 * result that is not a number is the device's own (0x7fffffff, 0x7fff, and in double precision the
 * operand's).
 */
#include "ptx_float.h"

#include <cmath>

namespace fake
{
namespace ptx
{

/* ---- formats ---- */

/* A double rounded to a format of fewer bits: exponent's bias, bits of the fraction. */
static uint16_t narrow(double v, int bias, int fraction)
{
    const int top = 15;
    const uint16_t sign = std::signbit(v) ? 1u << top : 0,
                   infinity = (uint16_t) (((1u << (top - fraction)) - 1) << fraction);
    int e;
    double m;

    if (std::isnan(v)) {
        return 0x7fff;
    }
    v = std::fabs(v);
    if (std::isinf(v)) {
        return sign | infinity;
    }
    if (0 == v) {
        return sign;
    }
    frexp(v, &e);
    e = e - 1 < 1 - bias ? 1 - bias
                         : e - 1; /* below the smallest normal number all have its exponent */
    m = nearbyint(ldexp(v, fraction - e)); /* units of the last place */
    const uint32_t bits = (uint32_t) m + ((uint32_t) (e + bias - 1) << fraction);
    return sign | (bits >= infinity ? infinity : (uint16_t) bits);
}

static double widen(uint16_t bits, int bias, int fraction)
{
    const int e = (bits & 0x7fff) >> fraction, most = (1 << (15 - fraction)) - 1;
    const int m = bits & ((1 << fraction) - 1);
    const double v = most == e ? (0 == m ? INFINITY : NAN)
                     : 0 == e  ? ldexp(m, 1 - bias - fraction)
                               : ldexp(m + (1 << fraction), e - bias - fraction);

    return bits & 0x8000 ? -v : v;
}

uint16_t to_half(double v)
{
    return narrow(v, 15, 10);
}
uint16_t to_bfloat(double v)
{
    return narrow(v, 127, 7);
}
double from_half(uint16_t bits)
{
    return widen(bits, 15, 10);
}
double from_bfloat(uint16_t bits)
{
    return widen(bits, 127, 7);
}

/* ---- operations ---- */

template <class T> static const insn *give(frame &f, const insn *i, T v)
{
    if (4 == sizeof(T) && std::isnan(v)) {
        put<uint32_t>(f, i->d, 0x7fffffff);
    } else {
        put<T>(f, i->d, v);
    }
    return i + 1;
}

struct op_add {
    template <class T> static T of(T a, T b)
    {
        return a + b;
    }
};
struct op_sub {
    template <class T> static T of(T a, T b)
    {
        return a - b;
    }
};
struct op_mul {
    template <class T> static T of(T a, T b)
    {
        return a * b;
    }
};
struct op_div {
    template <class T> static T of(T a, T b)
    {
        return a / b;
    }
};
/* One operand that is not a number is left out; -0 is below +0. */
struct op_min {
    template <class T> static T of(T a, T b)
    {
        return std::isnan(a)   ? b
               : std::isnan(b) ? a
               : a == b        ? (std::signbit(a) ? a : b)
               : a < b         ? a
                               : b;
    }
};
struct op_max {
    template <class T> static T of(T a, T b)
    {
        return std::isnan(a)   ? b
               : std::isnan(b) ? a
               : a == b        ? (std::signbit(a) ? b : a)
               : a > b         ? a
                               : b;
    }
};
template <class T, class F> static const insn *two(frame &f, const insn *i)
{
    return give<T>(f, i, F::of(get<T>(f, i->a), get<T>(f, i->b)));
}
template <class T> static const insn *fma(frame &f, const insn *i)
{
    return give<T>(f, i, std::fma(get<T>(f, i->a), get<T>(f, i->b), get<T>(f, i->c)));
}
/* Of bits alone: not a number stays what it is. mod[0]: change the sign, else take it away. */
template <class T> static const insn *flip(frame &f, const insn *i)
{
    const T a = get<T>(f, i->a), sign = (T) ((T) 1 << (8 * sizeof(T) - 1));
    put<T>(f, i->d, i->mod[0] ? (T) (a ^ sign) : (T) (a & ~sign));
    return i + 1;
}

/* ---- decoding ---- */

#define FLOATS(F) (F32 == t ? two<float, F> : F64 == t ? two<double, F> : (handler) nullptr)

bool decode_float(statement &s, insn &i)
{
    const std::string name = s.name();
    static const std::map<std::string, unsigned> sources = {{"add", 2}, {"sub", 2}, {"mul", 2},
                                                            {"div", 2}, {"min", 2}, {"max", 2},
                                                            {"fma", 3}, {"abs", 1}, {"neg", 1}};
    const auto found = sources.find(name);

    if (sources.end() == found) {
        return false;
    }
    const type t = s.take_type();
    s.need(F32 == t || F64 == t);
    s.need(found->second + 1 == s.args.size(), "operands");
    i.d = s.slot(0);
    i.a = s.slot(1);
    i.b = found->second > 1 ? s.slot(2) : -1;
    i.c = found->second > 2 ? s.slot(3) : -1;
    s.take("rn");
    if ("abs" == name || "neg" == name) {
        i.mod[0] = "neg" == name;
        i.go = F32 == t ? flip<uint32_t> : flip<uint64_t>;
        return true;
    }
    i.go = "add" == name   ? FLOATS(op_add)
           : "sub" == name ? FLOATS(op_sub)
           : "mul" == name ? FLOATS(op_mul)
           : "div" == name ? FLOATS(op_div)
           : "min" == name ? FLOATS(op_min)
           : "max" == name ? FLOATS(op_max)
           : F32 == t      ? fma<float>
                           : fma<double>;
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */

/* ---- what kernels call ---- */

namespace emu
{

float from_half(uint16_t bits)
{
    return (float) fake::ptx::from_half(bits);
}
float from_bfloat(uint16_t bits)
{
    return (float) fake::ptx::from_bfloat(bits);
}
uint16_t to_half(float value)
{
    return fake::ptx::to_half(value);
}
uint16_t to_bfloat(float value)
{
    return fake::ptx::to_bfloat(value);
}

} /* namespace emu */
