/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons, and moves of registers. */
#include "ptx_code.h"

namespace fake
{
namespace ptx
{

/* ---- comparisons ---- */

enum comparison { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU };

/* Of floats: the first six are false when one is not a number, the next six true. */
template <class T, int how> static inline bool holds(T a, T b)
{
    switch (how % 6) {
    case EQ:
        return EQU == how ? a == b || a != a || b != b : a == b;
    case NE:
        return NEU == how ? a != b : a != b && a == a && b == b;
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

/* mod[0]: with predicate c: 0 none, 1 and, 2 or, 3 xor */
static inline uint64_t combined(bool v, const frame &f, const insn *i)
{
    const bool c = -1 != i->c && 0 != (f.r[i->c] & 1);

    return 0 == i->mod[0] ? v : 1 == i->mod[0] ? (v && c) : 2 == i->mod[0] ? (v || c) : v != c;
}
template <class T, int how> static const insn *setp(frame &f, const insn *i)
{
    const bool v = holds<T, how>(get<T>(f, i->a), get<T>(f, i->b));
    const uint64_t first = combined(v, f, i);

    if (i->e >= 0) {
        f.r[i->e] = combined(!v, f, i);
    }
    if (i->d >= 0) {
        f.r[i->d] = first;
    }
    return i + 1;
}
template <class T> static handler compare(int how)
{
    static const handler all[] = {setp<T, EQ>,  setp<T, NE>,  setp<T, LT>,  setp<T, LE>,
                                  setp<T, GT>,  setp<T, GE>,  setp<T, EQU>, setp<T, NEU>,
                                  setp<T, LTU>, setp<T, LEU>, setp<T, GTU>, setp<T, GEU>};

    return all[how];
}

static handler compare_of(type t, int how)
{
    switch (t) {
    case U16:
    case B16:
        return compare<uint16_t>(how);
    case U32:
    case B32:
        return compare<uint32_t>(how);
    case U64:
    case B64:
        return compare<uint64_t>(how);
    case S16:
        return compare<int16_t>(how);
    case S32:
        return compare<int32_t>(how);
    case S64:
        return compare<int64_t>(how);
    case F32:
        return compare<float>(how);
    case F64:
        return compare<double>(how);
    default:
        return nullptr;
    }
}

bool decode_compare(statement &s, insn &i)
{
    static const int unsigned_names[] = {LT, LE, GT, GE};
    int how;

    if ("setp" != s.name()) {
        return false;
    }
    how = s.take_of({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu"});
    if (how < 0) {
        how = s.take_of({"lo", "ls", "hi", "hs"});
        s.need(how >= 0);
        how = unsigned_names[how];
    }
    i.mod[0] = (uint8_t) (1 + s.take_of({"and", "or", "xor"}));
    const type t = s.take_type();
    s.need(s.args.size() == (0 == i.mod[0] ? 3u : 4u), "operands");
    i.d = operand::SINK == s.args[0].kind ? -1 : s.slot(0);
    i.e = s.args[0].second;
    i.a = s.slot(1);
    i.b = s.slot(2);
    i.c = 0 == i.mod[0] ? -1 : s.slot(3);
    i.go = compare_of(t, how);
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
    if ("selp" == name) {
        s.need(NONE != s.take_type() && 4 == s.args.size(), "operands");
        i.d = s.slot(0);
        i.a = s.slot(1);
        i.b = s.slot(2);
        i.c = s.slot(3);
        i.go = select;
        return true;
    }
    if ("cvta" == name) {
        const bool back = s.take("to");
        const int where = s.take_of({"global", "const", "shared", "local", "param"});
        static const uint64_t bits[] = {0, 0, SHARED_BIT, LOCAL_BIT, PARAM_BIT};
        s.need(where >= 0 && 2 == s.args.size());
        s.take("cta");
        s.take_type();
        i.off = (int64_t) bits[where];
        i.d = s.slot(0);
        i.a = s.slot(1);
        i.go = back ? to_space : to_generic;
        return true;
    }
    return false;
}

} /* namespace ptx */
} /* namespace fake */
