/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of session.h. */
#include "session.h"
#include "collect.h"
#include "common/available.h"

enum { MIB_SHIFT = 20 };

/* Ranks that share this one's node, and its memory. */
static int ranks_of_node(void)
{
    MPI_Comm node;
    int ranks;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    return ranks;
}

int session_reserve(struct session *s, size_t bytes)
{
    enum device_kind kind = options_device_of(&s->options, s->rank);
    bool on_host = DEVICE_HOST == kind || DEVICE_PINNED == kind;
    size_t share;

    s->node_ranks = 0 == s->node_ranks ? ranks_of_node() : s->node_ranks;
    share = available_bytes() / (size_t) s->node_ranks;
    share -= share / 8;
    s->error[0] = '\0';
    if (on_host && bytes > share) {
        snprintf(s->error, sizeof s->error,
                 "-m: too little memory: the largest size needs %zu MiB on a rank, and this node "
                 "has %zu MiB for each of its %d ranks",
                 bytes >> MIB_SHIFT, share >> MIB_SHIFT, s->node_ranks);
    }
    return collect_complaint(s->error, sizeof s->error) ? 0 : -1;
}
