/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms, and what is known of each without its steps (those: steps.c). */
#include "sched/algos.h"

#include "sched/torus.h"

#include <string.h>

#define BIT(x) (1u << (x))

/* What else there is to say of an algorithm. */
enum algo_traits {
    FLAT = 1,   /* it needs a link to everybody */
    ALONG = 2,  /* it runs along a torus */
    ROOTED = 4, /* each root needs links of its own */
    /*
     * in place or in scratch, it overwrites what it has sent and that others may not have taken yet
     */
    HASTY = 8,
    PACKED = 16,   /* its messages are several chunks */
    TABLED = 32,   /* kernels have its steps from a table; */
    PIPELINED = 64 /* and its chunks follow each other there */
};

struct algo_row {
    const char *name;
    unsigned colls;   /* BIT(coll) of each collective that it has a schedule for; */
    unsigned pipes;   /* those with the layout GR_PIPE; */
    unsigned scratch; /* those with steps that use GR_TMP */
    int most;         /* ranks, at most; 0: any number */
    int traits;
};

#define ROOTED_COLLS (BIT(GR_COLL_BCAST) | BIT(GR_COLL_REDUCE))
#define PIPED (BIT(GR_COLL_ALLREDUCE) | ROOTED_COLLS)
#define IN_BLOCKS (BIT(GR_COLL_ALLREDUCE) | BIT(GR_COLL_ALLGATHER) | BIT(GR_COLL_REDUCE_SCATTER))

static const struct algo_row algos[GR_NALGOS] = {
    [GR_ALGO_RING] = {"ring", IN_BLOCKS, 0, 0, 0, 0},
    [GR_ALGO_CHAIN] = {"chain", ROOTED_COLLS, ROOTED_COLLS, 0, 0, 0},
    [GR_ALGO_TREE] = {"tree", PIPED, PIPED, 0, 0, ROOTED},
    [GR_ALGO_FLAT] = {"flat", IN_BLOCKS | ROOTED_COLLS, PIPED, 0, 0, FLAT},
    [GR_ALGO_ONESHOT] = {"oneshot", BIT(GR_COLL_ALLREDUCE), BIT(GR_COLL_ALLREDUCE), 0, GR_FAN + 1,
                         FLAT | HASTY},
    [GR_ALGO_TWOSHOT] = {"twoshot", BIT(GR_COLL_ALLREDUCE), 0, 0, 0, FLAT},
    [GR_ALGO_PAIRWISE] = {"pairwise", BIT(GR_COLL_ALLTOALL), 0, 0, 0, FLAT},
    [GR_ALGO_BUCKET] = {"bucket", IN_BLOCKS, 0, BIT(GR_COLL_REDUCE_SCATTER), 0,
                        ALONG | PACKED | TABLED},
    [GR_ALGO_SWING] = {"swing", BIT(GR_COLL_ALLREDUCE), 0, 0, 0, ALONG | PACKED | TABLED},
    [GR_ALGO_MST] = {"mst", ROOTED_COLLS, ROOTED_COLLS, BIT(GR_COLL_REDUCE), 0,
                     ALONG | ROOTED | TABLED},
    [GR_ALGO_ORDERED] = {"ordered", BIT(GR_COLL_ALLTOALL), 0, BIT(GR_COLL_ALLTOALL), 0,
                         ALONG | HASTY | PACKED | TABLED},
    [GR_ALGO_SUH_SHIN] = {"suh-shin", BIT(GR_COLL_ALLTOALL), 0, BIT(GR_COLL_ALLTOALL), 0,
                          ALONG | HASTY | PACKED | TABLED},
    [GR_ALGO_TWO_LEVEL] = {"two-level", IN_BLOCKS | ROOTED_COLLS, PIPED,
                           BIT(GR_COLL_REDUCE_SCATTER) | BIT(GR_COLL_REDUCE), 0,
                           ALONG | ROOTED | HASTY | PACKED | TABLED},
    [GR_ALGO_NODE_TREE] = {"node-tree", PIPED, PIPED, 0, 0, ALONG | ROOTED | TABLED | PIPELINED},
    [GR_ALGO_DOUBLING] = {"doubling", IN_BLOCKS, BIT(GR_COLL_ALLREDUCE),
                          BIT(GR_COLL_REDUCE_SCATTER), 0, ALONG | HASTY | PACKED | TABLED},
};

static const char *const protocol_names[GR_NPROTOCOLS] = {"simple", "ll", "ll128"};
static const char *const coll_names[GR_NCOLLS] = {"allreduce", "allgather", "reduce_scatter",
                                                  "bcast",     "reduce",    "alltoall"};

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
    static const char *const names[GR_NPATHS] = {"one device", "NVLink", "PCIe", "host memory",
                                                 "network"};

    return (unsigned) path < GR_NPATHS ? names[path] : NULL;
}

const char *gr_way_name(int way)
{
    /* from GR_WAY_MAILBOX on */
    static const char *const others[] = {"mailbox", "arrivals", "notes"};

    return way >= GR_WAY_MAILBOX && way < GR_WAY_SMALL ? others[way - GR_WAY_MAILBOX]
                                                       : gr_algo_name(gr_way_algo(way));
}

int gr_algo_has(enum gr_algo algo, enum gr_coll coll)
{
    return (unsigned) algo < GR_NALGOS && (unsigned) coll < GR_NCOLLS &&
           0 != (algos[algo].colls & BIT(coll));
}

int gr_algo_fits(enum gr_algo algo, int p, const struct gr_torus *torus)
{
    return (0 == algos[algo].most || p <= algos[algo].most) &&
           (0 == (algos[algo].traits & ALONG) || gr_torus_fits(algo, p, torus));
}

int gr_algo_is_flat(enum gr_algo algo)
{
    return 0 != (algos[algo].traits & FLAT);
}

int gr_algo_is_torus(enum gr_algo algo)
{
    return 0 != (algos[algo].traits & ALONG);
}

int gr_algo_is_rooted(enum gr_algo algo)
{
    return 0 != (algos[algo].traits & ROOTED);
}

int gr_algo_may_fetch(enum gr_algo algo)
{
    return 0 == (algos[algo].traits & (HASTY | PACKED));
}

int gr_algo_overwrites_sent(enum gr_algo algo)
{
    return 0 != (algos[algo].traits & HASTY);
}

int gr_algo_is_precomputed(enum gr_algo algo)
{
    return 0 != (algos[algo].traits & TABLED);
}

uint32_t gr_algo_chunks(enum gr_algo algo)
{
    int traits = algos[algo].traits;

    return traits & PIPELINED ? GR_TABLE_CHUNKS : traits & (FLAT | TABLED) ? 1 : 0;
}

uint32_t gr_algo_ways(enum gr_algo algo, enum gr_coll coll, const struct gr_torus *torus)
{
    return algos[algo].traits & ALONG ? (uint32_t) gr_torus_channels(algo, coll, torus) : 2;
}

int gr_algo_has_scratch(enum gr_algo algo, enum gr_coll coll)
{
    return 0 != (algos[algo].scratch & BIT(coll));
}

enum gr_layout gr_algo_layout(enum gr_algo algo, enum gr_coll coll)
{
    return algos[algo].pipes & BIT(coll) ? GR_PIPE : GR_BLOCKS;
}

int gr_sched_check(const struct gr_sched *s)
{
    if (!gr_algo_has(s->algo, s->coll) || s->p < 1 || !gr_algo_fits(s->algo, s->p, &s->torus) ||
        s->pos < 0 || s->pos >= s->p || s->root < 0 || s->root >= s->p) {
        return -1;
    }
    if (gr_algo_is_torus(s->algo) && (NULL != s->order || s->channel < 0)) {
        return -1;
    }
    return GR_PIPE == gr_algo_layout(s->algo, s->coll) && s->nchunks < 1 ? -1 : 0;
}

uint32_t gr_algo_most(enum gr_algo algo, enum gr_coll coll, int p, const struct gr_torus *torus)
{
    return algos[algo].traits & PACKED && GR_BLOCKS == gr_algo_layout(algo, coll)
               ? gr_torus_most(algo, p, torus)
               : 1;
}

static void add_peers(const int32_t *ranks, int n, int *peers, int *npeers)
{
    int k, seen;

    for (k = 0; k < n; k++) {
        for (seen = 0; seen < *npeers && peers[seen] != ranks[k]; seen++) {
        }
        if (seen == *npeers) {
            peers[(*npeers)++] = ranks[k];
        }
    }
}

/* Whom any step of any collective links a rank with. */
static void peers_of_steps(const struct gr_sched *s, int *in, int *nin, int *out, int *nout)
{
    struct gr_sched one = *s;
    uint32_t i, len;
    int coll;

    *nin = *nout = 0;
    one.nchunks = 2; /* of two trees each has its own */
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        one.coll = (enum gr_coll) coll;
        if (!gr_algo_has(s->algo, one.coll) || !gr_torus_fits(s->algo, s->p, &s->torus)) {
            continue;
        }
        for (i = 0, len = gr_sched_len(&one); i < len; i++) {
            struct gr_step step = gr_sched_step(&one, i);

            add_peers(step.from, step.nfrom, in, nin);
            add_peers(step.to, step.nto, out, nout);
        }
    }
}

void gr_sched_peers(const struct gr_sched *s, int *in, int *nin, int *out, int *nout)
{
    int p = s->p, n = 0, d, k;

    switch (s->algo) {
    case GR_ALGO_RING:
    case GR_ALGO_CHAIN:
        if (p > 1) {
            in[n] = gr_mod(s->pos - 1, p);
            out[n++] = gr_mod(s->pos + 1, p);
        }
        break;
    case GR_ALGO_TREE:
        n = gr_tree_neighbours(p, s->pos, s->root, in);
        memcpy(out, in, (size_t) n * sizeof(*out));
        break;
    default:
        if (gr_algo_is_torus(s->algo)) {
            peers_of_steps(s, in, nin, out, nout);
            return;
        }
        for (d = 1; d < p; d++, n++) {
            in[n] = out[n] = (s->pos + d) % p;
        }
    }
    for (k = 0; k < n; k++) {
        in[k] = gr_rank_at(s, in[k]);
        out[k] = gr_rank_at(s, out[k]);
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
