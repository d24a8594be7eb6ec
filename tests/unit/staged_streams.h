/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exec/staged.c, compiled into the test with streams of the test's own in the place of a driver's:
 * a queue of copies, of which some land when somebody asks; and where schedules may say of nothing
 * that it is a result.
 */
#ifndef GR_TESTS_STAGED_STREAMS_H
#define GR_TESTS_STAGED_STREAMS_H

#include "exec/staged.h"

static int fake_copy_runs(struct gr_gpu_stream *stream, const struct gr_gpu_run *runs, size_t n);
static int fake_mark(struct gr_gpu_stream *stream, uint32_t mark);
static int fake_reached(struct gr_gpu_stream *stream, uint32_t mark);
static int fake_done(struct gr_gpu_stream *stream);
static int fake_wait(struct gr_gpu_stream *stream);
static int fake_run_join(struct gr_gpu_run *run, const struct gr_gpu_run *next);
static int final_bits(void);

#define gr_gpu_stream_copy_runs fake_copy_runs
#define gr_gpu_stream_mark fake_mark
#define gr_gpu_stream_reached fake_reached
#define gr_gpu_stream_done fake_done
#define gr_gpu_stream_wait fake_wait
#define gr_gpu_run_join fake_run_join
#define GR_FINAL final_bits()
#define gr_staged_backend tested_backend
#define gr_staged_begin tested_begin
#define gr_staged_end tested_end
#define gr_staged_free tested_free
#define gr_staged_waits tested_waits
#include "cuda/stream.h"
#include "exec/staged.c"
#undef GR_FINAL

#include "rng.h"

#include <assert.h>

static uint64_t chance = 1; /* of what lands when */

static bool no_results;

#define COPIES 4096

struct gr_gpu_stream {
    struct gr_gpu_run copies[COPIES];
    size_t n, landed;
    size_t marks[GR_GPU_MARKS];
    size_t bytes;
    int fails; /* 1 + how many copies go well before it fails; 0: never */
};

static void land(struct gr_gpu_stream *s, size_t until)
{
    for (; s->landed < until && s->landed < s->n; s->landed++) {
        const struct gr_gpu_run *run = &s->copies[s->landed];

        memcpy(run->dst, run->src, run->bytes);
    }
}

/* Some more may have landed. */
static void pass_time(struct gr_gpu_stream *s)
{
    if (0 == rng_below(&chance, 3)) {
        land(s, s->landed + rng_below(&chance, 4));
    }
}

static int fake_copy_runs(struct gr_gpu_stream *s, const struct gr_gpu_run *runs, size_t n)
{
    size_t k;

    for (k = 0; k < n; k++) {
        if (s->fails > 0 && 0 == --s->fails) {
            s->fails = 1; /* from here on */
            return GR_ERR_CUDA;
        }
        assert(s->n < COPIES && runs[k].bytes > 0 && 0 == runs[k].more_rows);
        s->copies[s->n++] = runs[k];
        s->bytes += runs[k].bytes;
    }
    return 0;
}

static int fake_mark(struct gr_gpu_stream *s, uint32_t mark)
{
    assert(mark < GR_GPU_MARKS);
    s->marks[mark] = s->n;
    return 0;
}

static int fake_reached(struct gr_gpu_stream *s, uint32_t mark)
{
    pass_time(s);
    return s->landed >= s->marks[mark];
}

static int fake_done(struct gr_gpu_stream *s)
{
    pass_time(s);
    return s->landed == s->n;
}

static int fake_wait(struct gr_gpu_stream *s)
{
    land(s, s->n);
    return 0;
}

/* As on a driver, but rows stay apart: device_runs_test.c has them. */
static int fake_run_join(struct gr_gpu_run *run, const struct gr_gpu_run *next)
{
    if ((unsigned char *) run->dst + run->bytes != next->dst ||
        (const unsigned char *) run->src + run->bytes != next->src) {
        return 0;
    }
    run->bytes += next->bytes;
    return 1;
}

static int final_bits(void)
{
    return no_results ? 0 : GR_FINAL;
}

#endif
