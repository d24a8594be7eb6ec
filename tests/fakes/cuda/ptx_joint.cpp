/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads and stores of 16 bytes that are flags: pairs of words of 8 bytes, each of them whole. Eight
 * lanes that access a line of 128 bytes by one instruction get it whole, as in a warp whose lanes
 * run together: the line's last word is read first, and written last. So a lane waits until each
 * other one of its eight has come, or cannot come, or has had a turn and went elsewhere.
 */
#include "ptx_memory.h"

namespace fake
{
namespace ptx
{

constexpr unsigned GROUP = 8;

struct lanes {
    thread_state *first;
    const cuda_thread *run;
    const fake::thread_state *states;
    unsigned n;
};

static lanes lanes_of(const frame &f)
{
    const unsigned from = f.t->flat / GROUP * GROUP, all = (unsigned) f.b->threads.size();

    return lanes {&f.b->threads[from], &block_here()->threads[from], &block_here()->states[from],
                  all - from < GROUP ? all - from : GROUP};
}

static bool all_came(const frame &f, const lanes &l)
{
    for (unsigned k = 0; k < l.n; k++) {
        if (&l.first[k] != f.t && RUNNING == l.states[k] && !l.first[k].joint.waits &&
            l.run[k].turns == f.t->joint.turns[k]) {
            return false;
        }
    }
    return true;
}

/* Whether these eight lanes have a line, in order. */
static bool is_line(thread_state *const *who, unsigned n)
{
    bool line = GROUP == n && 0 == who[0]->joint.address % 128;

    for (unsigned k = 1; k < n; k++) {
        line = line && who[k]->joint.address == who[0]->joint.address + 16 * k;
    }
    return line;
}

static void load_pair(thread_state *t)
{
    uint64_t *at = t->joint.at, *value = t->joint.value;

    emu::delay(false);
    value[0] = __atomic_load_n(&at[0], __ATOMIC_RELAXED);
    emu::delay(false);
    value[1] = __atomic_load_n(&at[1], __ATOMIC_RELAXED);
}
static void store_pair(thread_state *t)
{
    uint64_t *at = t->joint.at, *value = t->joint.value;

    __atomic_store_n(&at[1], value[1], __ATOMIC_RELAXED);
    emu::delay(true);
    __atomic_store_n(&at[0], value[0], __ATOMIC_RELAXED);
    emu::delay(true);
}
static void load_line(thread_state *const *who)
{
    emu::delay(false);
    for (unsigned k = GROUP; k-- > 0;) {
        uint64_t *at = who[k]->joint.at, *value = who[k]->joint.value;
        value[1] = __atomic_load_n(&at[1], __ATOMIC_ACQUIRE);
        value[0] = __atomic_load_n(&at[0], __ATOMIC_RELAXED);
    }
}
static void store_line(thread_state *const *who)
{
    for (unsigned k = 0; k < GROUP; k++) {
        uint64_t *at = who[k]->joint.at, *value = who[k]->joint.value;
        __atomic_store_n(&at[0], value[0], __ATOMIC_RELAXED);
        __atomic_store_n(&at[1], value[1], __ATOMIC_RELEASE);
    }
    emu::delay(true);
}

template <bool loads> static void do_it(const lanes &l, const insn *i)
{
    thread_state *who[GROUP];
    unsigned n = 0;

    for (unsigned k = 0; k < l.n; k++) {
        if (l.first[k].joint.waits && i == l.first[k].joint.by) {
            who[n++] = &l.first[k];
        }
    }
    if (is_line(who, n)) {
        loads ? load_line(who) : store_line(who);
    }
    for (unsigned k = 0; k < n; k++) {
        if (!is_line(who, n)) {
            loads ? load_pair(who[k]) : store_pair(who[k]);
        }
    }
    for (unsigned k = 0; k < n; k++) {
        who[k]->joint.waits = false;
    }
}

template <bool loads> static void together(frame &f, const insn *i, uint64_t at)
{
    const lanes l = lanes_of(f);
    auto &mine = f.t->joint;

    mine.by = i;
    mine.address = at;
    mine.at = (uint64_t *) emu::reach((uint4 *) at);
    strong_begin(f, i, at, mine.at, 16);
    mine.waits = true;
    for (unsigned k = 0; k < l.n; k++) {
        mine.turns[k] = l.run[k].turns;
    }
    while (mine.waits) {
        if (all_came(f, l)) {
            do_it<loads>(l, i);
        } else {
            yield(f, true);
        }
    }
}

/* T: half a pair, or a quarter */
template <class T, space where, bool loads> static const insn *access(frame &f, const insn *i)
{
    const uint64_t at = address(f, i);
    uint64_t *value = f.t->joint.value;

    f.t->now = i;
    if (!loads) {
        f.t->stored++;
        release(f, i);
        for (unsigned k = 0; k < i->n; k++) {
            memcpy((char *) value + k * sizeof(T), &f.r[i->v[k]], sizeof(T));
        }
    }
    if (in_global(where, at)) {
        together<loads>(f, i, at);
    } else if (loads) {
        memcpy(value, spot(f, i, where, at, 16), 16);
    } else {
        memcpy(spot(f, i, where, at, 16), value, 16);
        block_here()->progress++;
    }
    if (loads) {
        for (unsigned k = 0; k < i->n; k++) {
            T v;
            memcpy(&v, (char *) value + k * sizeof(T), sizeof(T));
            if (-1 != i->v[k]) {
                put<T>(f, i->v[k], v);
            }
        }
        acquire(f, i);
        look(f, i, at, value[0], value[1]);
    }
    return i + 1;
}

template <class T> static handler access_of(space where, bool loads)
{
    switch (where) {
    case GENERIC:
        return loads ? access<T, GENERIC, true> : access<T, GENERIC, false>;
    case GLOBAL:
        return loads ? access<T, GLOBAL, true> : access<T, GLOBAL, false>;
    case SHARED:
        return loads ? access<T, SHARED, true> : access<T, SHARED, false>;
    default:
        return nullptr;
    }
}

handler joint_access(type t, space where, bool loads)
{
    return 8 == type_bytes(t)   ? access_of<uint64_t>(where, loads)
           : 4 == type_bytes(t) ? access_of<uint32_t>(where, loads)
                                : nullptr;
}

} /* namespace ptx */
} /* namespace fake */
