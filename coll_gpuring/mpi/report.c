/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: for tools through MPI_T (calls and bytes per collective, calls per algorithm, fallbacks
 * per reason), and the table that a job can end with.
 */
#include "mpi/runtime.h"

#include "comm/collectives.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "mpi/constants.h"
#include "mpi/params.h"

#include "base/memory.h"
#include "base/text.h"
#include "sched/sched.h"
#include "timing/timer.h"
#include "tune/network.h"
#include "tune/terms.h"

#include "opal/mca/base/mca_base_pvar.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef _Atomic unsigned long long counter_t;

static counter_t calls[GR_NSUPPORTED], bytes[GR_NSUPPORTED], by_algo[GR_NALGOS_ALL];
static counter_t on_device[GR_NSUPPORTED], zero_copy[GR_NSUPPORTED];
static counter_t handovers[GR_NFALLBACKS];

/*
 * For the report: sums in nanoseconds and bytes, in host memory and on devices, per collective and
 * algorithm.
 */
static struct {
    counter_t calls, bytes, ns, bus_bytes;
} sums[2][GR_NSUPPORTED][GR_NALGOS_ALL];

static const char *const handover_names[GR_NFALLBACKS] = {
    [GR_FALLBACK_OP] = "operation", [GR_FALLBACK_JOBS] = "jobs",   [GR_FALLBACK_PEERS] = "peers",
    [GR_FALLBACK_NODES] = "nodes",  [GR_FALLBACK_SETUP] = "setup", [GR_FALLBACK_HOST] = "host",
    [GR_FALLBACK_ALONE] = "alone",  [GR_FALLBACK_INTER] = "inter", [GR_FALLBACK_STAGED] = "staged",
    [GR_FALLBACK_SHORT] = "short",  [GR_FALLBACK_LARGE] = "large", [GR_FALLBACK_MEMORY] = "memory",
};

static const char *const handover_help[GR_NFALLBACKS] = {
    [GR_FALLBACK_OP] = "the operation is user-defined, or not commutative",
    [GR_FALLBACK_JOBS] = "the communicator spans several jobs",
    [GR_FALLBACK_PEERS] = "gpuring is absent, off, of another version or priority on some rank",
    [GR_FALLBACK_NODES] = "the communicator spans several nodes, and coll_gpuring_nodes is 0",
    [GR_FALLBACK_SETUP] = "there was no shared memory or no network for the links on some rank",
    [GR_FALLBACK_HOST] = "the buffers are in host memory, and coll_gpuring_host is 0",
    [GR_FALLBACK_ALONE] = "the communicator has one rank",
    [GR_FALLBACK_INTER] = "it is an intercommunicator",
    [GR_FALLBACK_STAGED] = "a collective without kernels, with buffers on a device",
    [GR_FALLBACK_SHORT] =
        "it is too short for an agreement between nodes, and coll_gpuring_host is 0",
    [GR_FALLBACK_LARGE] = "it moves more than coll_gpuring_pack_mib",
    [GR_FALLBACK_MEMORY] = "its links would need more memory than coll_gpuring_setup_mib",
};

const char *mca_coll_gpuring_fallback_name(int reason)
{
    return handover_help[reason];
}

static void add(counter_t *counter, unsigned long long value)
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
    add(&calls[id], n);
    add(&bytes[id], n * size);
    add(&by_algo[algo], n);
}

/* ---- calls that plans count ---- */

static struct gr_call_counter *counters; /* of all plans */
static gr_lock_t counters_lock;

/* Add the counter's calls that were not added yet. */
static void add_calls(struct gr_call_counter *c)
{
    uint64_t n = atomic_load_explicit(&c->calls, memory_order_relaxed) - c->added;

    c->added += n;
    count(c->id, c->algo, n, c->bytes);
}

void mca_coll_gpuring_counter_join(struct gr_call_counter *c)
{
    gr_lock(&counters_lock);
    GR_PUSH(c, counters);
    c->at = &counters;
    if (NULL != c->next) {
        c->next->at = &c->next;
    }
    gr_unlock(&counters_lock);
}

void mca_coll_gpuring_counter_leave(struct gr_call_counter *c)
{
    gr_lock(&counters_lock);
    *c->at = c->next;
    if (NULL != c->next) {
        c->next->at = c->at;
    }
    add_calls(c);
    gr_unlock(&counters_lock);
}

/* ---- counters ---- */

/* For MPI_T: the value of a counter. */
static int read_counter(const struct mca_base_pvar_t *variable, void *value, void *object)
{
    struct gr_call_counter *c;

    (void) object;
    gr_lock(&counters_lock);
    for (c = counters; NULL != c; c = c->next) {
        add_calls(c);
    }
    gr_unlock(&counters_lock);
    *(unsigned long long *) value = atomic_load((counter_t *) variable->ctx);
    return OMPI_SUCCESS;
}

/* Counter KIND_NAME. Its help text is help, then of. */
static int add_counter(const char *kind, const char *name, const char *help, const char *of,
                       counter_t *counter)
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
    int k, rc = OMPI_SUCCESS;

    for (k = 0; k < GR_NSUPPORTED && OMPI_SUCCESS == rc; k++) {
        const char *name = gr_calls[k].name;

        rc = add_counter("calls", name, "Calls done by gpuring:", name, &calls[k]);
        if (OMPI_SUCCESS == rc) {
            rc = add_counter("bytes", name, "Bytes of the calls done by gpuring:", name, &bytes[k]);
        }
        if (OMPI_SUCCESS == rc) {
            rc = add_counter("device_calls", name, "Calls done by gpuring's kernels:", name,
                             &on_device[k]);
        }
        if (OMPI_SUCCESS == rc) {
            rc = add_counter("zero_copy_calls", name,
                             "Calls on devices in which this process had other ranks' receive "
                             "buffers mapped, or between nodes in which UCX sent from its buffers:",
                             name, &zero_copy[k]);
        }
    }
    for (k = 0; k < GR_NALGOS_ALL && OMPI_SUCCESS == rc; k++) {
        rc = add_counter("algorithm", gr_use_name(k), "Calls done with the algorithm",
                         gr_use_name(k), &by_algo[k]);
    }
    for (k = 0; k < GR_NFALLBACKS && OMPI_SUCCESS == rc; k++) {
        rc = add_counter("handover", handover_names[k],
                         "Calls left to other components:", handover_help[k], &handovers[k]);
    }
    return rc;
}

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

void gr_stats_call(enum gr_call_id id, int algo, bool device, int ranks, size_t size, double us)
{
    count(id, algo, 1, size);
    if (device) {
        add(&on_device[id], 1);
    }
    if (gr_stats_timed()) {
        add(&sums[device][id][algo].calls, 1);
        add(&sums[device][id][algo].bytes, size);
        add(&sums[device][id][algo].ns, (unsigned long long) (1e3 * us));
        add(&sums[device][id][algo].bus_bytes,
            (unsigned long long) ((double) size * bus_factor(gr_calls[id].coll, ranks)));
    }
}

void gr_stats_zero_copy(enum gr_call_id id)
{
    add(&zero_copy[id], 1);
}

void gr_stats_fallback(enum gr_fallback_reason reason)
{
    add(&handovers[reason], 1);
}

static bool report_row(FILE *f, bool json, const char *comma, int device, int id, int algo)
{
    double n = (double) sums[device][id][algo].calls, ns = (double) sums[device][id][algo].ns;
    double size = (double) sums[device][id][algo].bytes,
           bus = (double) sums[device][id][algo].bus_bytes;

    if (0 == n) {
        return false;
    }
    ns = ns > 0 ? ns : 1;
    fprintf(f,
            json ? "%s\n  {\"collective\": \"%s\", \"memory\": \"%s\", \"algorithm\": \"%s\", "
                   "\"calls\": %.0f, \"bytes\": %.0f, \"avg_us\": %.3f, \"algbw_GBs\": %.4f, "
                   "\"busbw_GBs\": %.4f, \"constants\": \"%s\"}"
                 : "%s# %-20s %-6s %-7s %10.0f %16.0f %12.3f %10.4f %10.4f\n",
            comma, gr_calls[id].name, device ? "cuda" : "host", gr_use_name(algo), n, size,
            ns / n / 1e3, size / ns, bus / ns, mca_coll_gpuring_constants_sources(0 != device));
    return true;
}

static const char *report_rows(FILE *f, bool json)
{
    const char *comma = "";
    int device, id, algo;

    for (device = 0; device < 2; device++) {
        for (id = 0; id < GR_NSUPPORTED; id++) {
            for (algo = 0; algo < GR_NALGOS_ALL; algo++) {
                comma = report_row(f, json, comma, device, id, algo) && json ? "," : comma;
            }
        }
    }
    return comma;
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

static double mean_us(int64_t sum, uint64_t n)
{
    return n > 0 ? (double) sum / (double) n / 1e3 : 0;
}

/* What step timing saw on this rank; comma: after rows before it. */
static void report_timing(FILE *f, bool json, const char *comma)
{
    const struct gr_timing_report *t = &timing;

    if (0 == t->syncs) {
        return;
    }
    fprintf(
        f,
        json ? "%s\n  {\"step_sync\": \"%s\", \"calls\": %llu, \"syncs\": %llu, \"sync_us\": %.3f, "
               "\"start_skew_us\": %.3f, \"start_skew_max_us\": %.3f, \"steps\": %llu, "
               "\"error_us\": %.3f, \"error_max_us\": %.3f, \"misses\": %llu, \"waits\": %llu, "
               "\"wait_us\": %.3f, \"resyncs\": %llu, \"pauses\": %llu, \"measures\": %llu}"
             : "%s# step_sync %s: %llu calls, %llu countdowns of %.3f us; start skew %.3f us, at "
               "most %.3f\n"
               "#   %llu timed steps began late by %.3f us, at most %.3f; %llu missed their time; "
               "%llu waited %.3f us each\n"
               "#   %llu resynchronised, %llu times switched off, %llu times latencies measured\n",
        comma, gr_sync_name((int) gr_settings.params.value[GR_PARAM_STEP_SYNC]),
        (unsigned long long) t->calls, (unsigned long long) t->syncs, mean_us(t->sync_ns, t->syncs),
        mean_us(t->skew_ns, t->skews), (double) t->skew_max / 1e3, (unsigned long long) t->steps,
        mean_us(t->error_ns, t->steps), (double) t->error_max / 1e3, (unsigned long long) t->misses,
        (unsigned long long) t->waits, mean_us(t->wait_ns, t->waits),
        (unsigned long long) t->resyncs, (unsigned long long) t->pauses,
        (unsigned long long) t->measures);
}

/* ---- the network ---- */

/* What this job measured between nodes, if it did. Returns what comes before the next row. */
static const char *report_network(FILE *f, bool json, const char *comma)
{
    struct gr_network_use use = {.rails = 1, .shares_cores = gr_runtime_shares_cores()};
    struct gr_network n = gr_process.network.network, class = gr_network_class(&n, use);
    char text[200];

    if (!gr_network_good(&n)) {
        return comma;
    }
    if (!json) {
        fprintf(f, "# between nodes, %s\n", gr_network_text(&n, use, text, sizeof(text)));
        return comma;
    }
    fprintf(f,
            "%s\n  {\"network\": \"measured\", \"latency_us\": %.3f, \"message_us\": %.3f, "
            "\"mbit\": %.1f, \"latency_class_us\": %g, \"message_class_us\": %g, "
            "\"mbit_class\": %.0f}",
            comma, n.latency, gr_terms_message(&(struct gr_internode) {.step = n.latency}), n.mbit,
            class.latency, gr_terms_message(&(struct gr_internode) {.step = class.latency}),
            class.mbit);
    return ",";
}

static void print_report(FILE *f, bool json)
{
    struct gr_c_locale locale = gr_c_locale_enter();
    int device;

    if (json) {
        fprintf(f, "[");
    } else {
        fprintf(f, "# gpuring: what rank 0's collectives achieved\n");
        for (device = 0; device < 2; device++) {
            if ('\0' != mca_coll_gpuring_constants_text(device)[0]) {
                fprintf(f, "# constants %s: %s\n", device ? "between devices" : "inside a node",
                        mca_coll_gpuring_constants_text(device));
            }
        }
        fprintf(f,
                "# %-20s %-6s %-7s %10s %16s %12s "
                "%10s %10s\n",
                "collective", "memory", "algo", "calls", "bytes", "avg us", "algbw GB/s",
                "busbw GB/s");
    }
    report_timing(f, json, report_network(f, json, report_rows(f, json)));
    if (json) {
        fprintf(f, "\n]\n");
    }
    gr_c_locale_leave(locale);
}

/* Returns false, and errno says why, where it cannot be written. */
static bool write_report(const char *file)
{
    FILE *f = fopen(file, "w");
    bool good;

    if (NULL == f) {
        return false;
    }
    print_report(f, true);
    good = 0 == ferror(f);
    return 0 == fclose(f) && good;
}

/* From rank 0's view, without a message: a job that ends must not wait. */
void mca_coll_gpuring_stats_report(void)
{
    const char *report = gr_settings.report;

    if (!gr_stats_timed() || 0 != OPAL_PROC_MY_NAME.vpid) {
        return; /* none, too, where there was no memory for its name */
    }
    if (0 != strncmp(report, "json:", 5)) {
        print_report(stdout, false);
        fflush(stdout);
    } else if (!write_report(report + 5)) {
        gr_print("gpuring: cannot write the report to \"%s\" (coll_gpuring_report): %m",
                 report + 5);
    }
}
