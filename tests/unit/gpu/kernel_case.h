/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective call as a test of the kernels: p ranks in this process, each a stream of one
 * device, against the same call on the host's step machine. Both get images of the same buffers,
 * guards around them; afterwards all bytes must be alike, and so must the pieces that were moved,
 * step for step.
 *
 * kernel_case.c   buffers, schedules
 * kernel_host.c   the host's side
 * kernel_world.c  the device's side, kernel_links.c its links
 */
#ifndef GR_TESTS_KERNEL_CASE_H
#define GR_TESTS_KERNEL_CASE_H

#include "kernel_driver.h"
#include "kernel_trace.h"

#include "exec/plan.h"

#define KC_MAX_RANKS 16

/*
 * Steps of several chunks, of any stride and number: a test makes such of a chain's. sched.nchunks
 * is then the number of steps, chunks per step << 16, and chunks of the last step << 24.
 */
#define KT_RUNS(nsteps, each, last) ((nsteps) | (each) << 16 | (last) << 24)
#define KT_STEPS(nchunks) ((nchunks) &0xffff)

/*
 * Step i of such a schedule is the chain's, with other chunks: descending, so that the stride is no
 * ordinary one.
 */
#define KT_MAKE_RUN(step, nchunks, i)                                     \
    do {                                                                  \
        uint32_t each_ = (nchunks) >> 16 & 255, last_ = (nchunks) >> 24;  \
                                                                          \
        if (0 != each_) {                                                 \
            (step)->count = (i) + 1 == KT_STEPS(nchunks) ? last_ : each_; \
            (step)->first = (i) *each_ + (step)->count - 1;               \
            (step)->stride = (uint32_t) -1;                               \
        }                                                                 \
    } while (0)

struct kc_case {
    enum gr_coll coll;
    enum gr_algo algo;
    enum gr_kernel kernel;
    enum gr_protocol protocol;
    int p, root;
    struct gr_torus torus; /* that the ranks form; ndims 0: none */
    uint32_t nchannels, nslots;
    size_t slot_bytes;  /* a multiple of 16 */
    size_t slot_elems;  /* 0: as many as fit */
    size_t chunk_bytes; /* longest chunk; 0: a slot */
    size_t count;       /* elements of the vector, or of each block where there are no counts */
    int has_counts, has_displs;
    size_t counts[KC_MAX_RANKS], displs[KC_MAX_RANKS];
    /* bytes by which inputs, outputs are off a multiple of 16; rank r: r times that */
    size_t offset[2];
    int in_place, reversed; /* reversed: channels 1, 3, ... take the ranks in the opposite order */
    uint32_t run;           /* other than 0: chunks per step, of a chain (KT_RUNS) */
    /*
     * results go straight to where they belong, by some links: bit r of allows: rank r allows it;
     */
    int zero_copy;
    uint32_t allows, mapped; /* bit r of mapped: others reach rank r's output */
    int untraced;            /* the host moves other pieces: only what comes out is compared */
    uint64_t first;          /* where counters begin */
    uint64_t patience;       /* 0: a random one for each launch */
    uint32_t threads;        /* of a block; real devices take GR_GPU_THREADS */
    uint64_t seed;
};

/* A rank's memory, as it must be laid out on both sides. */
struct kc_image {
    unsigned char *bytes;
    size_t size;
    size_t space[3]; /* by enum gr_space: where its element 0 lies in bytes */
};

/* What a rank runs. */
struct kc_rank {
    struct gr_split split;
    struct gr_sched sched[2];
    struct kc_image image;
};

struct kc_call {
    const struct kc_case *c;
    size_t elem_bytes, slot_elems;
    int order[2][KC_MAX_RANKS], where[2][KC_MAX_RANKS];
    struct kc_rank ranks[KC_MAX_RANKS];
};

/* Pieces that were moved. */
struct kc_trace {
    struct kt_piece *pieces;
    size_t n, room;
};

struct kc_call *kc_open(const struct kc_case *c);
void kc_close(struct kc_call *call);

/*
 * n elements as inputs of the kernel. Sums and products see floats of all magnitudes, min and max
 * odd ones, too; halves and integers are any bits.
 */
void kc_fill(enum gr_kernel kernel, unsigned char *to, size_t n, uint64_t *seed);

const char *kc_describe(const struct kc_case *c, char *text, size_t size);

/* Run the call on the host's machine, in the call's images. 0, or -1 with why. */
int kc_run_host(struct kc_call *call, struct kc_trace *trace, char *why, size_t size);

/* Counts of what happened on the device. */
struct kc_device {
    uint64_t launches, left, moved;
};

/*
 * Run it on the device; images[rank] are filled with what is in its memory at the end. 0, or -1
 * with why.
 */
int kc_run_device(struct kc_call *call, unsigned char **images, struct kc_trace *trace,
                  struct kc_device *seen, char *why, size_t size);

/*
 * Launch one rank alone, and abort it while it waits for the others; then again. 0, or -1 with why.
 */
int kc_abort_device(struct kc_call *call, int rank, char *why, size_t size);

/* Some torus of so many ranks: of few long extents or of more short ones, rings and lines. */
struct gr_torus kc_torus(int p, uint64_t random);

/*
 * Give it to the case. Messages of several chunks must leave a slot free, and in lines each chunk
 * takes one.
 */
void kc_set_torus(struct kc_case *c, const struct gr_torus *torus);

/*
 * What the protocol asks for: slots of lines, with room for what the block's threads take; or
 * nothing.
 */
void kc_set_lines(struct kc_case *c);

/* Run it on both and compare. 0, or -1 with why. */
int kc_run(const struct kc_case *c, struct kc_device *seen, char *why, size_t size);

/* Add a piece to a trace. */
void kc_note(struct kc_trace *t, const struct kt_piece *piece);

#endif
