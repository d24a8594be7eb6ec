/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Values of the options that have no letter. */
enum {
    LONG_IN_PLACE = 256,
    LONG_NONBLOCKING,
    LONG_PERSISTENT,
    LONG_IDEAL,
    LONG_FIT,
    LONG_PROGRESS
};
enum { BENCH_LONGS = 7, MAX_LONGS = 24 };

static const struct option long_options[MAX_LONGS] = {
    {"in-place", no_argument, NULL, LONG_IN_PLACE},
    {"nonblocking", no_argument, NULL, LONG_NONBLOCKING},
    {"persistent", no_argument, NULL, LONG_PERSISTENT},
    {"ideal", required_argument, NULL, LONG_IDEAL},
    {"fit", no_argument, NULL, LONG_FIT},
    {"progress", no_argument, NULL, LONG_PROGRESS},
    {"help", no_argument, NULL, 'h'},
};

static const char *const form_names[] = {"blocking", "nonblocking", "persistent"};
static const char *const device_names[DEVICE_KINDS] = {"host", "cuda", "managed", "pinned"};
static const char *const format_names[] = {"table", "csv", "json"};
static const char *const ideal_names[] = {"bound", "published"};

struct parse {
    struct options *options;
    const struct options_own *own;
    char *error;
    const char *const *names; /* of collectives */
    int nnames;
};

int options_refuse(char *error, const char *option, const char *value, const char *allowed)
{
    snprintf(error, OPTIONS_ERROR_CHARS, "%s: '%.200s' is not valid; allowed: %s", option, value,
             allowed);
    return -1;
}

/* Characters of a list of names: all collectives' take some 280. */
enum { LIST_CHARS = 512 };

/* A list that does not fit ends in "...". */
static void join(char text[LIST_CHARS], const char *const *names, int n)
{
    static const char cut[] = " ...";
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        size_t room = LIST_CHARS - used;
        int more = snprintf(text + used, room, "%s%s", i ? " " : "", names[i]);
        if ((size_t) more + (i + 1 < n ? sizeof cut : 1) > room) {
            snprintf(text + used, room, "%s", cut);
            return;
        }
        used += (size_t) more;
    }
}

/* The index of value among the names, or -1 and a complaint that lists them. */
static int choose(const struct parse *p, const char *option, const char *value,
                  const char *const *names, int n)
{
    char allowed[LIST_CHARS];

    for (int i = 0; i < n; i++) {
        if (0 == strcmp(value, names[i])) {
            return i;
        }
    }
    join(allowed, names, n);
    return options_refuse(p->error, option, value, allowed);
}

int options_size(const char *text, size_t *bytes)
{
    static const char suffixes[] = "kmg";
    unsigned long long number;
    unsigned shift = 0;
    char *end;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char) text[0]) || 0 != errno || 0 == number) {
        return -1;
    }
    if ('\0' != *end) {
        const char *suffix = strchr(suffixes, tolower((unsigned char) *end));
        if (NULL == suffix || '\0' != end[1]) {
            return -1;
        }
        shift = 10 * (unsigned) (suffix - suffixes + 1);
    }
    if (number > SIZE_MAX >> shift) {
        return -1;
    }
    *bytes = (size_t) number << shift;
    return 0;
}

static int parse_sizes(const struct parse *p, const char *value)
{
    static const char allowed[] = "MIN:MAX in bytes, 1 <= MIN <= MAX, suffixes k M G";
    const char *colon = strchr(value, ':');
    char low[32];

    if (NULL == colon || (size_t) (colon - value) >= sizeof low) {
        return options_refuse(p->error, "-m", value, allowed);
    }
    memcpy(low, value, (size_t) (colon - value));
    low[colon - value] = '\0';
    if (0 != options_size(low, &p->options->min_bytes) ||
        0 != options_size(colon + 1, &p->options->max_bytes) ||
        p->options->min_bytes > p->options->max_bytes) {
        return options_refuse(p->error, "-m", value, allowed);
    }
    return 0;
}

/* Whether text is a whole number of that range. */
static bool is_number(const char *text, long least, long most, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return end != text && '\0' == *end && 0 == errno && *number >= least && *number <= most;
}

int options_number(char *error, const char *option, const char *value, long least, long most,
                   long *number)
{
    char allowed[64];

    snprintf(allowed, sizeof allowed, "%ld to %ld", least, most);
    return is_number(value, least, most, number) ? 0
                                                 : options_refuse(error, option, value, allowed);
}

static int parse_int(const struct parse *p, const char *option, const char *value, int least,
                     const char *allowed, int *result)
{
    long number;

    if (!is_number(value, least, INT_MAX, &number)) {
        return options_refuse(p->error, option, value, allowed);
    }
    *result = (int) number;
    return 0;
}

static int parse_bandwidth(const struct parse *p, const char *option, const char *value,
                           double *result)
{
    char *end;

    *result = strtod(value, &end);
    if (end == value || '\0' != *end || !isfinite(*result) || *result <= 0) {
        return options_refuse(p->error, option, value,
                              "a bandwidth above 0 in GB/s (1e9 bytes per second)");
    }
    return 0;
}

static int parse_type(const struct parse *p, const char *value)
{
    const char *names[ELEMENT_TYPES];

    for (int i = 0; i < ELEMENT_TYPES; i++) {
        const struct element_type *type = &element_types[i];
        if (0 == strcmp(value, type->name) || (type->alias && 0 == strcmp(value, type->alias))) {
            p->options->type = (enum element_type_id) i;
            return 0;
        }
        names[i] = type->name;
    }
    return choose(p, "-T", value, names, ELEMENT_TYPES);
}

/* The kind of memory that the first length characters name, or DEVICE_KINDS. */
static enum device_kind find_device(const char *name, size_t length)
{
    int kind = 0;

    while (kind < DEVICE_KINDS && (strlen(device_names[kind]) != length ||
                                   0 != strncmp(device_names[kind], name, length))) {
        kind++;
    }
    return (enum device_kind) kind;
}

static int parse_devices(const struct parse *p, const char *value)
{
    struct options *o = p->options;
    const char *at = value;
    char names[LIST_CHARS], allowed[LIST_CHARS + 100];

    o->device_text = value;
    for (o->ndevices = 0; o->ndevices < OPTIONS_MAX_DEVICES; at++) {
        size_t length = strcspn(at, ",");
        enum device_kind kind = find_device(at, length);
        if (DEVICE_KINDS == kind) {
            break;
        }
        o->device = 0 == o->ndevices || kind == o->device ? kind : DEVICE_MIXED;
        o->devices[o->ndevices++] = kind;
        at += length;
        if ('\0' == *at) {
            return 0;
        }
    }
    join(names, device_names, DEVICE_KINDS);
    snprintf(allowed, sizeof allowed,
             "%s, or up to %d of them with commas between, for the ranks in turn", names,
             OPTIONS_MAX_DEVICES);
    return options_refuse(p->error, "-d", value, allowed);
}

static int parse_form(const struct parse *p, enum call_form form)
{
    if (FORM_BLOCKING != p->options->form && form != p->options->form) {
        return options_refuse(p->error, "--persistent", "--nonblocking", "only one of the two");
    }
    p->options->form = form;
    return 0;
}

/* -1 where choose() complained; the caller's field is an enum that has no -1. */
#define CHOOSE(field, option, names)                                                           \
    do {                                                                                       \
        int chosen = choose(p, option, optarg, names, (int) (sizeof names / sizeof names[0])); \
        if (chosen < 0) {                                                                      \
            return -1;                                                                         \
        }                                                                                      \
        (field) = chosen;                                                                      \
    } while (0)

static int parse_option(const struct parse *p, int option)
{
    struct options *o = p->options;

    switch (option) {
    case 'm':
        return parse_sizes(p, optarg);
    case 'd':
        return parse_devices(p, optarg);
    case 'T':
        return parse_type(p, optarg);
    case 'O':
        CHOOSE(o->op, "-O", element_op_names);
        return 0;
    case 'r':
        return parse_int(p, "-r", optarg, 0, "a rank: 0 to the number of ranks - 1", &o->root);
    case 'i':
        return parse_int(p, "-i", optarg, 1, "a whole number of at least 1", &o->iterations);
    case 'x':
        return parse_int(p, "-x", optarg, 0, "a whole number of at least 0", &o->warmup);
    case 'c':
        o->check = true;
        return 0;
    case 'B':
        return parse_bandwidth(p, "-B", optarg, &o->B);
    case 'I':
        return parse_bandwidth(p, "-I", optarg, &o->I);
    case 'o':
        CHOOSE(o->format, "-o", format_names);
        return 0;
    case 'f':
        o->file = optarg;
        return 0;
    case 'h':
        o->help = true;
        return 0;
    case LONG_IN_PLACE:
        o->in_place = true;
        return 0;
    case LONG_NONBLOCKING:
        return parse_form(p, FORM_NONBLOCKING);
    case LONG_PERSISTENT:
        return parse_form(p, FORM_PERSISTENT);
    case LONG_IDEAL:
        CHOOSE(o->published, "--ideal", ideal_names);
        return 0;
    case LONG_FIT:
        o->fit = true;
        return 0;
    case LONG_PROGRESS:
        o->progress = true;
        return 0;
    }
    return -1;
}

/* getopt found an option that is unknown, lacks its value, or has one it should not have. */
static int refuse_option(const struct parse *p, int found, char **argv)
{
    char letter[3] = {'-', (char) optopt, '\0'};
    bool is_long = 0 == optopt || optopt >= LONG_IN_PLACE; /* 0: of an unknown name */
    const char *text = is_long ? argv[optind - 1] : letter;
    const char *why = "is not an option; see -h";

    if (':' == found) {
        why = "needs a value";
    } else if (optopt >= LONG_IN_PLACE || 'h' == optopt) { /* known, and refused all the same */
        why = "takes no value";
    }
    snprintf(p->error, OPTIONS_ERROR_CHARS, "%s: %s", text, why);
    return -1;
}

static int add_collective(const struct parse *p, const char *name)
{
    struct options *o = p->options;
    bool all = 0 == strcmp(name, "all");
    int chosen = all ? 0 : choose(p, "COLLECTIVE", name, p->names, p->nnames);
    int n = all ? p->nnames : 1;

    if (chosen < 0) {
        size_t used = strlen(p->error);
        snprintf(p->error + used, OPTIONS_ERROR_CHARS - used, " all");
        return -1;
    }
    if (o->ncollectives + n > OPTIONS_MAX_COLLECTIVES) {
        return options_refuse(p->error, "COLLECTIVE", name, "64 collectives in one run");
    }
    o->all = o->all || all;
    while (n-- > 0) {
        o->collectives[o->ncollectives++] = chosen++;
    }
    return 0;
}

static int check_combination(const struct parse *p)
{
    const struct options *o = p->options;
    char allowed[128];

    if (!element_op_applies(o->op, o->type)) {
        snprintf(allowed, sizeof allowed, "sum prod min max for type %s",
                 element_types[o->type].name);
        return options_refuse(p->error, "-O", element_op_names[o->op], allowed);
    }
    if (0 == o->ncollectives && !o->help) {
        char list[LIST_CHARS];
        join(list, p->names, p->nnames);
        snprintf(p->error, OPTIONS_ERROR_CHARS, "no COLLECTIVE named; allowed: %s all", list);
        return -1;
    }
    return 0;
}

struct options options_default(void)
{
    return (struct options) {
        .min_bytes = 4,
        .max_bytes = 4 << 20,
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

/* Adds the program's own options to gpuring_bench's. */
static void add_own(const struct options_own *own, struct option *longs, char *letters, size_t room)
{
    memcpy(longs, long_options, sizeof long_options);
    for (int k = 0; NULL != own->longs && NULL != own->longs[k].name; k++) {
        longs[BENCH_LONGS + k] = own->longs[k];
    }
    snprintf(letters, room, ":m:d:T:O:r:i:x:cB:I:o:f:h%s", own->letters);
}

static bool is_own(const struct options_own *own, int option)
{
    return option >= OPTIONS_OWN ||
           (option < LONG_IN_PLACE && NULL != strchr(own->letters, option));
}

int options_parse(struct options *options, const struct options_own *own, int argc, char **argv,
                  const char *const *names, int n, char *error)
{
    static const struct options_own none = {.letters = ""};
    struct parse p = {options, NULL != own ? own : &none, error, names, n};
    struct option longs[MAX_LONGS];
    char letters[64];
    int option, rc = 0;

    add_own(p.own, longs, letters, sizeof letters);
    optind = 1;
    while (0 == rc && -1 != (option = getopt_long(argc, argv, letters, longs, NULL))) {
        if ('?' == option || ':' == option) {
            rc = refuse_option(&p, option, argv);
        } else if (is_own(p.own, option)) {
            rc = p.own->take(p.own->ctx, option, optarg, error);
        } else {
            rc = parse_option(&p, option);
        }
    }
    for (int i = optind; 0 == rc && i < argc; i++) {
        rc = add_collective(&p, argv[i]);
    }
    if (0 == rc && 0 == options->ncollectives && NULL != p.own->collective) {
        rc = add_collective(&p, p.own->collective);
    }
    return 0 == rc ? check_combination(&p) : rc;
}

bool options_only_bench(const struct options *o)
{
    return !isnan(o->B) || !isnan(o->I) || o->published || o->fit || NULL != o->file;
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
