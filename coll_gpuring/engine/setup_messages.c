/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of set-ups. Each set-up has tags of its own. */
#include "engine/setup_messages.h"

#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "engine/setup.h"

#include "base/errors.h"
#include "base/memory.h"

#include <stdlib.h>

int mca_coll_gpuring_setup_tag(uint32_t number)
{
    return gr_runtime_tag(GR_TAGS_SETUPS) - GR_SETUP_TAGS * (int) (number % GR_TAGGED_SETUPS);
}

int mca_coll_gpuring_setup_phase_tag(const struct gr_setup *s)
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

int mca_coll_gpuring_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank)
{
    struct gr_message **message = &s->messages[s->nmessages++];
    int tag = mca_coll_gpuring_setup_phase_tag(s);

    return send ? gr_runtime_send(s->queue->comm, buf, bytes, rank, tag, message)
                : gr_runtime_receive(s->queue->comm, buf, bytes, rank, tag, message);
}

int mca_coll_gpuring_setup_reserve(struct gr_setup *s, int n)
{
    free(s->messages);
    s->messages = gr_calloc((size_t) n + 1, sizeof(struct gr_message *)); /* + 1: n may be 0 */
    return NULL == s->messages ? GR_ERR_NOMEM : 0;
}
