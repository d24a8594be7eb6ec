/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report's rows, from all ranks to the first one of the job, without waiting for a rank that is
 * gone.
 *
 *      rank r   MPI_COMM_SELF's attributes are deleted, as MPI_Finalize begins: send the rows
 *               Open MPI waits for all processes of the job
 *      rank 0   MPI_COMM_WORLD's module is disabled: receive what has come
 *
 * So a rank that ends early waits for the others only where Open MPI does so anyway, and rank 0
 * finds the rows there. Whose rows do not come soon has no report, or has died: the report says of
 * how many ranks it is.
 */
#include "mpi/report.h"

#include "comm/params.h"
#include "comm/runtime.h"
#include "mpi/call.h"
#include "mpi/runtime.h"

#include "base/memory.h"
#include "sched/sched.h"

#include "ompi/attribute/attribute.h"
#include "ompi/mca/pml/pml.h"

#include <stdlib.h>

/* Seconds that a rank progresses its messages, and that rank 0 waits for the next one. */
#define SEND_SECONDS 1.0
#define RECEIVE_SECONDS 2.0

/* Of the run that others must have waited for a rank to be the latest one. */
#define LEAST_WAIT 0.01

/* ---- what is known of this process ---- */

static struct {
    double began, ended;           /* MPI_Init, and MPI_Finalize; seconds; 0: not yet */
    int ranks;                     /* of MPI_COMM_WORLD; 0: there is none */
    bool asked;                    /* for a module of some communicator */
    bool used;                     /* a communicator has a module of ours */
    bool replaced;                 /* another component has some of MPI_COMM_WORLD's collectives */
    char lacks[96];                /* why MPI_COMM_WORLD has no module; "": it has, or not asked */
    mca_coll_base_module_t *world; /* of MPI_COMM_WORLD. Borrowed */
} self;

static bool is_first(void)
{
    return 0 == OPAL_PROC_MY_NAME.vpid;
}

void mca_coll_gpuring_report_open(void)
{
    self.began = gr_stats_now();
}

void mca_coll_gpuring_report_comm(struct ompi_communicator_t *comm, bool ours)
{
    self.asked = true;
    self.used = self.used || ours;
    if (gr_ompi_world() == comm) {
        self.ranks = ompi_comm_size(comm);
    }
}

void mca_coll_gpuring_report_lacks(const char *collective)
{
    snprintf(self.lacks, sizeof(self.lacks),
             "no component below coll_gpuring_priority offers %s; raise it", collective);
}

bool mca_coll_gpuring_report_wanted(void)
{
    return gr_stats_timed() && is_first() && self.asked;
}

const char *mca_coll_gpuring_report_off(void)
{
    if (0 == gr_settings.priority) {
        return "coll_gpuring_priority is 0";
    }
    if ('\0' != self.lacks[0]) {
        return self.lacks;
    }
    if (self.replaced) {
        return "other components come before it; raise coll_gpuring_priority";
    }
    if (self.used) {
        return NULL;
    }
    return 1 == self.ranks ? "the job has one rank"
                           : "coll_gpuring_host is 0, and there is no GPU; --mca coll gpuring "
                             "takes collectives on host memory";
}

/* ---- rows of all ranks ---- */

struct rank_sums {
    bool done; /* all its rows have come */
    double run_s, move_s, wait_s;
};

static struct gr_report_merged *merged; /* owned */
static size_t nmerged, room;
static struct rank_sums *rank_sums; /* [rank]; owned */

static void widen(double range[2], double value, bool first)
{
    range[0] = first || value < range[0] ? value : range[0];
    range[1] = first || value > range[1] ? value : range[1];
}

/* The merged row of a key, made if need be. NULL: no memory. */
static struct gr_report_merged *find(const struct gr_report_key *key)
{
    struct gr_report_merged *grown;
    size_t k;

    for (k = 0; k < nmerged; k++) {
        if (0 == memcmp(&merged[k].key, key, sizeof(*key))) {
            return &merged[k];
        }
    }
    if (nmerged == room) {
        grown = gr_realloc(merged, (room + 32) * sizeof(*grown));
        if (NULL == grown) {
            return NULL;
        }
        merged = grown;
        room += 32;
    }
    merged[nmerged] = (struct gr_report_merged) {.key = *key};
    return &merged[nmerged++];
}

static void merge(int rank, const struct gr_report_row *row)
{
    const struct gr_report_sums *s = &row->sums;
    struct gr_report_merged *m = find(&row->key);
    bool first;

    if (NULL == m || 0 == s->calls) {
        return;
    }
    first = 0 == m->sum.calls;
    m->sum.calls += s->calls;
    m->sum.bytes += s->bytes;
    m->sum.ns += s->ns;
    m->sum.wait_ns += s->wait_ns;
    m->sum.bus_bytes += s->bus_bytes;
    m->bytes = s->calls > m->calls ? s->bytes : m->bytes;
    m->calls = s->calls > m->calls ? s->calls : m->calls;
    widen(m->wait_us, 1e-3 * (double) s->wait_ns / (double) s->calls, first);
    widen(m->move_us, 1e-3 * (double) (s->ns - s->wait_ns) / (double) s->calls, first);
    if (!row->key.nonblocking) {
        rank_sums[rank].wait_s += 1e-9 * (double) s->wait_ns;
        rank_sums[rank].move_s += 1e-9 * (double) (s->ns - s->wait_ns);
    }
}

/* ---- messages ---- */

#define ROWS_OF_MESSAGE 24 /* so few that no transport waits for the receiver */

struct message {
    uint64_t build; /* of processes that read each other's rows */
    int32_t n;      /* rows in it */
    int32_t last;   /* 1: no more come */
    double run_s;   /* of the sender */
    struct gr_report_row rows[ROWS_OF_MESSAGE];
};

static uint64_t build(void)
{
    return gr_algos_hash() ^ sizeof(struct message);
}

static double run_seconds(void)
{
    return (0 == self.ended ? gr_runtime_now() : self.ended) - self.began;
}

/* Send the rows of *m; it stays if it is still in flight when the time is over. */
static void send_message(struct message *m, bool last, double until)
{
    ompi_request_t *pml_request = MPI_REQUEST_NULL;

    m->build = build();
    m->last = last;
    m->run_s = run_seconds();
    (void) MCA_PML_CALL(isend(m, sizeof(*m), MPI_BYTE, 0, gr_runtime_tag(GR_TAGS_REPORT),
                              MCA_PML_BASE_SEND_STANDARD, gr_ompi_world(), &pml_request));
    while (0 == mca_coll_gpuring_pml_request_done(&pml_request) && gr_runtime_now() < until) {
        opal_progress();
    }
    if (MPI_REQUEST_NULL == pml_request) {
        free(m);
    } else { /* Open MPI completes it, or rank 0 is gone */
        (void) ompi_request_free(&pml_request);
    }
}

struct sender {
    struct message *m; /* the rows that have not been sent; NULL: no memory. Owned */
    double until;
};

static void send_row(void *ctx, const struct gr_report_row *row)
{
    struct sender *s = ctx;

    if (NULL != s->m && ROWS_OF_MESSAGE == s->m->n) {
        send_message(s->m, false, s->until);
        s->m = gr_calloc(1, sizeof(*s->m));
    }
    if (NULL != s->m) {
        s->m->rows[s->m->n++] = *row;
    }
}

static void send_rows(void)
{
    struct sender s = {gr_calloc(1, sizeof(*s.m)), gr_runtime_now() + SEND_SECONDS};

    mca_coll_gpuring_report_rows(send_row, &s);
    if (NULL != s.m) {
        send_message(s.m, true, s.until);
    }
}

/* Returns whether the rank's rows are complete with it. */
static bool merge_message(int rank, const struct message *m)
{
    int k;

    if (m->build != build() || m->n < 0 || m->n > ROWS_OF_MESSAGE) {
        return false;
    }
    for (k = 0; k < m->n; k++) {
        merge(rank, &m->rows[k]);
    }
    rank_sums[rank].run_s = m->run_s;
    rank_sums[rank].done = 0 != m->last;
    return rank_sums[rank].done;
}

/* Receive a message. Returns its sender; -1: there is none. */
static int receive(struct message *m)
{
    ompi_status_public_t status;
    int tag = gr_runtime_tag(GR_TAGS_REPORT), there = 0;

    if (OMPI_SUCCESS !=
            MCA_PML_CALL(iprobe(MPI_ANY_SOURCE, tag, gr_ompi_world(), &there, &status)) ||
        !there ||
        OMPI_SUCCESS != MCA_PML_CALL(recv(m, sizeof(*m), MPI_BYTE, status.MPI_SOURCE, tag,
                                          gr_ompi_world(), &status))) {
        return -1;
    }
    return status.MPI_SOURCE;
}

static void receive_rows(void)
{
    double until = gr_runtime_now() + RECEIVE_SECONDS;
    int missing = self.ranks - 1, rank;
    struct message m;

    while (missing > 0 && gr_runtime_now() < until) {
        rank = receive(&m);
        if (rank > 0 && rank < self.ranks && !rank_sums[rank].done) {
            missing -= merge_message(rank, &m);
            until = gr_runtime_now() + RECEIVE_SECONDS;
        } else {
            opal_progress();
        }
    }
}

static void merge_row(void *ctx, const struct gr_report_row *row)
{
    (void) ctx;
    merge(0, row);
}

/* Rank 0's own rows, the first ones. Returns whether there was memory. */
static bool merge_own(void)
{
    self.ranks =
        self.ranks > 0 ? self.ranks : 1; /* of a program with sessions they are not known */
    rank_sums = gr_calloc((size_t) self.ranks, sizeof(*rank_sums));
    if (NULL == rank_sums) {
        return false;
    }
    mca_coll_gpuring_report_rows(merge_row, NULL);
    rank_sums[0].run_s = run_seconds();
    rank_sums[0].done = true;
    return true;
}

/* ---- MPI_Finalize ---- */

/* Whether the module has MPI_COMM_WORLD's blocking collectives that gpuring does in any memory. */
static bool has_all(const mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *coll = gr_ompi_world()->c_coll;
    bool all = true;

#define IS_OURS(unused, name, ...) all = all && module == coll->coll_##name##_module;
    GR_FOR_EACH_SUPPORTED(IS_OURS, )
#undef IS_OURS
    return all;
}

/* The attribute of MPI_COMM_SELF is deleted: MPI_Finalize has begun. */
static int finalize_begins(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm;
    (void) key;
    (void) value;
    (void) extra;
    self.ended = gr_runtime_now();
    self.replaced = NULL != self.world && !has_all(self.world);
    if (!is_first() && NULL != self.world) {
        send_rows();
    }
    return MPI_SUCCESS;
}

void mca_coll_gpuring_report_world(mca_coll_base_module_t *module)
{
    struct ompi_communicator_t *comm_self = &ompi_mpi_comm_self.comm;
    ompi_attribute_fn_ptr_union_t copy, delete;
    int key;

    if (!gr_stats_timed()) {
        return;
    }
    self.world = module;
    copy.attr_communicator_copy_fn =
        (__typeof__(copy.attr_communicator_copy_fn)) (void *) MPI_COMM_NULL_COPY_FN;
    delete.attr_communicator_delete_fn = finalize_begins;
    if (OMPI_SUCCESS != ompi_attr_create_keyval(COMM_ATTR, copy, delete, &key, NULL, 0, NULL)) {
        return;
    }
    (void) ompi_attr_set_c(COMM_ATTR, comm_self, &comm_self->c_keyhash, key, NULL, false);
    (void) ompi_attr_free_keyval(COMM_ATTR, &key, false); /* when the attribute is deleted */
}

/* Called once for each collective, by some releases. */
void mca_coll_gpuring_report_world_ends(void)
{
    if (NULL == self.world || !is_first() || 0 == self.ended) {
        return;
    }
    self.world = NULL;
    if (merge_own()) {
        receive_rows();
    }
}

/* ---- totals ---- */

static void find_latest(struct gr_report_total *total)
{
    double least = 0;
    int r, latest = -1;

    for (r = 0; r < total->of; r++) {
        if (rank_sums[r].done && (latest < 0 || rank_sums[r].wait_s < least)) {
            latest = r;
            least = rank_sums[r].wait_s;
        }
    }
    if ((total->wait_s - least) / (total->ranks - 1) - least >=
        LEAST_WAIT * total->run_s / total->ranks) {
        total->latest_rank = latest;
    }
}

const struct gr_report_merged *mca_coll_gpuring_report_merged(size_t *n,
                                                              struct gr_report_total *total)
{
    bool there = NULL != rank_sums || merge_own();
    int r;

    *total = (struct gr_report_total) {.of = self.ranks, .latest_rank = -1};
    for (r = 0; there && r < total->of; r++) {
        if (rank_sums[r].done) {
            total->ranks++;
            total->run_s += rank_sums[r].run_s;
            total->move_s += rank_sums[r].move_s;
            total->wait_s += rank_sums[r].wait_s;
        }
    }
    if (total->ranks > 1) {
        find_latest(total);
    }
    *n = nmerged;
    return merged;
}

void mca_coll_gpuring_report_free(void)
{
    free(merged);
    free(rank_sums);
    merged = NULL;
    rank_sums = NULL;
    nmerged = room = 0;
}
