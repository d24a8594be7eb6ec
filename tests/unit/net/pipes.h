/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links whose both ends are in this process, over post.h. To be included after cmocka_test.h, by one
 * file.
 */
#ifndef GR_TESTS_NET_PIPES_H
#define GR_TESTS_NET_PIPES_H

#include "net/net.h"
#include "gpu_slots.h"
#include "rng.h"
#include "usage.h"

#include <stdlib.h>
#include <string.h>

enum { LEASE = 9, WORDS = 40 };

/* A link with both ends in this process. */
struct pipe {
    int from, to; /* networks */
    struct gr_net_link *net[2];
    struct gr_link_shared *shared[2];
    struct gs_slots slots[2]; /* on GPUs */
    struct gr_link link[2];   /* the writer's, the reader's */
    struct gr_net_handle handle[2];
    uint32_t fill[GR_MAX_SLOTS];
    const void *elsewhere[GR_MAX_SLOTS]; /* some slots' data lie here: */
    uint64_t outside[GR_MAX_SLOTS][WORDS];
    uint32_t nslots;
    uint64_t done[2]; /* pushed, popped; */
    uint64_t heard;   /* the reader, beside slots */
};

static struct gr_net *nets[POST_ENDS];
/* calls of gr_net_progress() that a test has left: what never comes is waited for no longer */
static long patience;
static uint64_t seed;

static inline void set_up_from(uint64_t chance)
{
    char why[100];
    int k;

    patience = 200000;
    post_begin(chance);
    for (k = 0; k < POST_ENDS; k++) {
        assert_int_equal(gr_net_open(&nets[k], &post_transport, NULL, why, sizeof(why)), 0);
    }
    post_ways = (struct post_ways) {30, 50, 20};
    gs_begin(0);
}

static inline int set_up(void **state)
{
    set_up_from(seed);
    return 0;
}

static inline int tear_down(void **state)
{
    int k;

    for (k = 0; k < POST_ENDS; k++) {
        gr_net_close(nets[k], 0);
    }
    return post_under_way(-1, 0);
}

static inline size_t slot_bytes(void)
{
    return WORDS * sizeof(uint64_t);
}

static inline void open_end(struct pipe *p, int side, uint64_t count, uint32_t nslots)
{
    size_t bytes = (gr_link_bytes(nslots, slot_bytes()) + 63) / 64 * 64;
    struct gr_link_shared *shared = aligned_alloc(GR_CACHE_LINE, bytes);
    struct gr_fifo fifo;

    assert_non_null(shared);
    memset(shared, 0, bytes);
    shared->head = shared->tail = count;
    fifo = gr_link_fifo(shared, count, nslots, slot_bytes());
    fifo.valid_bytes = 0 == side ? p->fill : NULL;
    fifo.data_at = 0 == side && NULL == post_gpus ? p->elsewhere : NULL;
    fifo.lease = LEASE;
    if (NULL != post_gpus) {
        gs_move(&fifo, &p->slots[side], 2 * LEASE, side);
    }
    p->shared[side] = shared;
    gr_link_attach(&p->link[side], shared, count, nslots, slot_bytes());
    if (0 == side) {
        p->link[0].valid_bytes = p->fill;
        p->link[0].data_at = p->elsewhere;
    }
    assert_int_equal(gr_net_link_open(nets[0 == side ? p->from : p->to],
                                      0 == side ? GR_NET_OUT : GR_NET_IN, &fifo, &p->net[side]),
                     0);
    p->link[side].bell = &p->net[side]->bell;
    gr_net_link_export(p->net[side], &p->handle[side]);
}

static inline void open_pipe(struct pipe *p, int from, int to, uint32_t writer_slots,
                             uint32_t reader_slots)
{
    memset(p, 0, sizeof(*p));
    p->from = from;
    p->to = to;
    p->nslots = reader_slots;
    open_end(p, 0, post_random(1000), writer_slots);
    open_end(p, 1, post_random(1000), reader_slots);
}

static inline int join(struct pipe *p, int side)
{
    return gr_net_link_join(p->net[side], &p->handle[!side],
                            0 == side ? "the reader" : "the writer");
}

static inline void open_joined(struct pipe *p, int from, int to, uint32_t writer_slots,
                               uint32_t reader_slots)
{
    open_pipe(p, from, to, writer_slots, reader_slots);
    assert_int_equal(join(p, 0) | join(p, 1), 0);
}

static inline void progress(int net)
{
    uint64_t moved = 0;

    assert_true(patience-- > 0);
    gr_net_progress(nets[net], &moved);
}

static inline uint64_t word(const struct pipe *p, uint64_t slot, uint64_t k)
{
    return ((uint64_t) (p->from * 8 + p->to) << 56 ^ slot << 16 ^ k) + 1;
}

static inline void push(struct pipe *p)
{
    uint64_t *data, n = post_random(WORDS + 1), k;
    uint32_t at = (uint32_t) (p->link[0].mine % p->link[0].nslots);
    int outside;

    if (gr_link_writable(&p->link[0])) {
        assert_null(p->elsewhere[at]);
        outside = NULL == post_gpus && 0 == post_random(2);
        memset(gr_link_slot(&p->link[0]), 0xdd, slot_bytes()); /* which is not to travel */
        memset(p->outside[at], 0xee, slot_bytes());
        data = outside ? p->outside[at] : gr_link_slot(&p->link[0]);
        for (k = 0; k < n; k++) {
            data[k] = word(p, p->done[0], k);
        }
        p->done[0]++;
        for (k = 0; k < GR_NSIDEBAND; k++) {
            atomic_store(&p->shared[0]->sideband[k], p->done[0] << k);
        }
        gr_link_set_slot_info(&p->link[0], n * sizeof(uint64_t), outside ? data : NULL);
        gr_link_push(&p->link[0]);
    }
}

/* The writer takes back what it has pushed from outside its slots. */
static inline void reclaim(struct pipe *p)
{
    while (0 < gr_net_link_reclaim(p->net[0])) {
        progress((int) post_random(POST_ENDS));
    }
    memset(p->outside, 0xee, sizeof(p->outside));
}

/*
 * What the writer says beside slots is not older than the slot, nor than what it has said before.
 */
static inline void hear(struct pipe *p)
{
    uint64_t said, k;

    for (k = 0; k < GR_NSIDEBAND; k++) {
        said = atomic_load(&p->shared[1]->sideband[k]) >> k;
        assert_true(said > p->done[1] && said >= p->heard);
    }
    p->heard = said;
}

/* The words of the slot, and after them what was there before: zeros. */
static inline void pop(struct pipe *p)
{
    uint64_t *slot, k;

    if (gr_link_readable(&p->link[1])) {
        slot = gr_link_slot(&p->link[1]);
        hear(p);
        for (k = 0; k < WORDS && 0 != slot[k]; k++) {
            assert_int_equal(slot[k], word(p, p->done[1], k));
        }
        for (; k < WORDS; k++) {
            assert_int_equal(slot[k], 0);
        }
        memset(slot, 0, slot_bytes());
        p->done[1]++;
        gr_link_pop(&p->link[1]);
    }
}

static inline void one_of(struct pipe *p)
{
    switch (post_random(4)) {
    case 0:
        push(p);
        break;
    case 1:
        pop(p);
        break;
    default:
        progress((int) post_random(POST_ENDS));
    }
    assert_true(post_under_way(p->to, p->handle[1].link) <= (int) p->nslots);
    assert_true(post_under_way(p->from, p->handle[0].link) <= (int) p->nslots); /* credits */
}

/* Both ends leave; until the network has left the FIFOs. */
static inline void close_pipe(struct pipe *p, int first)
{
    int k;

    gr_net_link_close(p->net[first]);
    for (k = (int) post_random(20); k > 0; k--) {
        progress((int) post_random(POST_ENDS));
    }
    gr_net_link_close(p->net[!first]);
    for (k = 0; k < 500; k++) {
        progress(k % POST_ENDS);
    }
    for (k = 0; k < 2; k++) {
        assert_int_equal(atomic_load(&p->shared[k]->writer.left), LEASE);
        assert_int_equal(atomic_load(&p->slots[k].user.left), NULL == post_gpus ? 0 : 2 * LEASE);
        free(p->shared[k]);
    }
}

static inline void nothing_is_open(void)
{
    int k;

    for (k = 0; k < POST_ENDS; k++) {
        assert_int_equal(net_usage(nets[k]).links, 0);
        assert_int_equal(net_usage(nets[k]).messages, 0);
    }
}

#endif
