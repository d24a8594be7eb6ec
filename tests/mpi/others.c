/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives that gpuring has no kernels for, in all forms and on communicators of every kind,
 * against the same call on plain host memory: others [MODE]. GPURING_BUDGET: cases of each
 * collective, communicator and form.
 *
 *     types    also persistent requests whose types are freed once they are made; Open MPI's libnbc crashes then
 *     steady   calls after the first ones allocate nothing; GPURING_MEMORY=device
 *     parcels  large messages go in pieces, at coll_gpuring_stage_bytes 32768
 *     copies   calls on contiguous buffers copy each byte once; GPURING_MEMORY=device
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "others.h"
#include "rng.h"
#include "tap.h"

#define MAX_TOGETHER 5
#define STARTS 3 /* of a persistent request */

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */
static bool drop_all;        /* types of persistent requests too */
static int num_cases;

/*
 * In the order of the calls; persistent requests were made in that order, and are started in any.
 */
static void start_all(struct others_call *c, int n, enum form form, MPI_Request *requests)
{
    int order[MAX_TOGETHER];

    shuffle(n, order, &mine);
    for (int i = 0; i < n; i++) {
        int k = FORM_PERSISTENT == form ? order[i] : i;

        form_delay(&mine);
        others_start(&c[k], form, &requests[k]);
        if (FORM_NONBLOCKING == form && rng_below(&mine, 2)) {
            others_drop_handles(&c[k], LENT);
        }
    }
}

/* Cases that are under way together, each once, or as often as a persistent request is started. */
static bool run(const struct others_scene *on, const struct others_case *cases, int n,
                enum form form)
{
    MPI_Request requests[MAX_TOGETHER];
    struct others_call c[MAX_TOGETHER];
    bool ok = true;

    for (int i = 0; i < n; i++) {
        others_make(&c[i], on, &cases[i]);
        requests[i] = MPI_REQUEST_NULL;
        if (FORM_PERSISTENT == form) {
            others_init(&c[i], &requests[i]);
        }
        if (FORM_PERSISTENT == form && drop_all) {
            others_drop_handles(&c[i], LENT);
        }
    }
    for (int t = 0; t < (FORM_PERSISTENT == form ? STARTS : 1); t++) {
        for (int i = 0; i < n; i++) {
            others_fill(&c[i], rng_next(&calls));
            others_refer(&c[i], form);
        }
        start_all(c, n, form, requests);
        ok = complete(rng_below(&mine, NUM_WAYS), n, requests, &mine) && ok;
        for (int i = 0; i < n; i++) {
            ok = others_check(&c[i], form) && ok;
        }
    }
    for (int i = 0; i < n; i++) {
        if (MPI_REQUEST_NULL != requests[i]) {
            MPI_Request_free(&requests[i]);
        }
        others_free(&c[i]);
    }
    return ok;
}

static struct others_case draw(const struct others_scene *on, enum others_coll coll)
{
    struct others_case c = others_draw(&calls, on, coll);

    c.number = num_cases++;
    return c;
}

/* One collective, one call at a time. */
static void test_alone(const struct others_scene *on, enum others_coll coll, int budget)
{
    const struct others_info *info = &others_infos[coll];
    bool ok = true;

    for (int form = 0; form < info->forms && form < forms_here; form++) {
        for (int i = 0; i < budget; i++) {
            struct others_case c = draw(on, coll);

            ok = run(on, &c, 1, (enum form) form) && ok;
        }
    }
    tap_check(ok, "%s on %s", info->name, on->name);
}

/* Several different ones under way on one communicator. */
static void test_together(const struct others_scene *on, int budget)
{
    bool ok = true;

    for (int form = FORM_NONBLOCKING; form < forms_here; form++) {
        for (int i = 0; i < budget; i++) {
            struct others_case cases[MAX_TOGETHER];
            int n = 2 + rng_below(&calls, MAX_TOGETHER - 1);

            for (int k = 0; k < n; k++) {
                enum others_coll coll;

                do {
                    coll = (enum others_coll) rng_below(&calls, NUM_OTHERS);
                } while (!(others_infos[coll].on & on->kind) || others_infos[coll].forms <= form);
                cases[k] = draw(on, coll);
            }
            ok = run(on, cases, n, (enum form) form) && ok;
        }
    }
    tap_check(ok, "several under way on %s", on->name);
}

static void test_all(const struct others_scene *scenes)
{
    int budget = (int) env_long("GPURING_BUDGET", 20);

    for (int s = 0; s < NUM_SCENES; s++) {
        const struct others_scene *on = &scenes[s];

        if (MPI_COMM_NULL == on->comm) {
            tap_skip("needs 2 ranks", "on %s", on->name);
            continue;
        }
        for (int coll = 0; coll < NUM_OTHERS; coll++) {
            if (others_infos[coll].on & on->kind) {
                test_alone(on, (enum others_coll) coll, budget);
            }
        }
        test_together(on, budget);
    }
}

/* Why there is nothing to be seen in this mode, or NULL. */
static const char *why_not(const char *mode)
{
    if (0 != strcmp(mode, "copies") && 0 != strcmp(mode, "steady") &&
        0 != strcmp(mode, "parcels")) {
        return NULL;
    }
    return NULL == getenv("FAKECUDA_LOG") ? "needs the log of the fake driver"
           : test_size < 2                ? "needs 2 ranks"
                                          : NULL;
}

int main(int argc, char **argv)
{
    struct others_scene scenes[NUM_SCENES];
    const char *mode = argc > 1 ? argv[1] : "";

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    calls = rng_key(test_seed, 200, 0);
    mine = rng_key(test_seed, 210, (uint64_t) test_rank);
    drop_all = 0 == strcmp(mode, "types");
    kinds_open();
    others_scenes_open(scenes);
    if (NULL != why_not(mode)) {
        tap_skip(why_not(mode), "others %s", mode);
    } else if (0 == strcmp(mode, "copies")) {
        others_copies();
    } else if (0 == strcmp(mode, "parcels")) {
        others_parcels();
    } else if (0 == strcmp(mode, "steady")) {
        others_steady(scenes);
    } else {
        test_all(scenes);
    }
    others_scenes_close(scenes);
    kinds_close();
    return test_end();
}
