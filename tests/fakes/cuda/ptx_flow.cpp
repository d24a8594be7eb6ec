/* SPDX-License-Identifier: BSD-3-Clause */
/* Jumps, calls, barriers and what the lanes of a warp do together. */
#include "ptx_code.h"

namespace fake
{
namespace ptx
{

/* ---- jumps ---- */

/* Jumps back that a thread makes before others have a turn, whatever it waits for. */
constexpr int FUEL = 200000;

static const insn *jump(frame &f, const insn *from, int32_t to)
{
    const insn *target = f.code + to;

    if (target <= from && --f.t->fuel < 0) {
        f.t->fuel = FUEL;
        f.t->now = from;
        yield(f, f.t->stored == f.t->stored_at);
        f.t->stored_at = f.t->stored;
    }
    return target;
}
static const insn *branch(frame &f, const insn *i)
{
    return jump(f, i, i->to);
}
/* mod[0]: if the predicate is false */
static const insn *branch_if(frame &f, const insn *i)
{
    return (f.r[i->a] & 1) != i->mod[0] ? jump(f, i, i->to) : i + 1;
}
static const insn *branch_index(frame &f, const insn *i)
{
    const uint32_t index = get<uint32_t>(f, i->b);

    if (-1 != i->a && (f.r[i->a] & 1) == i->mod[0]) {
        return i + 1;
    }
    if (index >= (uint64_t) i->off) {
        trap(f, i, "a jump by an index outside its table");
    }
    return jump(f, i, i->v[index]);
}
/* Over a guarded instruction. */
static const insn *skip(frame &f, const insn *i)
{
    return (f.r[i->a] & 1) != i->mod[0] ? f.code + i->to : i + 1;
}
static const insn *ret(frame &, const insn *)
{
    return nullptr;
}
static const insn *leave(frame &f, const insn *)
{
    f.t->exited = true;
    return nullptr;
}
static const insn *stop(frame &f, const insn *i)
{
    trap(f, i, "trap");
}
static const insn *rest(frame &f, const insn *i)
{
    f.t->now = i;
    emu::spin();
    return i + 1;
}

/* ---- barriers ---- */

/* b: threads that come, or -1: all; c: a predicate */
template <emu::barrier_kind kind> static const insn *barrier(frame &f, const insn *i)
{
    if (0 != get<uint32_t>(f, i->a) ||
        (-1 != i->b && get<uint32_t>(f, i->b) != f.b->threads.size())) {
        trap(f, i, "a barrier other than that of all threads is not known");
    }
    f.t->now = i;
    const int predicate = -1 == i->c ? 0 : (int) (f.r[i->c] & 1);
    const int r = emu::barrier(kind, predicate);
    if (-1 != i->d) {
        f.r[i->d] = (uint64_t) r;
    }
    return i + 1;
}

/* bar.sync id{, threads}; bar.red.OP d, id{, threads}, p */
static bool decode_barrier(statement &s, insn &i)
{
    const bool reduces = s.take("red");

    s.take("cta");
    s.take("aligned");
    if (reduces) {
        const int op = s.take_of({"and", "or", "popc"});
        const size_t n = s.args.size();
        s.take_type();
        s.need(3 == n || 4 == n, "operands");
        i.d = s.slot(0);
        i.a = s.slot(1);
        i.b = 4 == n ? s.slot(2) : -1;
        i.c = s.slot(n - 1);
        i.go = 0 == op   ? barrier<emu::SYNC_AND>
               : 1 == op ? barrier<emu::SYNC_OR>
               : 2 == op ? barrier<emu::SYNC_COUNT>
                         : (handler) nullptr;
        return true;
    }
    s.need(s.take("sync"));
    i.a = s.slot(0);
    i.b = s.args.size() > 1 ? s.slot(1) : -1;
    i.go = barrier<emu::SYNC>;
    return true;
}

/* ---- warps ---- */

static const insn *warp_sync(frame &f, const insn *i)
{
    f.t->now = i;
    emu::warp_sync(get<uint32_t>(f, i->a));
    return i + 1;
}

enum { ANY, ALL, UNIFORM, BALLOT };
static const insn *vote(frame &f, const insn *i)
{
    const uint32_t mask = get<uint32_t>(f, i->b);
    uint32_t votes;

    f.t->now = i;
    votes = emu::warp_vote(mask, f.r[i->a] & 1);
    f.r[i->d] = BALLOT == i->mod[0] ? votes
                : ANY == i->mod[0]  ? 0 != votes
                : ALL == i->mod[0]  ? mask == votes
                                    : mask == votes || 0 == votes;
    return i + 1;
}

enum { UP, DOWN, BUTTERFLY, INDEX };
static const insn *shuffle(frame &f, const insn *i)
{
    const uint32_t by = get<uint32_t>(f, i->b), c = get<uint32_t>(f, i->c),
                   mask = get<uint32_t>(f, i->e);
    const int lane = (int) (f.t->flat % 32), segment = (int) (c >> 8 & 31), clamp = (int) (c & 31);
    const int first = lane & segment, last = first | (clamp & ~segment);
    uint64_t all[32];
    int from;

    f.t->now = i;
    emu::warp_exchange(mask, get<uint32_t>(f, i->a), all);
    from = UP == i->mod[0]          ? lane - (int) (by & 31)
           : DOWN == i->mod[0]      ? lane + (int) (by & 31)
           : BUTTERFLY == i->mod[0] ? lane ^ (int) (by & 31)
                                    : first | ((int) (by & 31) & ~segment);
    const bool inside = UP == i->mod[0] ? from >= last : from <= last;
    f.r[i->d] = all[inside ? from & 31 : lane];
    if (i->to >= 0) {
        f.r[i->to] = inside;
    }
    return i + 1;
}

/* Lanes whose value is one's own; mod[0]: all of them, or else none, and d2 says which. */
static const insn *match(frame &f, const insn *i)
{
    const uint32_t mask = get<uint32_t>(f, i->b);
    const uint64_t mine = i->mod[1] ? f.r[i->a] : get<uint32_t>(f, i->a);
    uint64_t all[32];
    uint32_t same = 0;

    f.t->now = i;
    emu::warp_exchange(mask, mine, all);
    for (unsigned lane = 0; lane < 32; lane++) {
        same |= (mask >> lane & 1) && mine == all[lane] ? 1u << lane : 0;
    }
    f.r[i->d] = 0 == i->mod[0] || mask == same ? same : 0;
    if (i->to >= 0) {
        f.r[i->to] = mask == same;
    }
    return i + 1;
}

template <class T> static const insn *reduce(frame &f, const insn *i)
{
    const uint32_t mask = get<uint32_t>(f, i->b);
    uint64_t all[32];
    bool first = true;
    T r = 0;

    f.t->now = i;
    emu::warp_exchange(mask, get<uint32_t>(f, i->a), all);
    for (unsigned lane = 0; lane < 32; lane++) {
        const T v = (T) all[lane];
        if (0 == (mask >> lane & 1)) {
            continue;
        }
        r = first            ? v
            : 0 == i->mod[0] ? (T) ((uint32_t) r + (uint32_t) v)
            : 1 == i->mod[0] ? (v < r ? v : r)
            : 2 == i->mod[0] ? (v > r ? v : r)
            : 3 == i->mod[0] ? (T) (r & v)
            : 4 == i->mod[0] ? (T) (r | v)
                             : (T) (r ^ v);
        first = false;
    }
    put<T>(f, i->d, r);
    return i + 1;
}

/* The second destination of shfl and match is kept where jumps have their target. */
static void take_destinations(statement &s, insn &i)
{
    i.d = s.slot(0);
    i.to = s.args[0].second;
}

static bool decode_warp(statement &s, insn &i, const std::string &name)
{
    s.need(s.take("sync"));
    if ("vote" == name) {
        const int mode = s.take_of({"any", "all", "uni", "ballot"});
        s.take_type();
        s.need(mode >= 0 && 3 == s.args.size());
        i.mod[0] = (uint8_t) mode;
        i.d = s.slot(0);
        i.a = s.slot(1);
        i.b = s.slot(2);
        i.go = vote;
        return true;
    }
    if ("shfl" == name) {
        const int mode = s.take_of({"up", "down", "bfly", "idx"});
        s.take_type();
        s.need(mode >= 0 && 5 == s.args.size());
        i.mod[0] = (uint8_t) mode;
        take_destinations(s, i);
        i.a = s.slot(1);
        i.b = s.slot(2);
        i.c = s.slot(3);
        i.e = s.slot(4);
        i.go = shuffle;
        return true;
    }
    const int op = "match" == name ? s.take_of({"any", "all"})
                                   : s.take_of({"add", "min", "max", "and", "or", "xor"});
    const type t = s.take_type();
    s.need(op >= 0 && 3 == s.args.size());
    i.mod[0] = (uint8_t) op;
    i.mod[1] = B64 == t;
    take_destinations(s, i);
    i.a = s.slot(1);
    i.b = s.slot(2);
    i.go = "match" == name ? match : type_signed(t) ? reduce<int32_t> : reduce<uint32_t>;
    return true;
}

/* ---- calls ---- */

static void pass(statement &s, const operand &list, const std::vector<variable> &to,
                 std::vector<passed> &out, bool back)
{
    s.need(list.list.size() == to.size(), "parameters of another number");
    for (size_t k = 0; k < to.size(); k++) {
        const operand &o = list.list[k];
        s.need(nullptr != o.var && PARAM == o.var->where && o.var->bytes == to[k].bytes,
               "a parameter of another kind");
        const uint64_t mine = o.var->offset, its = to[k].offset;
        out.push_back(passed {back ? its : mine, back ? mine : its, to[k].bytes});
    }
}

/* call {(results),} name {, (parameters)} */
static bool decode_call(statement &s, insn &i)
{
    static const operand none {operand::VECTOR, -1, -1, 0, "", nullptr, false, {}};
    const bool results = !s.args.empty() && operand::VECTOR == s.args[0].kind;
    const size_t n = s.args.size() - results;
    module &m = *s.f->owner;

    s.take("uni");
    s.need(n >= 1 && n <= 2 && operand::NAME == s.args[results].kind, "a call by an address");
    s.f->calls.emplace_back();
    call_site &site = s.f->calls.back();
    site.name = s.args[results].name;
    const auto found = m.functions.find(site.name);
    site.callee = m.functions.end() == found ? nullptr : found->second.get();
    if (nullptr != site.callee) {
        pass(s, 2 == n ? s.args[results + 1] : none, site.callee->in, site.in, false);
        pass(s, results ? s.args[0] : none, site.callee->out, site.out, true);
    }
    i.more = &site;
    i.go = start_call;
    return true;
}

bool decode_flow(statement &s, insn &i)
{
    const std::string name = s.name();

    if ("bra" == name) {
        s.take("uni");
        i.go = -1 == i.a ? branch : branch_if;
    } else if ("brx" == name) {
        s.need(s.take("idx"));
        s.take("uni");
        i.b = s.slot(0);
        i.go = branch_index;
    } else if ("skip" == name) {
        i.go = skip;
    } else if ("ret" == name) {
        s.take("uni");
        i.go = ret;
    } else if ("exit" == name) {
        i.go = leave;
    } else if ("trap" == name || "brkpt" == name) {
        i.go = stop;
    } else if ("nanosleep" == name) {
        s.take_type();
        i.go = rest;
    } else if ("call" == name) {
        return decode_call(s, i);
    } else if ("bar" == name || "barrier" == name) {
        if (!s.take("warp")) {
            return decode_barrier(s, i);
        }
        s.need(s.take("sync"));
        i.a = s.slot(0);
        i.go = warp_sync;
    } else if ("vote" == name || "shfl" == name || "match" == name || "redux" == name) {
        return decode_warp(s, i, name);
    } else {
        return false;
    }
    return true;
}

} /* namespace ptx */
} /* namespace fake */
