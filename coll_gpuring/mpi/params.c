/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MCA parameters: one table (param_rows.c) by which they are registered, checked and described.
 *
 * A bad value gives one message that names the parameter, the value and the allowed values; then
 * the documented default is used.
 */
#include "mpi/params.h"

#include "comm/net_links.h"
#include "comm/params.h"
#include "comm/runtime.h"

#include "base/text.h"
#include "link/lease.h"
#include "sched/protocol.h"
#include "sched/sched.h"
#include "timing/timer.h"
#include "topo/torus.h"

#include "opal/mca/base/mca_base_var.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const struct gr_param_row *const rows = mca_coll_gpuring_param_rows;

/* What was registered, by row; the variable system writes here. */
static union {
    int number;
    char *text;
} raw[GR_PARAM_ROWS];

static const char *const text_default[] = {
    [GR_KIND_HOST] = "auto",   [GR_KIND_ALGORITHM] = "auto", [GR_KIND_PROTOCOL] = "auto",
    [GR_KIND_TORUS] = "",      [GR_KIND_SYNC] = "none",      [GR_KIND_TRANSPORT] = "auto",
    [GR_KIND_REPORT] = "none", [GR_KIND_FILE] = "",
};

/* Parameters that are one of some words; the default may be none of the list (auto). */
static const struct {
    const char *(*name)(int value); /* NULL: no such parameter */
    int n;
} words[] = {
    [GR_KIND_ALGORITHM] = {gr_use_name, GR_NALGOS_ALL},
    [GR_KIND_PROTOCOL] = {gr_protocol_name, GR_NPROTOCOLS},
    [GR_KIND_SYNC] = {gr_sync_name, GR_NSYNCS},
    [GR_KIND_TRANSPORT] = {gr_transport_name, GR_NTRANSPORTS},
    [GR_KIND_FILE] = {NULL, 0}, /* the last kind, so that the array has an entry for each */
};

/* Whether the parameter of all collectives, or of one, may say so. */
static bool algo_is_allowed(int param, int algo)
{
    return GR_PARAM_COMMON == param || GR_ALGO_MAILBOX == algo || GR_ALGO_LEADER == algo ||
           gr_algo_has((enum gr_algo) algo, (enum gr_coll)(param - GR_PARAM_ALGORITHM));
}

/* What a number must be a multiple of. */
static int multiple_of(const struct gr_param_row *row)
{
    if (GR_PARAM_SLOT_BYTES == row->compared) {
        return GR_CACHE_LINE;
    }
    return GR_PARAM_DEVICE_SLOT_BYTES == row->compared ? 256 : 1;
}

/* Whether all extents are there, and are as check_torus() allows. */
static bool torus_is_good(int64_t packed)
{
    struct gr_torus torus = gr_param_torus(packed);
    int64_t product = 1;
    int d;

    for (d = 0; d < torus.ndims; d++) {
        if (torus.dims[d] < 1 || torus.dims[d] > INT16_MAX) {
            return false;
        }
        product *= torus.dims[d];
    }
    return packed >= 0 && product <= INT_MAX;
}

/* Whether a checked value of this row can be that. */
static bool is_good(const struct gr_param_row *row, int64_t value)
{
    switch (row->kind) {
    case GR_KIND_INT:
        return value >= row->min && value <= row->max && 0 == value % multiple_of(row);
    case GR_KIND_HOST:
        return 0 == value || 1 == value;
    case GR_KIND_ALGORITHM:
        return -1 == value ||
               (value >= 0 && value < GR_NALGOS_ALL && algo_is_allowed(row->compared, (int) value));
    case GR_KIND_PROTOCOL:
        return value >= -1 && value < GR_NPROTOCOLS;
    case GR_KIND_SYNC:
        return value >= 0 && value < GR_NSYNCS;
    case GR_KIND_TORUS:
        return torus_is_good(value);
    default:
        return true;
    }
}

/* The words that a parameter may be, but for its default, behind what the list holds already. */
static void add_names(const struct gr_param_row *row, char *list, size_t size)
{
    int k;

    for (k = 0; k < words[row->kind].n; k++) {
        if (is_good(row, k) && 0 != strcmp(words[row->kind].name(k), text_default[row->kind])) {
            gr_words_add(list, size, words[row->kind].name(k));
        }
    }
}

/* The text that ompi_info shows, which may be in buf. */
static const char *help_of(const struct gr_param_row *row, char *buf, size_t size)
{
    char names[256] = "";

    if (GR_KIND_ALGORITHM != row->kind) {
        return row->help;
    }
    add_names(row, names, sizeof(names));
    snprintf(buf, size, "Algorithm of %s:%s, or auto (default): %s", row->help, names,
             GR_PARAM_COMMON == row->compared
                 ? "by the cost model. Collectives without this algorithm use auto, and so do "
                   "messages too large for a mailbox, and torus algorithms without a torus"
                 : "as coll_gpuring_algorithm says");
    return buf;
}

int mca_coll_gpuring_params_register(mca_base_component_t *component)
{
    char help[768]; /* which is copied */
    size_t k;
    int rc;

    mca_coll_gpuring_registered = component;
    for (k = 0; k < GR_PARAM_ROWS; k++) {
        bool number = GR_KIND_INT == rows[k].kind;

        if (number) {
            raw[k].number = rows[k].def;
        } else {
            raw[k].text = (char *) text_default[rows[k].kind];
        }
        rc = mca_base_component_var_register(
            component, rows[k].name, help_of(&rows[k], help, sizeof(help)),
            number ? MCA_BASE_VAR_TYPE_INT : MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
            (mca_base_var_info_lvl_t) rows[k].level, MCA_BASE_VAR_SCOPE_READONLY, &raw[k]);
        if (0 > rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

mca_base_component_t *mca_coll_gpuring_registered;
gr_bad_param_t mca_coll_gpuring_bad_param;

/*
 * A bad value is usually bad on all ranks: rank 0 of the job says so. What is bad elsewhere only,
 * the communicator's rank 0 says when it sees that rank's record (modex.c).
 */
static void complain(const struct gr_param_row *row, const char *value, const char *allowed,
                     const char *def)
{
    gr_bad_param_t *bad = &mca_coll_gpuring_bad_param;

    if ('\0' == bad->name[0]) {
        snprintf(bad->name, sizeof(bad->name), "%s", row->name);
        snprintf(bad->value, sizeof(bad->value), "%s", value);
        snprintf(bad->allowed, sizeof(bad->allowed), "%s", allowed);
    }
    if (0 == OPAL_PROC_MY_NAME.vpid) {
        gr_warn("bad-parameter", row->name, value, allowed, def);
    }
}

bool mca_coll_gpuring_params_good(const gr_params_t *params, const gr_bad_param_t *bad)
{
    size_t k;

    for (k = 0; k < GR_PARAM_ROWS; k++) {
        if (rows[k].compared >= 0 && !is_good(&rows[k], params->value[rows[k].compared])) {
            return false;
        }
    }
    return NULL != memchr(bad->name, '\0', sizeof(bad->name)) &&
           NULL != memchr(bad->value, '\0', sizeof(bad->value)) &&
           NULL != memchr(bad->allowed, '\0', sizeof(bad->allowed));
}

/* Whether all of a text is a number. bytes: k, m, g may follow it, as Open MPI reads them. */
static bool is_number(const char *text, bool bytes)
{
    char *end;

    errno = 0;
    (void) strtol(text, &end, 0);
    if (end == text || 0 != errno || isspace((unsigned char) text[0])) {
        return false;
    }
    return '\0' == *end || (bytes && NULL != strchr("kKmMgG", *end) && '\0' == end[1]);
}

/* Whether the number that Open MPI has read is the one that was written. */
static bool is_whole(const struct gr_param_row *row)
{
    const char *given = mca_coll_gpuring_param_given(row->name);
    size_t n = strlen(row->name), bytes = strlen("bytes");

    return NULL == given ||
           is_number(given, n > bytes && 0 == strcmp(row->name + n - bytes, "bytes"));
}

static int64_t check_int(const struct gr_param_row *row, const char *text)
{
    char given[32], allowed[64], def[32], of[32] = "";
    int value = raw[row - rows].number, multiple = multiple_of(row);
    bool whole = is_whole(row);

    (void) text;
    if (whole && is_good(row, value)) {
        return value;
    }
    if (multiple > 1) {
        snprintf(of, sizeof(of), ", a multiple of %d", multiple);
    }
    snprintf(given, sizeof(given), "%d", value);
    snprintf(allowed, sizeof(allowed), "%d..%d%s", row->min, row->max, of);
    snprintf(def, sizeof(def), "%d", row->def);
    complain(row, whole ? given : mca_coll_gpuring_param_given(row->name), allowed, def);
    return row->def;
}

/* Whether host memory is taken: auto is settled here. */
static int64_t check_host(const struct gr_param_row *row, const char *text)
{
    if (0 == strcmp(text, "0") || 0 == strcmp(text, "1")) {
        return '1' == text[0];
    }
    if (0 != strcmp(text, "auto")) {
        complain(row, text, "auto 0 1", "auto");
    }
    return mca_coll_gpuring_selection_names_it();
}

static int64_t check_torus(const struct gr_param_row *row, const char *text)
{
    struct gr_torus torus = {.ndims = 0};
    bool good = 0 == gr_torus_parse(text, &torus);
    int64_t packed = 0;
    int d;

    for (d = torus.ndims - 1; good && d >= 0; d--) {
        good = torus.dims[d] <= INT16_MAX;
        packed = packed << 16 | torus.dims[d];
    }
    if (!good) {
        complain(row, text, "1 to 4 extents from 1 to 32767, as in 4x4x2", "no torus");
        return 0;
    }
    return packed;
}

static int64_t check_word(const struct gr_param_row *row, const char *text)
{
    char allowed[sizeof(mca_coll_gpuring_bad_param.allowed)];
    int k;

    for (k = 0; k < words[row->kind].n; k++) {
        if (0 == strcmp(text, words[row->kind].name(k)) && is_good(row, k)) {
            return k;
        }
    }
    if (0 != strcmp(text, text_default[row->kind])) {
        snprintf(allowed, sizeof(allowed), "%s", text_default[row->kind]);
        add_names(row, allowed, sizeof(allowed));
        complain(row, text, allowed, text_default[row->kind]);
    }
    return row->def;
}

/* A copy: the variable system frees its own before the component is closed. */
static int64_t check_report(const struct gr_param_row *row, const char *text)
{
    bool good = 0 == strcmp(text, "none") || 0 == strcmp(text, "line") ||
                0 == strcmp(text, "summary") || (0 == strncmp(text, "json:", 5) && text[5]);

    if (!good) {
        complain(row, text, "none line summary json:FILE", "none");
    }
    free(gr_settings.report);
    gr_settings.report = strdup(good ? text : "none");
    return 0;
}

static int64_t check_file(const struct gr_param_row *row, const char *text)
{
    (void) row;
    free(gr_settings.tune_file);
    gr_settings.tune_file = strdup(text);
    return 0;
}

/* What settles a value, and says where it is bad. text: of all but numbers. */
static int64_t (*const checks[])(const struct gr_param_row *row, const char *text) = {
    [GR_KIND_INT] = check_int,        [GR_KIND_HOST] = check_host,
    [GR_KIND_ALGORITHM] = check_word, [GR_KIND_PROTOCOL] = check_word,
    [GR_KIND_TORUS] = check_torus,    [GR_KIND_SYNC] = check_word,
    [GR_KIND_TRANSPORT] = check_word, [GR_KIND_REPORT] = check_report,
    [GR_KIND_FILE] = check_file,
};

/* The parameter whose name differs least. */
static const char *nearest_name(const char *name)
{
    const char *nearest = rows[0].name;
    size_t least = SIZE_MAX, letters;
    int k;

    for (k = 0; k < GR_PARAM_ROWS; k++) {
        letters = gr_text_distance(name, rows[k].name);
        if (letters < least) {
            least = letters;
            nearest = rows[k].name;
        }
    }
    return nearest;
}

/* Name what was written and is no parameter, or is none any more. */
static void tell_unknown(void)
{
    static const char retired[] = "cost_";
    bool told = false;
    char name[64];
    int at = 0;

    while (NULL != mca_coll_gpuring_param_unknown(&at, name, sizeof(name))) {
        if (0 != strncmp(name, retired, strlen(retired))) {
            gr_warn("unknown-parameter", name, nearest_name(name));
        } else if (!told) {
            gr_warn("retired-parameter", retired);
            told = true;
        }
    }
}

void mca_coll_gpuring_params_close(void)
{
    free(gr_settings.report);
    free(gr_settings.tune_file);
    gr_settings.report = gr_settings.tune_file = NULL;
}

void mca_coll_gpuring_params_check(void)
{
    gr_params_t *p = &gr_settings.params;
    int64_t common = -1, value;
    size_t k;

    mca_coll_gpuring_params_read_given();
    if (0 == OPAL_PROC_MY_NAME.vpid) { /* all ranks were given the same, usually */
        tell_unknown();
    }
    for (k = 0; k < GR_PARAM_ROWS; k++) {
        const struct gr_param_row *row = &rows[k];
        const char *text = GR_KIND_INT == row->kind || NULL == raw[k].text ? "" : raw[k].text;

        value = checks[row->kind](row, text);
        if (NULL != row->local) {
            *row->local = (int) value;
        }
        if (GR_PARAM_COMMON == row->compared) {
            common = value; /* the rows of the collectives follow */
        } else if (GR_KIND_ALGORITHM == row->kind && value < 0 && common >= 0 &&
                   algo_is_allowed(row->compared, (int) common)) {
            value = common;
        }
        if (row->compared >= 0) {
            p->value[row->compared] = value;
        }
    }
    mca_coll_gpuring_params_forget_given();
}

const struct gr_param_row *mca_coll_gpuring_param_row(int param)
{
    const struct gr_param_row *row = rows;

    while (row->compared != param) {
        row++;
    }
    return row;
}

const char *mca_coll_gpuring_param_text(int param, int64_t value, char *buf, size_t size)
{
    enum gr_param_kind kind = mca_coll_gpuring_param_row(param)->kind;
    struct gr_torus torus;
    int d;

    if (NULL != words[kind].name) {
        snprintf(buf, size, "%s", value < 0 ? text_default[kind] : words[kind].name((int) value));
    } else if (GR_PARAM_TORUS == param) {
        torus = gr_param_torus(value);
        snprintf(buf, size, "%s", 0 == torus.ndims ? "none" : "");
        for (d = 0; d < torus.ndims; d++) {
            gr_text_add(buf, size, "%s%d", d > 0 ? "x" : "", torus.dims[d]);
        }
    } else {
        snprintf(buf, size, "%lld", (long long) value);
    }
    return buf;
}
