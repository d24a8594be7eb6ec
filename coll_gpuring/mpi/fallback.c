/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that are left to the saved collective, with host memory in the place of device memory. That
 * is a local matter: others may have their buffers elsewhere, and see the same messages.
 *
 * A nonblocking or persistent call gets a request of ours around that of the saved collective,
 * whose results are copied back when it is complete.
 */
#include "mpi/fallback.h"

#include "base/memory.h"
#include "comm/devices.h"
#include "comm/process.h"
#include "comm/watchdog.h"
#include "base/errors.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"
#include "mpi/module.h"
#include "mpi/runtime.h"
#include "mpi/staging/stage.h"

#include <stdlib.h>

typedef struct gr_fallback_request {
    ompi_coll_base_nbc_request_t super; /* MPI_I... functions keep what they retained there */
    struct gr_stage stage;
    struct gr_call call;              /* as it was left to the saved collective */
    ompi_request_t *inner;            /* of the saved collective; MPI_REQUEST_NULL: none */
    struct gr_p2p_split *split;       /* large messages; NULL: none, or done. Owned */
    bool split_done;                  /* the large messages are done */
    int rc;                           /* of the large messages: MPI error code */
    struct gr_fallback_request *next; /* in the list of those in progress */
    struct gr_kept_args kept;         /* of a persistent request's call */
} gr_fallback_request_t;

static struct {
    gr_lock_t lock;
    gr_fallback_request_t *first;
    atomic_int n;
    atomic_bool registered; /* with opal_progress */
} list;

/*
 * Until OBJ_RELEASE(). Open MPI 4 and 5 give an intercommunicator whose context id is below its
 * parent's a reference more, for MPI_Finalize; MPI_Comm_free() then releases references until there
 * is none. The request's takes the place of that one.
 */
static void hold(struct ompi_communicator_t *comm)
{
    OBJ_RETAIN(comm);
#if defined(OMPI_COMM_IS_EXTRA_RETAIN)
    if (OMPI_COMM_IS_EXTRA_RETAIN(comm)) {
        comm->c_flags &= ~(uint32_t) OMPI_COMM_EXTRA_RETAIN;
        OBJ_RELEASE(comm);
    }
#endif
}

static int fallback_free(ompi_request_t **handle)
{
    gr_fallback_request_t *h = (gr_fallback_request_t *) *handle;
    struct ompi_communicator_t *comm;

    if (!REQUEST_COMPLETE(&h->super.super)) {
        return MPI_ERR_REQUEST;
    }
    if (MPI_REQUEST_NULL != h->inner) {
        (void) ompi_request_free(&h->inner); /* a persistent one */
    }
    comm = h->super.super.req_mpi_object.comm;
    OMPI_REQUEST_FINI(&h->super.super);
    OBJ_RELEASE(h);
    OBJ_RELEASE(comm); /* MPI_Comm_free may have come first */
    *handle = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static void fallback_construct(gr_fallback_request_t *h)
{
    /* all but super, which Open MPI has made */
    memset((char *) h + sizeof(h->super), 0, sizeof(*h) - sizeof(h->super));
    h->super.super.req_type = OMPI_REQUEST_COLL;
    h->super.super.req_free = fallback_free;
    h->super.super.req_cancel = NULL;
    h->inner = MPI_REQUEST_NULL;
}

static void fallback_destruct(gr_fallback_request_t *h)
{
    mca_coll_gpuring_stage_free(&h->stage);
    mca_coll_gpuring_p2p_split_free(h->split);
    mca_coll_gpuring_args_release(&h->kept);
}

OBJ_CLASS_INSTANCE(gr_fallback_request_t, ompi_coll_base_nbc_request_t, fallback_construct,
                   fallback_destruct);

/* ---- calls in progress ---- */

/* Whether its large messages are through. */
static bool split_is_done(gr_fallback_request_t *h)
{
    uint64_t moved = 0;
    int status;

    if (h->split_done) {
        return true;
    }
    status = NULL == h->split ? GR_DONE : mca_coll_gpuring_p2p_split_poll(h->split, &moved);
    if (GR_AGAIN == status) {
        return false;
    }
    if (GR_DONE != status) {
        h->split = NULL; /* messages may be in flight: what they need stays */
        h->rc = MPI_ERR_OTHER;
    }
    return h->split_done = true;
}

/* Whether the saved collective has completed it; then *rc is its result. */
static bool inner_is_done(gr_fallback_request_t *h, int *rc)
{
    if (MPI_REQUEST_NULL == h->inner) {
        *rc = MPI_SUCCESS;
        return true;
    }
    if (!REQUEST_COMPLETE(h->inner)) {
        return false;
    }
    *rc = h->inner->req_status.MPI_ERROR;
    if (h->inner->req_persistent) {
        h->inner->req_state = OMPI_REQUEST_INACTIVE;
    } else {
        (void) ompi_request_free(&h->inner);
    }
    return true;
}

/* Take out one that is done; NULL: none is. */
static gr_fallback_request_t *take_done(int *rc)
{
    gr_fallback_request_t **link, *h;

    for (link = &list.first; NULL != (h = *link); link = &h->next) {
        if (split_is_done(h) && inner_is_done(h, rc)) {
            *rc = MPI_SUCCESS == *rc ? h->rc : *rc;
            *link = h->next;
            return h;
        }
    }
    return NULL;
}

/* Go on with what is in flight; returns how many ended. opal_progress calls it. */
static int progress(void)
{
    gr_fallback_request_t *h;
    int ended = 0, rc, out;

    if (0 == atomic_load_explicit(&list.n, memory_order_relaxed) || !gr_try(&list.lock)) {
        return 0;
    }
    while (NULL != (h = take_done(&rc))) {
        atomic_fetch_sub_explicit(&list.n, 1, memory_order_relaxed);
        gr_unlock(&list.lock);
        out = mca_coll_gpuring_stage_out(&h->stage, &h->call, MPI_SUCCESS == rc);
        rc = MPI_SUCCESS == rc && OMPI_SUCCESS != out ? MPI_ERR_OTHER : rc;
        h->super.super.req_status.MPI_ERROR = rc;
        ompi_request_complete(&h->super.super, true);
        ended++;
        if (!gr_try(&list.lock)) {
            return ended;
        }
    }
    gr_unlock(&list.lock);
    return ended;
}

static void enlist(gr_fallback_request_t *h)
{
    gr_lock(&list.lock);
    GR_PUSH(h, list.first);
    atomic_fetch_add_explicit(&list.n, 1, memory_order_relaxed);
    if (!list.registered) {
        list.registered = true;
        (void) opal_progress_register(progress);
    }
    gr_unlock(&list.lock);
}

void mca_coll_gpuring_fallback_close(void)
{
    if (list.registered) {
        (void) opal_progress_unregister(progress);
        list.registered = false;
    }
}

/* ---- calls ---- */

static int start_split(gr_fallback_request_t *h)
{
    h->split_done = false;
    h->rc = MPI_SUCCESS;
    return NULL == h->split ? OMPI_SUCCESS : mca_coll_gpuring_p2p_split_start(h->split);
}

/* Copy the input again, into the same place: the saved collective knows that by address. */
static int start_one(gr_fallback_request_t *h)
{
    int rc = start_split(h);
    bool device;

    if (OMPI_SUCCESS != rc || MPI_REQUEST_NULL == h->inner) {
        return rc;
    }
    rc = mca_coll_gpuring_classify_buffers(&h->call, &h->stage, &device);
    mca_coll_gpuring_points_set(&h->stage.after, &h->call, NULL);
    rc = OMPI_SUCCESS == rc ? mca_coll_gpuring_stage_in(&h->stage, &h->call, NULL) : rc;
    /*
     * one that has nothing to do is not to be started (MPI_Start knows that, too): it is complete
     * as it is
     */
    if (OMPI_SUCCESS == rc && OMPI_REQUEST_NOOP != h->inner->req_type) {
        rc = h->inner->req_start(1, &h->inner);
    }
    return rc;
}

static int fallback_start(size_t count, ompi_request_t **handles)
{
    size_t k;
    int rc = OMPI_SUCCESS, one;

    for (k = 0; k < count; k++) {
        gr_fallback_request_t *h = (gr_fallback_request_t *) handles[k];

        h->super.super.req_state = OMPI_REQUEST_ACTIVE;
        h->super.super.req_status.MPI_ERROR = MPI_SUCCESS;
        h->super.super.req_complete = REQUEST_PENDING;
        one = start_one(h);
        if (OMPI_SUCCESS != one) {
            h->super.super.req_complete = REQUEST_COMPLETED;
            h->super.super.req_state = OMPI_REQUEST_INACTIVE;
            rc = mca_coll_gpuring_mpi_code(one);
            continue;
        }
        enlist(h);
    }
    return rc;
}

/*
 * The communicator's stage is taken out meanwhile: the saved collective may be made of calls that
 * come back here, and MPI_Reduce_local, which is of no communicator, may be called by several
 * threads.
 */
static int fall_back_blocking(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                              const struct gr_form *form)
{
    struct gr_stage *stage = atomic_exchange(&module->stage, NULL);
    struct gr_call staged = *call;
    int rc, out;

    stage = NULL == stage ? gr_calloc(1, sizeof(*stage)) : stage;
    if (NULL == stage) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = form->cut ? mca_coll_gpuring_segments_do(module, stage, call, form)
                   : mca_coll_gpuring_stage_in(stage, &staged, NULL);
    if (OMPI_SUCCESS == rc && !form->cut) {
        rc = mca_coll_gpuring_saved_call(module, &staged, form);
        out = mca_coll_gpuring_stage_out(stage, &staged, OMPI_SUCCESS == rc);
        rc = OMPI_SUCCESS == rc ? out : rc;
    }
    mca_coll_gpuring_stage_delete(atomic_exchange(&module->stage, stage));
    return rc;
}

/* The large messages beside what is left of the call. */
static int fall_back_blocking_split(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                    const struct gr_form *form)
{
    const struct gr_call *rest = mca_coll_gpuring_p2p_split_rest(form->split);
    const struct gr_op_queue *queue = module->comm.queues[GR_ORDER_BLOCKING];
    struct gr_waiting waiting = {.comm = &module->comm,
                                 .what = gr_calls[call->id].name,
                                 .explain = mca_coll_gpuring_p2p_split_explain,
                                 .ctx = form->split,
                                 .shown = NULL == queue ? NULL : queue->shown};
    uint64_t moved = 0;
    int rc = mca_coll_gpuring_p2p_split_start(form->split), status;

    if (OMPI_SUCCESS != rc) {
        mca_coll_gpuring_p2p_split_free(form->split);
        return rc;
    }
    status = mca_coll_gpuring_p2p_split_poll(form->split, &moved);
    rc = NULL == rest ? OMPI_SUCCESS : fall_back_blocking(module, rest, form);
    status =
        GR_AGAIN == status ? gr_poll_to_end(mca_coll_gpuring_p2p_split_poll, &waiting) : status;
    if (OMPI_SUCCESS == status) {
        mca_coll_gpuring_p2p_split_free(form->split);
    } /* else messages may be in flight: what they need stays */
    return OMPI_SUCCESS == rc ? mca_coll_gpuring_to_ompi(status) : rc;
}

/*
 * Begin the rest of the call with the saved collective; with a split, there may be none. OMPI error
 * code.
 */
static int begin_inner(mca_coll_gpuring_module_t *module, gr_fallback_request_t *h,
                       const struct gr_form *form)
{
    struct gr_form inner = *form;
    int rc;

    if (NULL != h->split && NULL == mca_coll_gpuring_p2p_split_rest(h->split)) {
        return OMPI_SUCCESS;
    }
    inner.request = &h->inner;
    mca_coll_gpuring_points_set(&h->stage.after, &h->call, NULL);
    rc = mca_coll_gpuring_stage_in(&h->stage, &h->call, NULL);
    return OMPI_SUCCESS == rc ? mca_coll_gpuring_saved_call(module, &h->call, &inner) : rc;
}

/* Persistent: what is copied in now is not used; it makes the room that all starts use. */
static int fall_back_request(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                             const struct gr_form *form)
{
    bool persistent = GR_PERSISTENT == form->kind;
    gr_fallback_request_t *h = OBJ_NEW(gr_fallback_request_t);
    const struct gr_call *rest =
        NULL == form->split ? call : mca_coll_gpuring_p2p_split_rest(form->split);
    ompi_request_t *r;
    int rc;

    if (NULL == h) {
        mca_coll_gpuring_p2p_split_free(form->split);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    r = &h->super.super;
    OMPI_REQUEST_INIT(r, persistent);
    r->req_mpi_object.comm = call->comm;
    r->req_start = persistent ? fallback_start : NULL;
    r->req_status = ompi_status_empty;
    r->req_state = persistent ? OMPI_REQUEST_INACTIVE : OMPI_REQUEST_ACTIVE;
    h->stage.kept = persistent;
    h->split = form->split;
    h->call = NULL == rest ? *call : *rest;
    rc = persistent ? mca_coll_gpuring_args_keep(&h->kept, &h->call, true) : start_split(h);
    rc = OMPI_SUCCESS == rc ? begin_inner(module, h, form) : rc;
    if (OMPI_SUCCESS != rc) {
        (void) mca_coll_gpuring_stage_out(&h->stage, &h->call, false);
        OMPI_REQUEST_FINI(r);
        OBJ_RELEASE(h);
        return rc;
    }
    hold(call->comm);
    *form->request = r;
    if (persistent) {
        (void) mca_coll_gpuring_stage_out(&h->stage, &h->call, false);
        r->req_complete = REQUEST_COMPLETED;
    } else {
        enlist(h);
    }
    return OMPI_SUCCESS;
}

/* Owns form->split. */
int mca_coll_gpuring_fall_back(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               const struct gr_form *form)
{
    bool device = false;
    int rc =
        gr_gpu_loaded() ? mca_coll_gpuring_classify_buffers(call, NULL, &device) : OMPI_SUCCESS;

    if (OMPI_SUCCESS == rc && !device && form->cut) {
        return mca_coll_gpuring_segments_do(module, NULL, call, form);
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_gpuring_p2p_split_free(form->split);
        return rc;
    }
    if (!device && NULL == form->split) {
        return mca_coll_gpuring_saved_call(module, call, form);
    }
    if (GR_BLOCKING != form->kind) {
        return fall_back_request(module, call, form);
    }
    return NULL != form->split ? fall_back_blocking_split(module, call, form)
                               : fall_back_blocking(module, call, form);
}
