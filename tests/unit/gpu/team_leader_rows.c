/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of team_test: one kernel for both ranks of a device (exec/gpu/leader.h), one of which leaves
 * a call, or has a driver that fails. The rank that comes last leads.
 */
#include "team_rows.h"

#include "cuda/memory.h"
#include "cuda/stream.h"
#include "exec/gpu/leader.h"
#include "link/board.h"

#include <sched.h>
#include <time.h>

enum { RANKS = 2, COUNT = 1000, SOON = 240 /* seconds in which a call must end */ };

struct pair {
    struct tr_team team;
    struct gr_leader *leaders[RANKS];
    struct gr_boards boards[RANKS];
    void *memory[RANKS]; /* of the boards */
    gr_gpu_ptr in[RANKS], out[RANKS];
    struct gr_leader_run runs[RANKS];
    int salt;
};

static void open_pair(struct pair *d)
{
    static const struct tr_shape shape = {.nchannels = 1, .nslots = 2, .slot_bytes = 512};
    size_t stride = gr_board_stride(gr_leader_board_bytes(RANKS)),
           bytes = gr_board_set_offset(RANKS, GR_LEADER_SETS, stride);
    int r, k;

    memset(d, 0, sizeof(*d));
    tr_set_up(&d->team, RANKS, &shape, TR_NO_LINKS);
    for (r = 0; r < RANKS; r++) {
        d->memory[r] = aligned_alloc(64, (bytes + 63) / 64 * 64);
        CHECK(NULL != d->memory[r]);
        memset(d->memory[r], 0xee, bytes); /* of an earlier lease */
        gr_board_clean(d->memory[r], RANKS, GR_LEADER_SETS, stride, 0, GR_ALL_SETS);
    }
    for (r = 0; r < RANKS; r++) {
        struct gr_gpu *gpu = d->team.world->ranks[r].gpu;

        CHECK_INT(gr_mailbox_init(&d->boards[r].box, RANKS, r, GR_LEADER_SETS, stride, 0), 0);
        for (k = 0; k < RANKS; k++) {
            gr_board_attach(&d->boards[r].box, k, d->memory[k]);
        }
        d->leaders[r] =
            gr_leader_new(d->team.ranks[r], gr_gpu_team_region(d->team.ranks[r], GR_REGION_COUNTER),
                          gr_gpu_team_pinned(d->team.ranks[r], GR_PINNED_LEADER));
        CHECK(NULL != d->leaders[r]);
        CHECK_INT(gr_gpu_alloc(gpu, COUNT * sizeof(int32_t), &d->in[r]), 0);
        CHECK_INT(gr_gpu_alloc(gpu, COUNT * sizeof(int32_t), &d->out[r]), 0);
    }
}

static void close_pair(struct pair *d)
{
    int r;

    for (r = 0; r < RANKS; r++) {
        td_rank = r;
        gr_gpu_free(d->team.world->ranks[r].gpu, d->in[r]);
        gr_gpu_free(d->team.world->ranks[r].gpu, d->out[r]);
        gr_leader_free(d->leaders[r], 1);
        gr_mailbox_free(&d->boards[r].box);
        free(d->memory[r]);
    }
    tr_tear_down(&d->team);
}

static void begin(struct pair *d, int rank)
{
    const struct gr_plan_spec spec = {
        .coll = GR_COLL_ALLREDUCE, .nchannels = 1, .elem_bytes = sizeof(int32_t), .total = COUNT};
    int32_t data[COUNT];
    int i;

    for (i = 0; i < COUNT; i++) {
        data[i] = (rank + 1) * (i + d->salt);
    }
    td_rank = rank;
    CHECK_INT(gr_gpu_copy(d->team.world->ranks[rank].gpu, (void *) d->in[rank], data, sizeof(data)),
              0);
    gr_leader_begin(&d->runs[rank], d->leaders[rank], &d->boards[rank], &spec, GR_KERNEL_i32_sum,
                    d->in[rank], d->out[rank], 0, 1);
}

static int poll_rank(struct pair *d, int rank)
{
    uint64_t moved = 0;

    td_rank = rank;
    sched_yield();
    return gr_leader_poll(&d->runs[rank], &moved);
}

static void begin_both(struct pair *d)
{
    d->salt++;
    begin(d, 0);
    begin(d, 1);
}

static void come(struct pair *d, int rank)
{
    time_t last = time(NULL) + SOON;

    while (GR_LEADER_ARRIVED != d->runs[rank].state) {
        CHECK_INT(poll_rank(d, rank), GR_AGAIN);
        CHECK(time(NULL) <= last);
    }
}

/* Both ranks end the call so. */
static void end_both(struct pair *d, int want)
{
    time_t last = time(NULL) + SOON;
    int rc[RANKS] = {GR_AGAIN, GR_AGAIN}, r;

    while (GR_AGAIN == rc[0] || GR_AGAIN == rc[1]) {
        for (r = 0; r < RANKS; r++) {
            rc[r] = GR_AGAIN == rc[r] ? poll_rank(d, r) : rc[r];
        }
        CHECK(time(NULL) <= last);
    }
    CHECK_INT(rc[0], want);
    CHECK_INT(rc[1], want);
}

/* A call of the rank's driver fails while a call is made. */
static void refuses(struct pair *d, enum td_function function, int rank, unsigned times)
{
    begin_both(d);
    td_fail(function, rank, 0, times, CUDA_ERROR_UNKNOWN);
    come(d, 1);
    end_both(d, GR_ERR_FALLBACK);
    CHECK_INT(td_left(function), 0);
}

static void ends_right(struct pair *d)
{
    int32_t data[COUNT];
    int r, i;

    end_both(d, GR_DONE);
    for (r = 0; r < RANKS; r++) {
        CHECK_INT(gr_gpu_copy(d->team.world->ranks[r].gpu, data, (void *) d->out[r], sizeof(data)),
                  0);
        for (i = 0; i < COUNT; i++) {
            CHECK_INT(data[i], 3 * (i + d->salt));
        }
    }
}

static void works(struct pair *d, int first)
{
    begin_both(d);
    come(d, first);
    ends_right(d);
}

/* Rank 1 has come, and leaves: its buffers may be gone when rank 0 comes. */
void a_call_that_a_rank_has_left_is_not_launched(void)
{
    time_t last = time(NULL) + SOON;
    struct pair d;
    unsigned launches;

    open_pair(&d);
    works(&d, 1);
    launches = td_calls(TD_LAUNCH, 0);
    begin_both(&d);
    come(&d, 1);
    td_rank = 1;
    CHECK_INT(gr_leader_abort(&d.runs[1]), 1);
    while (GR_LEADER_STOPPED != d.runs[0].state) {
        CHECK_INT(poll_rank(&d, 0), GR_AGAIN);
        CHECK(time(NULL) <= last);
    }
    CHECK_INT(td_calls(TD_LAUNCH, 0), launches);
    CHECK_INT(gr_leader_abort(&d.runs[0]), 1);
    close_pair(&d);
}

/* A launch of the leader, or a copy of the other rank: nothing has moved, and both learn of it. */
void what_fails_before_the_launch_is_a_refusal_of_all(void)
{
    struct pair d;

    open_pair(&d);
    refuses(&d, TD_COPY, 1, TD_TRIES);
    refuses(&d, TD_LAUNCH, 0, 1);
    works(&d, 1);
    works(&d, 1);
    close_pair(&d);
}

/* While rank 0 looks at the clock rank 1 advances, once. */
static struct pair *clock_read;
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    struct pair *d = clock_read;

    if (NULL != d && 0 == td_rank) {
        clock_read = NULL;
        CHECK_INT(poll_rank(d, 1), GR_AGAIN);
        td_rank = 0;
    }
    return __real_clock_gettime(clock, now);
}

/* Rank 1 has led before. It claims the call between the look and the claim of rank 0. */
void one_of_two_that_claim_leads(void)
{
    struct pair d;
    unsigned launches;

    open_pair(&d);
    works(&d, 0);
    launches = td_calls(TD_LAUNCH, 0) + td_calls(TD_LAUNCH, 1);
    begin_both(&d);
    come(&d, 1);
    come(&d, 0);
    d.runs[0].since -= 1; /* rank 1 has not come for a second */
    clock_read = &d;
    CHECK_INT(poll_rank(&d, 0), GR_AGAIN);
    CHECK(NULL == clock_read);
    CHECK_INT(d.runs[1].state, GR_LEADER_LEADS);
    CHECK_INT(d.runs[0].state, GR_LEADER_ARRIVED);
    CHECK_INT(td_calls(TD_LAUNCH, 0) + td_calls(TD_LAUNCH, 1), launches + 1);
    ends_right(&d);
    close_pair(&d);
}
