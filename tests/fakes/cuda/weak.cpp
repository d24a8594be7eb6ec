/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FAKECUDA_WEAK: as little order as the rules of the GPU promise.
 *
 *      a store           stays with its thread; by chance it goes to memory at once
 *      __syncthreads     hands the threads' stores to the block: seen by its threads, not outside; __syncwarp a warp's
 *      release, fence    put the thread's own and the block's stores to memory
 *      a load            may find the line as it was at an earlier load of this block; by chance it does not
 *      acquire, fence    forget what was loaded before
 *
 * Loads see the stores of their own thread and of the block in any case, also when these have gone
 * to memory since.
 */
#include "block.h"

namespace fake
{

static void overlay(unsigned char *byte, const line &l, unsigned from, unsigned to)
{
    if (0xffff == l.known) {
        memcpy(byte + from, l.byte + from, to - from);
        return;
    }
    for (unsigned k = from; k < to; k++) {
        if (0 != (l.known >> k & 1)) {
            byte[k] = l.byte[k];
        }
    }
}

void weak_merge(block *b, cuda_thread *t)
{
    if (t->stores.empty()) {
        return;
    }
    for (const auto &own : t->stores) {
        line &l = b->merged[own.first];
        overlay(l.byte, own.second, 0, 16);
        l.known |= own.second.known;
    }
    t->stores.clear();
}

/*
 * What the block loaded before it stored must not come back once the stores are no longer laid over
 * it.
 */
void weak_flush(block *b, lines &all)
{
    if (all.empty()) {
        return;
    }
    for (const auto &l : all) {
        auto cached = b->cache.find(l.first);
        overlay((unsigned char *) l.first, l.second, 0, 16);
        if (b->cache.end() != cached) {
            overlay(cached->second.byte, l.second, 0, 16);
        }
    }
    all.clear();
}

/* From `from` on to `to`. */
static void settle_line(block *b, uintptr_t where, unsigned from, unsigned to)
{
    const uint16_t mine = (uint16_t) (((1u << to) - 1) & ~((1u << from) - 1));
    auto cached = b->cache.find(where);

    for (lines *stores : {&b->merged, &b->now->stores}) {
        auto found = stores->find(where);
        if (stores->end() == found || 0 == (found->second.known & mine)) {
            continue;
        }
        for (unsigned k = from; k < to; k++) {
            if (0 != (found->second.known >> k & 1)) {
                ((unsigned char *) where)[k] = found->second.byte[k];
            }
        }
        found->second.known &= (uint16_t) ~mine;
    }
    if (b->cache.end() != cached) {
        cached->second.known &= (uint16_t) ~mine;
    }
}

void weak_settle(block *b, void *at, size_t bytes)
{
    const uintptr_t where = (uintptr_t) at & ~(uintptr_t) 15;
    const unsigned from = (uintptr_t) at & 15;

    settle_line(b, where, from, from + (unsigned) bytes);
}

} /* namespace fake */

namespace emu
{

using namespace fake;

void weak_load(const void *at, void *value, size_t bytes)
{
    block *b = block_here();
    const uintptr_t where = (uintptr_t) at & ~(uintptr_t) 15;
    const unsigned from = (uintptr_t) at & 15, to = from + (unsigned) bytes;
    line &cached = b->cache[where];
    unsigned char byte[16];

    if (0 == draw(b->random) % 64) {
        cached.known = 0;
    }
    for (unsigned k = from; k < to; k++) {
        if (0 == (cached.known >> k & 1)) {
            cached.byte[k] = ((const unsigned char *) where)[k];
            cached.known |= (uint16_t) (1u << k);
        }
        byte[k] = cached.byte[k];
    }
    for (const lines *stores : {&b->merged, &b->now->stores}) {
        auto found = stores->find(where);
        if (stores->end() != found) {
            overlay(byte, found->second, from, to);
        }
    }
    memcpy(value, byte + from, bytes);
}

void weak_store(void *at, const void *value, size_t bytes)
{
    block *b = block_here();
    const uintptr_t where = (uintptr_t) at & ~(uintptr_t) 15;
    const unsigned from = (uintptr_t) at & 15;
    line &l = b->now->stores[where];

    memcpy(l.byte + from, value, bytes);
    l.known |= (uint16_t) (((1u << bytes) - 1) << from);
    if (0 == draw(b->random) % 16) {
        memcpy(at, value, bytes);
    }
}

void weak_acquire()
{
    block_here()->cache.clear();
}

void weak_release()
{
    block *b = block_here();

    weak_flush(b, b->merged);
    weak_flush(b, b->now->stores);
}

} /* namespace emu */
