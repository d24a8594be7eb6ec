/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads and stores. What is in global memory goes the way of gp_ld and its like: checks,
 * FAKECUDA_WEAK, FAKECUDA_JITTER.
 *
 *      ld, st                       gp_ld, gp_st
 *      .relaxed, .volatile          gp_ld_relaxed, gp_st_relaxed
 *      ld.acquire, st.release       gp_ld_acquire, gp_st_release
 *      16 bytes of these            ptx_joint.cpp
 */
#include "ptx_memory.h"

namespace fake
{
namespace ptx
{

/* ---- loads ---- */

/* Bytes to the registers of a vector. */
template <class T> static inline void spread(frame &f, const insn *i, const unsigned char *from)
{
    T v;

    for (unsigned k = 0; k < i->n; k++) {
        memcpy(&v, from + k * sizeof(T), sizeof(T));
        if (-1 != i->v[k]) {
            put<T>(f, i->v[k], v);
        }
    }
}

static void load_global(uint64_t at, unsigned char *to, size_t bytes)
{
    const uint4 *wide = (const uint4 *) at;

    switch (bytes) {
#define CASE(type)                                   \
    case sizeof(type): {                             \
        const type v = emu::load((const type *) at); \
        memcpy(to, &v, sizeof(v));                   \
        break;                                       \
    }
        CASE(uint8_t)
        CASE(uint16_t)
        CASE(uint32_t)
        CASE(uint64_t)
        CASE(uint4)
#undef CASE
    default: /* two of 16 */
        load_global(at, to, 16);
        load_global((uint64_t) (wide + 1), to + 16, 16);
    }
}

template <class T, space where> static const insn *load(frame &f, const insn *i)
{
    const uint64_t at = address(f, i);
    const size_t bytes = sizeof(T) * i->n;
    unsigned char piece[32];

    f.t->now = i;
    if (!in_global(where, at)) {
        spread<T>(f, i, spot(f, i, where, at, bytes));
    } else if (1 == i->n) {
        put<T>(f, i->v[0], emu::load((const T *) at));
    } else {
        load_global(at, piece, bytes);
        spread<T>(f, i, piece);
    }
    return i + 1;
}

/* A parameter by name: off says where in this function's, or in what it hands over. */
template <class T, bool incoming> static const insn *load_param(frame &f, const insn *i)
{
    spread<T>(f, i, (incoming ? f.params : f.pass) + i->off);
    return i + 1;
}

/* Of at most 8 bytes, at once. */
template <class T, space where> static const insn *load_strong(frame &f, const insn *i)
{
    const uint64_t at = address(f, i);
    const size_t bytes = sizeof(T) * i->n;
    uint64_t v = 0;

    f.t->now = i;
    if (!in_global(where, at)) {
        memcpy(&v, spot(f, i, where, at, bytes), bytes);
    } else {
        v = load_word(f, i, at, bytes);
    }
    spread<T>(f, i, (const unsigned char *) &v);
    look(f, i, at, v, 0);
    return i + 1;
}

uint64_t load_word(frame &f, const insn *i, uint64_t at, size_t bytes)
{
    uint64_t v = 0;

    switch (bytes) {
#define CASE(type)                                                                 \
    case sizeof(type): {                                                           \
        type *p = emu::reach((type *) at);                                         \
        strong_begin(f, i, at, p, sizeof(type));                                   \
        emu::delay(false);                                                         \
        if (SCOPE_CTA == i->mod[1]) {                                              \
            v = emu::load((type *) at);                                            \
        } else {                                                                   \
            v = ORDER_RELAXED == i->mod[0] ? __atomic_load_n(p, __ATOMIC_RELAXED)  \
                                           : __atomic_load_n(p, __ATOMIC_ACQUIRE); \
        }                                                                          \
        break;                                                                     \
    }
        CASE(uint8_t)
        CASE(uint16_t)
        CASE(uint32_t)
        CASE(uint64_t)
#undef CASE
    }
    acquire(f, i);
    return v;
}

/* ---- stores ---- */

template <class T> static inline void gather(const frame &f, const insn *i, unsigned char *to)
{
    for (unsigned k = 0; k < i->n; k++) {
        memcpy(to + k * sizeof(T), &f.r[i->v[k]], sizeof(T));
    }
}

static void store_global(uint64_t at, const unsigned char *from, size_t bytes)
{
    switch (bytes) {
#define CASE(type)                   \
    case sizeof(type): {             \
        type v;                      \
        memcpy(&v, from, sizeof(v)); \
        emu::store((type *) at, v);  \
        break;                       \
    }
        CASE(uint8_t)
        CASE(uint16_t)
        CASE(uint32_t)
        CASE(uint64_t)
        CASE(uint4)
#undef CASE
    default:
        store_global(at, from, 16);
        store_global(at + 16, from + 16, 16);
    }
}

template <class T, space where> static const insn *store(frame &f, const insn *i)
{
    const uint64_t at = address(f, i);
    const size_t bytes = sizeof(T) * i->n;
    unsigned char piece[32];

    f.t->now = i;
    f.t->stored++;
    if (!in_global(where, at)) {
        gather<T>(f, i, spot(f, i, where, at, bytes));
    } else if (1 == i->n) {
        emu::store((T *) at, get<T>(f, i->v[0]));
    } else {
        gather<T>(f, i, piece);
        store_global(at, piece, bytes);
    }
    return i + 1;
}

template <class T, bool incoming> static const insn *store_param(frame &f, const insn *i)
{
    gather<T>(f, i, (incoming ? f.params : f.pass) + i->off);
    return i + 1;
}

void store_word(frame &f, const insn *i, uint64_t at, size_t bytes, uint64_t v)
{
    release(f, i);
    switch (bytes) {
#define CASE(type)                                           \
    case sizeof(type): {                                     \
        type *p = emu::reach((type *) at);                   \
        strong_begin(f, i, at, p, sizeof(type));             \
        if (SCOPE_CTA == i->mod[1]) {                        \
            emu::store((type *) at, (type) v);               \
        } else if (ORDER_RELAXED == i->mod[0]) {             \
            __atomic_store_n(p, (type) v, __ATOMIC_RELAXED); \
        } else {                                             \
            __atomic_store_n(p, (type) v, __ATOMIC_RELEASE); \
        }                                                    \
        break;                                               \
    }
        CASE(uint8_t)
        CASE(uint16_t)
        CASE(uint32_t)
        CASE(uint64_t)
#undef CASE
    }
    emu::delay(true);
}

template <class T, space where> static const insn *store_strong(frame &f, const insn *i)
{
    const uint64_t at = address(f, i);
    const size_t bytes = sizeof(T) * i->n;
    uint64_t v = 0;

    f.t->now = i;
    f.t->stored++;
    gather<T>(f, i, (unsigned char *) &v);
    if (!in_global(where, at)) {
        memcpy(spot(f, i, where, at, bytes), &v, bytes);
        block_here()->progress++;
    } else {
        store_word(f, i, at, bytes, v);
    }
    return i + 1;
}

/* ---- decoding ---- */

template <class T> static handler load_of(space where, bool strong)
{
#define ROW(space) \
    case space:    \
        return strong ? load_strong<T, space> : load<T, space>;
    switch (where) {
        ROW(GENERIC) ROW(GLOBAL) ROW(SHARED) ROW(LOCAL) ROW(PARAM) ROW(CONST)
    }
#undef ROW
    return nullptr;
}
template <class T> static handler store_of(space where, bool strong)
{
#define ROW(space) \
    case space:    \
        return strong ? store_strong<T, space> : store<T, space>;
    switch (where) {
        ROW(GENERIC) ROW(GLOBAL) ROW(SHARED) ROW(LOCAL) default : return nullptr;
    }
#undef ROW
}

template <class T>
static handler access_of(const statement &s, const operand &o, space where, bool loads, bool strong)
{
    if (PARAM == where && nullptr != o.var && PARAM == o.var->where) {
        s.need(!strong);
        return loads ? (o.incoming ? load_param<T, true> : load_param<T, false>)
                     : (o.incoming ? store_param<T, true> : store_param<T, false>);
    }
    return loads ? load_of<T>(where, strong) : store_of<T>(where, strong);
}

/* A load of fewer than 8 bytes extends the sign of its type. */
static handler access_named(const statement &s, type t, const operand &o, space where, bool loads,
                            bool strong)
{
    const bool sign = type_signed(t);

    switch (type_bytes(t)) {
    case 1:
        return sign ? access_of<int8_t>(s, o, where, loads, strong)
                    : access_of<uint8_t>(s, o, where, loads, strong);
    case 2:
        return sign ? access_of<int16_t>(s, o, where, loads, strong)
                    : access_of<uint16_t>(s, o, where, loads, strong);
    case 4:
        return sign ? access_of<int32_t>(s, o, where, loads, strong)
                    : access_of<uint32_t>(s, o, where, loads, strong);
    case 8:
        return access_of<uint64_t>(s, o, where, loads, strong);
    default:
        return nullptr;
    }
}

bool decode_memory(statement &s, insn &i)
{
    const std::string name = s.name();
    const bool loads = "ld" == name || "ldu" == name;

    if (!loads && "st" != name) {
        return false;
    }
    take_order(s, i);
    const space where = take_space(s);
    /* hints for caches */
    s.take_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
    s.take("nc");
    for (size_t k = 1; k < s.words.size();) {
        if (std::string::npos != s.words[k].find("::")) {
            s.words.erase(s.words.begin() + (ptrdiff_t) k);
        } else {
            k++;
        }
    }
    const int width = s.take_of({"v2", "v4"});
    const type t = s.take_type();
    s.need(2 == s.args.size() && operand::ADDRESS == s.args[loads].kind, "operands");
    const operand &at = s.args[loads];
    i.a = at.slot;
    i.off = at.off;
    if (width >= 0) {
        i.v = s.vector(s.args[!loads], &i.n, 4);
        s.need(i.n == (0 == width ? 2 : 4), "operands");
    } else {
        operand one = s.args[!loads];
        operand list {operand::VECTOR, -1, -1, 0, "", nullptr, false, {one}};
        i.v = s.vector(list, &i.n, 1);
    }
    if (PARAM == where && nullptr != at.var && PARAM == at.var->where) {
        i.off += (int64_t) at.var->offset;
    }
    const size_t bytes = type_bytes(t) * i.n;
    s.need(bytes <= 32 && NONE != t && PRED != t);
    i.go = ORDER_WEAK != i.mod[0] && bytes > 8
               ? joint_access(t, where, loads)
               : access_named(s, t, at, where, loads, ORDER_WEAK != i.mod[0]);
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */
