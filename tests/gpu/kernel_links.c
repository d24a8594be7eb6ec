/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links of kernel_world.h. Each counter and each row of slots is an allocation: what is written beyond is noticed.
 */
#include "kernel_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *kw_allocate(size_t bytes)
{
    void *at = calloc(1, 0 == bytes ? 1 : bytes);

    if (NULL == at) {
        abort();
    }
    return at;
}

gr_gpu_ptr kw_put(const void *from, size_t bytes)
{
    gr_gpu_ptr at = kd_alloc(bytes);

    kd_put(at, from, bytes);
    return at;
}

static void connect(struct world *w, uint32_t channel, int from, int to)
{
    const struct kc_case *c = w->call->c;
    struct wire *wire = &w->wires[w->nwires++];
    size_t bytes = c->nslots * c->slot_bytes, at = (size_t) channel * (size_t) c->p;
    unsigned char *poison = kw_allocate(bytes);
    struct gr_gpu_end end;

    memset(poison, KW_POISON, bytes);
    wire->channel = channel;
    wire->from = from;
    wire->to = to;
    wire->slots = kw_put(poison, bytes);
    wire->tail = kw_put(&c->first, sizeof(c->first));
    wire->head = kw_put(&c->first, sizeof(c->first));
    end.slots = wire->slots;
    end.count = c->first;
    end.mine = wire->tail;
    end.other = wire->head;
    w->ranks[from].out[at + (size_t) to] = end;
    end.mine = wire->head;
    end.other = wire->tail;
    w->ranks[to].in[at + (size_t) from] = end;
    free(poison);
}

void kw_connect(struct world *w)
{
    const struct kc_case *c = w->call->c;
    uint32_t channel;
    int from, k;

    w->wires = kw_allocate((size_t) c->p * (size_t) c->p * c->nchannels * sizeof(*w->wires));
    for (channel = 0; channel < c->nchannels; channel++) {
        for (from = 0; from < c->p; from++) {
            const struct gr_sched *s = &w->call->ranks[from].sched[channel % 2];
            int in[KC_MAX_RANKS], out[KC_MAX_RANKS], nin, nout;

            gr_algo_peers(c->algo, c->p, s->pos, s->root, s->order, in, &nin, out, &nout);
            for (k = 0; k < nout; k++) {
                connect(w, channel, from, out[k]);
            }
        }
    }
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
        if (counts[0] != counts[1] || counts[0] != counts[2] || counts[0] != counts[3]) {
            snprintf(why, size, "link from %d to %d: tail %llx head %llx, written %llx read %llx", wire->from, wire->to,
                     (unsigned long long) counts[0], (unsigned long long) counts[1], (unsigned long long) counts[2],
                     (unsigned long long) counts[3]);
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
