/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a torus: an info key, the parameter coll_gpuring_torus. */
#include "fuzz.h"

#include "torus_route.h"

#include <limits.h>

/* What was parsed says the same again. */
static void reads_back(const struct gr_torus *torus)
{
    struct gr_torus again;
    char text[64];
    size_t used = 0;
    int d;

    for (d = 0; d < torus->ndims; d++) {
        used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%d", d > 0 ? "x" : "",
                                  torus->dims[d]);
        FUZZ_NEED(used < sizeof(text));
    }
    FUZZ_NEED(0 == gr_torus_parse(text, &again) && again.ndims == torus->ndims);
    for (d = 0; d < torus->ndims; d++) {
        FUZZ_NEED(again.dims[d] == torus->dims[d]);
    }
}

/* A way between two ranks is as long as the torus says, and leads over links that it has. */
static void has_routes(const struct gr_torus *torus, int from, int to)
{
    int size = gr_torus_size(torus), n, hops = torus_hops(torus, from, to), k;
    int *links = calloc((size_t) size * GR_MAX_DIMS, sizeof(*links));

    FUZZ_NEED(NULL != links);
    n = torus_route(torus, from, to, links);
    FUZZ_NEED(n == hops);
    for (k = 0; k < n; k++) {
        FUZZ_NEED(links[k] >= 0 && links[k] < torus_links(torus));
    }
    free(links);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gr_torus torus = {.ndims = -1, .mesh = 1};
    char *text = malloc(size + 1);
    long product = 1;
    int d;

    FUZZ_NEED(NULL != text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (0 != gr_torus_parse(text, &torus)) {
        FUZZ_NEED(0 == torus.ndims);
        free(text);
        return 0;
    }
    FUZZ_NEED(torus.ndims >= 0 && torus.ndims <= GR_MAX_DIMS && 0 == torus.mesh);
    for (d = 0; d < torus.ndims; d++) {
        FUZZ_NEED(torus.dims[d] >= 1);
        product *= torus.dims[d];
        FUZZ_NEED(product <= INT_MAX);
    }
    FUZZ_NEED(gr_torus_size(&torus) == (torus.ndims > 0 ? product : 0));
    if (torus.ndims > 0) {
        reads_back(&torus);
        if (product <= 4096) {
            has_routes(&torus, (int) (product - 1), (int) (size % (size_t) product));
        }
    }
    free(text);
    return 0;
}
