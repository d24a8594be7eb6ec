/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages by which ranks tell each other of failures, engine/failure.h. */
#include "engine/failure_messages.h"

#include "engine/log.h"
#include "engine/process.h"
#include "engine/runtime.h"
#include "mpi/module.h"
#include "mpi/net_pml.h"
#include "engine/params.h"

#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum note_kind {
    NOTE_FAILED, /* the sender cannot go on */
    /*
     * the communicator has failed, and no kernel of the sender's writes to the others' buffers any
     * more
     */
    NOTE_OUT
};

/* What a rank tells the others. */
struct note {
    struct note *next;          /* of those that were sent, or received */
    uint64_t nonce[GR_NORDERS]; /* the sender's: 0 where it had none yet */
    struct gr_comm_key key;
    int32_t kind; /* an enum note_kind */
    int32_t code; /* what the communicator's calls return */
    int32_t rank; /* in that communicator */
    char why[140];
};

/* Notes that are there without memory: failures may come of the lack of it. */
#define SPARE_NOTES 4

/* Keys that are remembered, at most. */
#define KEYS 1024

/* Calls of opal_progress to a look for messages, of a rank that waits for nothing of ours. */
#define LISTEN_EACH 256

static struct {
    gr_lock_t lock; /* of the lists */
    mca_coll_gpuring_module_t *modules;
    struct note *sent; /* messages may be under way from there until the end */
    /* of communicators on which this rank has not made a call yet */
    struct note *heard;
    struct note spare[SPARE_NOTES];
    int spared; /* of those in use */
    /* the last one of each id and members, where these lead; count 0: none */
    struct gr_comm_key keys[KEYS];
    /* kernels may write to the buffers of ranks that wait for an answer */
    atomic_bool listens;
    atomic_uint calls; /* of opal_progress, since then */
    gr_lock_t looking; /* some thread looks for messages */
} failures;

/* Where a rank of the communicator is in MPI_COMM_WORLD; MPI_PROC_NULL: in that of another job. */
static int world_rank(struct ompi_communicator_t *comm, int rank)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank), *self = ompi_proc_local();

    return proc->super.proc_name.jobid == self->super.proc_name.jobid
               ? (int) proc->super.proc_name.vpid
               : MPI_PROC_NULL;
}

/* Whether kernels of some rank may write to another's buffers. */
static bool may_write(const mca_coll_gpuring_module_t *module)
{
    return module->gpu && module->params.value[GR_PARAM_ZERO_COPY] >= 0;
}

/*
 * The communicator's key. An id is used again after its communicator is freed, so those of the same
 * id and the same members are counted, which gives the same number on each of these: they have made
 * calls on all of them.
 */
static struct gr_comm_key key_of(struct ompi_communicator_t *comm)
{
    struct gr_comm_key key = {.id = GR_COMM_ID(comm), .members = 0}, *last;
    int p = ompi_comm_size(comm), r;

    for (r = 0; r < p; r++) {
        /* as FNV does */
        key.members = (key.members ^ (uint64_t) world_rank(comm, r)) * 1099511628211u + 1;
    }
    last = &failures.keys[(key.members ^ key.members >> 32 ^ key.id) % KEYS];
    key.count = key.id == last->id && key.members == last->members ? last->count + 1 : 1;
    *last = key;
    return key;
}

void mca_coll_gpuring_failure_enlist(mca_coll_gpuring_module_t *module,
                                     struct ompi_communicator_t *comm)
{
    if (NULL != module->comm) {
        return;
    }
    module->comm = comm;
    if (OMPI_COMM_IS_INTER(comm)) { /* nothing of it is ours but copies */
        return;
    }
    gr_lock(&failures.lock);
    module->key = key_of(comm);
    module->next_module = failures.modules;
    failures.modules = module;
    gr_unlock(&failures.lock);
}

bool mca_coll_gpuring_failure_decided(const mca_coll_gpuring_module_t *module)
{
    if (may_write(module)) {
        atomic_store_explicit(&failures.listens, true, memory_order_relaxed);
    }
    return may_write(module);
}

/* Forget what was heard of the communicator with that id. The lock is held. */
static void forget(uint32_t id)
{
    struct note **link = &failures.heard, *note;

    while (NULL != (note = *link)) {
        if (id == note->key.id) {
            *link = note->next;
            free(note);
        } else {
            link = &note->next;
        }
    }
}

void mca_coll_gpuring_failure_delist(mca_coll_gpuring_module_t *module)
{
    mca_coll_gpuring_module_t **link;

    gr_lock(&failures.lock);
    for (link = &failures.modules; NULL != *link && module != *link; link = &(*link)->next_module) {
    }
    if (NULL != *link) {
        *link = module->next_module;
        forget(module->key.id);
    }
    gr_unlock(&failures.lock);
}

void mca_coll_gpuring_fail(mca_coll_gpuring_module_t *module, int code, const char *why)
{
    int none = 0;

    if (!atomic_compare_exchange_strong(&module->failed, &none, code) || NULL == why) {
        return;
    }
    snprintf(module->why, sizeof(module->why), "%s", why);
    atomic_store_explicit(&module->untold, true, memory_order_release);
}

/* MPI_COMM_WORLD can be used. */
static bool is_open(void)
{
    return gr_process.world && !mca_coll_gpuring_pml_inside();
}

/*
 * A note of the module's communicator, in the list of those that were sent. NULL: no memory. The
 * lock is held.
 */
static struct note *note_new(const mca_coll_gpuring_module_t *module, enum note_kind kind)
{
    struct note *note = malloc(sizeof(*note));
    int k;

    if (NULL == note && failures.spared < SPARE_NOTES) {
        note = &failures.spare[failures.spared++];
    }
    if (NULL == note) {
        return NULL;
    }
    memset(note, 0, sizeof(*note));
    note->next = failures.sent;
    failures.sent = note;
    for (k = 0; k < GR_NORDERS; k++) {
        note->nonce[k] = module->nonce[k];
    }
    note->key = module->key;
    note->kind = kind;
    note->code = module->failed;
    note->rank = ompi_comm_rank(module->comm);
    memcpy(note->why, module->why, sizeof(note->why));
    return note;
}

/* Nobody waits for these messages to leave: a peer may be gone. */
static void send_to_all(struct ompi_communicator_t *comm, struct note *note)
{
    int p = ompi_comm_size(comm), rank = ompi_comm_rank(comm),
        tag = mca_coll_gpuring_tag(GR_TAGS_FAILURE), r, to;

    if (OMPI_COMM_IS_INTER(comm)) { /* the calls are stock's, which does not listen */
        return;
    }
    for (r = 0; NULL != note && r < p; r++) {
        ompi_request_t *request = MPI_REQUEST_NULL;

        to = r == rank ? MPI_PROC_NULL : world_rank(comm, r);
        if (MPI_PROC_NULL != to &&
            OMPI_SUCCESS == MCA_PML_CALL(isend(note, sizeof(*note), MPI_BYTE, to, tag,
                                               MCA_PML_BASE_SEND_STANDARD,
                                               &ompi_mpi_comm_world.comm, &request))) {
            (void) ompi_request_free(&request);
        }
    }
}

/*
 * Say of failed communicators that no kernel of this rank writes to the others' buffers any more.
 */
static void tell_out(void)
{
    mca_coll_gpuring_module_t *module;
    struct ompi_communicator_t *comm = NULL;
    struct note *note = NULL;

    do {
        gr_lock(&failures.lock);
        for (module = failures.modules; NULL != module; module = module->next_module) {
            if (0 != module->failed && may_write(module) && 0 == module->writing &&
                !atomic_exchange(&module->out, true)) {
                comm = module->comm;
                OBJ_RETAIN(comm); /* another thread may free it */
                note = note_new(module, NOTE_OUT);
                break;
            }
        }
        gr_unlock(&failures.lock);
        if (NULL != module) {
            send_to_all(comm, note);
            OBJ_RELEASE(comm);
        }
    } while (NULL != module);
}

void mca_coll_gpuring_failure_tell(mca_coll_gpuring_module_t *module)
{
    struct note *note;

    if (0 == module->failed || !is_open()) {
        return;
    }
    if (atomic_load_explicit(&module->untold, memory_order_acquire) &&
        atomic_exchange(&module->untold, false)) {
        gr_lock(&failures.lock);
        note = note_new(module, NOTE_FAILED);
        gr_unlock(&failures.lock);
        send_to_all(module->comm, note);
    }
    tell_out();
}

/*
 * Whether it is of the module's communicator. Nonces tell; where none is known on both sides, the
 * key does. In sessions the id of a communicator may differ between ranks.
 */
static bool is_of(const struct note *note, const mca_coll_gpuring_module_t *module)
{
    const struct gr_comm_key *key = &module->key;
    int k;

    for (k = 0; k < GR_NORDERS; k++) {
        if (0 != note->nonce[k] && 0 != module->nonce[k]) {
            return note->nonce[k] == module->nonce[k];
        }
    }
    return key->id == note->key.id && key->members == note->key.members &&
           key->count == note->key.count;
}

/* The module that the note is of, or NULL. The lock is held. */
static mca_coll_gpuring_module_t *find_module(const struct note *note)
{
    mca_coll_gpuring_module_t *module;

    for (module = failures.modules; NULL != module && !is_of(note, module);
         module = module->next_module) {
    }
    return module;
}

/* What the note says happens to the module. */
static void apply(struct note *note, mca_coll_gpuring_module_t *module)
{
    /* it may have overtaken what another rank says: that it has failed */
    if (NOTE_OUT == note->kind) {
        atomic_fetch_add(&module->outs, 1);
        return;
    }
    if (0 == module->failed) {
        note->why[sizeof(note->why) - 1] = '\0';
        mca_coll_gpuring_warn("failed-elsewhere", ompi_comm_rank(module->comm),
                              gr_comm_name(module->comm), note->rank, note->why);
    }
    mca_coll_gpuring_fail(module, 0 == note->code ? OMPI_ERROR : note->code, NULL);
}

/* Let the notes that were heard take effect. The lock is held. */
static void apply_heard(void)
{
    struct note **link = &failures.heard, *note;

    while (NULL != (note = *link)) {
        mca_coll_gpuring_module_t *module = find_module(note);

        if (NULL == module) {
            link = &note->next;
            continue;
        }
        apply(note, module);
        *link = note->next;
        free(note);
    }
}

/* Take one message, if there is one. */
static bool hear_one(void)
{
    int tag = mca_coll_gpuring_tag(GR_TAGS_FAILURE), there = 0;
    struct ompi_communicator_t *world = &ompi_mpi_comm_world.comm;
    ompi_status_public_t status;
    struct note *note;

    if (OMPI_SUCCESS != MCA_PML_CALL(iprobe(MPI_ANY_SOURCE, tag, world, &there, &status)) ||
        !there) {
        return false;
    }
    note = malloc(sizeof(*note));
    if (NULL == note) {
        return false; /* it stays where it is */
    }
    if (OMPI_SUCCESS != MCA_PML_CALL(recv(note, sizeof(*note), MPI_BYTE, status.MPI_SOURCE, tag,
                                          world, MPI_STATUS_IGNORE))) {
        free(note);
        return false;
    }
    gr_lock(&failures.lock);
    note->next = failures.heard;
    failures.heard = note;
    gr_unlock(&failures.lock);
    return true;
}

/*
 * To probe progresses Open MPI, which may come back here: then there is somebody who looks already.
 */
void mca_coll_gpuring_failure_poll(void)
{
    if (!is_open() || !gr_try(&failures.looking)) {
        return;
    }
    while (hear_one()) {
    }
    if (NULL != failures.heard) {
        gr_lock(&failures.lock);
        apply_heard();
        gr_unlock(&failures.lock);
        tell_out();
    }
    gr_unlock(&failures.looking);
}

void mca_coll_gpuring_failure_listen(void)
{
    if (atomic_load_explicit(&failures.listens, memory_order_relaxed) &&
        0 == atomic_fetch_add_explicit(&failures.calls, 1, memory_order_relaxed) % LISTEN_EACH) {
        mca_coll_gpuring_failure_poll();
    }
}

/* How many others are there that may still say that they are out. */
static int others(struct ompi_communicator_t *comm)
{
    int p = ompi_comm_size(comm), rank = ompi_comm_rank(comm), r, n = 0;

    for (r = 0; r < p; r++) {
        n += r != rank && !GR_RANK_IS_LOST(comm, r);
    }
    return n;
}

bool mca_coll_gpuring_failure_out(mca_coll_gpuring_module_t *module)
{
    mca_coll_gpuring_failure_poll();
    return module->outs >= others(module->comm);
}

static void free_notes(struct note *note)
{
    struct note *next;

    for (; NULL != note; note = next) {
        next = note->next;
        if (note < failures.spare || note >= failures.spare + SPARE_NOTES) {
            free(note);
        }
    }
}

void mca_coll_gpuring_failures_close(void)
{
    free_notes(failures.sent);
    free_notes(failures.heard);
    failures.sent = failures.heard = NULL;
    failures.spared = 0;
}
