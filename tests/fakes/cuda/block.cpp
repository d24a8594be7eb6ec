/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of a block take turns: in each round every thread that can run does so until it waits
 * (at a barrier, at a warp operation, or for something outside, in gp_spin). FAKECUDA_SCHED says in
 * which order. A round in which all threads only waited lets other processes go first;
 * FAKECUDA_TIMEOUT seconds of such rounds end the process. (Warp operations do not count: a warp
 * may poll together.)
 */
#include "block.h"
#include "ptx.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <sched.h>
#include <unistd.h>

namespace emu
{
EMU_TLS __thread const context *self;
}

namespace fake
{

static __thread block *here __attribute__((tls_model("initial-exec")));

block *block_here()
{
    return here;
}

static const char *state_name(thread_state state)
{
    switch (state) {
    case RUNNING:
        return "running/spinning";
    case AT_BARRIER:
        return "at barrier";
    case AT_WARP:
        return "at warp op";
    default:
        return "exited";
    }
}

/* Where a thread of an interpreted kernel is. */
static std::string line_of(const block *b, size_t i)
{
    return nullptr == b->ptx
               ? ""
               : " PTX line " + std::to_string(ptx::thread_line(b->ptx, (unsigned) i));
}

static bool alike(const block *b, size_t i, size_t k)
{
    return b->states[i] == b->states[k] &&
           (nullptr == b->ptx || ptx::same_place(b->ptx, (unsigned) i, (unsigned) k));
}

void block_die(block *b, const char *why)
{
    std::string map;
    size_t last;

    for (size_t i = 0; i < b->threads.size(); i = last + 1) {
        for (last = i; last + 1 < b->threads.size() && alike(b, i, last + 1); last++) {
        }
        map += " [" + std::to_string(i) + "-" + std::to_string(last) + "] " +
               state_name(b->states[i]) + line_of(b, i) + ";";
    }
    die("kernel %s block %u: %s; threads:%s", b->job->name, b->index.x, why, map.c_str());
}

/* ---- a thread's life ---- */

static void thread_main()
{
    block *b = here;
    cuda_thread *t = b->now;

    fiber_entered(b->c);
    happens_after(b);
    b->job->kernel.call(b->job->args);
    happens_before(b);
    weak_merge(b, t);
    b->states[t->context.flat] = EXITED;
    b->live--;
    b->progress++;
    fiber_exit(b->c, t->f);
}

static void threads_start(block *b, char *stacks)
{
    const dim3 size = b->job->threads;
    unsigned i = 0;

    for (cuda_thread &t : b->threads) {
        t.context.tid = uint3 {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
        t.context.bid = b->index;
        t.context.bdim = size;
        t.context.gdim = b->job->grid;
        t.context.flat = i;
        fiber_start(t.f, stacks_at(stacks, i), thread_main);
        i++;
    }
    happens_before(b);
}

/* ---- turns ---- */

/* true when it did something. */
static bool take_turn(block *b, cuda_thread *t)
{
    b->now = t;
    t->spun = false;
    t->turns++;
    emu::self = &t->context;
    fiber_enter(b->c, t->f);
    b->spins += t->spun;
    return !t->spun;
}

static void open_barrier(block *b)
{
    bool all = true, any = false;
    int count = 0;

    for (const cuda_thread &t : b->threads) {
        all = all && 0 != t.predicate;
        any = any || 0 != t.predicate;
        count += 0 != t.predicate;
    }
    b->result = emu::SYNC_AND == b->kind ? all : emu::SYNC_OR == b->kind ? any : count;
    for (cuda_thread &t : b->threads) {
        weak_merge(b, &t);
    }
    std::fill(b->states.begin(), b->states.end(), RUNNING);
    b->at_barrier = 0;
    b->generation++;
}

/* Who comes last until the next barrier: any thread, or often one that begins a warp. */
static int draw_victim(block *b)
{
    const uint64_t n = b->threads.size();

    return (int) (0 != draw(b->random) % 4 ? draw(b->random) % n
                                           : draw(b->random) % ((n + 31) / 32) * 32);
}

/*
 * The last thread's turn has come: other blocks may act on what the others did, now and then for
 * long.
 */
static void linger(block *b)
{
    timespec nap = {0, 100000};

    if (0 == draw(b->random) % 4) {
        nanosleep(&nap, nullptr);
    } else {
        sched_yield();
    }
}

/* No thread could do anything: let others run, ever longer. Ends the process when it lasts. */
static void wait_a_round(block *b, unsigned idle, double since)
{
    timespec nap = {0, idle < 2000 ? 20000 : 200000};

    if (b->states.end() == std::find(b->states.begin(), b->states.end(), RUNNING)) {
        block_die(b, "no thread can ever run again");
    }
    if (0 == idle % 64 && seconds() - since > opt().timeout) {
        block_die(b, "no progress before FAKECUDA_TIMEOUT");
    }
    if (idle < 8) {
        sched_yield();
    } else {
        nanosleep(&nap, nullptr);
    }
}

static void take_turns(block *b)
{
    const order how = opt().threads;
    std::vector<unsigned> turn(b->threads.size());
    uint64_t drawn_at = ~(uint64_t) 0;
    unsigned idle = 0;
    double since = 0;
    int victim = -1;

    for (unsigned i = 0; i < turn.size(); i++) {
        turn[i] = ORDER_REVERSE == how ? (unsigned) turn.size() - 1 - i : i;
    }
    while (0 != b->live) {
        const uint64_t before = b->progress, spins = b->spins;
        bool ran = false;

        if (ORDER_RANDOM == how) {
            for (size_t i = turn.size() - 1; i > 0; i--) {
                std::swap(turn[i], turn[draw(b->random) % (i + 1)]);
            }
        }
        if (ORDER_LAG == how && drawn_at != b->generation) {
            drawn_at = b->generation;
            victim = draw_victim(b);
        }
        for (unsigned i : turn) {
            if (RUNNING == b->states[i] && (int) i != victim) {
                ran = take_turn(b, &b->threads[i]) || ran;
            }
        }
        if (victim >= 0 && !ran && RUNNING == b->states[(size_t) victim]) {
            linger(b);
            ran = take_turn(b, &b->threads[(size_t) victim]);
        }
        if (0 != b->at_barrier && b->at_barrier == b->live) {
            open_barrier(b);
        }
        if (b->progress != before) {
            idle = 0;
        } else if (!ran || b->spins != spins) {
            since = 0 == idle++ ? seconds() : since;
            wait_a_round(b, idle, since);
        }
    }
}

void block_run(const work &job, uint3 index)
{
    const unsigned n = job.threads.x * job.threads.y * job.threads.z;
    char *stacks = stacks_take(n);
    block b {};

    b.job = &job;
    b.index = index;
    b.threads.resize(n);
    b.states.assign(n, RUNNING);
    b.warps.resize((n + 31) / 32);
    b.live = n;
    b.random =
        seed(opt().order_seed + opt().weak_seed + opt().jitter_seed, (uint64_t) getpid(), index.x);
    here = &b;
    job.kernel.prepare();
    b.ptx = nullptr == job.ptx ? nullptr : ptx::block_begin(b);
    carrier_start(b.c);
    threads_start(&b, stacks);
    take_turns(&b);
    happens_after(&b);
    weak_flush(&b, b.merged);
    for (cuda_thread &t : b.threads) {
        fiber_end(t.f);
    }
    if (nullptr != b.ptx) {
        ptx::block_end(b.ptx);
    }
    here = nullptr;
    emu::self = nullptr;
    stacks_give(n, stacks);
}

void block_fault(const char *what)
{
    const block *b = here;
    const unsigned flat = b->now->context.flat;

    die("kernel %s block %u thread %u: %s%s", b->job->name, b->index.x, flat, what,
        line_of(b, flat).c_str());
}

} /* namespace fake */

/* ---- what kernels call ---- */

namespace emu
{

using namespace fake;

int barrier(barrier_kind kind, int predicate)
{
    block *b = here;
    cuda_thread *t = b->now;

    if (0 != b->at_barrier && b->kind != kind) {
        block_die(b, "different kinds of __syncthreads met");
    }
    if (b->live != b->threads.size()) {
        block_die(b, "__syncthreads after a thread of the block has exited");
    }
    happens_before(&b->generation);
    b->kind = kind;
    b->at_barrier++;
    b->progress++;
    t->predicate = predicate;
    b->states[t->context.flat] = AT_BARRIER;
    fiber_leave(b->c, t->f);
    happens_after(&b->generation);
    return b->result;
}

/* The open exchange of this mask that this lane has not been at; a new one when there is none. */
static exchange *find_exchange(block *b, warp &w, warp_kind kind, uint32_t mask, uint32_t lane)
{
    exchange *idle = nullptr;

    for (exchange &e : w.open) {
        if (0 == e.mask) {
            idle = nullptr == idle ? &e : idle;
            continue;
        }
        if (0 != (e.arrived & lane) || e.arrived == e.mask) {
            continue;
        }
        if (0 != (e.mask & lane) && e.mask != mask) {
            block_die(b, "a warp operation with different masks");
        }
        if (e.mask == mask && e.kind != kind) {
            block_die(b, "different warp operations met");
        }
        if (e.mask == mask) {
            return &e;
        }
    }
    if (nullptr == idle) {
        block_die(b, "too many warp operations at once");
    }
    idle->kind = kind;
    idle->mask = mask;
    idle->arrived = 0;
    idle->votes = 0;
    idle->read = 0;
    return idle;
}

/* All lanes have arrived: those who wait go on. */
static void complete(block *b, const exchange &e, unsigned first)
{
    for (unsigned k = 0; k < 32 && first + k < b->threads.size(); k++) {
        if (0 == (e.mask >> k & 1)) {
            continue;
        }
        if (WARP_SYNC == e.kind) {
            weak_merge(b, &b->threads[first + k]);
        }
        if (AT_WARP == b->states[first + k]) {
            b->states[first + k] = RUNNING;
        }
    }
}

/* Comes to a warp operation with a value, and returns when all lanes of mask have come. */
static exchange *meet(warp_kind kind, uint32_t mask, uint64_t mine)
{
    block *b = here;
    cuda_thread *t = b->now;
    const unsigned number = t->context.flat % 32, first = t->context.flat - number;
    const uint32_t lane = 1u << number;
    exchange *e;

    if (0 == (mask & lane)) {
        block_die(b, "a lane is not in its own mask");
    }
    e = find_exchange(b, b->warps[first / 32], kind, mask, lane);
    e->arrived |= lane;
    e->votes |= 0 != mine ? lane : 0;
    e->value[number] = mine;
    if (e->arrived == mask) {
        complete(b, *e, first);
    } else {
        b->states[t->context.flat] = AT_WARP;
        fiber_leave(b->c, t->f);
    }
    return e;
}

/* The current thread has read what the others gave. */
static void part(exchange *e)
{
    e->read |= 1u << here->now->context.flat % 32;
    if (e->read == e->mask) {
        e->mask = 0;
    }
}

void warp_sync(uint32_t mask)
{
    const warp *w = &here->warps[here->now->context.flat / 32];

    happens_before(w);
    part(meet(WARP_SYNC, mask, 0));
    happens_after(w);
}

uint32_t warp_vote(uint32_t mask, bool predicate)
{
    exchange *e = meet(WARP_VOTE, mask, predicate);
    const uint32_t votes = e->votes;

    part(e);
    return votes;
}

uint64_t warp_shuffle(uint32_t mask, uint64_t mine, unsigned source)
{
    exchange *e = meet(WARP_SHFL, mask, mine);
    const uint64_t value = e->value[source];

    part(e);
    return value;
}

void warp_exchange(uint32_t mask, uint64_t mine, uint64_t out[32])
{
    exchange *e = meet(WARP_SHFL, mask, mine);

    for (unsigned k = 0; k < 32; k++) {
        ((volatile uint64_t *) out)[k] = e->value[k]; /* no memcpy: ThreadSanitizer would see it */
    }
    part(e);
}

void spin()
{
    block *b = here;

    b->now->spun = true;
    fiber_leave(b->c, b->now->f);
}

void delay(bool stored)
{
    block *b = here;
    timespec nap = {0, 0};
    uint64_t r;

    b->progress += stored;
    if (0 == (modes & JITTER)) {
        return;
    }
    r = draw(b->random);
    if (0 == r % 8) {
        nap.tv_nsec = (long) (r >> 8) % 50000;
        nanosleep(&nap, nullptr);
    } else if (1 == r % 8) {
        sched_yield();
    }
}

void fault(const char *what, const void *at)
{
    char text[200];

    snprintf(text, sizeof(text), "%s at %p", what, at);
    block_fault(text);
}

} /* namespace emu */
