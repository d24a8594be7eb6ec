/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process lets other processes of its user read: a page with a record for each queue of
 * calls, so that somebody can see in which call each rank waits (gpuring_top, and the table that a
 * rank prints when it has waited too long).
 *
 * The page is a segment of shared memory without a name (shm.h), which only its user may attach, and
 * which ends with the process. Readers find it among the segments of the host and only read, so
 * the job does nothing for them. A process that gets no segment has private memory instead: it works
 * as always, and nobody sees it.
 *
 * The owner counts its calls in the page, and says which the last one is. The rest of a record is
 * written when a queue is made, and, below a counter that is odd meanwhile, each 0.1 s while a rank
 * waits. A reader takes nothing for granted: it copies a record, and checks the copy.
 */
#ifndef GR_LINK_PUBLIC_H
#define GR_LINK_PUBLIC_H

#include "link/shm.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GR_PUBLIC_MAGIC UINT64_C(0x3130706f74726772) /* begins each page */
#define GR_PUBLIC_QUEUES 64 /* records of a page; the queues beyond these have private ones */
#define GR_PUBLIC_NAMES 32  /* of calls */
#define GR_PUBLIC_NAME 24   /* bytes of one */

/* The calls that a queue has; a record that is not in use has GR_PUBLIC_FREE. */
enum gr_public_kind {
    GR_PUBLIC_FREE,
    GR_PUBLIC_BLOCKING,
    GR_PUBLIC_NONBLOCKING,
    GR_PUBLIC_PERSISTENT,
    GR_NPUBLIC
};

/* The communicator of a queue, and this rank of it. */
struct gr_public_comm {
    uint64_t members;   /* hash of its processes; with id and count: equal on all ranks */
    uint32_t id, count; /* the runtime's number; how often it was used with these members */
    int32_t rank, size;
    char name[64];
};

/* A wait. All zero: the rank does not wait. */
struct gr_public_wait {
    double since;              /* gr_now() when it began */
    double looked;             /* gr_now() when the rank has polled last */
    uint64_t seq;              /* number of the call */
    char call[GR_PUBLIC_NAME]; /* such as "allreduce" */
    char what[320];            /* where the call stands, and which ranks it waits for */
};

struct gr_public_queue {
    alignas(64) uint64_t seq; /* calls so far; the owner's hot path increments it */
    uint32_t call;            /* the last of them: which of the page's names */
    _Atomic uint32_t version; /* odd while comm or wait are written */
    _Atomic uint32_t kind;    /* an enum gr_public_kind */
    struct gr_public_comm comm;
    struct gr_public_wait wait;
};

struct gr_public_page {
    unsigned char head[GR_SHM_HEAD];
    _Atomic uint64_t magic;
    uint32_t bytes;  /* of this struct: another version of gpuring has another size */
    uint32_t shared; /* the page is a segment */
    double asked;    /* gr_now() when a signal asked for the table; 0: never */
    char host[32];
    char names[GR_PUBLIC_NAMES][GR_PUBLIC_NAME]; /* of calls; "": there is none */
    struct gr_public_queue queues[GR_PUBLIC_QUEUES];
};

/* ---- the owner ---- */

/* Open this process's page; NULL: no memory. Close it after the last gr_public_give(). */
struct gr_public_page *gr_public_open(void);
void gr_public_close(struct gr_public_page *page);

/* Name a call: those of a record are numbers. */
void gr_public_set_name(struct gr_public_page *page, uint32_t call, const char *name);

/* A call of the queue begins. Returns its number. */
static inline uint64_t gr_public_begin_call(struct gr_public_queue *queue, uint32_t call)
{
    queue->call = call;
    return ++queue->seq;
}

/* A record for a queue, and its end. NULL: no memory. Thread-safe. */
struct gr_public_queue *gr_public_take(struct gr_public_page *page, enum gr_public_kind kind,
                                       const struct gr_public_comm *comm);
void gr_public_give(struct gr_public_page *page, struct gr_public_queue *queue);

/* Write the wait of a queue, or that it is over. name: the communicator's now. */
void gr_public_set_wait(struct gr_public_queue *queue, const char *name,
                        const struct gr_public_wait *wait);
void gr_public_end_wait(struct gr_public_queue *queue);

/* ---- readers (public.c) ---- */

/* One record of some process, checked: texts end, and have no control characters. */
struct gr_public_row {
    int32_t pid;
    bool stopped; /* the process is, by a signal or a debugger */
    char host[32];
    double asked; /* as in the page */
    enum gr_public_kind kind;
    uint64_t seq;
    char last[GR_PUBLIC_NAME]; /* name of the last call; "": there was none */
    double still;              /* gr_now() of the first look that found this seq; 0: not known */
    struct gr_public_comm comm;
    struct gr_public_wait wait;
};

/* Rows by communicator, kind and rank. row is to be freed. */
struct gr_public_rows {
    struct gr_public_row *row;
    size_t n;
};

/* Read all pages that this process may read: those of n processes, or of all where it is 0. */
struct gr_public_rows gr_public_read(const int *pids, int n);

/* The order of rows: communicators, and their kinds of calls; 0: both are of one group. */
int gr_public_compare(const struct gr_public_row *a, const struct gr_public_row *b);

/* The group of rows that begins with row `begin`. Borrowed. */
struct gr_public_rows gr_public_group_at(const struct gr_public_rows *rows, size_t begin);

/* Copy and check the records of one page. Returns how many there are; pid and stopped are not set. */
size_t gr_public_copy(const struct gr_public_page *page, double now,
                      struct gr_public_row rows[GR_PUBLIC_QUEUES]);

/* Whether the row's rank waits, and polls. */
bool gr_public_waits(const struct gr_public_row *row, double now);

/* Those of the rows that are of the queue's communicator and kind of calls. n 0: none. Borrowed. */
struct gr_public_rows gr_public_of(const struct gr_public_rows *rows,
                                   const struct gr_public_queue *queue);

/* Print the table of one group, such as gr_public_of() returns, of all these rows. */
void gr_public_print_group(const struct gr_public_rows *rows, const struct gr_public_rows *group,
                           double now, void (*line)(const char *text));

#endif
