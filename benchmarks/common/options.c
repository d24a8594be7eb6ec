/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of options.h. */
#include "options.h"

#include <float.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const char *const form_names[] = {"blocking", "nonblocking", "persistent"};
static const char *const device_names[DEVICE_KINDS + 1] = {"host", "cuda", "managed", "pinned",
                                                           NULL};
static const char *const format_names[] = {"table", "csv", "json", NULL};
static const char bandwidth[] = "a bandwidth above 0 in GB/s (1e9 bytes per second)";

/* MIN:MAX, MIN: or, as in OSU's programs, MAX. */
static bool take_sizes(void *into, const char *value)
{
    struct options *o = into;
    const char *end;
    size_t first;

    if (!cli_whole(value, 1, SIZE_MAX, &end, &first)) {
        return false;
    }
    o->min_bytes = ':' == *end ? first : 0;
    o->max_bytes = ':' == *end ? 0 : first;
    return ':' == *end && '\0' != end[1] ? cli_whole(end + 1, first, SIZE_MAX, NULL, &o->max_bytes)
                                         : '\0' == end[':' == *end];
}

/* mpi_... is how OSU's programs call types. */
static bool take_type(void *into, const char *value)
{
    value += 0 == strncmp(value, "mpi_", 4) ? 4 : 0;
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        const struct element_type *type = &element_types[i];
        if (0 == strcmp(value, type->name) || (type->alias && 0 == strcmp(value, type->alias))) {
            ((struct options *) into)->type = (enum element_type_id) i;
            return true;
        }
    }
    return false;
}

static bool take_devices(void *into, const char *value)
{
    struct options *o = into;
    const char *at = value;
    char name[16];

    if (take_type(into, value)) { /* as in nccl-tests */
        return true;
    }
    o->device_text = value;
    for (o->ndevices = 0; o->ndevices < OPTIONS_MAX_DEVICES; at++) {
        int length = (int) strcspn(at, ","), kind;
        snprintf(name, sizeof name, "%.*s", length, at);
        kind = cli_word(name, device_names);
        if (kind < 0) {
            break;
        }
        o->device =
            0 == o->ndevices || kind == (int) o->device ? (enum device_kind) kind : DEVICE_MIXED;
        o->devices[o->ndevices++] = (enum device_kind) kind;
        at += length;
        if ('\0' == *at) {
            return true;
        }
    }
    return false;
}

/* A format, or as in nccl-tests an operation. */
static bool take_format(void *into, const char *value)
{
    struct options *o = into;
    int format = cli_word(value, format_names), op = cli_word(value, element_op_names);

    o->format = format >= 0 ? (enum report_format) format : o->format;
    o->op = op >= 0 ? (enum element_op) op : o->op;
    return format >= 0 || op >= 0;
}

#define AT(field) .at = offsetof(struct options, field)

static const struct cli_option rows[] = {
    {'m', NULL, CLI_TAKE, .take = take_sizes,
     .allowed = "MIN:MAX, MIN: or MAX in bytes, 1 <= MIN <= MAX, suffixes k M G"},
    {'d', NULL, CLI_TAKE, .take = take_devices,
     .allowed = "host cuda managed pinned, or up to 64 of them with commas between, for the ranks "
                "in turn"},
    {'T', NULL, CLI_TAKE, .take = take_type,
     .allowed = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 half bfloat16 float double"},
    {'O', NULL, CLI_WORD, AT(op), .words = element_op_names},
    {'r', NULL, CLI_INT, AT(root), .most = INT_MAX,
     .allowed = "a rank: 0 to the number of ranks - 1"},
    {'i', NULL, CLI_INT, AT(iterations), .least = 1, .most = INT_MAX,
     .allowed = "a whole number of at least 1"},
    {'x', NULL, CLI_INT, AT(warmup), .most = INT_MAX, .allowed = "a whole number of at least 0"},
    {'c', NULL, CLI_SWITCH, AT(check)},
    {'B', NULL, CLI_REAL, AT(B), .least = DBL_MIN, .most = DBL_MAX, .allowed = bandwidth},
    {'I', NULL, CLI_REAL, AT(I), .least = DBL_MIN, .most = DBL_MAX, .allowed = bandwidth},
    {'o', NULL, CLI_TAKE, .take = take_format,
     .allowed = "table csv json, or an operation as with -O"},
    {'h', "help", CLI_SET, AT(help), .least = HELP_TEXT},
    {0, "in-place", CLI_FLAG, AT(in_place)},
    {0, "nonblocking", CLI_FLAG, AT(nonblocking)},
    {0, "persistent", CLI_FLAG, AT(persistent)},
    {0, "fit", CLI_FLAG, AT(fit)},
    {0, "progress", CLI_FLAG, AT(progress)},
};

/* The last one of the names is "all". */
static int add_collective(struct options *o, const char *name, const char *const *names,
                          char *error)
{
    int chosen = cli_word(name, names), n = 1;

    if (chosen < 0) {
        return cli_refuse_word(error, "COLLECTIVE", name, names);
    }
    if (NULL == names[chosen + 1]) {
        o->all = true;
        n = chosen;
        chosen = 0;
    }
    if (o->ncollectives + n > OPTIONS_MAX_COLLECTIVES) {
        return cli_refuse(error, "COLLECTIVE", name, "64 collectives in one run");
    }
    while (n-- > 0) {
        o->collectives[o->ncollectives++] = chosen++;
    }
    return 0;
}

static int check_combination(struct options *o, const char *const *names, char *error)
{
    char allowed[128];

    if (o->nonblocking && o->persistent) {
        return cli_refuse(error, "--persistent", "--nonblocking", "only one of the two");
    }
    o->form = o->nonblocking ? FORM_NONBLOCKING : o->persistent ? FORM_PERSISTENT : o->form;
    if (!element_op_applies(o->op, o->type)) {
        snprintf(allowed, sizeof allowed, "sum prod min max for type %s",
                 element_types[o->type].name);
        return cli_refuse(error, "-O", element_op_names[o->op], allowed);
    }
    return 0 == o->ncollectives && !o->help ? cli_refuse_word(error, "COLLECTIVE", NULL, names) : 0;
}

struct options options_default(void)
{
    return (struct options) {
        .factor = 2,
        .type = ELEMENT_FLOAT,
        .op = ELEMENT_SUM,
        .iterations = -1,
        .warmup = -1,
        .B = NAN,
        .I = NAN,
        .device_text = "host",
        .ndevices = 1,
    };
}

int options_parse(struct options *options, const struct cli_table *own, const char *collective,
                  int argc, char **argv, const char *const *names, char *error)
{
    struct cli_table tables[2] = {{rows, sizeof rows / sizeof rows[0], options}};
    int rc;

    if (NULL != own) {
        tables[1] = *own;
    }
    rc = cli_parse(tables, NULL != own ? 2 : 1, argc, argv, error);
    for (int i = optind; 0 == rc && i < argc; i++) {
        rc = add_collective(options, argv[i], names, error);
    }
    if (0 == rc && 0 == options->ncollectives && NULL != collective) {
        rc = add_collective(options, collective, names, error);
    }
    return 0 == rc ? check_combination(options, names, error) : rc;
}

int options_sizes(struct options *o, size_t min_bytes, size_t max_bytes, char *error)
{
    if (o->min_bytes > o->max_bytes && 0 != o->max_bytes) {
        snprintf(error, CLI_ERROR_CHARS, "-b: '%zu' is above -e: '%zu'; allowed: -b at most -e",
                 o->min_bytes, o->max_bytes);
        return -1;
    }
    if (0 == o->min_bytes) {
        o->min_bytes = 0 != o->max_bytes && o->max_bytes < min_bytes ? o->max_bytes : min_bytes;
    }
    if (0 == o->max_bytes) {
        o->max_bytes = o->min_bytes > max_bytes ? o->min_bytes : max_bytes;
    }
    return 0;
}

bool options_only_links(const struct options *o)
{
    return !isnan(o->B) || !isnan(o->I) || o->fit;
}

int options_iterations(const struct options *options, size_t bytes)
{
    if (options->iterations > 0) {
        return options->iterations;
    }
    return bytes <= 64 << 10 ? 1000 : bytes <= 4 << 20 ? 100 : 20;
}

int options_warmup(const struct options *options, size_t bytes)
{
    return options->warmup >= 0 ? options->warmup : options_iterations(options, bytes) / 10;
}

const char *options_form_name(enum call_form form)
{
    return form_names[form];
}

const char *options_device_name(enum device_kind device)
{
    return device_names[device];
}

enum device_kind options_device_of(const struct options *options, int rank)
{
    return options->devices[rank % options->ndevices];
}
