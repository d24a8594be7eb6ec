/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events for MPI_T: ompi.coll_gpuring_call at the end of each call that gpuring did, with what the
 * counters sum up, and ompi.coll_gpuring_handover for each call that fell back. A tool gets them by
 * MPI_T_event_register_callback(). Without a listener they cost a comparison.
 */
#include "mpi/events.h"

#if GR_HAVE_EVENTS
#include "mpi/params.h"

#include "sched/sched.h"

#include "opal/mca/base/mca_base_event.h"
#include "opal/mca/base/mca_base_pvar.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* The elements of ompi.coll_gpuring_call. */
struct call_data {
    int algorithm;           /* a value of the event's enumeration */
    int collective;          /* position among the counters coll_gpuring_calls_, from 0 on */
    int device;              /* 1: kernels did it; 0: the host */
    int ranks;               /* of the communicator */
    unsigned long long size; /* bytes, as coll_gpuring_bytes_ counts them */
    unsigned long long ns;   /* from the call's start to its end; 0: unknown */
};

static mca_base_event_t *call_event, *handover_event;

/* The clock of the events: nanoseconds. */
static opal_count_t clock_now(void *ctx)
{
    struct timespec t;

    (void) ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (opal_count_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns NULL if there is no memory. */
static mca_base_var_enum_t *names(const char *what, int n, const char *(*name)(int) )
{
    mca_base_var_enum_value_t *values = calloc((size_t) n + 1, sizeof(*values));
    mca_base_var_enum_t *made = NULL;

    if (NULL == values) {
        return NULL;
    }
    for (int k = 0; k < n; k++) {
        values[k] = (mca_base_var_enum_value_t) {k, name(k)};
    }
    if (OPAL_SUCCESS != mca_base_var_enum_create(what, values, &made)) {
        made = NULL;
    }
    free(values);
    return made;
}

/* Takes the reference to the enumeration. Returns NULL if the event cannot be registered. */
static mca_base_event_t *add_event(const char *name, const char *help, int n,
                                   const mca_base_var_type_t *types, const ptrdiff_t *offsets,
                                   mca_base_var_enum_t *enumeration, int source_index)
{
    mca_base_event_source_t *source;
    mca_base_event_t *event = NULL;
    int index = -1;

    if (NULL == enumeration) {
        return NULL;
    }
    if (OPAL_SUCCESS == mca_base_event_source_get_by_index(source_index, &source)) {
        index = mca_base_component_event_register(mca_coll_gpuring_registered, name, help,
                                                  OPAL_INFO_LVL_4, n, types, offsets, enumeration,
                                                  MCA_BASE_VAR_BIND_NO_OBJECT, 0, source, NULL);
    }
    if (0 > index || OPAL_SUCCESS != mca_base_event_get_by_index(index, &event)) {
        event = NULL;
    }
    OBJ_RELEASE(enumeration);
    return event;
}

void mca_coll_gpuring_events_register(const char *(*reason)(int) )
{
    static const mca_base_var_type_t types[] = {MCA_BASE_VAR_TYPE_INT,
                                                MCA_BASE_VAR_TYPE_INT,
                                                MCA_BASE_VAR_TYPE_INT,
                                                MCA_BASE_VAR_TYPE_INT,
                                                MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG,
                                                MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG};
    static const ptrdiff_t offsets[] = {
        offsetof(struct call_data, algorithm), offsetof(struct call_data, collective),
        offsetof(struct call_data, device),    offsetof(struct call_data, ranks),
        offsetof(struct call_data, size),      offsetof(struct call_data, ns)};
    int source = mca_base_event_source_register(
        "coll_gpuring", "Collectives of the component gpuring", MCA_BASE_EVENT_SOURCE_UNORDERED,
        1000000000, (opal_count_t) INT64_MAX, clock_now, true, NULL);

    if (0 > source) {
        return;
    }
    call_event = add_event(
        "call",
        "A call that gpuring did has ended. Elements: algorithm (of the enumeration), collective "
        "(n-th of the counters coll_gpuring_calls_), on devices (0, 1), ranks, bytes, nanoseconds",
        (int) (sizeof(types) / sizeof(types[0])), types, offsets,
        names("coll_gpuring_algorithms", GR_NWAYS, gr_way_name), source);
    handover_event = add_event(
        "handover", "A call is left to other components. Element: the reason (of the enumeration)",
        1, types, offsets, names("coll_gpuring_reasons", GR_NFALLBACKS, reason), source);
}

bool mca_coll_gpuring_events_wanted(void)
{
    return NULL != call_event && mca_base_event_active(call_event);
}

void mca_coll_gpuring_events_call(enum gr_call_id id, int way, bool device, int ranks, size_t bytes,
                                  double us)
{
    struct call_data data;

    if (mca_coll_gpuring_events_wanted()) {
        data = (struct call_data) {.algorithm = way,
                                   .collective = (int) id,
                                   .device = device,
                                   .ranks = ranks,
                                   .size = bytes,
                                   .ns = (unsigned long long) (1e3 * us)};
        mca_base_event_raise(call_event, NULL, &data);
    }
}

void mca_coll_gpuring_events_fallback(enum gr_fallback_reason reason)
{
    int data = (int) reason;

    if (NULL != handover_event) {
        mca_base_event_raise(handover_event, NULL, &data);
    }
}
#endif
