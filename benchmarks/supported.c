/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns what ranks, library and collectives tell about the options. See supported.h. */
#include "supported.h"
#include "collectives.h"
#include "placement.h"

#include <limits.h>

static bool lacks_in_place(const struct options *o, const struct collective *c)
{
    return o->in_place && !(c->moves->flags & MOVES_IN_PLACE);
}

/* Messages to and from devices are the MPI's own: gpuring takes collectives. */
static bool lacks_device(const struct options *o, const struct collective *c, int ranks)
{
    return IDEAL_SENDRECV == c->kind && placement_on_device(o, ranks) && !collectives_cuda_aware();
}

static bool is_too_large(const struct options *o, const struct collective *c, int ranks)
{
    size_t element = element_types[o->type].size;

    return moves_shape(c->moves, o->max_bytes, element, ranks, 0, o->root, o->in_place).total > INT_MAX;
}

/* Drops what of "all" lacks something. */
static int check_collectives(struct options *o, int ranks, char *error)
{
    int kept = 0;

    for (int i = 0; i < o->ncollectives; i++) {
        const struct collective *c = &collectives[o->collectives[i]];
        if (lacks_device(o, c, ranks) && !o->all) {
            snprintf(error, OPTIONS_ERROR_CHARS,
                     "-d: '%.100s': '%s' needs an MPI with CUDA support; allowed: every other collective",
                     o->device_text, c->name);
            return -1;
        }
        if (lacks_in_place(o, c) && !o->all) {
            snprintf(error, OPTIONS_ERROR_CHARS,
                     "--in-place: '%s' has no such form; allowed: every other collective", c->name);
            return -1;
        }
        if (is_too_large(o, c, ranks)) {
            snprintf(error, OPTIONS_ERROR_CHARS,
                     "-m: '%zu' is too large for type %s; allowed: up to %d elements (an MPI count)",
                     o->max_bytes, element_types[o->type].name, INT_MAX);
            return -1;
        }
        if (!lacks_in_place(o, c) && !lacks_device(o, c, ranks)) {
            o->collectives[kept++] = o->collectives[i];
        }
    }
    o->ncollectives = kept;
    return 0;
}

int supported_check_device(const struct options *o, int ranks, int counters, char *error)
{
    if (counters > 0 || !placement_on_device(o, ranks) || collectives_cuda_aware()) {
        return 0;
    }
    snprintf(error, OPTIONS_ERROR_CHARS,
             "-d: '%.100s': this MPI takes no device buffers: it was built without CUDA, and gpuring is not loaded; "
             "allowed: host managed pinned",
             o->device_text);
    return -1;
}

int supported_check(struct options *o, int ranks, int counters, char *error)
{
    if (o->root >= ranks) {
        snprintf(error, OPTIONS_ERROR_CHARS, "-r: '%d' is not valid; allowed: 0 to %d", o->root, ranks - 1);
        return -1;
    }
    if (FORM_PERSISTENT == o->form && !collectives_have_persistent()) {
        snprintf(error, OPTIONS_ERROR_CHARS,
                 "--persistent: this MPI has no persistent collectives; allowed: blocking, --nonblocking");
        return -1;
    }
    if (0 != supported_check_device(o, ranks, counters, error)) {
        return -1;
    }
    return check_collectives(o, ranks, error);
}
