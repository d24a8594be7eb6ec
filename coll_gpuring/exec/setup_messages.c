/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of set-ups. Each set-up has tags of its own. */
#include "exec/setup.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- dissemination ---- */

int gr_dissemination_awaits(const struct gr_dissemination *d)
{
    return (d->comm->rank - d->distance + d->comm->size) % d->comm->size;
}

static int post_round(struct gr_dissemination *d)
{
    int to = (d->comm->rank + d->distance) % d->comm->size, rc;

    memcpy(d->sent, d->mine, d->bytes);
    rc = gr_runtime_receive(d->comm, d->heard, d->bytes, gr_dissemination_awaits(d), d->tag,
                            &d->messages[0]);
    return 0 == rc ? gr_runtime_send(d->comm, d->sent, d->bytes, to, d->tag, &d->messages[1]) : rc;
}

int gr_dissemination_begin(struct gr_dissemination *d)
{
    d->distance = 1;
    return d->distance < d->comm->size ? post_round(d) : 0;
}

int gr_dissemination_poll(struct gr_dissemination *d, uint64_t *moved)
{
    int rc;

    while (d->distance < d->comm->size) {
        rc = gr_runtime_test_all(d->messages, 2);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        d->combine(d->mine, d->heard);
        d->distance *= 2;
        rc = d->distance < d->comm->size ? post_round(d) : 0;
        if (0 != rc) {
            return rc;
        }
    }
    return GR_DONE;
}

/* ---- a set-up ---- */

int gr_setup_tag(uint32_t number)
{
    return gr_runtime_tag(GR_TAGS_SETUPS) - GR_SETUP_TAGS * (int) (number % GR_TAGGED_SETUPS);
}

int gr_setup_phase_tag(const struct gr_setup *s)
{
    /*
     * From the highest tag of the set-up down. DEVICES and HANDLES share one: each rank sends its
     * device before its handles, and MPI keeps their order.
     */
    static const int below[] = {[GR_SETUP_DEVICES] = 0,
                                [GR_SETUP_HANDLES] = 0,
                                [GR_SETUP_REPLIES] = 1,
                                [GR_SETUP_AGREE] = 2,
                                [GR_SETUP_ORDER] = 3};

    return s->tag - below[s->state];
}

int gr_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank)
{
    struct gr_message **message = &s->messages[s->nmessages++];
    int tag = gr_setup_phase_tag(s);

    return send ? gr_runtime_send(s->queue->comm, buf, bytes, rank, tag, message)
                : gr_runtime_receive(s->queue->comm, buf, bytes, rank, tag, message);
}

int gr_setup_reserve(struct gr_setup *s, int n)
{
    free(s->messages);
    s->messages = gr_calloc((size_t) n + 1, sizeof(struct gr_message *)); /* + 1: n may be 0 */
    return NULL == s->messages ? GR_ERR_NOMEM : 0;
}
