/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page that other processes may read (public.h): its owner's side; the readers' side, and their
 * table.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* SHM_INFO, SHM_STAT */
#endif
#include "link/public.h"

#include "base/memory.h"
#include "base/system.h"
#include "base/text.h"
#include "link/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

/* Bytes of the segment that a page is in. */
static size_t page_bytes(void)
{
    return gr_round_up(sizeof(struct gr_public_page), (size_t) sysconf(_SC_PAGESIZE));
}

/* A segment with all its pages, so that no later write needs memory. NULL: there is none. */
static struct gr_public_page *shared_page(void)
{
    size_t bytes = page_bytes();
    struct gr_shm_id id;
    unsigned char *base;

    if (0 != gr_shm_create(bytes, &id, &base)) {
        return NULL;
    }
    if (0 != gr_shm_populate(base, bytes)) {
        gr_shm_detach(base);
        return NULL;
    }
    return (struct gr_public_page *) base;
}

struct gr_public_page *gr_public_open(void)
{
    struct gr_public_page *page = shared_page();
    bool shared = NULL != page;

    if (!shared) {
        page = gr_calloc(1, sizeof(*page));
    }
    if (NULL == page) {
        return NULL;
    }
    page->shared = shared;
    page->bytes = (uint32_t) sizeof(*page);
    (void) gethostname(page->host, sizeof(page->host) - 1);
    page->host[strcspn(page->host, ".")] = '\0';
    atomic_store_explicit(&page->magic, GR_PUBLIC_MAGIC, memory_order_release);
    return page;
}

void gr_public_close(struct gr_public_page *page)
{
    if (NULL != page && page->shared) {
        gr_shm_detach((unsigned char *) page);
    } else {
        free(page);
    }
}

void gr_public_set_name(struct gr_public_page *page, uint32_t call, const char *name)
{
    if (call < GR_PUBLIC_NAMES) {
        snprintf(page->names[call], sizeof(page->names[call]), "%s", name);
    }
}

/* ---- a queue's record ---- */

/* Begin or end a change. Two threads may write at once: then texts may mix, no more. */
static void change(struct gr_public_queue *queue)
{
    atomic_fetch_add_explicit(&queue->version, 1, memory_order_acq_rel);
    atomic_thread_fence(memory_order_seq_cst);
}

static void fill(struct gr_public_queue *queue, const struct gr_public_comm *comm)
{
    change(queue);
    queue->seq = 0;
    queue->call = 0;
    queue->comm = *comm;
    memset(&queue->wait, 0, sizeof(queue->wait));
    change(queue);
}

struct gr_public_queue *gr_public_take(struct gr_public_page *page, enum gr_public_kind kind,
                                       const struct gr_public_comm *comm)
{
    struct gr_public_queue *queue;

    for (queue = page->queues; queue < page->queues + GR_PUBLIC_QUEUES; queue++) {
        uint32_t unused = GR_PUBLIC_FREE;

        if (atomic_compare_exchange_strong(&queue->kind, &unused, kind)) {
            fill(queue, comm);
            return queue;
        }
    }
    return gr_calloc(1, sizeof(*queue));
}

void gr_public_give(struct gr_public_page *page, struct gr_public_queue *queue)
{
    if (NULL == page || NULL == queue) {
        return; /* the page, and what it held, has gone before the queue */
    }
    if (queue >= page->queues && queue < page->queues + GR_PUBLIC_QUEUES) {
        atomic_store(&queue->kind, GR_PUBLIC_FREE);
    } else {
        free(queue);
    }
}

void gr_public_set_wait(struct gr_public_queue *queue, const char *name,
                        const struct gr_public_wait *wait)
{
    change(queue);
    snprintf(queue->comm.name, sizeof(queue->comm.name), "%s", name);
    queue->wait = *wait;
    change(queue);
}

void gr_public_end_wait(struct gr_public_queue *queue)
{
    change(queue);
    queue->wait.since = 0;
    change(queue);
}

/* ---- readers ---- */

/* Seconds without a look after which a rank may be elsewhere; it looks each 0.1 s, if it can. */
#define STALE 1.0

/* ---- one page ---- */

/* End a text, and replace all but ASCII's printable characters: others may control a terminal. */
static void clean(char *text, size_t size)
{
    size_t k;

    text[size - 1] = '\0';
    for (k = 0; '\0' != text[k]; k++) {
        if (text[k] < ' ' || text[k] > '~') {
            text[k] = '?';
        }
    }
}

/* A moment that has been; anything else becomes 0. */
static double moment(double t, double now)
{
    return t > 0 && t <= now ? t : 0;
}

/* False: the owner is writing all the time, or has died or stopped in the middle. */
static bool copy_steady(const struct gr_public_queue *queue, struct gr_public_row *row)
{
    uint32_t before;
    int tries;

    for (tries = 0; tries < 1000; tries++) {
        before = atomic_load_explicit(&queue->version, memory_order_acquire);
        memcpy(&row->comm, &queue->comm, sizeof(row->comm));
        memcpy(&row->wait, &queue->wait, sizeof(row->wait));
        atomic_thread_fence(memory_order_acquire);
        if (0 == before % 2 &&
            before == atomic_load_explicit(&queue->version, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* False: there is no such record. */
static bool copy_queue(const struct gr_public_page *page, const struct gr_public_queue *queue,
                       double now, struct gr_public_row *row)
{
    uint32_t kind = atomic_load_explicit(&queue->kind, memory_order_acquire), call;

    if (GR_PUBLIC_FREE == kind || kind >= GR_NPUBLIC) {
        return false;
    }
    row->kind = (enum gr_public_kind) kind;
    row->seq = *(const volatile uint64_t *) &queue->seq;
    call = *(const volatile uint32_t *) &queue->call;
    row->last[0] = '\0';
    if (row->seq > 0 && call < GR_PUBLIC_NAMES) {
        memcpy(row->last, page->names[call], sizeof(row->last));
        clean(row->last, sizeof(row->last));
    }
    row->still = 0;
    if (!copy_steady(queue, row)) {
        memset(&row->wait, 0, sizeof(row->wait)); /* the communicator is seldom written */
    }
    clean(row->comm.name, sizeof(row->comm.name));
    clean(row->wait.call, sizeof(row->wait.call));
    clean(row->wait.what, sizeof(row->wait.what));
    row->wait.since = moment(row->wait.since, now);
    row->wait.looked = moment(row->wait.looked, now);
    return row->comm.rank >= 0 && row->comm.rank < row->comm.size;
}

size_t gr_public_copy(const struct gr_public_page *page, double now,
                      struct gr_public_row rows[GR_PUBLIC_QUEUES])
{
    size_t n = 0, k;

    if (GR_PUBLIC_MAGIC != atomic_load_explicit(&page->magic, memory_order_acquire) ||
        sizeof(*page) != page->bytes) {
        return 0;
    }
    for (k = 0; k < GR_PUBLIC_QUEUES; k++) {
        if (copy_queue(page, &page->queues[k], now, &rows[n])) {
            memcpy(rows[n].host, page->host, sizeof(rows[n].host));
            clean(rows[n].host, sizeof(rows[n].host));
            rows[n].asked = moment(page->asked, now);
            n++;
        }
    }
    return n;
}

/* ---- all pages ---- */

static bool is_stopped(int pid)
{
    char text[128], *end;

    (void) gr_text_read_line(text, sizeof(text), "/proc/%d/stat", pid);
    end = strrchr(text, ')'); /* of its name */
    return NULL != end && (0 == strncmp(end, ") T", 3) || 0 == strncmp(end, ") t", 3));
}

static bool is_among(int pid, const int *pids, int n)
{
    int k;

    for (k = 0; k < n && pid != pids[k]; k++) {
    }
    return 0 == n || k < n;
}

/* Append the rows of the segment, if it is a page. read: memory for the rows of a page. */
static void add_segment(struct gr_public_rows *rows, int id, int pid, struct gr_public_row *read)
{
    const struct gr_public_page *page = shmat(id, NULL, SHM_RDONLY);
    struct gr_public_row *row;
    bool stopped;
    size_t n, k;

    if ((const void *) -1 == page) {
        return;
    }
    n = gr_public_copy(page, gr_now(), read);
    (void) shmdt(page);
    stopped = 0 != n && is_stopped(pid);
    row = 0 == n ? NULL : realloc(rows->row, (rows->n + n) * sizeof(*row));
    if (NULL == row) {
        return;
    }
    for (k = 0; k < n; k++) {
        read[k].pid = pid;
        read[k].stopped = stopped;
        row[rows->n++] = read[k];
    }
    rows->row = row;
}

int gr_public_compare(const struct gr_public_row *a, const struct gr_public_row *b)
{
#define COMPARE(field)                       \
    if (a->field != b->field) {              \
        return a->field < b->field ? -1 : 1; \
    }
    COMPARE(comm.members)
    COMPARE(comm.id)
    COMPARE(comm.count)
    COMPARE(kind)
    return 0;
}

/* In a group: ranks, and of the records of a rank that first which waits longest. */
static int compare_rows(const void *left, const void *right)
{
    const struct gr_public_row *a = left, *b = right;
    int groups = gr_public_compare(a, b);

    if (0 != groups) {
        return groups;
    }
    COMPARE(comm.rank)
    COMPARE(pid)
    if (a->wait.since != b->wait.since) {
        return 0 == b->wait.since || (0 != a->wait.since && a->wait.since < b->wait.since) ? -1 : 1;
    }
    return 0;
}

struct gr_public_rows gr_public_group_at(const struct gr_public_rows *rows, size_t begin)
{
    size_t end = begin + 1;

    while (end < rows->n && 0 == gr_public_compare(&rows->row[begin], &rows->row[end])) {
        end++;
    }
    return (struct gr_public_rows) {rows->row + begin, end - begin};
}

/* Whether a segment may be a page of a process that this one may look at. */
static bool may_be_page(const struct shmid_ds *segment, size_t bytes)
{
    uid_t self = geteuid();

    return segment->shm_segsz == bytes && 0600 == (segment->shm_perm.mode & 0777) &&
           segment->shm_perm.uid == segment->shm_perm.cuid &&
           (0 == self || segment->shm_perm.cuid == self);
}

struct gr_public_rows gr_public_read(const int *pids, int n)
{
    struct gr_public_row *read = gr_calloc(GR_PUBLIC_QUEUES, sizeof(*read));
    struct gr_public_rows rows = {NULL, 0};
    size_t bytes = page_bytes();
    struct shmid_ds segment;
    struct shm_info info;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *) &info), k, id;

    for (k = 0; NULL != read && k <= last; k++) {
        id = shmctl(k, SHM_STAT, &segment);
        if (id >= 0 && may_be_page(&segment, bytes) && is_among(segment.shm_cpid, pids, n)) {
            add_segment(&rows, id, segment.shm_cpid, read);
        }
    }
    free(read);
    if (rows.n > 1) {
        qsort(rows.row, rows.n, sizeof(*rows.row), compare_rows);
    }
    return rows;
}

struct gr_public_rows gr_public_of(const struct gr_public_rows *rows,
                                   const struct gr_public_queue *queue)
{
    struct gr_public_row key = {.kind = (enum gr_public_kind) queue->kind, .comm = queue->comm};
    size_t k;

    for (k = 0; k < rows->n && 0 != gr_public_compare(&rows->row[k], &key); k++) {
    }
    return k < rows->n ? gr_public_group_at(rows, k) : (struct gr_public_rows) {NULL, 0};
}

bool gr_public_waits(const struct gr_public_row *row, double now)
{
    return 0 != row->wait.since && now - row->wait.looked < STALE && !row->stopped;
}

/* ---- the table ---- */

static const char *const kind_names[GR_NPUBLIC] = {"", "blocking", "nonblocking", "persistent"};

/* The wait of the row's process on another communicator or in other calls; NULL: none. */
static const struct gr_public_row *waits_elsewhere(const struct gr_public_rows *rows,
                                                   const struct gr_public_row *row, double now)
{
    size_t k;

    for (k = 0; k < rows->n; k++) {
        if (rows->row[k].pid == row->pid && gr_public_waits(&rows->row[k], now)) {
            return &rows->row[k];
        }
    }
    return NULL;
}

/* What the rank of a row without a wait has done last; "": nothing. */
static void describe_last(const struct gr_public_row *row, double now, char *text, size_t size)
{
    text[0] = '\0';
    if (0 != row->wait.since || '\0' == row->last[0]) {
        return;
    }
    gr_text_add(text, size, "; last call: %s", row->last);
    if (0 != row->still) {
        gr_text_add(text, size, ", none for %.0f s", now - row->still);
    }
}

static void print_row(const struct gr_public_rows *rows, const struct gr_public_row *row,
                      double now, void (*line)(const char *text))
{
    const struct gr_public_row *other = waits_elsewhere(rows, row, now);
    const struct gr_public_wait *wait = &row->wait;
    char text[512], since[24] = "-", state[400], last[80];

    describe_last(row, now, last, sizeof(last));
    if (row->stopped) {
        snprintf(state, sizeof(state), "stopped%s", last);
    } else if (gr_public_waits(row, now)) {
        snprintf(state, sizeof(state), "%s", wait->what);
    } else if (0 != wait->since && NULL == other) {
        snprintf(state, sizeof(state), "%s; has not looked for %.0f s", wait->what,
                 now - wait->looked);
    } else if (NULL != other) {
        snprintf(state, sizeof(state), "in %s of %s (id %u), %s", other->wait.call,
                 other->comm.name, other->comm.id, kind_names[other->kind]);
    } else {
        snprintf(state, sizeof(state), "not waiting here: computes, or is in another library%s",
                 last);
    }
    if (0 != wait->since) {
        snprintf(since, sizeof(since), "%.0f s", now - wait->since);
    }
    snprintf(text, sizeof(text), "%5d %-12s %7d %-14s %8llu %6s  %s", row->comm.rank, row->host,
             row->pid, 0 != wait->since ? wait->call : "-",
             (unsigned long long) (0 != wait->since && 0 != wait->seq ? wait->seq : row->seq),
             since, state);
    line(text);
}

/* Whether the row is the first of its rank in the group. */
static bool is_first(const struct gr_public_rows *group, size_t k)
{
    return 0 == k || group->row[k].comm.rank != group->row[k - 1].comm.rank ||
           group->row[k].pid != group->row[k - 1].pid;
}

static void add_rank(char *list, size_t size, int rank)
{
    char word[16];

    snprintf(word, sizeof(word), "%d", rank);
    gr_words_add(list, size, word);
}

/* The ranks that have begun fewer calls than others. */
static void print_behind(const struct gr_public_rows *group, void (*line)(const char *text))
{
    uint64_t least = UINT64_MAX, most = 0;
    char list[160] = "", text[300];
    size_t k;

    for (k = 0; k < group->n; k++) {
        least = group->row[k].seq < least ? group->row[k].seq : least;
        most = group->row[k].seq > most ? group->row[k].seq : most;
    }
    for (k = 0; k < group->n && least < most; k++) {
        if (least == group->row[k].seq) {
            add_rank(list, sizeof(list), group->row[k].comm.rank);
        }
    }
    if ('\0' != list[0]) {
        snprintf(text, sizeof(text),
                 "behind, with %llu calls begun, another rank with %llu: rank%s",
                 (unsigned long long) least, (unsigned long long) most, list);
        line(text);
    }
}

/* The ranks whose call of that number is another one than the first waiting rank's. */
static void print_different(const struct gr_public_rows *group, void (*line)(const char *text))
{
    const struct gr_public_row *first = NULL, *row;
    char list[160] = "", text[300];

    for (row = group->row; row < group->row + group->n; row++) {
        if (0 == row->wait.since) {
            continue;
        }
        first = NULL == first ? row : first;
        if (row->wait.seq == first->wait.seq && 0 != strcmp(row->wait.call, first->wait.call)) {
            add_rank(list, sizeof(list), row->comm.rank);
        }
    }
    if ('\0' != list[0]) {
        snprintf(text, sizeof(text),
                 "not in rank %d's %s, sequence %llu, but in another call: rank%s",
                 first->comm.rank, first->wait.call, (unsigned long long) first->wait.seq, list);
        line(text);
    }
}

void gr_public_print_group(const struct gr_public_rows *rows, const struct gr_public_rows *group,
                           double now, void (*line)(const char *text))
{
    const struct gr_public_comm *comm = &group->row[0].comm;
    char text[300];
    int seen = 0;
    size_t k;

    snprintf(text, sizeof(text), "%s (id %u), %d ranks, %s calls:", comm->name, comm->id,
             comm->size, kind_names[group->row[0].kind]);
    line(text);
    snprintf(text, sizeof(text), "%5s %-12s %7s %-14s %8s %6s  %s", "rank", "host", "pid", "call",
             "sequence", "since", "waits for");
    line(text);
    for (k = 0; k < group->n; k++) {
        if (is_first(group, k)) {
            print_row(rows, &group->row[k], now, line);
            seen++;
        }
    }
    if (GR_PUBLIC_PERSISTENT != group->row[0].kind) {
        print_behind(group, line);
        print_different(group, line);
    }
    if (seen < comm->size) {
        snprintf(text, sizeof(text), "%d ranks are not seen here: on other nodes, or ended",
                 comm->size - seen);
        line(text);
    }
}
