/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 5.0's threads.h includes this header, and Open MPI 5.0 does not install it. It has to
 * define opal_thread_yield(), which threads.h declares.
 */
#ifndef OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_THREADS_H
#define OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_THREADS_H

/* libopen-pal's; the parameter opal_threads_pthreads_yield_strategy chooses the function */
OPAL_DECLSPEC extern void (*opal_threads_pthreads_yield_fn)(void);

static inline void opal_thread_yield(void)
{
    opal_threads_pthreads_yield_fn();
}

#endif
