/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links of kernel_world.h. Each counter and each row of slots is an allocation of its own, so that
 * writes beyond it fault.
 */
#include "kernel_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gr_gpu_ptr kw_put(const void *from, size_t bytes)
{
    gr_gpu_ptr at = kd_alloc(bytes);

    kd_put(at, from, bytes);
    return at;
}

/* The flag of a line: of 16 bytes in LL, of 128 in LL128. */
static uint64_t *flag_at(const struct kc_case *c, unsigned char *slots, size_t line)
{
    return (uint64_t *) (slots + (GR_PROTOCOL_LL == c->protocol ? 8 * line : 128 * line + 120));
}

static size_t line_bytes(const struct kc_case *c)
{
    return GR_PROTOCOL_LL == c->protocol ? 8 : 128;
}

/* Slots as another use of the link may have left them: bytes of any kind, and flags of long ago. */
static void fill_slots(const struct kc_case *c, unsigned char *slots, size_t bytes)
{
    uint64_t old =
        GR_PROTOCOL_LL == c->protocol ? c->first - c->first % (UINT64_C(1) << 30) : c->first;
    size_t k;

    memset(slots, KW_POISON, bytes);
    for (k = 0; GR_PROTOCOL_SIMPLE != c->protocol && k < bytes / line_bytes(c); k++) {
        *flag_at(c, slots, k) = GR_PROTOCOL_LL == c->protocol ? old << 32 | 0xffffffff : old;
    }
}

/* A counter, and beside it what an earlier call left there. */
static gr_gpu_ptr put_line(const struct kc_case *c, int nwords)
{
    uint64_t words[8];
    int k;

    words[0] = c->first;
    for (k = 1; k < nwords; k++) {
        words[k] = (uint64_t) (c->zero_copy > 0 ? c->zero_copy - 1 : 0);
    }
    return kw_put(words, (size_t) nwords * sizeof(words[0]));
}

static void connect(struct world *w, uint32_t channel, int from, int to)
{
    const struct kc_case *c = w->call->c;
    struct wire *wire = &w->wires[w->nwires++];
    size_t bytes = c->nslots * c->slot_bytes, at = (size_t) channel * (size_t) c->p;
    unsigned char *poison = kd_calloc(bytes);
    int simple = GR_PROTOCOL_SIMPLE == c->protocol;
    struct gr_gpu_end end;

    fill_slots(c, poison, bytes);
    wire->channel = channel;
    wire->from = from;
    wire->to = to;
    wire->slots = kw_put(poison, bytes);
    wire->tail = put_line(c, KW_TAIL_WORDS);
    wire->head = put_line(c, KW_HEAD_WORDS);
    end.slots = wire->slots;
    end.count = c->first;
    end.position = c->first % c->nslots;
    end.mine = simple ? wire->tail : 0;
    end.other = wire->head;
    w->ranks[from].out[at + (size_t) to] = end;
    end.mine = wire->head;
    end.other = simple ? wire->tail : 0;
    w->ranks[to].in[at + (size_t) from] = end;
    free(poison);
}

void kw_connect(struct world *w)
{
    const struct kc_case *c = w->call->c;
    uint32_t channel;
    int from, k;

    w->wires = kd_calloc((size_t) c->p * (size_t) c->p * c->nchannels * sizeof(*w->wires));
    for (channel = 0; channel < c->nchannels; channel++) {
        for (from = 0; from < c->p; from++) {
            struct gr_sched s = w->call->ranks[from].sched[channel % 2];
            int in[KC_MAX_RANKS], out[KC_MAX_RANKS], nin, nout;

            s.channel = (int) channel;
            gr_sched_peers(&s, in, &nin, out, &nout);
            for (k = 0; k < nout; k++) {
                connect(w, channel, from, out[k]);
            }
        }
    }
}

/*
 * In LL: the lines of a slot that was due to be cleaned between two counts all have flags of that
 * time, also those that no message reaches. 0, or -1.
 */
static int check_clean(const struct kc_case *c, const struct wire *wire, uint64_t end)
{
    size_t bytes = c->nslots * c->slot_bytes, per_slot = c->slot_bytes / 8, k;
    unsigned char *slots = kd_calloc(bytes);
    uint64_t n;
    int rc = 0;

    kd_get(slots, wire->slots, bytes);
    for (n = c->first; n != end; n++) {
        for (k = 0; n % (UINT64_C(1) << 30) < c->nslots && k < per_slot && 0 == rc; k++) {
            uint64_t flag = *flag_at(c, slots, n % c->nslots * per_slot + k) >> 32;

            rc = (uint32_t) (flag - c->first - 1) < end - c->first ? 0 : -1;
        }
    }
    free(slots);
    return rc;
}

/*
 * Messages of a link that are results, and all of them, counted in pieces; zero copy: those that
 * took a slot.
 */
static void count_pieces(const struct world *w, const struct wire *wire, size_t *results,
                         size_t *others)
{
    const struct kc_rank *rank = &w->call->ranks[wire->from];
    struct gr_sched sched = rank->sched[wire->channel % 2];
    uint32_t i, slice, n;
    int k;

    sched.channel = (int) wire->channel;
    *results = *others = 0;
    for (i = 0; i < gr_sched_len(&sched); i++) {
        struct gr_step step = gr_sched_step(&sched, i);

        for (k = 0; k < step.nto && step.to[k] != wire->to; k++) {
        }
        for (slice = 0; k < step.nto && slice < rank->split.nslices; slice++) {
            for (n = 0; n < step.count; n++) {
                size_t *count = step.bits & GR_FINAL ? results : others;

                *count += 0 < gr_split_at(&rank->split, GR_OUT, wire->channel, slice,
                                          step.first + n * step.stride)
                                  .count;
            }
        }
    }
}

/* Whether results went past the slots of a link as they should. 0, or -1. */
static int check_results(const struct world *w, const struct wire *wire)
{
    const struct kc_case *c = w->call->c;
    uint64_t zero_copy, open, call = (uint64_t) c->zero_copy;
    size_t bytes = c->nslots * c->slot_bytes, results, others, k;
    int allowed = c->allows >> wire->to & 1, past;
    unsigned char *slots = kd_calloc(bytes);
    int rc = 0;

    count_pieces(w, wire, &results, &others);
    past = allowed && c->mapped >> wire->to & 1 && results > 0;
    kd_get(&zero_copy, wire->tail + GR_GPU_ZERO_COPY_AT, sizeof(zero_copy));
    kd_get(&open, wire->head + GR_GPU_OPEN_AT, sizeof(open));
    if (open != 2 * call + (uint64_t) allowed || zero_copy != (past ? call : call - 1)) {
        rc = -1;
    }
    kd_get(slots, wire->slots, bytes);
    for (k = 0; past && 0 == others && k < bytes; k++) {
        rc = KW_POISON == slots[k] ? rc : -1;
    }
    free(slots);
    return rc;
}

int kw_check_links(struct world *w, char *why, size_t size)
{
    const struct kc_case *c = w->call->c;
    size_t bytes = (size_t) c->p * c->nchannels * sizeof(struct gr_gpu_end), k, at;
    uint64_t counts[4];
    int r;

    for (r = 0; r < c->p; r++) {
        kd_get(w->ranks[r].in, w->ranks[r].args.in, bytes);
        kd_get(w->ranks[r].out, w->ranks[r].args.out, bytes);
    }
    for (k = 0; k < w->nwires; k++) {
        const struct wire *wire = &w->wires[k];

        at = (size_t) wire->channel * (size_t) c->p;
        kd_get(&counts[0], wire->tail, sizeof(counts[0]));
        kd_get(&counts[1], wire->head, sizeof(counts[1]));
        counts[2] = w->ranks[wire->from].out[at + (size_t) wire->to].count;
        counts[3] = w->ranks[wire->to].in[at + (size_t) wire->from].count;
        if (GR_PROTOCOL_SIMPLE != c->protocol) { /* no tail: it stays what it was */
            counts[0] = counts[0] == c->first ? counts[1] : ~counts[1];
        }
        if (counts[0] != counts[1] || counts[0] != counts[2] || counts[0] != counts[3]) {
            snprintf(why, size, "link from %d to %d: tail %llx head %llx, written %llx read %llx",
                     wire->from, wire->to, (unsigned long long) counts[0],
                     (unsigned long long) counts[1], (unsigned long long) counts[2],
                     (unsigned long long) counts[3]);
            return -1;
        }
        if (counts[2] % c->nslots != w->ranks[wire->from].out[at + (size_t) wire->to].position ||
            counts[3] % c->nslots != w->ranks[wire->to].in[at + (size_t) wire->from].position) {
            snprintf(why, size, "link from %d to %d: the next slot is another than its counter's",
                     wire->from, wire->to);
            return -1;
        }
        if (0 != c->zero_copy && 0 != check_results(w, wire)) {
            snprintf(why, size, "link from %d to %d: results took another way than agreed",
                     wire->from, wire->to);
            return -1;
        }
        if (GR_PROTOCOL_LL == c->protocol && 0 != check_clean(c, wire, counts[1])) {
            snprintf(why, size, "link from %d to %d: lines keep old flags", wire->from, wire->to);
            return -1;
        }
    }
    return 0;
}

void kw_disconnect(struct world *w)
{
    size_t k;

    for (k = 0; k < w->nwires; k++) {
        kd_free(w->wires[k].slots);
        kd_free(w->wires[k].tail);
        kd_free(w->wires[k].head);
    }
    free(w->wires);
}
