/* SPDX-License-Identifier: BSD-3-Clause */
/* The rounds of dissemination.h. */
#include "engine/dissemination.h"

#include "engine/comm.h"
#include "engine/runtime.h"

#include "base/errors.h"

#include <string.h>

int mca_coll_gpuring_dissemination_awaits(const struct gr_dissemination *d)
{
    return (d->comm->rank - d->distance + d->comm->size) % d->comm->size;
}

static int post_round(struct gr_dissemination *d)
{
    int to = (d->comm->rank + d->distance) % d->comm->size, rc;

    memcpy(d->sent, d->mine, d->bytes);
    rc = gr_runtime_receive(d->comm, d->heard, d->bytes, mca_coll_gpuring_dissemination_awaits(d),
                            d->tag, &d->messages[0]);
    return 0 == rc ? gr_runtime_send(d->comm, d->sent, d->bytes, to, d->tag, &d->messages[1]) : rc;
}

int mca_coll_gpuring_dissemination_begin(struct gr_dissemination *d)
{
    d->distance = 1;
    return d->distance < d->comm->size ? post_round(d) : 0;
}

int mca_coll_gpuring_dissemination_poll(struct gr_dissemination *d, uint64_t *moved)
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
