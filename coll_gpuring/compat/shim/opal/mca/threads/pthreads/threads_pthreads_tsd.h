/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 5.0's tsd.h includes this header, and Open MPI 5.0 does not install it. Of it, tsd.h
 * needs the type of a key, and reading one.
 */
#ifndef OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_TSD_H
#define OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_get(opal_tsd_key_t key, void **value)
{
    *value = pthread_getspecific(key);
    return OPAL_SUCCESS;
}

#endif
