/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's port for ranks that are threads (rank_runtime.h). */
#include "rank_runtime.h"

#include "comm/failure.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "engine/op_queue.h"

#include "base/errors.h"
#include "link/pool.h"
#include "link/public.h"
#include "net/transport.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- messages ---- */

/* One that was sent. */
struct rr_letter {
    struct rr_letter *next;
    uint32_t comm; /* of which communicator; job_messages: 0 */
    int from, tag;
    size_t bytes;
    unsigned char data[];
};

/* A receive; a send is complete when it is posted. */
struct gr_message {
    struct rr_rank *rank;
    uint32_t comm;
    int from, tag;
    void *buf;
    size_t bytes;
};

static _Thread_local struct rr_rank *self;

bool rr_threads = true;
const bool *const gr_runtime_threads = &rr_threads;

static struct rr_rank *rank_of(const struct gr_comm *comm)
{
    struct rr_world *world = comm->mpi;

    return &world->ranks[comm->rank];
}

/* Whether the post of a message by the rank is the one that fails. */
static bool is_broken(struct rr_rank *rank)
{
    return ++rank->posts == rank->fail_post;
}

static int put(struct rr_world *world, struct rr_letter **list, uint32_t comm, int from, int tag,
               const void *data, size_t bytes)
{
    struct rr_letter *letter = malloc(sizeof(*letter) + bytes);

    if (NULL == letter) {
        return GR_ERR_FAILED;
    }
    letter->next = NULL;
    letter->comm = comm;
    letter->from = from;
    letter->tag = tag;
    letter->bytes = bytes;
    memcpy(letter->data, data, bytes);
    pthread_mutex_lock(&world->lock);
    while (NULL != *list) {
        list = &(*list)->next;
    }
    *list = letter;
    pthread_mutex_unlock(&world->lock);
    return 0;
}

/* Take the first letter of a communicator, sender and tag; NULL: there is none. */
static struct rr_letter *take(struct rr_world *world, struct rr_letter **list, uint32_t comm,
                              int from, int tag)
{
    struct rr_letter *letter;

    pthread_mutex_lock(&world->lock);
    while (NULL != *list &&
           ((*list)->comm != comm || (*list)->from != from || (*list)->tag != tag)) {
        list = &(*list)->next;
    }
    letter = *list;
    if (NULL != letter) {
        *list = letter->next;
    }
    pthread_mutex_unlock(&world->lock);
    return letter;
}

int gr_runtime_send(const struct gr_comm *comm, const void *buf, size_t bytes, int rank, int tag,
                    struct gr_message **message)
{
    struct rr_rank *from = rank_of(comm);

    *message = NULL;
    return is_broken(from) ? GR_ERR_FAILED
                           : put(from->world, &from->world->ranks[rank].letters, comm->id,
                                 comm->rank, tag, buf, bytes);
}

int gr_runtime_receive(const struct gr_comm *comm, void *buf, size_t bytes, int rank, int tag,
                       struct gr_message **message)
{
    struct rr_rank *to = rank_of(comm);

    *message = is_broken(to) ? NULL : malloc(sizeof(**message));
    if (NULL == *message) {
        return GR_ERR_FAILED;
    }
    **message = (struct gr_message) {to, comm->id, rank, tag, buf, bytes};
    return 0;
}

int gr_runtime_test(struct gr_message **message)
{
    struct gr_message *m = *message;
    struct rr_letter *letter;
    bool fits;

    if (NULL == m) {
        return 1;
    }
    letter = take(m->rank->world, &m->rank->letters, m->comm, m->from, m->tag);
    if (NULL == letter) {
        return 0;
    }
    fits = letter->bytes <= m->bytes;
    if (fits) {
        memcpy(m->buf, letter->data, letter->bytes);
    }
    free(letter);
    free(m);
    *message = NULL;
    return fits ? 1 : GR_ERR_FAILED;
}

int gr_runtime_tag(int offset)
{
    return -offset;
}

bool gr_runtime_reads(const struct gr_comm *comm, int rank)
{
    (void) rank;
    rank_of(comm)->world->tests++;
    return true; /* ranks are threads */
}

/* ---- job_messages ---- */

int gr_runtime_number(const struct gr_comm *comm, int rank)
{
    (void) comm;
    return rank;
}

static struct rr_rank *owner_of(struct gr_process *process)
{
    return (struct rr_rank *) ((char *) process - offsetof(struct rr_rank, process));
}

int gr_runtime_job_send(struct gr_process *process, const void *message, size_t bytes, int number)
{
    struct rr_rank *from = owner_of(process);

    return put(from->world, &from->world->ranks[number].job_messages, 0, from->rank, 0, message,
               bytes);
}

bool gr_runtime_job_probe(struct gr_process *process, int *number)
{
    struct rr_rank *rank = owner_of(process);
    bool found;

    pthread_mutex_lock(&rank->world->lock);
    found = NULL != rank->job_messages;
    if (found) {
        *number = rank->job_messages->from;
    }
    pthread_mutex_unlock(&rank->world->lock);
    return found;
}

int gr_runtime_job_receive(struct gr_process *process, void *message, size_t bytes, int number)
{
    struct rr_rank *rank = owner_of(process);
    struct rr_letter *letter = take(rank->world, &rank->job_messages, 0, number, 0);

    if (NULL == letter) {
        return GR_ERR_FAILED;
    }
    memcpy(message, letter->data, bytes < letter->bytes ? bytes : letter->bytes);
    free(letter);
    return 0;
}

/* ---- communicators ---- */

void gr_runtime_retain(const struct gr_comm *comm)
{
    (void) comm; /* it lives as long as its world */
}

void gr_runtime_release(const struct gr_comm *comm)
{
    (void) comm;
}

int gr_runtime_state(const struct gr_comm *comm)
{
    (void) comm;
    return 0;
}

bool gr_runtime_lost(const struct gr_comm *comm, int rank)
{
    const struct rr_world *world = comm->mpi;

    return rank + 1 == world->dead;
}

const char *gr_runtime_host(const struct gr_comm *comm, int rank)
{
    (void) comm;
    (void) rank;
    return "this host";
}

/* ---- the process ---- */

struct gr_peer_id gr_runtime_self(void)
{
    return (struct gr_peer_id) {.job = 1, .vpid = (uint32_t) self->rank};
}

int gr_runtime_local_rank(void)
{
    return self->rank;
}

double gr_runtime_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

void gr_runtime_progress(void)
{
    int k;

    for (k = 0; k < GR_NPROGRESS; k++) {
        if (NULL != self->progress[k]) {
            (void) self->progress[k](self->ctx[k]);
        }
    }
    sched_yield();
}

void gr_runtime_progress_no_yield(void)
{
    gr_runtime_progress();
}

int gr_runtime_register(enum gr_progress_kind kind, int (*progress)(void *ctx), void *ctx,
                        bool often)
{
    (void) often;
    self->ctx[kind] = ctx;
    self->progress[kind] = progress;
    return 0;
}

void gr_runtime_unregister(enum gr_progress_kind kind)
{
    self->progress[kind] = NULL;
}

bool gr_runtime_shares_cores(void)
{
    return true;
}

const char *gr_runtime_interfaces(bool *exclude)
{
    *exclude = false;
    return NULL;
}

void gr_runtime_abort(void)
{
    abort();
}

/* ---- links over messages: there are no other nodes ---- */

const struct gr_transport gr_runtime_transport;

bool gr_runtime_in_transport(void)
{
    return false;
}

/* ---- messages for the user, and counters ---- */

void gr_warn(const char *topic, ...)
{
    (void) topic;
    atomic_fetch_add(&self->world->warnings, 1);
}

void gr_print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

void gr_stats_call(enum gr_call_id id, int algo, bool device, int ranks, size_t bytes,
                   const struct gr_call_time *time)
{
    (void) id;
    (void) algo;
    (void) device;
    (void) ranks;
    (void) bytes;
    (void) time;
    atomic_fetch_add(&self->world->calls, 1);
}

void gr_stats_zero_copy(enum gr_call_id id)
{
    (void) id;
}

void gr_stats_fallback(enum gr_call_id id, enum gr_fallback_reason reason)
{
    (void) id;
    (void) reason;
    atomic_fetch_add(&self->world->fallbacks, 1);
}

void gr_stats_constants(const struct gr_comm *comm, enum gr_path path,
                        enum gr_constant_source least)
{
    (void) comm;
    (void) path;
    (void) least;
}

void gr_stats_timing(const struct gr_timing_report *report)
{
    (void) report;
}

/* ---- worlds ---- */

static void set_params(void)
{
    int64_t *value = gr_settings.params.value;
    int k;

    memset(&gr_settings, 0, sizeof(gr_settings));
    value[GR_PARAM_HOST] = 1;
    value[GR_PARAM_CHANNELS] = 2;
    value[GR_PARAM_SLOTS] = 4;
    value[GR_PARAM_SLOT_BYTES] = 4096;
    value[GR_PARAM_MAILBOX_BYTES] = 1024;
    value[GR_PARAM_PACK_MIB] = 64;
    value[GR_PARAM_SETUP_MIB] = 4;
    value[GR_PARAM_PROTOCOL] = -1;
    value[GR_PARAM_ZERO_COPY] = -1;
    value[GR_PARAM_NODES_RAILS] = 1;
    value[GR_PARAM_COMMON] = -1;
    for (k = 0; k < GR_NCOLLS; k++) {
        value[GR_PARAM_ALGORITHM + k] = -1;
    }
    gr_settings.priority = 90;
    gr_settings.timeout = 60;
    gr_settings.timeout_abort = 1;
    gr_settings.pool_mib = 64;
}

void rr_limit_pool(struct rr_rank *rank, size_t pool_bytes)
{
    gr_pool_close(rank->process.pool);
    rank->process.pool =
        gr_pool_open((struct gr_peer_id) {.job = 1, .vpid = (uint32_t) rank->rank}, pool_bytes);
}

struct rr_world *rr_world_new(int n, size_t pool_bytes)
{
    struct rr_world *world = calloc(1, sizeof(*world));
    int r;

    set_params();
    if (NULL == world) {
        return NULL;
    }
    world->n = n;
    pthread_mutex_init(&world->lock, NULL);
    for (r = 0; r < n; r++) {
        struct rr_rank *rank = &world->ranks[r];

        rank->world = world;
        rank->rank = r;
        pthread_mutex_init(&rank->process.lock, NULL);
        rank->process.can_message = true;
        rank->process.pool =
            gr_pool_open((struct gr_peer_id) {.job = 1, .vpid = (uint32_t) r}, pool_bytes);
        gr_comm_init(&rank->comm, &rank->process);
        rank->comm.mpi = world;
        rank->comm.rank = r;
        rank->comm.size = n;
        rank->comm.id = 7;
        rank->comm.name = "ranks as threads";
        rank->comm.params = gr_settings.params;
        rank->comm.pids = calloc((size_t) n, sizeof(int32_t));
        gr_failure_enlist(&rank->comm);
    }
    return world;
}

static void free_letters(struct rr_letter *letter)
{
    struct rr_letter *next;

    for (; NULL != letter; letter = next) {
        next = letter->next;
        free(letter);
    }
}

void rr_world_free(struct rr_world *world)
{
    int r;

    for (r = 0; r < world->n; r++) {
        struct rr_rank *rank = &world->ranks[r];

        self = rank;
        gr_comm_free(&rank->comm);
        gr_failures_close(&rank->process);
        gr_pool_close(rank->process.pool);
        gr_public_close(rank->process.page);
        free_letters(rank->letters);
        free_letters(rank->job_messages);
    }
    free(world);
}

struct task {
    struct rr_rank *rank;
    void (*function)(struct rr_rank *rank);
};

static void *thread_main(void *arg)
{
    struct task *task = arg;

    self = task->rank;
    /* the engine's communicators have it before their first call */
    if (0 != gr_queue_make(&self->comm, GR_ORDER_BLOCKING)) {
        abort();
    }
    task->function(task->rank);
    return NULL;
}

void rr_run(struct rr_world *world, void (*function)(struct rr_rank *rank))
{
    struct task tasks[RR_MOST_RANKS];
    int r;

    for (r = 0; r < world->n; r++) {
        tasks[r] = (struct task) {&world->ranks[r], function};
        if (0 != pthread_create(&world->ranks[r].thread, NULL, thread_main, &tasks[r])) {
            abort();
        }
    }
    for (r = 0; r < world->n; r++) {
        pthread_join(world->ranks[r].thread, NULL);
    }
}
