/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool that listens to gpuring's events through MPI_T (Open MPI 6.0): each call gives one, which
 * says what the call was, and each fallback another. Prints TAP; skipped where MPI_T has no events.
 */
#include "tap.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4

enum { CALLS = 5, COUNT = 1000 };

/* What coll_gpuring_call consists of, in the order that its description has. */
enum { ALGORITHM, COLLECTIVE, DEVICE, RANKS, SIZE, NS, ELEMENTS };

struct heard {
    int calls, collective, device, ranks, algorithm;
    unsigned long long bytes, ns;
    int handovers, reason;
    MPI_Count last; /* time of the last event; 0: none */
    int backwards;  /* events that are older than the last */
};

static void look_at_time(struct heard *h, MPI_T_event_instance event)
{
    MPI_Count now;

    MPI_T_event_get_timestamp(event, &now);
    h->backwards += now < h->last;
    h->last = now;
}

static void on_call(MPI_T_event_instance event, MPI_T_event_registration handle,
                    MPI_T_cb_safety safety, void *user_data)
{
    struct heard *h = user_data;
    unsigned long long bytes, ns;

    (void) handle, (void) safety;
    MPI_T_event_read(event, ALGORITHM, &h->algorithm);
    MPI_T_event_read(event, COLLECTIVE, &h->collective);
    MPI_T_event_read(event, DEVICE, &h->device);
    MPI_T_event_read(event, RANKS, &h->ranks);
    MPI_T_event_read(event, SIZE, &bytes);
    MPI_T_event_read(event, NS, &ns);
    h->bytes += bytes;
    h->ns += ns;
    h->calls++;
    look_at_time(h, event);
}

static void on_handover(MPI_T_event_instance event, MPI_T_event_registration handle,
                        MPI_T_cb_safety safety, void *user_data)
{
    struct heard *h = user_data;

    (void) handle, (void) safety;
    MPI_T_event_read(event, 0, &h->reason);
    h->handovers++;
    look_at_time(h, event);
}

/* The name that the event's enumeration has for the value, in text. */
static void name_of(const char *event, int value, char *text, int size)
{
    int index, n, got, verbosity, name_len = 0, desc_len = 0, bind, length;
    MPI_T_enum names;

    text[0] = '\0';
    n = 0;
    if (MPI_SUCCESS != MPI_T_event_get_index(event, &index) ||
        MPI_SUCCESS != MPI_T_event_get_info(index, NULL, &name_len, &verbosity, NULL, NULL, &n,
                                            &names, NULL, NULL, &desc_len, &bind)) {
        return;
    }
    MPI_T_enum_get_info(names, &n, NULL, &name_len);
    for (int i = 0; i < n; i++) {
        length = size;
        MPI_T_enum_get_item(names, i, &got, text, &length);
        if (got == value) {
            return;
        }
    }
    text[0] = '\0';
}

static MPI_T_event_registration listen(const char *event, MPI_T_event_cb_function on,
                                       struct heard *h)
{
    MPI_T_event_registration handle;
    int index;

    if (MPI_SUCCESS != MPI_T_event_get_index(event, &index) ||
        MPI_SUCCESS != MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &handle) ||
        MPI_SUCCESS !=
            MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, h, on)) {
        fprintf(stderr, "there is no event %s\n", event);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return handle;
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *n; i++) {
        ((int *) inout)[i] += ((int *) in)[i];
    }
}

int main(int argc, char **argv)
{
    static double vector[COUNT];
    struct heard h = {.collective = -1}, before;
    MPI_T_event_registration calls, handovers;
    char name[100];
    MPI_Op op;
    int provided, ranks, one = 1, sum = 0;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    calls = listen("ompi.coll_gpuring_call", on_call, &h);
    handovers = listen("ompi.coll_gpuring_handover", on_handover, &h);

    for (int i = 0; i < CALLS; i++) {
        MPI_Allreduce(MPI_IN_PLACE, vector, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    before = h;
    tap_check(CALLS == before.calls && 0 == before.handovers, "each call is an event");
    tap_check(CALLS * sizeof(vector) == before.bytes && ranks == before.ranks && !before.device &&
                  0 == before.collective,
              "an event says collective, bytes, ranks, and that the host did it");
    tap_check(before.ns > 0 && before.ns < 100000000000ull && 0 == before.backwards,
              "it says how long the call took");
    name_of("ompi.coll_gpuring_call", before.algorithm, name, sizeof(name));
    tap_check(0 == strcmp(name, "mailbox"), "its algorithm has a name");

    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    name_of("ompi.coll_gpuring_handover", h.reason, name, sizeof(name));
    tap_check(ranks == sum && 1 == h.handovers && NULL != strstr(name, "user-defined"),
              "a fallback is an event with its reason");

    MPI_T_event_handle_free(calls, NULL, NULL);
    MPI_T_event_handle_free(handovers, NULL, NULL);
    before = h;
    MPI_Allreduce(MPI_IN_PLACE, vector, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    tap_check(before.calls == h.calls, "who does not listen any more hears nothing");
    MPI_T_finalize();
    return test_end();
}

#else

int main(void)
{
    printf("1..0 # SKIP MPI_T has no events\n");
    return 0;
}

#endif
