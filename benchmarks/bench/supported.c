/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of supported.h. */
#include "supported.h"
#include "collectives.h"
#include "placement.h"

#include <limits.h>

static bool lacks_in_place(const struct options *o, const struct collective *c)
{
    return o->in_place && !(c->moves->flags & MOVES_IN_PLACE);
}

/* gpuring takes collectives; messages to and from devices are the MPI library's own. */
static bool lacks_device(const struct options *o, const struct collective *c, int ranks)
{
    return c->messages && placement_on_device(o, ranks) && !collectives_cuda_aware();
}

/* Most elements of a call: MPI counts elements, or bytes before a block, in an int. */
static int most_elements(const struct options *o, const struct collective *c)
{
    return c->byte_displs ? INT_MAX / (int) element_types[o->type].size : INT_MAX;
}

static bool is_too_large(const struct options *o, const struct collective *c, int ranks)
{
    size_t element = element_types[o->type].size;

    return moves_shape(c->moves, o->max_bytes, element, ranks, 0, o->root, o->in_place).total >
           (size_t) most_elements(o, c);
}

/* Returns 0, or -1 with a line that says what the collective lacks. */
static int lacks(const struct options *o, const struct collective *c, int ranks, char *error)
{
    if (lacks_device(o, c, ranks)) {
        snprintf(
            error, CLI_ERROR_CHARS,
            "-d: '%.100s': '%s' needs an MPI with CUDA support; allowed: every other collective",
            o->device_text, c->name);
        return -1;
    }
    if (lacks_in_place(o, c)) {
        snprintf(error, CLI_ERROR_CHARS,
                 "--in-place: '%s' has no such form; allowed: every collective but barrier "
                 "and those of neighbors, and not sendrecv",
                 c->name);
        return -1;
    }
    return 0;
}

/* Drops collectives of "all" that lack something. */
static int check_collectives(struct options *o, int ranks, char *error)
{
    int kept = 0;

    for (int i = 0; i < o->ncollectives; i++) {
        const struct collective *c = &collectives[o->collectives[i]];
        bool large = is_too_large(o, c, ranks);
        if (0 != lacks(o, c, ranks, error)) {
            if (!o->all) {
                return -1;
            }
            error[0] = '\0';
            continue;
        }
        if (large && o->all && c->byte_displs) {
            continue;
        }
        if (large) {
            snprintf(
                error, CLI_ERROR_CHARS,
                "-m: '%zu' is too large for %s of type %s; allowed: up to %d elements (MPI's ints)",
                o->max_bytes, c->name, element_types[o->type].name, most_elements(o, c));
            return -1;
        }
        o->collectives[kept++] = o->collectives[i];
    }
    o->ncollectives = kept;
    return 0;
}

/* Whether the MPI library or gpuring takes the buffers that -d asks for. */
static int check_device(const struct options *o, int ranks, int counters, char *error)
{
    if (counters > 0 || !placement_on_device(o, ranks) || collectives_cuda_aware()) {
        return 0;
    }
    snprintf(error, CLI_ERROR_CHARS,
             "-d: '%.100s': this MPI takes no device buffers: it was built without CUDA, and "
             "gpuring is not loaded; allowed: host managed pinned",
             o->device_text);
    return -1;
}

int supported_check(struct options *o, int ranks, int counters, char *error)
{
    if (o->root >= ranks) {
        snprintf(error, CLI_ERROR_CHARS, "-r: '%d' is not valid; allowed: 0 to %d", o->root,
                 ranks - 1);
        return -1;
    }
    if (!collectives_have_type(o->type)) {
        snprintf(error, CLI_ERROR_CHARS,
                 "-T: '%s': the MPI that this was built with has no such type; allowed: every "
                 "other type",
                 element_types[o->type].name);
        return -1;
    }
    if (FORM_PERSISTENT == o->form && !collectives_have_persistent()) {
        snprintf(error, CLI_ERROR_CHARS,
                 "--persistent: this MPI has no persistent collectives; allowed: blocking, "
                 "--nonblocking");
        return -1;
    }
    if (0 != check_device(o, ranks, counters, error)) {
        return -1;
    }
    return check_collectives(o, ranks, error);
}
