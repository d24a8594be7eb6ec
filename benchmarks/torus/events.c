/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of events.h: a heap in which every node has four children. It is half as deep as a
 * binary one, and siblings share one or two cache lines.
 */
#include "events.h"

#include <stdlib.h>
#include <string.h>

static int before(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

int events_add(struct events *q, double time, int kind, uint32_t subject, int hop)
{
    struct event e = {time, q->added++, subject, (uint16_t) hop, (uint16_t) kind};
    size_t at = q->n;

    if (q->n == q->room) {
        size_t room = 0 == q->room ? 4096 : 2 * q->room;
        struct event *heap = realloc(q->heap, room * sizeof(*heap));

        if (NULL == heap) {
            return -1;
        }
        q->heap = heap;
        q->room = room;
    }
    q->n++;
    while (at > 0 && before(&e, &q->heap[(at - 1) / 4])) {
        q->heap[at] = q->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    q->heap[at] = e;
    return 0;
}

struct event events_next(struct events *q)
{
    struct event first = q->heap[0], last = q->heap[--q->n];
    size_t at = 0, child, k;

    q->done++;
    while ((child = 4 * at + 1) < q->n) {
        for (k = child + 1; k < child + 4 && k < q->n; k++) {
            child = before(&q->heap[k], &q->heap[child]) ? k : child;
        }
        if (!before(&q->heap[child], &last)) {
            break;
        }
        q->heap[at] = q->heap[child];
        at = child;
    }
    q->heap[at] = last;
    return first;
}

void events_free(struct events *q)
{
    free(q->heap);
    memset(q, 0, sizeof(*q));
}
