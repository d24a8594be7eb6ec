/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons, and moves of registers. */
#include "ptx_float.h"

#include <cmath>

namespace fake
{
namespace ptx
{

/* ---- comparisons ---- */

enum comparison { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NOT_NUM };

/* Of floats: the first six are false when one is not a number, the next six true. */
template <class T, int how> static inline bool holds(T a, T b)
{
    switch (how % 6) {
    case EQ:
        return NUM == how   ? !std::isnan((double) a) && !std::isnan((double) b)
               : EQU == how ? a == b || a != a || b != b
                            : a == b;
    case NE:
        return NOT_NUM == how ? std::isnan((double) a) || std::isnan((double) b)
               : NEU == how   ? a != b
                              : a != b && a == a && b == b;
    case LT:
        return LTU == how ? !(a >= b) : a < b;
    case LE:
        return LEU == how ? !(a > b) : a <= b;
    case GT:
        return GTU == how ? !(a <= b) : a > b;
    default:
        return GEU == how ? !(a < b) : a >= b;
    }
}

template <class T> struct as {
    typedef T value;
    static value of(const frame &f, int32_t slot)
    {
        return get<T>(f, slot);
    }
};
struct as_half {
    typedef double value;
    static value of(const frame &f, int32_t slot)
    {
        return from_half(get<uint16_t>(f, slot));
    }
};
struct as_bfloat {
    typedef double value;
    static value of(const frame &f, int32_t slot)
    {
        return from_bfloat(get<uint16_t>(f, slot));
    }
};

/* mod[0]: with predicate c: 0 none, 1 and, 2 or, 3 xor */
static inline uint64_t combined(bool v, const frame &f, const insn *i)
{
    const bool c = -1 != i->c && 0 != (f.r[i->c] & 1);

    return 0 == i->mod[0] ? v : 1 == i->mod[0] ? (v && c) : 2 == i->mod[0] ? (v || c) : v != c;
}
template <class A, int how> static const insn *setp(frame &f, const insn *i)
{
    const bool v = holds<typename A::value, how>(A::of(f, i->a), A::of(f, i->b));
    const uint64_t first = combined(v, f, i);

    if (i->e >= 0) {
        f.r[i->e] = combined(!v, f, i);
    }
    if (i->d >= 0) {
        f.r[i->d] = first;
    }
    return i + 1;
}
/* mod[1]: the result is the float 1, or else all bits */
template <class A, int how> static const insn *set(frame &f, const insn *i)
{
    const bool v = holds<typename A::value, how>(A::of(f, i->a), A::of(f, i->b));
    put<uint32_t>(f, i->d, 0 == combined(v, f, i) ? 0 : 0 != i->mod[1] ? 0x3f800000 : UINT32_MAX);
    return i + 1;
}

template <class A> static handler compare(int how, bool predicate)
{
    static const handler predicates[] = {setp<A, EQ>,  setp<A, NE>,     setp<A, LT>,  setp<A, LE>,
                                         setp<A, GT>,  setp<A, GE>,     setp<A, EQU>, setp<A, NEU>,
                                         setp<A, LTU>, setp<A, LEU>,    setp<A, GTU>, setp<A, GEU>,
                                         setp<A, NUM>, setp<A, NOT_NUM>};
    static const handler values[] = {set<A, EQ>,  set<A, NE>,     set<A, LT>,  set<A, LE>,
                                     set<A, GT>,  set<A, GE>,     set<A, EQU>, set<A, NEU>,
                                     set<A, LTU>, set<A, LEU>,    set<A, GTU>, set<A, GEU>,
                                     set<A, NUM>, set<A, NOT_NUM>};

    return predicate ? predicates[how] : values[how];
}

static handler compare_of(type t, int how, bool predicate)
{
    switch (t) {
    case PRED:
        return nullptr;
    case U16:
    case B16:
        return compare<as<uint16_t>>(how, predicate);
    case U32:
    case B32:
        return compare<as<uint32_t>>(how, predicate);
    case U64:
    case B64:
        return compare<as<uint64_t>>(how, predicate);
    case S16:
        return compare<as<int16_t>>(how, predicate);
    case S32:
        return compare<as<int32_t>>(how, predicate);
    case S64:
        return compare<as<int64_t>>(how, predicate);
    case F16:
        return compare<as_half>(how, predicate);
    case BF16:
        return compare<as_bfloat>(how, predicate);
    case F32:
        return compare<as<float>>(how, predicate);
    case F64:
        return compare<as<double>>(how, predicate);
    default:
        return nullptr;
    }
}

bool decode_compare(statement &s, insn &i)
{
    static const int unsigned_names[] = {LT, LE, GT, GE};
    const bool predicate = "setp" == s.name();
    int how;
    type to = NONE, t;

    if (!predicate && "set" != s.name()) {
        return false;
    }
    how = s.take_of({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu",
                     "num", "nan"});
    if (how < 0) {
        how = s.take_of({"lo", "ls", "hi", "hs"});
        s.need(how >= 0);
        how = unsigned_names[how];
    }
    i.mod[0] = (uint8_t) (1 + s.take_of({"and", "or", "xor"}));
    s.take("ftz");
    if (!predicate) {
        to = s.take_type();
        s.need(F32 == to || U32 == to || S32 == to);
        i.mod[1] = F32 == to;
    }
    t = s.take_type();
    s.need(s.args.size() == (0 == i.mod[0] ? 3u : 4u), "operands");
    i.d = operand::SINK == s.args[0].kind ? -1 : s.slot(0);
    i.e = s.args[0].second;
    i.a = s.slot(1);
    i.b = s.slot(2);
    i.c = 0 == i.mod[0] ? -1 : s.slot(3);
    i.go = compare_of(t, how, predicate);
    return nullptr != i.go;
}

/* ---- moves ---- */

static const insn *move(frame &f, const insn *i)
{
    f.r[i->d] = f.r[i->a];
    return i + 1;
}
/* A register to parts: mod[0]: bytes of each. */
static const insn *unpack(frame &f, const insn *i)
{
    const uint64_t bits = f.r[i->a], mask = (1ull << 8 * i->mod[0]) - 1;

    for (unsigned k = 0; k < i->n; k++) {
        if (i->v[k] >= 0) {
            f.r[i->v[k]] = bits >> 8 * i->mod[0] * k & mask;
        }
    }
    return i + 1;
}
static const insn *pack(frame &f, const insn *i)
{
    const uint64_t mask = (1ull << 8 * i->mod[0]) - 1;
    uint64_t bits = 0;

    for (unsigned k = 0; k < i->n; k++) {
        bits |= (f.r[i->v[k]] & mask) << 8 * i->mod[0] * k;
    }
    f.r[i->d] = bits;
    return i + 1;
}
static const insn *select(frame &f, const insn *i)
{
    f.r[i->d] = f.r[i->c] & 1 ? f.r[i->a] : f.r[i->b];
    return i + 1;
}
static const insn *select_sign(frame &f, const insn *i)
{
    const bool first = i->mod[0] ? get<float>(f, i->c) >= 0 : get<int32_t>(f, i->c) >= 0;
    f.r[i->d] = f.r[first ? i->a : i->b];
    return i + 1;
}
/* off: the space's bit, set or taken away */
static const insn *to_generic(frame &f, const insn *i)
{
    f.r[i->d] = f.r[i->a] | (uint64_t) i->off;
    return i + 1;
}
static const insn *to_space(frame &f, const insn *i)
{
    f.r[i->d] = f.r[i->a] & ~SPACE_BITS;
    return i + 1;
}
static const insn *is_space(frame &f, const insn *i)
{
    f.r[i->d] = (uint64_t) i->off == (f.r[i->a] & SPACE_BITS);
    return i + 1;
}
static const insn *clock(frame &f, const insn *i)
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    f.r[i->d] = (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
    f.r[i->d] >>= i->off;
    return i + 1;
}

static bool decode_mov(statement &s, insn &i)
{
    const type t = s.take_type();
    const unsigned bytes = type_bytes(t);

    s.need(2 == s.args.size() && NONE != t, "operands");
    if (operand::VECTOR == s.args[0].kind || operand::VECTOR == s.args[1].kind) {
        const bool packs = operand::VECTOR == s.args[1].kind;
        i.v = s.vector(s.args[packs], &i.n, 4);
        i.mod[0] = (uint8_t) (bytes / i.n);
        s.need(i.mod[0] > 0 && i.mod[0] < 8 && bytes == i.n * (unsigned) i.mod[0]);
        (packs ? i.d : i.a) = s.slot(!packs);
        i.go = packs ? pack : unpack;
        return true;
    }
    i.d = s.slot(0);
    if (operand::NAME == s.args[1].kind) {
        const std::string &name = s.args[1].name;
        i.off = "%clock_hi" == name || "%globaltimer_hi" == name ? 32 : 0;
        i.go = 0 == name.find("%clock") || 0 == name.find("%globaltimer") ? clock : nullptr;
        return nullptr != i.go;
    }
    i.a = s.slot(1);
    i.go = move;
    return true;
}

bool decode_move(statement &s, insn &i)
{
    const std::string name = s.name();

    if ("mov" == name) {
        return decode_mov(s, i);
    }
    if ("selp" == name || "slct" == name) {
        s.need(NONE != s.take_type() && 4 == s.args.size(), "operands");
        if ("slct" == name) {
            i.mod[0] = F32 == s.take_type();
            s.take("ftz");
        }
        i.d = s.slot(0);
        i.a = s.slot(1);
        i.b = s.slot(2);
        i.c = s.slot(3);
        i.go = "selp" == name ? select : select_sign;
        return true;
    }
    if ("cvta" == name || "isspacep" == name) {
        const bool back = s.take("to");
        const int where = s.take_of({"global", "const", "shared", "local", "param"});
        static const uint64_t bits[] = {0, 0, SHARED_BIT, LOCAL_BIT, PARAM_BIT};
        s.need(where >= 0 && 2 == s.args.size());
        s.take("cta");
        s.take_type();
        i.off = (int64_t) bits[where];
        i.d = s.slot(0);
        i.a = s.slot(1);
        i.go = "isspacep" == name ? is_space : back ? to_space : to_generic;
        return true;
    }
    return false;
}

} /* namespace ptx */
} /* namespace fake */
