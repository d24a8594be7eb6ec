/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations that SYNC_MEMOPS was set of (marks.h). */
#include "cuda/marks.h"

#include "base/memory.h"
#include "cuda/context.h"
#include "cuda/ipc.h"
#include "cuda/state.h"

#include <stdlib.h>

/* Make room for one more entry: in the place of allocations that were freed, or at the end. */
static int reserve_mark(struct gr_gpus *gpus)
{
    size_t room = 0 == gpus->marked_room ? 64 : 2 * gpus->marked_room, n = 0, k;
    struct gr_gpu_marked *marked;

    if (gpus->nmarked < gpus->marked_room) {
        return 1;
    }
    for (k = 0; k < gpus->nmarked; k++) {
        if (gr_gpus_buffer_exists(gpus, gpus->marked[k].start, gpus->marked[k].id)) {
            gpus->marked[n++] = gpus->marked[k];
        }
    }
    gpus->nmarked = n;
    if (2 * n < gpus->marked_room) {
        return 1;
    }
    marked = gr_realloc(gpus->marked, room * sizeof(*marked));
    if (NULL == marked) {
        return 0;
    }
    gpus->marked = marked;
    gpus->marked_room = room;
    return 1;
}

void gr_marks_set(struct gr_gpus *gpus, gr_gpu_ptr start, uint64_t id, int is_set)
{
    unsigned int yes = 1;

    /* the driver refuses it for some kinds of memory, which their stream synchronises */
    if (is_set || CUDA_SUCCESS != gpus->cuda.cuPointerSetAttribute(
                                      &yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, start)) {
        return;
    }
    pthread_mutex_lock(&gpus->marks_lock);
    if (0 != id && reserve_mark(gpus)) {
        gpus->marked[gpus->nmarked++] = (struct gr_gpu_marked) {start, id};
    }
    pthread_mutex_unlock(&gpus->marks_lock);
}

void gr_marks_clear(struct gr_gpus *gpus)
{
    CUstreamCaptureMode mode;
    unsigned int no = 0;
    size_t k;

    pthread_mutex_lock(&gpus->marks_lock);
    mode = gr_cuda_relax(&gpus->cuda);
    for (k = 0; k < gpus->nmarked; k++) {
        if (gr_gpus_buffer_exists(gpus, gpus->marked[k].start, gpus->marked[k].id)) {
            (void) gpus->cuda.cuPointerSetAttribute(&no, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                    gpus->marked[k].start);
        }
    }
    gpus->nmarked = 0;
    gr_cuda_restore(&gpus->cuda, mode);
    pthread_mutex_unlock(&gpus->marks_lock);
}
