/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report as it is printed: the table, the same as JSON, and the line that says whether gpuring
 * was on.
 */
#include "mpi/report.h"

#include "comm/collectives.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "mpi/comm.h"
#include "mpi/runtime.h"

#include "base/size_class.h"
#include "base/text.h"
#include "sched/sched.h"
#include "timing/timer.h"
#include "tune/network.h"
#include "tune/terms.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- the closing line ---- */

/* Texts of this size grow; what does not fit is left out. */
#define TEXT_CHARS 1024
#define ADD(text, ...) gr_text_add(text, TEXT_CHARS, __VA_ARGS__)

/* A number, as 1,234,567. */
static void append_number(char *t, uint64_t n)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, n), k;

    for (k = 0; k < length; k++) {
        ADD(t, "%s%c", k > 0 && 0 == (length - k) % 3 ? "," : "", digits[k]);
    }
}

/* Counts by name: "setup 60, operation 6". Returns their sum. */
static uint64_t append_counts(char *t, int n, const gr_report_counter_t *counts,
                              const char *(*name)(int k))
{
    const char *comma = "";
    uint64_t sum = 0;
    int k;

    for (k = 0; k < n; k++) {
        if (counts[k] > 0) {
            ADD(t, "%s%s ", comma, name(k));
            append_number(t, counts[k]);
            sum += counts[k];
            comma = ", ";
        }
    }
    return sum;
}

static const char *name_of_call(int k)
{
    return gr_calls[k].name;
}

static const char *name_of_fallback(int k)
{
    return mca_coll_gpuring_fallbacks[k].name;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Of the calls of this rank, and the time of all ranks. */
static void describe(char *t, const struct gr_report_total *total)
{
    char done[TEXT_CHARS] = "", fell_back[TEXT_CHARS] = "", others[TEXT_CHARS] = "";
    const struct gr_report_counts *counts = mca_coll_gpuring_report_counts();
    uint64_t ours = append_counts(done, GR_NSUPPORTED, counts->done, name_of_call),
             left = append_counts(fell_back, GR_NFALLBACKS, counts->fell_back, name_of_fallback);
    const char *off = mca_coll_gpuring_report_off();

    if (NULL != off && 0 == ours + left) {
        ADD(t, "gpuring: off: %s", off);
        return;
    }
    ADD(t, "gpuring: ");
    if (0 == ours + left) {
        ADD(t, "on, but no collective call was made that it does");
    } else {
        append_number(t, ours);
        ADD(t, " of ");
        append_number(t, ours + left);
        ADD(t, 1 == ours + left ? " collective call" : " collective calls");
    }
    if (ours > 0) {
        ADD(t, " (%s), %.1f%% of the run", done, percent(total->move_s, total->run_s));
        if (percent(total->wait_s, total->run_s) >= 0.05) {
            ADD(t, ", waiting another %.1f%%", percent(total->wait_s, total->run_s));
        }
    }
    if (left > 0) {
        ADD(t, "; ");
        append_number(t, left);
        ADD(t, " fell back: %s", fell_back);
    }
    if (append_counts(others, GR_NCALLS, counts->others, name_of_call) > 0) {
        ADD(t, "; not gpuring's: %s", others);
    }
    if (total->latest_rank >= 0) {
        ADD(t, "; latest rank: %d", total->latest_rank);
    }
    if (NULL != off) {
        ADD(t, "; %s", off);
    }
}

/* ---- rows ---- */

/* A range of microseconds, with as many digits as are worth it. */
static const char *range_text(const double range[2], char *buf, size_t size)
{
    int digits = range[1] >= 1000 ? 0 : range[1] >= 10 ? 1 : 2;

    snprintf(buf, size, "%.*f..%.*f", digits, range[0], digits, range[1]);
    return buf;
}

static void print_row(FILE *f, bool json, const char *comma, const struct gr_report_merged *m)
{
    const struct gr_report_sums *s = &m->sum;
    const struct gr_report_key *key = &m->key;
    double n = (double) s->calls, ns = s->ns > 0 ? (double) s->ns : 1, moving;
    char waits[48], moves[48];

    /* of calls through a mailbox, all that is waiting and moving is one exchange */
    moving = GR_ALGO_MAILBOX == key->algo || s->ns <= s->wait_ns ? ns : ns - (double) s->wait_ns;
    if (json) {
        fprintf(f,
                "%s\n  {\"collective\": \"%s%s\", \"memory\": \"%s\", \"algorithm\": \"%s\", "
                "\"size\": \"%s\", \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 ", "
                "\"avg_us\": %.3f, \"wait_us\": %.3f, \"wait_us_least\": %.3f, "
                "\"wait_us_most\": %.3f, \"move_us\": %.3f, \"move_us_least\": %.3f, "
                "\"move_us_most\": %.3f, \"algbw_GBs\": %.4f, \"busbw_GBs\": %.4f, "
                "\"constants\": \"%s\"}",
                comma, key->nonblocking ? "i" : "", gr_calls[key->id].name,
                key->device ? "cuda" : "host", gr_use_name(key->algo),
                gr_size_class_name(key->size_class), m->calls, m->bytes, ns / n / 1e3,
                (double) s->wait_ns / n / 1e3, m->wait_us[0], m->wait_us[1],
                (double) (s->ns - s->wait_ns) / n / 1e3, m->move_us[0], m->move_us[1],
                (double) s->bytes / moving, (double) s->bus_bytes / moving,
                mca_coll_gpuring_constants_said[key->device].sources);
        return;
    }
    fprintf(f, "# %s%-*s %-6s %-13s %8" PRIu64 " %14" PRIu64 " %10.2f %16s %16s %8.3f %8.3f  %s\n",
            key->nonblocking ? "i" : "", 20 - key->nonblocking, gr_calls[key->id].name,
            key->device ? "cuda" : "host", gr_use_name(key->algo), m->calls, m->bytes, ns / n / 1e3,
            key->nonblocking ? "-" : range_text(m->wait_us, waits, sizeof(waits)),
            range_text(m->move_us, moves, sizeof(moves)), (double) s->bytes / moving,
            (double) s->bus_bytes / moving,
            gr_call_has_buffers((enum gr_call_id) key->id) ? gr_size_class_name(key->size_class)
                                                           : "");
}

static int compare_keys(const struct gr_report_key *a, const struct gr_report_key *b)
{
    const uint8_t of_a[] = {a->device, a->id, a->nonblocking, a->algo, a->size_class},
                  of_b[] = {b->device, b->id, b->nonblocking, b->algo, b->size_class};

    return memcmp(of_a, of_b, sizeof(of_a));
}

/* In the order of memory, collective, form, algorithm and size. Returns the next row's comma. */
static const char *print_rows(FILE *f, bool json, const struct gr_report_merged *rows, size_t n)
{
    const struct gr_report_merged *last = NULL, *next;
    const char *comma = "";
    size_t done, k;

    for (done = 0; done < n; done++) {
        next = NULL;
        for (k = 0; k < n; k++) {
            if ((NULL == last || compare_keys(&rows[k].key, &last->key) > 0) &&
                (NULL == next || compare_keys(&rows[k].key, &next->key) < 0)) {
                next = &rows[k];
            }
        }
        print_row(f, json, comma, next);
        comma = json ? "," : "";
        last = next;
    }
    return comma;
}

/* ---- step timing and the network, of this rank ---- */

static double mean_us(int64_t sum, uint64_t n)
{
    return n > 0 ? (double) sum / (double) n / 1e3 : 0;
}

/* What step timing saw on this rank. Returns what comes before the next row. */
static const char *report_timing(FILE *f, bool json, const char *comma)
{
    const struct gr_timing_report *t = mca_coll_gpuring_report_timing();

    if (0 == t->syncs) {
        return comma;
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
    return json ? "," : "";
}

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

/* ---- the whole ---- */

static void print_head(FILE *f, const struct gr_report_total *total)
{
    int device;

    fprintf(f, "# gpuring: what the collectives of ");
    if (total->ranks < total->of) {
        fprintf(f, "%d of ", total->ranks);
    }
    fprintf(f, "%d rank%s achieved; us: least..most of ranks; GB/s\n", total->of,
            1 == total->of ? "" : "s");
    for (device = 0; device < 2; device++) {
        if ('\0' != mca_coll_gpuring_constants_said[device].text[0]) {
            fprintf(f, "# constants %s: %s\n", device ? "between devices" : "inside a node",
                    mca_coll_gpuring_constants_said[device].text);
        }
    }
    fprintf(f, "# %-20s %-6s %-13s %8s %14s %10s %16s %16s %8s %8s  %s\n", "collective", "memory",
            "algo", "calls", "bytes", "avg us", "waits us", "moves us", "algbw", "busbw", "size");
}

static void print_total(FILE *f, bool json, const char *comma, const struct gr_report_total *total)
{
    char line[TEXT_CHARS] = "";

    describe(line, total);
    if (!json) {
        fprintf(f, "# %s\n", line);
        return;
    }
    fprintf(f,
            "%s\n  {\"total\": \"%s\", \"ranks\": %d, \"ranks_of_job\": %d, \"run_s\": %.6f, "
            "\"move_s\": %.6f, \"wait_s\": %.6f, \"latest_rank\": %d}",
            comma, line, total->ranks, total->of, total->run_s, total->move_s, total->wait_s,
            total->latest_rank);
}

static void print_report(FILE *f, bool json)
{
    struct gr_c_locale locale = gr_c_locale_enter();
    const struct gr_report_merged *rows;
    struct gr_report_total total;
    const char *comma;
    size_t n;

    rows = mca_coll_gpuring_report_merged(&n, &total);
    if (json) {
        fprintf(f, "[");
    } else if (n > 0) {
        print_head(f, &total);
    }
    comma = print_rows(f, json, rows, n);
    comma = report_network(f, json, comma);
    comma = report_timing(f, json, comma);
    print_total(f, json, comma, &total);
    if (json) {
        fprintf(f, "\n]\n");
    }
    gr_c_locale_leave(locale);
}

static void print_line(void)
{
    struct gr_c_locale locale = gr_c_locale_enter();
    char line[TEXT_CHARS] = "";
    struct gr_report_total total;
    size_t n;

    (void) mca_coll_gpuring_report_merged(&n, &total);
    describe(line, &total);
    gr_print("%s", line);
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

void mca_coll_gpuring_report_print(void)
{
    const char *report = gr_settings.report;

    if (!mca_coll_gpuring_report_wanted()) {
        return; /* none, too, where there was no memory for its name */
    }
    if (0 == strcmp(report, "line")) {
        print_line();
    } else if (0 != strncmp(report, "json:", 5)) {
        print_report(stdout, false);
        fflush(stdout);
    } else if (!write_report(report + 5)) {
        gr_print("gpuring: cannot write the report to \"%s\" (coll_gpuring_report): %m",
                 report + 5);
    }
    mca_coll_gpuring_report_free();
}
