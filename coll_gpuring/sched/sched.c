/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms and the dispatch to their files. */
#include "algos.h"

#include <string.h>

#define BIT(x) (1u << (x))

struct algo_row {
    const char *name;
    unsigned colls; /* BIT(coll) of each collective that it has a schedule for */
    unsigned pipes; /* those with the layout GR_PIPE */
    int flat;       /* it needs a link to everybody */
    int most;       /* ranks, at most; 0: any number */
    int hasty;      /* in place, it overwrites input that it has sent and that others may not have taken yet */
};

static const struct algo_row algos[GR_NALGOS] = {
    /* in the order of enum gr_algo */
    {"ring", BIT(GR_COLL_ALLREDUCE) | BIT(GR_COLL_ALLGATHER) | BIT(GR_COLL_REDUCE_SCATTER), 0, 0, 0, 0},
    {"chain", BIT(GR_COLL_BCAST) | BIT(GR_COLL_REDUCE), BIT(GR_COLL_BCAST) | BIT(GR_COLL_REDUCE), 0, 0, 0},
    {"tree", BIT(GR_COLL_ALLREDUCE) | BIT(GR_COLL_BCAST) | BIT(GR_COLL_REDUCE),
     BIT(GR_COLL_ALLREDUCE) | BIT(GR_COLL_BCAST) | BIT(GR_COLL_REDUCE), 0, 0, 0},
    {"flat",
     BIT(GR_COLL_ALLREDUCE) | BIT(GR_COLL_ALLGATHER) | BIT(GR_COLL_REDUCE_SCATTER) | BIT(GR_COLL_BCAST) |
         BIT(GR_COLL_REDUCE),
     BIT(GR_COLL_ALLREDUCE) | BIT(GR_COLL_BCAST) | BIT(GR_COLL_REDUCE), 1, 0, 0},
    {"oneshot", BIT(GR_COLL_ALLREDUCE), BIT(GR_COLL_ALLREDUCE), 1, GR_FAN + 1, 1},
    {"twoshot", BIT(GR_COLL_ALLREDUCE), 0, 1, 0, 0},
};

static const char *const protocol_names[GR_NPROTOCOLS] = {"simple", "ll", "ll128"};
static const char *const coll_names[GR_NCOLLS] = {"allreduce", "allgather", "reduce_scatter", "bcast", "reduce"};

const char *gr_coll_name(enum gr_coll coll)
{
    return (unsigned) coll < GR_NCOLLS ? coll_names[coll] : NULL;
}

const char *gr_algo_name(enum gr_algo algo)
{
    return (unsigned) algo < GR_NALGOS ? algos[algo].name : NULL;
}

const char *gr_protocol_name(int protocol)
{
    return (unsigned) protocol < GR_NPROTOCOLS ? protocol_names[protocol] : NULL;
}

const char *gr_path_name(enum gr_path path)
{
    static const char *const names[GR_NPATHS] = {"one device", "NVLink", "PCIe", "host memory"};

    return (unsigned) path < GR_NPATHS ? names[path] : NULL;
}

const char *gr_way_name(int way)
{
    return GR_WAY_MAILBOX == way ? "mailbox" : GR_WAY_ARRIVALS == way ? "arrivals" : gr_algo_name((enum gr_algo) way);
}

int gr_algo_has(enum gr_algo algo, enum gr_coll coll)
{
    return (unsigned) algo < GR_NALGOS && (unsigned) coll < GR_NCOLLS && 0 != (algos[algo].colls & BIT(coll));
}

int gr_algo_fits(enum gr_algo algo, int p)
{
    return 0 == algos[algo].most || p <= algos[algo].most;
}

int gr_algo_is_flat(enum gr_algo algo)
{
    return algos[algo].flat;
}

int gr_algo_is_hasty(enum gr_algo algo)
{
    return algos[algo].hasty;
}

enum gr_layout gr_algo_layout(enum gr_algo algo, enum gr_coll coll)
{
    return algos[algo].pipes & BIT(coll) ? GR_PIPE : GR_BLOCKS;
}

int gr_sched_check(const struct gr_sched *s)
{
    if (!gr_algo_has(s->algo, s->coll) || s->p < 1 || !gr_algo_fits(s->algo, s->p) || s->pos < 0 ||
        s->pos >= s->p || s->root < 0 || s->root >= s->p) {
        return -1;
    }
    return GR_PIPE == gr_algo_layout(s->algo, s->coll) && s->nchunks < 1 ? -1 : 0;
}

/* A switch, not a table of functions: device code calls it too. */
GR_HD uint32_t gr_sched_len(const struct gr_sched *s)
{
    switch (s->algo) {
    case GR_ALGO_RING:
        return gr_ring_len(s);
    case GR_ALGO_CHAIN:
        return gr_chain_len(s);
    case GR_ALGO_TREE:
        return gr_tree_len(s);
    case GR_ALGO_ONESHOT:
        return gr_oneshot_len(s);
    case GR_ALGO_TWOSHOT:
        return gr_twoshot_len(s);
    default:
        return gr_flat_len(s);
    }
}

GR_HD struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i)
{
    switch (s->algo) {
    case GR_ALGO_RING:
        return gr_ring_step(s, i);
    case GR_ALGO_CHAIN:
        return gr_chain_step(s, i);
    case GR_ALGO_TREE:
        return gr_tree_step(s, i);
    case GR_ALGO_ONESHOT:
        return gr_oneshot_step(s, i);
    case GR_ALGO_TWOSHOT:
        return gr_twoshot_step(s, i);
    default:
        return gr_flat_step(s, i);
    }
}

void gr_algo_peers(enum gr_algo algo, int p, int pos, int root, const int *order, int *in, int *nin, int *out,
                   int *nout)
{
    int n = 0, d, k;

    switch (algo) {
    case GR_ALGO_RING:
    case GR_ALGO_CHAIN:
        if (p > 1) {
            in[n] = gr_mod(pos - 1, p);
            out[n++] = gr_mod(pos + 1, p);
        }
        break;
    case GR_ALGO_TREE:
        n = gr_tree_neighbours(p, pos, root, in);
        memcpy(out, in, (size_t) n * sizeof(*out));
        break;
    default:
        for (d = 1; d < p; d++, n++) {
            in[n] = out[n] = (pos + d) % p;
        }
    }
    for (k = 0; k < n && NULL != order; k++) {
        in[k] = order[in[k]];
        out[k] = order[out[k]];
    }
    *nin = *nout = n;
}

const char *gr_step_name(const struct gr_step *step)
{
    switch (step->bits & 15) {
    case 0:
        return "nop";
    case GR_STORE:
        return "copy";
    case GR_SEND:
        return "send";
    case GR_STORE | GR_SEND:
        return "copySend";
    case GR_RECV | GR_STORE:
        return "recv";
    case GR_RECV | GR_SEND:
        return "recvSend";
    case GR_RECV | GR_STORE | GR_SEND:
        return "recvCopySend";
    case GR_RECV | GR_REDUCE | GR_STORE:
        return "recvReduceCopy";
    case GR_RECV | GR_REDUCE | GR_SEND:
        return "recvReduceSend";
    case GR_RECV | GR_REDUCE | GR_STORE | GR_SEND:
        return "recvReduceCopySend";
    default:
        return "invalid";
    }
}
