/* SPDX-License-Identifier: BSD-3-Clause */
/* What sched.h says of each algorithm, from its descriptor; peers, from its steps. */
#include "sched/sched.h"

#include "sched/algorithm.h"
#include "sched/torus.h"

#define GR_DESCRIPTOR(NAME, name) [GR_ALGO_##NAME] = &gr_algorithm_##name,

const struct gr_algorithm *const gr_algorithms[GR_NALGOS] = {GR_ALGORITHMS(GR_DESCRIPTOR)};

static const char *const protocol_names[GR_NPROTOCOLS] = {"simple", "ll", "ll128"};
static const char *const coll_names[GR_NCOLLS] = {
    "allreduce", "allgather", "reduce_scatter", "bcast", "reduce", "alltoall", "barrier"};

const char *gr_coll_name(enum gr_coll coll)
{
    return (unsigned) coll < GR_NCOLLS ? coll_names[coll] : NULL;
}

static int has_trait(enum gr_algo algo, enum gr_trait trait)
{
    return 0 != (gr_algorithms[algo]->traits & trait);
}

const char *gr_algo_name(enum gr_algo algo)
{
    return (unsigned) algo < GR_NALGOS ? gr_algorithms[algo]->name : NULL;
}

/* FNV-1a */
uint64_t gr_algos_hash(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    const char *c;
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        for (c = gr_algorithms[a]->name; '\0' != *c; c++) {
            hash = (hash ^ (unsigned char) *c) * UINT64_C(1099511628211);
        }
        hash = (hash ^ gr_algorithms[a]->colls) * UINT64_C(1099511628211);
    }
    return hash;
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

const char *gr_use_name(int use)
{
    /* from GR_ALGO_MAILBOX on */
    static const char *const others[] = {"mailbox", "leader", "call records", "mailbox", "notes"};

    return use >= GR_ALGO_MAILBOX && use < GR_USE_SMALL ? others[use - GR_ALGO_MAILBOX]
                                                        : gr_algo_name(gr_use_algo(use));
}

int gr_algo_has(enum gr_algo algo, enum gr_coll coll)
{
    return (unsigned) algo < GR_NALGOS && (unsigned) coll < GR_NCOLLS &&
           0 != (gr_algorithms[algo]->colls & GR_BIT(coll));
}

int gr_algo_fits(enum gr_algo algo, int p, const struct gr_torus *torus)
{
    const struct gr_algorithm *a = gr_algorithms[algo];

    return (0 == a->most_ranks || p <= a->most_ranks) && (NULL == a->fits || a->fits(p, torus));
}

int gr_algo_is_by_rank(enum gr_algo algo)
{
    return has_trait(algo, GR_TRAIT_BY_RANK);
}

int gr_algo_is_rooted(enum gr_algo algo)
{
    return has_trait(algo, GR_TRAIT_ROOTED);
}

int gr_algo_may_fetch(enum gr_algo algo)
{
    return !has_trait(algo, GR_TRAIT_OVERWRITES_SENT) &&
           NULL == gr_algorithms[algo]->message_chunks;
}

int gr_algo_overwrites_sent(enum gr_algo algo)
{
    return has_trait(algo, GR_TRAIT_OVERWRITES_SENT);
}

uint32_t gr_algo_slice_chunks(enum gr_algo algo)
{
    return has_trait(algo, GR_TRAIT_PIPELINED) ? 0 : 1;
}

uint32_t gr_algo_schedules(enum gr_algo algo, enum gr_coll coll, const struct gr_torus *torus)
{
    const struct gr_algorithm *a = gr_algorithms[algo];

    if (!gr_algo_is_by_rank(algo)) {
        return 2; /* the two rings of a team */
    }
    return NULL == a->channels ? 1 : (uint32_t) a->channels(coll, torus);
}

int gr_algo_has_scratch(enum gr_algo algo, enum gr_coll coll)
{
    return 0 != (gr_algorithms[algo]->scratch & GR_BIT(coll));
}

enum gr_layout gr_algo_layout(enum gr_algo algo, enum gr_coll coll)
{
    return gr_algorithms[algo]->pipes & GR_BIT(coll) ? GR_PIPE : GR_BLOCKS;
}

uint32_t gr_algo_message_chunks(enum gr_algo algo, enum gr_coll coll, int p,
                                const struct gr_torus *torus)
{
    const struct gr_algorithm *a = gr_algorithms[algo];

    return p > 1 && NULL != a->message_chunks && GR_BLOCKS == gr_algo_layout(algo, coll)
               ? a->message_chunks(p, torus)
               : 1;
}

int gr_sched_check(const struct gr_sched *s)
{
    if (!gr_algo_has(s->algo, s->coll) || s->p < 1 || !gr_algo_fits(s->algo, s->p, &s->torus) ||
        s->pos < 0 || s->pos >= s->p || s->root < 0 || s->root >= s->p) {
        return -1;
    }
    if (gr_algo_is_by_rank(s->algo) && (NULL != s->order || s->channel < 0)) {
        return -1;
    }
    return GR_PIPE == gr_algo_layout(s->algo, s->coll) && s->nchunks < 1 ? -1 : 0;
}

uint32_t gr_sched_len(const struct gr_sched *s)
{
    if (s->p > 1) {
        return gr_algorithms[s->algo]->len(s);
    }
    if (GR_COLL_BCAST == s->coll) {
        return 0;
    }
    return GR_PIPE == gr_algo_layout(s->algo, s->coll) ? s->nchunks : 1;
}

struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i)
{
    return s->p > 1 ? gr_algorithms[s->algo]->step(s, i)
                    : gr_step_make(GR_STORE | GR_FINAL, GR_IN, GR_OUT, i, i);
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

/* The roots of a collective for which links must be there: from `first` to before the end. */
static int find_roots(const struct gr_sched *s, int *first)
{
    if (gr_algo_is_rooted(s->algo)) {
        *first = s->root;
        return s->root + 1;
    }
    *first = 0;
    return gr_coll_is_rooted(s->coll) ? s->p : 1;
}

void gr_sched_peers(const struct gr_sched *s, int *in, int *nin, int *out, int *nout)
{
    struct gr_sched one = *s;
    int coll, root, end;
    uint32_t i, len;

    *nin = *nout = 0;
    if (!gr_algo_fits(s->algo, s->p, &s->torus)) {
        return;
    }
    one.nchunks = 2; /* of two trees each has its own */
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        one.coll = (enum gr_coll) coll;
        if (!gr_algo_has(s->algo, one.coll)) {
            continue;
        }
        end = find_roots(&one, &root);
        for (; root < end && (*nin < s->p - 1 || *nout < s->p - 1); root++) {
            one.root = root;
            for (i = 0, len = gr_sched_len(&one); i < len; i++) {
                struct gr_step step = gr_sched_step(&one, i);

                add_peers(step.from, step.nfrom, in, nin);
                add_peers(step.to, step.nto, out, nout);
            }
        }
    }
}

struct gr_links_count gr_algo_links(enum gr_algo algo, int p, const struct gr_torus *torus)
{
    struct gr_links_count n = {0, 0};

    if (p < 2 || !gr_algo_fits(algo, p, torus)) {
        return n;
    }
    n = gr_algorithms[algo]->links(p, torus);
    n.most = n.most < p - 1 ? n.most : p - 1;
    n.mean = n.mean < n.most ? n.mean : n.most;
    return n;
}

const char *gr_step_name(const struct gr_step *step)
{
    static const char *const names[GR_FINAL] = {
        [0] = "nop",
        [GR_STORE] = "copy",
        [GR_SEND] = "send",
        [GR_STORE | GR_SEND] = "copySend",
        [GR_RECV | GR_STORE] = "recv",
        [GR_RECV | GR_SEND] = "recvSend",
        [GR_RECV | GR_STORE | GR_SEND] = "recvCopySend",
        [GR_RECV | GR_REDUCE | GR_STORE] = "recvReduceCopy",
        [GR_RECV | GR_REDUCE | GR_SEND] = "recvReduceSend",
        [GR_RECV | GR_REDUCE | GR_STORE | GR_SEND] = "recvReduceCopySend",
    };
    const char *name = names[step->bits % GR_FINAL];

    return NULL == name ? "invalid" : name;
}
