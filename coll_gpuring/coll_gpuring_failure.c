/* SPDX-License-Identifier: BSD-3-Clause */
/* The failures of coll_gpuring_failure.h. */
#include "coll_gpuring_failure.h"
#include "coll_gpuring_lane.h"

#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"

#include <stdlib.h>
#include <string.h>

/* What a rank tells the others. An id of a communicator is used again after it is freed; its nonces are not. */
struct note {
    struct note *next;           /* of those that were sent, or received */
    uint64_t nonce[GR_NORDERS];  /* the sender's: 0 where it had none yet */
    uint32_t comm_id;
    int32_t code;                /* what its calls return */
    int32_t rank;                /* in that communicator */
    char why[140];
};

/* Notes that are there without memory: failures may come of the lack of it. */
#define SPARE_NOTES 4

static struct {
    gr_lock_t lock;                     /* of the lists */
    mca_coll_gpuring_module_t *modules;
    struct note *sent;                  /* messages may be under way from there until the end */
    struct note *heard;                 /* of communicators on which this rank has not made a call yet */
    struct note spare[SPARE_NOTES];
    int spared;                         /* of those in use */
    gr_lock_t looking;                  /* some thread looks for messages */
} failures;

void mca_coll_gpuring_failure_enlist(mca_coll_gpuring_module_t *module)
{
    gr_lock(&failures.lock);
    module->next_module = failures.modules;
    failures.modules = module;
    gr_unlock(&failures.lock);
}

/* Forget what was heard of the communicator with that id. The lock is held. */
static void forget(uint32_t comm_id)
{
    struct note **link = &failures.heard, *note;

    while (NULL != (note = *link)) {
        if (comm_id == note->comm_id) {
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
    for (link = &failures.modules; NULL != *link; link = &(*link)->next_module) {
        if (module == *link) {
            *link = module->next_module;
            forget(GR_COMM_ID(module->comm));
            break;
        }
    }
    gr_unlock(&failures.lock);
}

void mca_coll_gpuring_fail(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm, int code,
                           const char *why)
{
    int none = 0;

    module->comm = comm;
    if (!atomic_compare_exchange_strong(&module->failed, &none, code) || NULL == why) {
        return;
    }
    snprintf(module->why, sizeof(module->why), "%s", why);
    atomic_store_explicit(&module->untold, true, memory_order_release);
}

/* ---- messages ---- */

/* MPI_COMM_WORLD can be used. */
static bool is_open(void)
{
    return mca_coll_gpuring_component.world && !mca_coll_gpuring_pml_inside();
}

static struct note *note_new(void)
{
    struct note *note = malloc(sizeof(*note));

    if (NULL == note && failures.spared < SPARE_NOTES) {
        note = &failures.spare[failures.spared++];
    }
    return note;
}

/* Nobody waits for these messages to leave: a peer may be gone. */
static void send_to_all(struct ompi_communicator_t *comm, struct note *note)
{
    int p = ompi_comm_size(comm), rank = ompi_comm_rank(comm), r;

    for (r = 0; r < p; r++) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, r);
        ompi_request_t *request = MPI_REQUEST_NULL;

        if (r != rank && OMPI_SUCCESS == MCA_PML_CALL(isend(note, sizeof(*note), MPI_BYTE,
                                                            (int) proc->super.proc_name.vpid,
                                                            mca_coll_gpuring_tag(GR_TAGS_FAILURE),
                                                            MCA_PML_BASE_SEND_STANDARD, &ompi_mpi_comm_world.comm,
                                                            &request))) {
            (void) ompi_request_free(&request);
        }
    }
}

void mca_coll_gpuring_failure_tell(mca_coll_gpuring_module_t *module)
{
    struct note *note;
    int k;

    if (!atomic_load_explicit(&module->untold, memory_order_acquire) || !is_open() ||
        !atomic_exchange(&module->untold, false)) {
        return;
    }
    gr_lock(&failures.lock);
    note = note_new();
    if (NULL != note) {
        memset(note, 0, sizeof(*note));
        note->next = failures.sent;
        failures.sent = note;
    }
    gr_unlock(&failures.lock);
    if (NULL == note) {
        return;
    }
    for (k = 0; k < GR_NORDERS; k++) {
        note->nonce[k] = module->nonce[k];
    }
    note->comm_id = GR_COMM_ID(module->comm);
    note->code = module->failed;
    note->rank = ompi_comm_rank(module->comm);
    memcpy(note->why, module->why, sizeof(note->why));
    send_to_all(module->comm, note);
}

int mca_coll_gpuring_fail_here(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm, int code,
                               const char *why)
{
    if (0 == module->failed) {
        mca_coll_gpuring_tell("failed-here", ompi_comm_rank(comm), gr_comm_name(comm), why);
        mca_coll_gpuring_fail(module, comm, OMPI_ERROR, why);
    }
    mca_coll_gpuring_failure_tell(module);
    return code;
}

void mca_coll_gpuring_op_fails(const struct gr_op *op, const char *what, const char *reason)
{
    mca_coll_gpuring_module_t *module = op->lane->module;
    char why[sizeof(module->why)];

    if (0 != module->failed) {
        return;
    }
    snprintf(why, sizeof(why), "%s, sequence %llu: %s%s", gr_calls[op->call.id].name, (unsigned long long) op->seq, what,
             reason);
    mca_coll_gpuring_tell("failed-here", ompi_comm_rank(op->lane->comm), gr_comm_name(op->lane->comm), why);
    mca_coll_gpuring_fail(module, op->lane->comm, OMPI_ERROR, why);
}

/*
 * Whether it is of the module's communicator. Nonces tell; where none is known on both sides, the id does. That of a
 * communicator of a session may differ between ranks.
 */
static bool is_of(const struct note *note, const mca_coll_gpuring_module_t *module)
{
    int k;

    for (k = 0; k < GR_NORDERS; k++) {
        if (0 != note->nonce[k] && 0 != module->nonce[k]) {
            return note->nonce[k] == module->nonce[k];
        }
    }
    return GR_COMM_ID(module->comm) == note->comm_id && note->rank < ompi_comm_size(module->comm);
}

/* The module that the note is of, or NULL. The lock is held. */
static mca_coll_gpuring_module_t *find_module(const struct note *note)
{
    mca_coll_gpuring_module_t *module;

    for (module = failures.modules; NULL != module && !is_of(note, module); module = module->next_module) {
    }
    return module;
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
        if (0 == module->failed) {
            note->why[sizeof(note->why) - 1] = '\0';
            mca_coll_gpuring_tell("failed-elsewhere", ompi_comm_rank(module->comm), gr_comm_name(module->comm),
                                  note->rank, note->why);
        }
        mca_coll_gpuring_fail(module, module->comm, 0 == note->code ? OMPI_ERROR : note->code, NULL);
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

    if (OMPI_SUCCESS != MCA_PML_CALL(iprobe(MPI_ANY_SOURCE, tag, world, &there, &status)) || !there) {
        return false;
    }
    note = malloc(sizeof(*note));
    if (NULL == note) {
        return false; /* it stays where it is */
    }
    if (OMPI_SUCCESS != MCA_PML_CALL(recv(note, sizeof(*note), MPI_BYTE, status.MPI_SOURCE, tag, world,
                                          MPI_STATUS_IGNORE))) {
        free(note);
        return false;
    }
    gr_lock(&failures.lock);
    note->next = failures.heard;
    failures.heard = note;
    gr_unlock(&failures.lock);
    return true;
}

/* To probe progresses Open MPI, which may come back here: then there is somebody who looks already. */
static void look(void)
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
    }
    gr_unlock(&failures.looking);
}

int mca_coll_gpuring_failure_check(mca_coll_gpuring_module_t *module, bool thorough)
{
    if (0 == module->failed && GR_COMM_REVOKED(module->comm)) {
        mca_coll_gpuring_fail(module, module->comm, GR_ERR_REVOKED, NULL);
    } else if (0 == module->failed && GR_COMM_LOST_RANK(module->comm)) {
        mca_coll_gpuring_fail(module, module->comm, GR_ERR_LOST_RANK, NULL);
    } else if (0 == module->failed && thorough) {
        look();
    }
    return module->failed;
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
