/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the ranks of one algorithm on devices. See world.h. */
#include "cuda/copy.h"
#include "cuda/ipc.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "world.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The ranks that are linked to one of them, on the channels of one order. */
struct peers {
    int in[CREW_RANKS], out[CREW_RANKS];
    int n; /* as many of each */
};

static struct peers peers_of(const struct world *w, int rank, uint32_t channel)
{
    uint32_t k = channel % 2;
    struct gr_sched s = {.algo = w->shape.algo,
                         .p = w->crew->ranks,
                         .pos = w->where[k][rank],
                         .root = w->where[k][w->shape.root],
                         .order = w->order[k]};
    struct peers p;
    int nout;

    gr_sched_peers(&s, p.in, &p.n, p.out, &nout);
    return p;
}

static int index_of(const int *list, int n, int rank)
{
    int k = 0;

    while (k < n && rank != list[k]) {
        k++;
    }
    return k;
}

/* From one slot to the next. */
static size_t slot_stride(const struct world *w)
{
    return GR_PROTOCOL_SIMPLE == w->shape.protocol ? w->shape.slot_bytes
                                                   : gr_line_slot_bytes(w->shape.protocol);
}

size_t world_message_bytes(const struct world *w, const struct gr_request *request)
{
    return GR_PROTOCOL_SIMPLE == w->shape.protocol
               ? w->shape.slot_bytes
               : gr_line_bytes(w->shape.protocol, request->threads, request->elem_bytes);
}

static size_t link_bytes(const struct world *w)
{
    return GR_GPU_LINE + w->shape.slots * slot_stride(w);
}

/* Links into the rank on the channels before this one; all of its arena begins with them. */
static size_t links_before(const struct world *w, int rank, uint32_t channel)
{
    size_t n = 0;

    for (uint32_t c = 0; c < channel; c++) {
        n += (size_t) peers_of(w, rank, c).n;
    }
    return n;
}

size_t world_arena_bytes(const struct world *w, int rank)
{
    return links_before(w, rank, w->shape.channels) * (link_bytes(w) + GR_GPU_LINE) + GR_GPU_LINE;
}

/* The tail of the link from a rank to its reader. */
static gr_gpu_ptr tail_at(const struct world *w, uint32_t channel, int reader, int writer)
{
    struct peers p = peers_of(w, reader, channel);
    size_t number = links_before(w, reader, channel) + (size_t) index_of(p.in, p.n, writer);

    return w->arena[reader] + number * link_bytes(w);
}

static gr_gpu_ptr head_at(const struct world *w, uint32_t channel, int reader, int writer)
{
    struct peers p = peers_of(w, writer, channel);
    size_t number = links_before(w, writer, channel) + (size_t) index_of(p.out, p.n, reader);

    return w->arena[writer] + links_before(w, writer, w->shape.channels) * link_bytes(w) +
           number * GR_GPU_LINE;
}

/* ---- what a kernel needs besides ---- */

enum table { TABLE_IN, TABLE_OUT, TABLE_ORDERS, TABLE_PLACES, TABLE_OUTPUTS, TABLE_END };

static size_t table_at(const struct world *w, enum table table)
{
    size_t p = (size_t) w->crew->ranks, at = 0;
    const size_t bytes[TABLE_END] = {
        [TABLE_IN] = w->shape.channels * p * sizeof(struct gr_gpu_end),
        [TABLE_OUT] = w->shape.channels * p * sizeof(struct gr_gpu_end),
        [TABLE_ORDERS] = 2 * p * sizeof(int),
        [TABLE_PLACES] = w->shape.channels * sizeof(struct gr_gpu_place),
        [TABLE_OUTPUTS] = p * sizeof(gr_gpu_ptr),
    };

    for (int k = 0; k < (int) table; k++) {
        at += (bytes[k] + GR_GPU_LINE - 1) / GR_GPU_LINE * GR_GPU_LINE;
    }
    return at;
}

static void fill_ends(const struct world *w, int rank, char *image)
{
    struct gr_gpu_end *in = (struct gr_gpu_end *) (image + table_at(w, TABLE_IN));
    struct gr_gpu_end *out = (struct gr_gpu_end *) (image + table_at(w, TABLE_OUT));
    int simple = GR_PROTOCOL_SIMPLE == w->shape.protocol; /* lines have no tail */

    for (uint32_t c = 0; c < w->shape.channels; c++) {
        struct peers p = peers_of(w, rank, c);
        size_t row = c * (size_t) w->crew->ranks;
        for (int k = 0; k < p.n; k++) {
            gr_gpu_ptr tail = tail_at(w, c, rank, p.in[k]);
            in[row + (size_t) p.in[k]] = (struct gr_gpu_end) {.slots = tail + GR_GPU_LINE,
                                                              .mine = head_at(w, c, rank, p.in[k]),
                                                              .other = simple ? tail : 0};
            tail = tail_at(w, c, p.out[k], rank);
            out[row + (size_t) p.out[k]] =
                (struct gr_gpu_end) {.slots = tail + GR_GPU_LINE,
                                     .mine = simple ? tail : 0,
                                     .other = head_at(w, c, p.out[k], rank)};
        }
    }
}

static int fill_tables(struct world *w, struct seat *seat)
{
    size_t bytes = table_at(w, TABLE_END), order = (size_t) w->crew->ranks * sizeof(int);
    char *image = calloc(1, bytes);
    int rc;

    if (NULL == image) {
        return GR_ERR_NOMEM;
    }
    fill_ends(w, seat->rank, image);
    memcpy(image + table_at(w, TABLE_ORDERS), w->order[0], order);
    memcpy(image + table_at(w, TABLE_ORDERS) + order, w->order[1], order);
    rc = gr_gpu_copy(w->gpu, (void *) (uintptr_t) seat->tables, image, bytes);
    free(image);
    return rc;
}

static _Atomic uint64_t *abort_word(const struct world *w, const struct seat *seat)
{
    return (_Atomic uint64_t *) &seat->reports[w->shape.channels];
}

/* ---- making all of it ---- */

static int make_orders(struct world *w)
{
    int p = w->crew->ranks;

    for (int k = 0; k < 2; k++) {
        w->order[k] = calloc((size_t) p, sizeof(int));
        w->where[k] = calloc((size_t) p, sizeof(int));
        if (NULL == w->order[k] || NULL == w->where[k]) {
            return GR_ERR_NOMEM;
        }
        for (int i = 0; i < p; i++) { /* forward, and the other way round */
            int rank = 0 == k ? i : (p - i) % p;
            w->order[k][i] = rank;
            w->where[k][rank] = i;
        }
    }
    return 0;
}

/* Zeroes counters and lines, and slots that nobody needs to be zero. */
static int make_arena(struct world *w, int rank)
{
    size_t bytes = world_arena_bytes(w, rank), part = (size_t) 1 << 20;
    char *zeros = calloc(1, part);
    int rc = NULL == zeros ? GR_ERR_NOMEM : gr_gpu_alloc(w->gpu, bytes, &w->arena[rank]);

    for (size_t at = 0; 0 == rc && at < bytes; at += part) {
        rc = gr_gpu_copy(w->gpu, (char *) (uintptr_t) w->arena[rank] + at, zeros,
                         bytes - at < part ? bytes - at : part);
    }
    free(zeros);
    return rc;
}

static int make_seat(struct world *w, struct seat *seat, int rank)
{
    int rc;

    seat->rank = rank;
    rc = make_arena(w, rank);
    rc = 0 != rc ? rc : gr_gpu_alloc(w->gpu, table_at(w, TABLE_END), &seat->tables);
    rc = 0 != rc ? rc : gr_gpu_stream_open(w->gpu, &seat->stream);
    if (0 == rc) {
        seat->reports = gr_gpu_host_alloc(w->gpu, (w->shape.channels + 1) * sizeof *seat->reports);
        rc = NULL == seat->reports ? GR_ERR_NOMEM : 0;
    }
    return rc;
}

struct told {
    int rc;
    unsigned char handle[GR_GPU_IPC_BYTES];
};

/* Maps the arenas of the other processes. */
static int map_arenas(struct world *w, int rc)
{
    struct told mine = {.rc = rc}, all[CREW_RANKS];

    if (0 == rc) {
        mine.rc = gr_gpu_ipc_export(w->gpu, w->arena[w->crew->first], mine.handle);
    }
    crew_tell(w->crew, &mine, all, sizeof mine);
    for (int r = 0; r < w->crew->ranks; r++) {
        rc = 0 != rc ? rc : all[r].rc;
    }
    for (int r = 0; 0 == rc && r < w->crew->ranks; r++) {
        rc = r == w->crew->first ? 0 : gr_gpu_ipc_open(w->gpu, all[r].handle, &w->arena[r]);
    }
    return rc;
}

int world_open(struct world *w, struct crew *crew, struct gr_gpu *gpu,
               const struct world_shape *shape)
{
    int rc;

    *w = (struct world) {.crew = crew,
                         .gpu = gpu,
                         .shape = *shape,
                         .seats = calloc((size_t) crew->n, sizeof *w->seats)};
    rc = NULL == w->seats ? GR_ERR_NOMEM : make_orders(w);
    for (int i = 0; 0 == rc && i < crew->n; i++) {
        rc = make_seat(w, &w->seats[i], crew->first + i);
    }
    if (crew->n < crew->ranks) {
        rc = map_arenas(w, rc);
    }
    for (int i = 0; 0 == rc && i < crew->n; i++) {
        rc = fill_tables(w, &w->seats[i]);
    }
    return 0.0 == crew_max(crew, 0 != rc) ? 0 : 0 != rc ? rc : GR_ERR_PEER;
}

static void close_seat(struct world *w, struct seat *seat)
{
    gr_gpu_stream_close(seat->stream);
    if (0 != seat->tables) {
        gr_gpu_free(w->gpu, seat->tables);
    }
    if (NULL != seat->reports) {
        gr_gpu_host_free(w->gpu, seat->reports);
    }
}

void world_close(struct world *w)
{
    struct crew *crew = w->crew;

    for (int i = 0; NULL != w->seats && i < crew->n; i++) {
        close_seat(w, &w->seats[i]);
    }
    for (int r = 0; r < crew->ranks; r++) { /* mappings first: an owner frees when nobody has one */
        if (0 != w->arena[r] && (r < crew->first || r >= crew->first + crew->n)) {
            gr_gpu_ipc_close(w->gpu, w->arena[r]);
        }
    }
    crew_meet(crew);
    for (int r = crew->first; r < crew->first + crew->n; r++) {
        if (0 != w->arena[r]) {
            gr_gpu_free(w->gpu, w->arena[r]);
        }
    }
    for (int k = 0; k < 2; k++) {
        free(w->order[k]);
        free(w->where[k]);
    }
    free(w->seats);
}

/* ---- calls ---- */

void world_prepare(struct world *w, struct seat *seat, const struct gr_request *request,
                   const gr_gpu_ptr space[3], uint64_t patience)
{
    struct gr_gpu_args *a = &seat->args;
    int p = w->crew->ranks, simple = GR_PROTOCOL_SIMPLE == w->shape.protocol;
    size_t most = world_message_bytes(w, request);

    *a = (struct gr_gpu_args) {
        .split = gr_plan_split(request, p, most, GR_MIN_SLOTS, simple ? GR_GPU_LINE : 16),
        .space = {space[0], space[1], space[2]},
        .in = seat->tables + table_at(w, TABLE_IN),
        .out = seat->tables + table_at(w, TABLE_OUT),
        .place = seat->tables + table_at(w, TABLE_PLACES),
        .report = (gr_gpu_ptr) (uintptr_t) seat->reports,
        .abort = (gr_gpu_ptr) (uintptr_t) abort_word(w, seat),
        .patience = patience,
        .protocol = w->shape.protocol,
        .slot_bytes = slot_stride(w),
        .slot_elems = most / request->elem_bytes,
        .threads = simple ? GR_GPU_THREADS : request->threads + 32,
        .nslots = w->shape.slots,
        .fresh = 1,
        .zero = w->shape.zero_copy ? ++seat->calls : 0,
        .peers = seat->tables + table_at(w, TABLE_OUTPUTS),
        .allows = 1,
    };
    for (int k = 0; k < 2; k++) {
        a->sched[k] = gr_plan_sched(request, p, seat->rank, w->order[k], w->where[k], (uint32_t) k,
                                    a->split.nchunks);
        a->sched[k].order =
            (const int *) (uintptr_t) (seat->tables + table_at(w, TABLE_ORDERS)) + k * p;
    }
    seat->over = 0;
}

int world_outputs(struct world *w, const gr_gpu_ptr *outputs)
{
    int rc = 0;

    for (int i = 0; 0 == rc && i < w->crew->n; i++) {
        void *to = (void *) (uintptr_t) (w->seats[i].tables + table_at(w, TABLE_OUTPUTS));
        rc = gr_gpu_copy(w->gpu, to, outputs, (size_t) w->crew->ranks * sizeof outputs[0]);
    }
    return rc;
}

int world_launch(struct seat *seat, enum gr_kernel kernel)
{
    int rc;

    seat->args.launch = ++seat->launches;
    rc = gr_gpu_launch(seat->stream, kernel, seat->args.split.nchannels, &seat->args);
    seat->args.fresh = 0;
    return rc;
}

int world_left(const struct seat *seat, uint64_t *slots)
{
    int left = 0;

    for (uint32_t c = 0; c < seat->args.split.nchannels; c++) {
        const _Atomic uint64_t *word = (const _Atomic uint64_t *) &seat->reports[c].word;
        left = left ||
               seat->launches * 4 + GR_GPU_DONE != atomic_load_explicit(word, memory_order_acquire);
        *slots += seat->reports[c].moved;
    }
    return left;
}

void world_abort(struct seat *seat)
{
    atomic_store_explicit((_Atomic uint64_t *) (uintptr_t) seat->args.abort, 1,
                          memory_order_release);
}
