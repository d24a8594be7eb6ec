/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of mpit.h. */
#include "mpit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BUFFER = 256 };

/* Whether a variable is a counter with that prefix; with its full name, and MPI's `continuous`. */
static bool is_ours(int index, const char *prefix, char *name, int *continuous)
{
    int name_len = NAME_BUFFER, desc_len = 0, verbosity, class, bind, readonly, atomic;
    MPI_Datatype type;
    MPI_T_enum values;

    return MPI_SUCCESS == MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &class, &type,
                                              &values, NULL, &desc_len, &bind, &readonly,
                                              continuous, &atomic) &&
           MPI_T_PVAR_CLASS_COUNTER == class && MPI_UNSIGNED_LONG_LONG == type &&
           MPI_T_BIND_NO_OBJECT == bind && 0 == strncmp(name, prefix, strlen(prefix));
}

static unsigned long long read_counter(const struct mpit *mpit, const struct mpit_counter *counter)
{
    unsigned long long value = 0;

    MPI_T_pvar_read(mpit->session, counter->handle, &value);
    return value;
}

static void add(struct mpit *mpit, int index, const char *algorithm, int continuous)
{
    struct mpit_counter *counter = &mpit->counters[mpit->ncounters];
    int count;

    if (MPI_SUCCESS !=
        MPI_T_pvar_handle_alloc(mpit->session, index, NULL, &counter->handle, &count)) {
        return;
    }
    if (1 != count ||
        (!continuous && MPI_SUCCESS != MPI_T_pvar_start(mpit->session, counter->handle))) {
        MPI_T_pvar_handle_free(mpit->session, &counter->handle);
        return;
    }
    snprintf(counter->algorithm, sizeof counter->algorithm, "%s", algorithm);
    mpit->ncounters++;
}

void mpit_open(struct mpit *mpit, const char *prefix)
{
    int provided, n = 0, continuous;
    char name[NAME_BUFFER];

    *mpit = (struct mpit) {.session = MPI_T_PVAR_SESSION_NULL};
    if (MPI_SUCCESS != MPI_T_init_thread(MPI_THREAD_SINGLE, &provided)) {
        return;
    }
    if (MPI_SUCCESS != MPI_T_pvar_session_create(&mpit->session)) {
        MPI_T_finalize();
        mpit->session = MPI_T_PVAR_SESSION_NULL;
        return;
    }
    MPI_T_pvar_get_num(&n);
    mpit->counters = calloc((size_t) n + 1, sizeof *mpit->counters);
    for (int i = 0; NULL != mpit->counters && i < n; i++) {
        if (is_ours(i, prefix, name, &continuous)) {
            add(mpit, i, name + strlen(prefix), continuous);
        }
    }
}

void mpit_close(struct mpit *mpit)
{
    if (MPI_T_PVAR_SESSION_NULL == mpit->session) {
        return;
    }
    for (int i = 0; i < mpit->ncounters; i++) {
        MPI_T_pvar_handle_free(mpit->session, &mpit->counters[i].handle);
    }
    free(mpit->counters);
    MPI_T_pvar_session_free(&mpit->session);
    MPI_T_finalize();
}

void mpit_mark(struct mpit *mpit)
{
    for (int i = 0; i < mpit->ncounters; i++) {
        mpit->counters[i].before = read_counter(mpit, &mpit->counters[i]);
    }
}

const char *mpit_algorithm(struct mpit *mpit)
{
    const char *best = "stock";
    unsigned long long most = 0;

    for (int i = 0; i < mpit->ncounters; i++) {
        unsigned long long grown =
            read_counter(mpit, &mpit->counters[i]) - mpit->counters[i].before;
        if (grown > most) {
            most = grown;
            best = mpit->counters[i].algorithm;
        }
    }
    return best;
}
