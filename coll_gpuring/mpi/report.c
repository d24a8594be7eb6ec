/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: for tools through MPI_T (calls and bytes per collective, calls per algorithm, fallbacks
 * per reason), and for the report that a job can end with (report.h).
 */
#include "mpi/report.h"

#include "comm/collectives.h"
#include "comm/runtime.h"
#include "mpi/params.h"
#include "mpi/runtime.h"

#include "base/memory.h"
#include "base/size_class.h"
#include "sched/sched.h"
#include "timing/timer.h"

#include "opal/mca/base/mca_base_pvar.h"

#include <stdio.h>
#include <stdlib.h>

static gr_report_counter_t bytes[GR_NSUPPORTED], by_algo[GR_NALGOS_ALL];
static gr_report_counter_t on_device[GR_NSUPPORTED], zero_copy[GR_NSUPPORTED];
static gr_report_counter_t handovers[GR_NFALLBACKS];

/* fell_back and others: where there is a report. */
static struct gr_report_counts counts;

/* For the report: sums as in struct gr_report_sums, by the members of struct gr_report_key. */
static struct gr_sums {
    gr_report_counter_t calls, bytes, ns, wait_ns, bus_bytes;
    gr_report_counter_t least_ns; /* of a call that waited, for how long is not known; 0: none */
} sums[2][2][GR_NSUPPORTED][GR_NALGOS_ALL][GR_NSIZE_CLASSES];

const struct gr_fallback_row mca_coll_gpuring_fallbacks[GR_NFALLBACKS] = {
    [GR_FALLBACK_OP] = {"operation", "the operation is user-defined, or not commutative"},
    [GR_FALLBACK_JOBS] = {"jobs", "the communicator spans several jobs"},
    [GR_FALLBACK_PEERS] = {"peers",
                           "gpuring is absent, off, of another version or priority on some rank"},
    [GR_FALLBACK_NODES] = {"nodes",
                           "the communicator spans several nodes, and coll_gpuring_nodes is 0"},
    [GR_FALLBACK_SETUP] = {"setup",
                           "there was no shared memory or no network for the links on some rank"},
    [GR_FALLBACK_HOST] = {"host", "the buffers are in host memory, and coll_gpuring_host is 0"},
    [GR_FALLBACK_ALONE] = {"alone", "the communicator has one rank"},
    [GR_FALLBACK_INTER] = {"inter", "it is an intercommunicator"},
    [GR_FALLBACK_STAGED] = {"staged", "a collective without kernels, with buffers on a device"},
    [GR_FALLBACK_SHORT] =
        {"short", "it is too short for an agreement between nodes, and coll_gpuring_host is 0"},
    [GR_FALLBACK_LARGE] = {"large", "it moves more than coll_gpuring_pack_mib"},
    [GR_FALLBACK_MEMORY] = {"memory",
                            "its links would need more memory than coll_gpuring_setup_mib"},
};

static void add(gr_report_counter_t *counter, unsigned long long value)
{
    /* a locked instruction would wait for all stores before it, a mailbox's post among them */
    if (gr_threaded()) {
        atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
    } else {
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value,
                              memory_order_relaxed);
    }
}

static void count(enum gr_call_id id, int algo, uint64_t n, size_t size)
{
    add(&counts.done[id], n);
    add(&bytes[id], n * size);
    add(&by_algo[algo], n);
}

/* ---- calls ---- */

/* Factor from algbw to busbw; docs/measuring.md. */
static double bus_factor(enum gr_coll coll, int ranks)
{
    double share = (double) (ranks - 1) / ranks;

    switch (coll) {
    case GR_COLL_ALLREDUCE:
        return 2 * share;
    case GR_COLL_ALLGATHER:
    case GR_COLL_REDUCE_SCATTER:
        return share;
    default:
        return 1;
    }
}

/* Bytes of a rank's part of a call: of collectives with a block for each rank, a block. */
static size_t part_bytes(enum gr_call_id id, int ranks, size_t size)
{
    switch (gr_calls[id].coll) {
    case GR_COLL_ALLGATHER:
    case GR_COLL_REDUCE_SCATTER:
    case GR_COLL_ALLTOALL:
        return size / (size_t) ranks;
    default:
        return size;
    }
}

/* What an exchange of small messages takes at most, where no rank is late; ns. */
static unsigned long long exchange_ns(int ranks, size_t size)
{
    return 1000 * (1 + (unsigned) ranks / 8) + size;
}

/*
 * What of a call's time is waiting for late ranks, where only that it waited is known: what the call
 * took longer than an exchange, or than the quickest call of its row that waited, too. exchange: of
 * exchange_ns().
 */
static unsigned long long wait_of(struct gr_sums *row, unsigned long long ns,
                                  unsigned long long exchange)
{
    unsigned long long least = atomic_load_explicit(&row->least_ns, memory_order_relaxed);

    least = 0 == least || least > exchange ? exchange : least;
    least = least > ns ? ns : least;
    atomic_store_explicit(&row->least_ns, least, memory_order_relaxed);
    return ns - least;
}

static struct gr_sums *row_of(enum gr_call_id id, int algo, bool device, bool nonblocking,
                              int ranks, size_t size)
{
    return &sums[nonblocking][device][id][algo][gr_size_class(part_bytes(id, ranks, size))];
}

/* Add n calls of one kind to their row; ns and wait_ns: of all of them. */
static void sum_calls(struct gr_sums *row, enum gr_call_id id, int ranks, size_t size, uint64_t n,
                      unsigned long long ns, unsigned long long wait_ns)
{
    add(&row->calls, n);
    add(&row->bytes, n * size);
    add(&row->ns, ns);
    add(&row->wait_ns, wait_ns);
    add(&row->bus_bytes,
        (unsigned long long) ((double) (n * size) * bus_factor(gr_calls[id].coll, ranks)));
}

void gr_stats_call(enum gr_call_id id, int algo, bool device, int ranks, size_t size,
                   const struct gr_call_time *time)
{
    unsigned long long ns, wait_ns = 0;
    struct gr_sums *row;

    count(id, algo, 1, size);
    if (device) {
        add(&on_device[id], 1);
    }
    if (NULL == time) {
        return;
    }
    row = row_of(id, algo, device, time->nonblocking, ranks, size);
    ns = (unsigned long long) (1e3 * time->us);
    if (!time->nonblocking) {
        wait_ns = 0 > time->wait_us          ? wait_of(row, ns, exchange_ns(ranks, size))
                  : time->wait_us < time->us ? (unsigned long long) (1e3 * time->wait_us)
                                             : ns;
    }
    sum_calls(row, id, ranks, size, 1, ns, wait_ns);
}

/* ---- small calls of one kind ---- */

static LIST_HEAD(, gr_call_counter) counters; /* of all kinds */
static gr_lock_t counters_lock;

/* Add the counter's calls that were not added yet. */
static void add_calls(struct gr_call_counter *c)
{
    uint64_t n = atomic_load_explicit(&c->calls, memory_order_relaxed) - c->added;

    c->added += n;
    count(c->id, c->algo, n, c->bytes);
}

/* The same for the report's sums: the calls that were not timed are like those that were. */
static void add_times(struct gr_call_counter *c)
{
    struct gr_call_times *t = c->times;
    uint64_t n;
    double share, us, wait_us;

    if (NULL == t) {
        return;
    }
    n = atomic_load_explicit(&c->calls, memory_order_relaxed) - t->summed;
    share = t->standing > 0 ? (double) n / (double) t->standing : 0;
    us = share * t->us + t->long_us;
    wait_us = t->nonblocking ? 0 : share * t->wait_us + t->long_us;
    sum_calls(t->row, c->id, t->ranks, c->bytes, n, (unsigned long long) (1e3 * us),
              wait_us > 0 ? (unsigned long long) (1e3 * wait_us) : 0);
    t->summed += n;
    t->standing = 0;
    t->us = t->wait_us = t->long_us = 0;
}

void mca_coll_gpuring_counter_join(struct gr_call_counter *c, int ranks, bool nonblocking)
{
    c->times = gr_stats_timed() ? gr_calloc(1, sizeof(*c->times)) : NULL;
    if (NULL != c->times) {
        c->times->row = row_of(c->id, c->algo, false, nonblocking, ranks, c->bytes);
        c->times->ranks = ranks;
        c->times->nonblocking = nonblocking;
    }
    gr_lock(&counters_lock);
    LIST_INSERT_HEAD(&counters, c, entry);
    gr_unlock(&counters_lock);
}

void mca_coll_gpuring_counter_leave(struct gr_call_counter *c)
{
    gr_lock(&counters_lock);
    LIST_REMOVE(c, entry);
    add_calls(c);
    add_times(c);
    gr_unlock(&counters_lock);
    free(c->times);
}

/* What a call of a kind takes longer than the quickest, at most, unless it was interrupted. */
#define LEEWAY_US 20

/* How many calls a timed one stands for; us: its time without a long wait. */
static uint64_t stands_for(struct gr_call_times *t, double us)
{
    t->least_us = 0 < t->least_us && t->least_us < us ? t->least_us : us;
    return t->next < GR_TIMED_FIRST || us > t->least_us + LEEWAY_US ? 1 : GR_TIMED_EACH;
}

void mca_coll_gpuring_count_timed(struct gr_call_counter *c, double start, bool waits,
                                  double long_us)
{
    struct gr_call_times *t = c->times;
    double us = 1e6 * (gr_runtime_now() - start), wait_us = 0;
    uint64_t n = stands_for(t, us - long_us);

    if (waits) {
        wait_us = 1e-3 * (double) wait_of(t->row, (unsigned long long) (1e3 * us),
                                          exchange_ns(t->ranks, c->bytes));
    }
    t->standing += n;
    t->us += (double) n * (us - long_us);
    t->wait_us += (double) n * (wait_us - long_us);
    t->next += t->next + 1 < GR_TIMED_FIRST ? 1 : GR_TIMED_EACH;
    gr_count_call(c);
}

static void for_all_counters(void (*each)(struct gr_call_counter *c))
{
    struct gr_call_counter *c;

    gr_lock(&counters_lock);
    LIST_FOREACH(c, &counters, entry)
    {
        each(c);
    }
    gr_unlock(&counters_lock);
}

/* ---- counters ---- */

/* For MPI_T: the value of a counter. */
static int read_counter(const struct mca_base_pvar_t *variable, void *value, void *object)
{
    (void) object;
    for_all_counters(add_calls);
    *(unsigned long long *) value = atomic_load((gr_report_counter_t *) variable->ctx);
    return OMPI_SUCCESS;
}

/* Counter KIND_NAME. Its help text is help, then of. */
static int add_counter(const char *kind, const char *name, const char *help, const char *of,
                       gr_report_counter_t *counter)
{
    mca_base_component_t *component = mca_coll_gpuring_registered;
    char full[64], text[160];
    int rc;

    snprintf(full, sizeof(full), "%s_%s", kind, name);
    snprintf(text, sizeof(text), "%s %s", help, of);
    rc = mca_base_component_pvar_register(
        component, full, text, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL, NULL,
        (void *) counter);
    return 0 > rc ? rc : OMPI_SUCCESS;
}

int mca_coll_gpuring_stats_register(void)
{
    static const struct {
        const char *kind, *help;
        gr_report_counter_t *counters; /* [collective] */
    } of_calls[] = {
        {"calls", "Calls done by gpuring:", counts.done},
        {"bytes", "Bytes of the calls done by gpuring:", bytes},
        {"device_calls", "Calls done by gpuring's kernels:", on_device},
        {"zero_copy_calls",
         "Calls on devices in which this process had other ranks' receive buffers mapped, or "
         "between nodes in which UCX sent from its buffers:",
         zero_copy},
    };
    const int n = sizeof(of_calls) / sizeof(of_calls[0]);
    int id, k, rc = OMPI_SUCCESS;

    for (id = 0; id < GR_NSUPPORTED; id++) {
        const char *name = gr_calls[id].name;

        for (k = 0; k < n && OMPI_SUCCESS == rc; k++) {
            rc = add_counter(of_calls[k].kind, name, of_calls[k].help, name,
                             &of_calls[k].counters[id]);
        }
    }
    for (k = 0; k < GR_NALGOS_ALL && OMPI_SUCCESS == rc; k++) {
        rc = add_counter("algorithm", gr_use_name(k), "Calls done with the algorithm",
                         gr_use_name(k), &by_algo[k]);
    }
    for (k = 0; k < GR_NFALLBACKS && OMPI_SUCCESS == rc; k++) {
        const struct gr_fallback_row *row = &mca_coll_gpuring_fallbacks[k];

        rc = add_counter("handover", row->name, "Calls left to other components:", row->help,
                         &handovers[k]);
    }
    return rc;
}

void gr_stats_zero_copy(enum gr_call_id id)
{
    add(&zero_copy[id], 1);
}

void gr_stats_fallback(enum gr_call_id id, enum gr_fallback_reason reason)
{
    add(&handovers[reason], 1);
    if (id < GR_NSUPPORTED) {
        add(&counts.fell_back[reason], 1);
    }
}

void mca_coll_gpuring_stats_other(enum gr_call_id id)
{
    add(&counts.others[id], 1);
}

/* ---- for the report ---- */

void mca_coll_gpuring_report_rows(void (*each)(void *ctx, const struct gr_report_row *row),
                                  void *ctx)
{
    const size_t all = sizeof(sums) / sizeof(sums[0][0][0][0][0]);
    const struct gr_sums *from = &sums[0][0][0][0][0];
    size_t k;

    for_all_counters(add_times);
    for (k = 0; k < all; k++, from++) {
        size_t at = k / GR_NSIZE_CLASSES, row = at / GR_NALGOS_ALL;
        struct gr_report_row r = {.key = {.size_class = (uint8_t) (k % GR_NSIZE_CLASSES),
                                          .algo = (uint8_t) (at % GR_NALGOS_ALL),
                                          .id = (uint8_t) (row % GR_NSUPPORTED),
                                          .device = row / GR_NSUPPORTED % 2,
                                          .nonblocking = row / GR_NSUPPORTED / 2 % 2},
                                  .sums = {.calls = from->calls,
                                           .bytes = from->bytes,
                                           .ns = from->ns,
                                           .wait_ns = from->wait_ns,
                                           .bus_bytes = from->bus_bytes}};

        if (0 != r.sums.calls) {
            each(ctx, &r);
        }
    }
}

const struct gr_report_counts *mca_coll_gpuring_report_counts(void)
{
    for_all_counters(add_calls);
    return &counts;
}

/* ---- step timing ---- */

static struct gr_timing_report timing;
static gr_lock_t timing_lock;

void gr_stats_timing(const struct gr_timing_report *r)
{
    gr_lock(&timing_lock);
    gr_timing_report_add(&timing, r);
    gr_unlock(&timing_lock);
}

const struct gr_timing_report *mca_coll_gpuring_report_timing(void)
{
    return &timing;
}
