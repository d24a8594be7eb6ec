/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floats. A result that is not a number is the device's own (0x7fffffff, 0x7fff, and in double
 * precision the operand's). Half precision is computed in double precision, which is exact, and
 * rounded once.
 */
#include "ptx_float.h"

#include <cfenv>
#include <cmath>

namespace fake
{
namespace ptx
{

/* ---- formats ---- */

/* A double rounded to a format of fewer bits: exponent's bias, bits of the fraction. */
static uint16_t narrow(double v, int bias, int fraction, int rounding)
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
    m = round_as(ldexp(v, fraction - e), rounding, 0 != sign); /* units of the last place */
    const uint32_t bits = (uint32_t) m + ((uint32_t) (e + bias - 1) << fraction);
    if (bits >= infinity) {
        const bool stays = ROUND_ZERO == rounding || (ROUND_DOWN == rounding && 0 == sign) ||
                           (ROUND_UP == rounding && 0 != sign);
        return sign | (uint16_t) (stays ? infinity - 1 : infinity);
    }
    return sign | (uint16_t) bits;
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

double round_as(double v, int rounding, bool negative)
{
    switch (rounding) {
    case ROUND_ZERO:
        return trunc(v);
    case ROUND_DOWN:
        return negative ? ceil(v) : floor(v);
    case ROUND_UP:
        return negative ? floor(v) : ceil(v);
    default:
        return nearbyint(v);
    }
}

uint16_t to_half(double v, int rounding)
{
    return narrow(v, 15, 10, rounding);
}
uint16_t to_bfloat(double v, int rounding)
{
    return narrow(v, 127, 7, rounding);
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

/* mod[0]: rounding; mod[1]: FTZ, SAT */
static void round_begin(int rounding)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    if (ROUND_NEAREST != rounding) {
        fesetround(modes[rounding]);
    }
}
static void round_end(int rounding)
{
    if (ROUND_NEAREST != rounding) {
        fesetround(FE_TONEAREST);
    }
}

template <class T> static T flushed(T v, const insn *i)
{
    return i->mod[1] & FTZ && FP_SUBNORMAL == std::fpclassify(v) ? std::copysign((T) 0, v) : v;
}
template <class T> static const insn *give(frame &f, const insn *i, T v)
{
    v = flushed(v, i);
    if (i->mod[1] & SAT) {
        v = v > 0 ? (v < 1 ? v : (T) 1) : (T) 0;
    }
    if (4 == sizeof(T) && std::isnan(v)) {
        put<uint32_t>(f, i->d, 0x7fffffff);
    } else {
        put<T>(f, i->d, v);
    }
    return i + 1;
}
template <class T> static T read(const frame &f, const insn *i, int32_t slot)
{
    return flushed(get<T>(f, slot), i);
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
struct op_copysign {
    template <class T> static T of(T a, T b)
    {
        return std::copysign(b, a);
    }
};
struct op_fma {
    template <class T> static T of(T a, T b, T c)
    {
        return std::fma(a, b, c);
    }
};
#define FUNCTION(name, expression)          \
    struct op_##name {                      \
        template <class T> static T of(T a) \
        {                                   \
            return expression;              \
        }                                   \
    }
FUNCTION(abs, std::fabs(a));
FUNCTION(neg, -a);
FUNCTION(sqrt, std::sqrt(a));
FUNCTION(rsqrt, 1 / std::sqrt((double) a));
FUNCTION(rcp, 1 / a);
FUNCTION(ex2, (T) std::exp2((double) a));
FUNCTION(lg2, (T) std::log2((double) a));
FUNCTION(sin, (T) std::sin((double) a));
FUNCTION(cos, (T) std::cos((double) a));
FUNCTION(tanh, (T) std::tanh((double) a));

/* The barriers keep the compiler from moving the operation to where another rounding holds. */
template <class T> static inline void pin(T &v)
{
    asm volatile("" : "+m"(v) : : "memory");
}
template <class T, class F> static const insn *one(frame &f, const insn *i)
{
    T a = read<T>(f, i, i->a), r;

    round_begin(i->mod[0]);
    pin(a);
    r = F::template of<T>(a);
    pin(r);
    round_end(i->mod[0]);
    return give<T>(f, i, r);
}
template <class T, class F> static const insn *two(frame &f, const insn *i)
{
    T a = read<T>(f, i, i->a), b = read<T>(f, i, i->b), r;

    round_begin(i->mod[0]);
    pin(a);
    r = F::of(a, b);
    pin(r);
    round_end(i->mod[0]);
    return give<T>(f, i, r);
}
template <class T> static const insn *fma(frame &f, const insn *i)
{
    T a = read<T>(f, i, i->a), b = read<T>(f, i, i->b), c = read<T>(f, i, i->c), r;

    round_begin(i->mod[0]);
    pin(a);
    r = std::fma(a, b, c);
    pin(r);
    round_end(i->mod[0]);
    return give<T>(f, i, r);
}
/* Of bits alone: not a number stays what it is. */
template <class T> static const insn *flip(frame &f, const insn *i)
{
    const T a = get<T>(f, i->a), sign = (T) ((T) 1 << (8 * sizeof(T) - 1));
    put<T>(f, i->d, i->mod[2] ? (T) (a ^ sign) : (T) (a & ~sign));
    return i + 1;
}

/* ---- half precision: mod[2]: parts in a register ---- */

struct half {
    static double wide(uint16_t v)
    {
        return from_half(v);
    }
    static uint16_t back(double v)
    {
        return to_half(v, ROUND_NEAREST);
    }
};
struct bfloat {
    static double wide(uint16_t v)
    {
        return from_bfloat(v);
    }
    static uint16_t back(double v)
    {
        return to_bfloat(v, ROUND_NEAREST);
    }
};
template <class H, class F, int operands> static const insn *halves(frame &f, const insn *i)
{
    uint32_t r = 0;

    for (unsigned k = 0; k < i->mod[2]; k++) {
        double x[3] = {0, 0, 0}, v;
        const int32_t slots[] = {i->a, i->b, i->c};
        for (int n = 0; n < operands; n++) {
            x[n] = H::wide((uint16_t) (f.r[slots[n]] >> 16 * k));
        }
        if constexpr (1 == operands) {
            v = F::template of<double>(x[0]);
        } else if constexpr (2 == operands) {
            v = F::of(x[0], x[1]);
        } else {
            v = F::of(x[0], x[1], x[2]);
        }
        if (i->mod[1] & SAT) {
            v = v > 0 ? (v < 1 ? v : 1) : 0;
        }
        r |= (uint32_t) H::back(v) << 16 * k;
    }
    put<uint32_t>(f, i->d, r);
    return i + 1;
}

/* ---- decoding ---- */

int take_rounding(statement &s)
{
    static const char *const words[] = {"rn", "rz", "rm", "rp"};

    for (int k = 0; k < 4; k++) {
        if (s.take(words[k])) {
            return k;
        }
    }
    return ROUND_NEAREST;
}

#define FLOATS(H, F) (F32 == t ? H<float, F> : F64 == t ? H<double, F> : (handler) nullptr)
#define HALVES(F, n)                                   \
    (F16 == t || F16X2 == t     ? halves<half, F, n>   \
     : BF16 == t || BF16X2 == t ? halves<bfloat, F, n> \
                                : (handler) nullptr)
#define ANY_FLOAT(H, F, n) (t < F32 ? HALVES(F, n) : FLOATS(H, F))

bool decode_float(statement &s, insn &i)
{
    const std::string name = s.name();
    static const std::map<std::string, unsigned> sources = {
        {"add", 2}, {"sub", 2}, {"mul", 2}, {"div", 2},  {"min", 2},     {"max", 2}, {"fma", 3},
        {"mad", 3}, {"abs", 1}, {"neg", 1}, {"sqrt", 1}, {"rsqrt", 1},   {"rcp", 1}, {"ex2", 1},
        {"lg2", 1}, {"sin", 1}, {"cos", 1}, {"tanh", 1}, {"copysign", 2}};
    const auto found = sources.find(name);

    if (sources.end() == found) {
        return false;
    }
    const type t = s.take_type();
    s.need(t >= F16);
    s.need(found->second + 1 == s.args.size(), "operands");
    i.d = s.slot(0);
    i.a = s.slot(1);
    i.b = found->second > 1 ? s.slot(2) : -1;
    i.c = found->second > 2 ? s.slot(3) : -1;
    i.mod[0] = (uint8_t) take_rounding(s);
    i.mod[1] = (uint8_t) ((s.take("ftz") ? FTZ : 0) | (s.take("sat") ? SAT : 0));
    s.take_of({"approx", "full"}); /* computed as well as can be */
    i.mod[2] = F16X2 == t || BF16X2 == t ? 2 : 1;
    if ("abs" == name || "neg" == name) {
        if (t < F32) {
            i.go = "neg" == name ? HALVES(op_neg, 1) : HALVES(op_abs, 1);
        } else if (i.mod[1] & FTZ) {
            i.go = "neg" == name ? FLOATS(one, op_neg) : FLOATS(one, op_abs);
        } else {
            i.mod[2] = "neg" == name;
            i.go = F32 == t ? flip<uint32_t> : flip<uint64_t>;
        }
        return true;
    }
    i.go = "add" == name                    ? ANY_FLOAT(two, op_add, 2)
           : "sub" == name                  ? ANY_FLOAT(two, op_sub, 2)
           : "mul" == name                  ? ANY_FLOAT(two, op_mul, 2)
           : "min" == name                  ? ANY_FLOAT(two, op_min, 2)
           : "max" == name                  ? ANY_FLOAT(two, op_max, 2)
           : "div" == name                  ? FLOATS(two, op_div)
           : "copysign" == name             ? FLOATS(two, op_copysign)
           : "fma" == name || "mad" == name ? (F32 == t   ? fma<float>
                                               : F64 == t ? fma<double>
                                                          : HALVES(op_fma, 3))
           : "sqrt" == name                 ? FLOATS(one, op_sqrt)
           : "rsqrt" == name                ? FLOATS(one, op_rsqrt)
           : "rcp" == name                  ? FLOATS(one, op_rcp)
           : "ex2" == name                  ? ANY_FLOAT(one, op_ex2, 1)
           : "lg2" == name                  ? FLOATS(one, op_lg2)
           : "sin" == name                  ? FLOATS(one, op_sin)
           : "cos" == name                  ? FLOATS(one, op_cos)
                                            : ANY_FLOAT(one, op_tanh, 1);
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
    return fake::ptx::to_half(value, fake::ptx::ROUND_NEAREST);
}
uint16_t to_bfloat(float value)
{
    return fake::ptx::to_bfloat(value, fake::ptx::ROUND_NEAREST);
}

} /* namespace emu */
