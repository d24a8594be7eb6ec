/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on the teams of team_ranks.h: cases of tests/unit/exec_data.h, with buffers in device
 * memory.
 */
#ifndef GR_TESTS_TEAM_CALLS_H
#define GR_TESTS_TEAM_CALLS_H

#include "team_ranks.h"

#include "exec_data.h"

#include <stdatomic.h>

/* A case without counts; root: 0 where there is none. */
#define TC_CASE(the_coll, the_algo, the_root, the_kind, channels, elements)            \
    {                                                                                  \
        .coll = GR_COLL_##the_coll, .algo = GR_ALGO_##the_algo, .root = (the_root),    \
        .kind = EX_##the_kind, .nchannels = (channels), .count = (elements), .seed = 1 \
    }

/*
 * A gate of a call: lets steps in by chance, but `let` of them at most; counts. A step that is
 * asked for sends to another node, has not begun, and is asked for until it is let in.
 */
struct tc_gate {
    uint64_t random;
    int held, let; /* the start and the end are (negative: the start fails); steps let in */
    int in, begun, ended;
    struct gr_step step[GR_GPU_CHANNELS]; /* that was asked for the last */
    uint32_t slice[GR_GPU_CHANNELS];
    int asked[GR_GPU_CHANNELS];
};
extern const struct gr_gate tc_gate;

/* One rank's part of a call. */
struct tc_call {
    struct tr_team *team;
    int rank;
    const struct ex_case *c;
    /* in host memory: what is copied to the device before, and from there after */
    struct ex_buffers buffers;
    gr_gpu_ptr in, out; /* the same on the device; 0: none */
    gr_gpu_ptr tmp;     /* scratch */
    struct gr_gpu_op op;
    uint64_t moved;
    struct tc_gate gate; /* with TEAM_TEST_GATE */
};

/*
 * The handles of a call's outputs, which all ranks wait for before they begin. All zero at first.
 */
struct tc_handles {
    struct gr_ipc_handle of[TR_RANKS];
    const struct gr_ipc_handle *list[TR_RANKS];
    atomic_int posted;
};

/* Make the buffers, and begin. What gr_gpu_op_begin() returns. handles NULL: no zero copy. */
int tc_begin_with(struct tc_call *call, struct tr_team *t, int rank, const struct ex_case *c,
                  struct tc_handles *handles);
int tc_begin(struct tc_call *call, struct tr_team *t, int rank, const struct ex_case *c);

/* gr_gpu_op_poll(); then others may run. */
int tc_poll(struct tc_call *call);

/* Poll until it is over; with what it waits for when it takes too long. */
void tc_finish(struct tc_call *call);

/* The call is over: compare the result element by element; then what was made is freed. */
void tc_end(struct tc_call *call);

/* Free it, whatever the result is. The kernel must have ended. */
void tc_drop(struct tc_call *call);

/*
 * Make the links that the cases need and run them on all ranks, which do not wait for each other.
 */
void tc_run(struct tr_team *t, const struct ex_case *cases, size_t n);

/* A call by which a test sees whether a team works: a sum of ints by the algorithm. */
void tc_try(struct tr_team *t, enum gr_algo algo);

#endif
