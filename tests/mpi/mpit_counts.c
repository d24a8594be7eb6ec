/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI_T session (mpit_counts.h). Open MPI counts a sum-like variable from the moment its handle
 * is allocated, continuous or not. So the handles are allocated right after MPI_Init and kept.
 */
#include "mpit_counts.h"

#include <mpi.h>
#include <string.h>

#define MAX_COUNTERS 128

static const char any_prefix[] = "coll_gpuring_";
static const char calls_prefix[] = "coll_gpuring_calls_";
static const char handover_prefix[] = "coll_gpuring_handover_";
static const char device_prefix[] = "coll_gpuring_device_calls_";
static const char zero_prefix[] = "coll_gpuring_zero_copy_calls_";
static const char leader_name[] = "coll_gpuring_algorithm_leader";

struct counter {
    char name[128];
    MPI_T_pvar_handle handle;
};

static struct counter counters[MAX_COUNTERS];
static int num_counters;
static MPI_T_pvar_session session;
static int running;

static int starts_with(const char *s, const char *prefix)
{
    return 0 == strncmp(s, prefix, strlen(prefix));
}

static void add_counter(int index)
{
    struct counter *c = &counters[num_counters];
    char desc[1024];
    int name_len = sizeof c->name, desc_len = sizeof desc;
    int verbosity, var_class, bind, readonly, continuous, atomic, count;
    MPI_Datatype type;
    MPI_T_enum enumtype;

    if (MPI_SUCCESS != MPI_T_pvar_get_info(index, c->name, &name_len, &verbosity, &var_class, &type,
                                           &enumtype, desc, &desc_len, &bind, &readonly,
                                           &continuous, &atomic)) {
        return; /* of a component that was closed again */
    }
    if (!starts_with(c->name, any_prefix)) {
        return;
    }
    if (MPI_UNSIGNED_LONG_LONG != type || MPI_T_BIND_NO_OBJECT != bind) {
        printf("# counter %s has an unexpected type or binding\n", c->name);
        return;
    }
    if (MPI_SUCCESS != MPI_T_pvar_handle_alloc(session, index, NULL, &c->handle, &count)) {
        return;
    }
    if (!continuous) {
        MPI_T_pvar_start(session, c->handle);
    }
    num_counters++;
}

void mpit_counts_start(void)
{
    int provided, n = 0;

    if (MPI_SUCCESS != MPI_T_init_thread(MPI_THREAD_SINGLE, &provided)) {
        return;
    }
    running = 1;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n; i++) {
        if (MAX_COUNTERS == num_counters) {
            printf("# there may be more than %d counters: raise MAX_COUNTERS\n", MAX_COUNTERS);
            break;
        }
        add_counter(i);
    }
}

static unsigned long long counter_read(const struct counter *c)
{
    unsigned long long value = 0;

    MPI_T_pvar_read(session, c->handle, &value);
    return value;
}

struct mpit_totals mpit_counts_read(void)
{
    struct mpit_totals t = {.counters = num_counters};

    for (int i = 0; i < num_counters; i++) {
        if (starts_with(counters[i].name, calls_prefix)) {
            t.calls += counter_read(&counters[i]);
        } else if (starts_with(counters[i].name, device_prefix)) {
            t.device += counter_read(&counters[i]);
        } else if (starts_with(counters[i].name, zero_prefix)) {
            t.zero_copy += counter_read(&counters[i]);
        } else if (0 == strcmp(counters[i].name, leader_name)) {
            t.leader += counter_read(&counters[i]);
        } else if (starts_with(counters[i].name, handover_prefix)) {
            t.handovers += counter_read(&counters[i]);
        }
    }
    return t;
}

void mpit_counts_list(FILE *f, const char *prefix)
{
    for (int i = 0; i < num_counters; i++) {
        fprintf(f, "%s %s %llu\n", prefix, counters[i].name, counter_read(&counters[i]));
    }
}

void mpit_counts_stop(void)
{
    if (!running) {
        return;
    }
    for (int i = 0; i < num_counters; i++) {
        MPI_T_pvar_handle_free(session, &counters[i].handle);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    num_counters = running = 0;
}
