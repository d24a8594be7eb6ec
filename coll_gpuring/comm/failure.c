/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator fails, and its ranks tell each other (failure.h). */
#include "comm/failure.h"

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/process.h"
#include "comm/runtime.h"

#include "base/errors.h"
#include "base/memory.h"
#include "cuda/device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

enum message_kind {
    MESSAGE_FAILED, /* the sender cannot go on */
    /*
     * the communicator has failed, and no kernel of the sender's writes to the others' buffers any
     * more
     */
    MESSAGE_OUT
};

/*
 * Calls of gr_runtime_progress() to a look for messages, of a rank that waits for nothing of ours.
 */
#define LISTEN_EACH 256

/*
 * The communicator's key. An id is used again after its communicator is freed, so those of the same
 * id and the same members are counted, which gives the same number on each of these: they have made
 * calls on all of them.
 */
static struct gr_comm_key key_of(const struct gr_comm *comm)
{
    struct gr_comm_key key = {.id = comm->id, .members = 0}, *last;
    int r;

    for (r = 0; r < comm->size; r++) {
        /* as FNV does */
        key.members = (key.members ^ (uint64_t) gr_runtime_number(comm, r)) * 1099511628211u + 1;
    }
    last = &comm->process->failures.keys[(key.members ^ key.members >> 32 ^ key.id) % GR_KEYS];
    key.count = key.id == last->id && key.members == last->members ? last->count + 1 : 1;
    *last = key;
    return key;
}

void gr_failure_enlist(struct gr_comm *comm)
{
    struct gr_failures *f = &comm->process->failures;

    if (comm->enlisted || comm->inter) { /* nothing of an intercommunicator is ours but copies */
        return;
    }
    gr_lock(&f->lock);
    comm->enlisted = true;
    comm->key = key_of(comm);
    comm->next = f->comms;
    comm->linked = &f->comms;
    if (NULL != comm->next) {
        comm->next->linked = &comm->next;
    }
    f->comms = comm;
    gr_unlock(&f->lock);
}

bool gr_failure_decided(const struct gr_comm *comm)
{
    if (comm->gpu) { /* kernels of some rank may write to another's buffers */
        atomic_store_explicit(&comm->process->failures.listens, true, memory_order_relaxed);
    }
    return comm->gpu;
}

/* Forget what was heard of the communicator with that id. The lock is held. */
static void forget(struct gr_failures *f, uint32_t id)
{
    struct gr_failure_message **link = &f->heard, *message;

    while (NULL != (message = *link)) {
        if (id == message->key.id) {
            *link = message->next;
            free(message);
        } else {
            link = &message->next;
        }
    }
}

void gr_failure_delist(struct gr_comm *comm)
{
    struct gr_failures *f = &comm->process->failures;

    gr_lock(&f->lock);
    if (NULL != comm->linked) {
        *comm->linked = comm->next;
        if (NULL != comm->next) {
            comm->next->linked = comm->linked;
        }
        comm->linked = NULL;
        forget(f, comm->key.id);
    }
    gr_unlock(&f->lock);
}

void gr_fail(struct gr_comm *comm, int code, const char *why)
{
    int none = 0;

    if (!atomic_compare_exchange_strong(&comm->failed, &none, code) || NULL == why) {
        return;
    }
    snprintf(comm->why, sizeof(comm->why), "%s", why);
    atomic_store_explicit(&comm->untold, true, memory_order_release);
}

/* Messages can be sent and received. */
static bool is_open(const struct gr_process *process)
{
    return process->can_message && !gr_runtime_in_transport();
}

/*
 * A message of the communicator, in the list of those that were sent. NULL: no memory. The
 * lock is held.
 */
static struct gr_failure_message *message_new(const struct gr_comm *comm, enum message_kind kind)
{
    struct gr_failures *f = &comm->process->failures;
    struct gr_failure_message *message = gr_malloc(sizeof(*message));
    int k;

    if (NULL == message && f->spared < GR_SPARE_MESSAGES) {
        message = &f->spare[f->spared++];
    }
    if (NULL == message) {
        return NULL;
    }
    memset(message, 0, sizeof(*message));
    message->next = f->sent;
    f->sent = message;
    for (k = 0; k < GR_NORDERS; k++) {
        message->nonce[k] = comm->nonce[k];
    }
    message->key = comm->key;
    message->kind = kind;
    message->code = comm->failed;
    message->rank = comm->rank;
    memcpy(message->why, comm->why, sizeof(message->why));
    return message;
}

/* Does not wait until these messages have left: a peer may be gone. */
static void send_to_all(const struct gr_comm *comm, struct gr_failure_message *message)
{
    int r, to;

    if (comm->inter) { /* the calls are stock's, which does not listen */
        return;
    }
    for (r = 0; NULL != message && r < comm->size; r++) {
        to = r == comm->rank ? -1 : gr_runtime_number(comm, r);
        if (to >= 0) {
            (void) gr_runtime_job_send(comm->process, message, sizeof(*message), to);
        }
    }
}

/*
 * In an MPI call: keep a failed communicator for good, also when the application frees it. Messages
 * of its set-ups that nobody receives may still arrive, and must find it: Open MPI would take them
 * for those of the next communicator with its id. While that one is made, its id stands for the
 * parent (Open MPI 4), whose own messages are then never matched.
 */
static void keep(struct gr_comm *comm)
{
    if (!atomic_exchange(&comm->kept, true)) {
        gr_runtime_retain(comm);
    }
}

/*
 * Say of failed communicators that no kernel of this rank writes to the others' buffers any more.
 */
static void tell_out(struct gr_process *process)
{
    struct gr_failures *f = &process->failures;
    struct gr_comm *comm;
    struct gr_failure_message *message = NULL;

    do {
        gr_lock(&f->lock);
        for (comm = f->comms; NULL != comm; comm = comm->next) {
            if (0 != comm->failed && comm->gpu && 0 == comm->writing &&
                !atomic_exchange(&comm->out, true)) {
                gr_runtime_retain(comm); /* another thread may free it */
                message = message_new(comm, MESSAGE_OUT);
                break;
            }
        }
        gr_unlock(&f->lock);
        if (NULL != comm) {
            send_to_all(comm, message);
            gr_runtime_release(comm);
        }
    } while (NULL != comm);
}

void gr_failure_tell(struct gr_comm *comm)
{
    struct gr_failures *f = &comm->process->failures;
    struct gr_failure_message *message;

    if (0 == comm->failed || !is_open(comm->process)) {
        return;
    }
    if (atomic_load_explicit(&comm->untold, memory_order_acquire) &&
        atomic_exchange(&comm->untold, false)) {
        keep(comm);
        gr_lock(&f->lock);
        message = message_new(comm, MESSAGE_FAILED);
        gr_unlock(&f->lock);
        send_to_all(comm, message);
    }
    tell_out(comm->process);
}

/*
 * Whether it is of the communicator. Nonces tell; where none is known on both sides, the
 * key does. In sessions the id of a communicator may differ between ranks.
 */
static bool is_of(const struct gr_failure_message *message, const struct gr_comm *comm)
{
    const struct gr_comm_key *key = &comm->key;
    int k;

    for (k = 0; k < GR_NORDERS; k++) {
        if (0 != message->nonce[k] && 0 != comm->nonce[k]) {
            return message->nonce[k] == comm->nonce[k];
        }
    }
    return key->id == message->key.id && key->members == message->key.members &&
           key->count == message->key.count;
}

/* The communicator that the message is of, or NULL. The lock is held. */
static struct gr_comm *find_comm(const struct gr_failures *f,
                                 const struct gr_failure_message *message)
{
    struct gr_comm *comm;

    for (comm = f->comms; NULL != comm && !is_of(message, comm); comm = comm->next) {
    }
    return comm;
}

/* What the message says happens to the communicator. */
static void apply(struct gr_failure_message *message, struct gr_comm *comm)
{
    /* it may have overtaken what another rank says: that it has failed */
    if (MESSAGE_OUT == message->kind) {
        atomic_fetch_add(&comm->outs, 1);
        return;
    }
    if (0 == comm->failed) {
        message->why[sizeof(message->why) - 1] = '\0';
        gr_warn("failed-elsewhere", comm->rank, gr_comm_name(comm), message->rank, message->why);
    }
    gr_fail(comm, 0 == message->code ? GR_ERR_FAILED : message->code, NULL);
    keep(comm);
}

/* Let the messages that were heard take effect. The lock is held. */
static void apply_heard(struct gr_failures *f)
{
    struct gr_failure_message **link = &f->heard, *message;

    while (NULL != (message = *link)) {
        struct gr_comm *comm = find_comm(f, message);

        if (NULL == comm) {
            link = &message->next;
            continue;
        }
        apply(message, comm);
        *link = message->next;
        free(message);
    }
}

/* Take one message, if there is one. */
static bool hear_one(struct gr_process *process)
{
    struct gr_failures *f = &process->failures;
    struct gr_failure_message *message;
    int from;

    if (!gr_runtime_job_probe(process, &from)) {
        return false;
    }
    message = gr_malloc(sizeof(*message));
    if (NULL == message) {
        return false; /* it stays where it is */
    }
    if (0 != gr_runtime_job_receive(process, message, sizeof(*message), from)) {
        free(message);
        return false;
    }
    gr_lock(&f->lock);
    message->next = f->heard;
    f->heard = message;
    gr_unlock(&f->lock);
    return true;
}

/*
 * In an MPI call or gr_runtime_progress(): look for messages of other ranks. Probing progresses
 * MPI, which may call this function again: it then returns at once.
 */
static void look(struct gr_process *process)
{
    struct gr_failures *f = &process->failures;

    if (!is_open(process) || !gr_try(&f->looking)) {
        return;
    }
    while (hear_one(process)) {
    }
    if (NULL != f->heard) {
        gr_lock(&f->lock);
        apply_heard(f);
        gr_unlock(&f->lock);
        tell_out(process);
    }
    gr_unlock(&f->looking);
}

void gr_failure_listen(struct gr_process *process)
{
    struct gr_failures *f = &process->failures;

    if (atomic_load_explicit(&f->listens, memory_order_relaxed) &&
        0 == atomic_fetch_add_explicit(&f->calls, 1, memory_order_relaxed) % LISTEN_EACH) {
        look(process);
    }
}

/* How many others are there that may still say that they are out. */
static int others(const struct gr_comm *comm)
{
    int r, n = 0;

    for (r = 0; r < comm->size; r++) {
        n += r != comm->rank && !gr_runtime_lost(comm, r);
    }
    return n;
}

bool gr_failure_out(struct gr_comm *comm)
{
    look(comm->process);
    return comm->outs >= others(comm);
}

static void free_messages(const struct gr_failures *f, struct gr_failure_message *message)
{
    struct gr_failure_message *next;

    for (; NULL != message; message = next) {
        next = message->next;
        if (message < f->spare || message >= f->spare + GR_SPARE_MESSAGES) {
            free(message);
        }
    }
}

void gr_failures_close(struct gr_process *process)
{
    struct gr_failures *f = &process->failures;

    free_messages(f, f->sent);
    free_messages(f, f->heard);
    f->sent = f->heard = NULL;
    f->spared = 0;
}

/* ---- a call fails ---- */

/* Printed, and to be sent. */
static void fail_aloud(struct gr_comm *comm, int code, const char *why)
{
    if (0 == comm->failed) {
        gr_warn("failed-here", comm->rank, gr_comm_name(comm), why);
        gr_fail(comm, code, why);
    }
}

int gr_fail_here(struct gr_comm *comm, int code, const char *why)
{
    fail_aloud(comm, GR_ERR_FAILED, why);
    gr_failure_tell(comm);
    return code;
}

void gr_report_failure(struct gr_comm *comm, enum gr_call_id id, uint64_t seq, int code,
                       const char *what, const char *reason)
{
    char why[sizeof(comm->why)];

    snprintf(why, sizeof(why), "%s, sequence %llu: %s%s", gr_calls[id].name,
             (unsigned long long) seq, what, reason);
    fail_aloud(comm, code, why);
}

const char *gr_error_text(int rc)
{
    switch (rc) {
    case GR_ERR_FAILED:
        return "an error";
    case GR_ERR_DIFFER:
    case GR_ERR_TRUNCATE:
        return "the calls of the ranks do not match";
    case GR_ERR_REVOKED:
        return "the communicator was revoked";
    case GR_ERR_LOST_RANK:
        return "a rank has ended";
    case GR_ERR_NOMEM:
        return "out of memory";
    case GR_ERR_CUDA:
    case GR_ERR_GPU_SPACE:
        return gr_gpu_error();
    case GR_ERR_FOREIGN:
    case GR_ERR_SYS:
        return "the memory of another rank could not be read";
    default:
        return "a connection to another node broke";
    }
}

int gr_failure_check(struct gr_comm *comm, bool thorough)
{
    int state = 0 == comm->failed ? gr_runtime_state(comm) : 0;

    if (0 != state) {
        gr_fail(comm, state, NULL);
    } else if (0 == comm->failed && thorough) {
        look(comm->process);
    }
    return comm->failed;
}

int gr_failure_of_message(struct gr_comm *comm)
{
    int r, rc = gr_failure_check(comm, false);

    for (r = 0; 0 == rc && r < comm->size; r++) {
        if (gr_runtime_lost(comm, r)) {
            rc = GR_ERR_LOST_RANK;
            gr_fail(comm, rc, NULL);
        }
    }
    return 0 == rc ? GR_ERR_FAILED : rc;
}
