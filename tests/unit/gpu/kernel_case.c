/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of kernel_case.h: schedules of the ranks, and images of their memory. */
#include "kernel_case.h"

#include "exec/gpu/step_tables.h"

#include "blocks.h"
#include "rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

static struct ex_blocks blocks_of(const struct kc_case *c)
{
    return (struct ex_blocks) {c->count, c->has_counts ? c->counts : NULL,
                               c->has_displs ? c->displs : NULL};
}

/* Elements of the whole vector, gaps included. */
static size_t span(const struct kc_case *c)
{
    return ex_has_blocks(c->coll) ? ex_blocks_span(blocks_of(c), c->p) : c->count;
}

/* ---- data ---- */

static double odd(uint64_t random)
{
    static const double numbers[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 1e-42};

    return numbers[random % 8];
}

/* A number of at most 2^24; of so many magnitudes. */
static double wild(uint64_t random, unsigned magnitudes)
{
    double x = ldexp((double) (random >> 40) + 1, -(int) (random % magnitudes));

    return random & 1024 ? -x : x;
}

/* The number as a part of an element: "f32", "f64", "i16", "i32", "i64". */
static void put(const char *part, double x, void *to)
{
    float f = (float) x;
    int64_t i = 'i' == part[0] ? (int64_t) x : 0;
    const void *from = 'i' == part[0]                 ? (void *) &i
                       : 0 == strncmp(part, "f32", 3) ? (void *) &f
                                                      : &x;

    memcpy(to, from, (size_t) atoi(part + 1) / 8);
}

/* A complex number whose product with a dozen others is finite. */
static void put_complex(size_t bytes, unsigned char *to, uint64_t *seed)
{
    const char *part = 8 == bytes ? "f32" : "f64";

    put(part, ldexp(wild(rng_next(seed), 12), -18), to);
    put(part, ldexp(wild(rng_next(seed), 12), -18), to + bytes / 2);
}

/*
 * A value that others have, too, and now and then an odd one; one of few indices; in the gap,
 * anything.
 */
static void put_located(const char *type, size_t bytes, unsigned char *to, uint64_t *seed)
{
    uint64_t random = rng_next(seed);
    int is_odd = 'f' == type[0] && 0 == (random >> 16 & 3);

    memset(to, (int) (random >> 8), bytes);
    put(type, is_odd ? odd(random >> 20) : (double) (random % 5) - 2, to);
    put(strchr(type, '_') + 1, (double) (random >> 24 & 7) - 1, to + bytes / 2);
}

/* 0, or one bit, or any. */
static uint64_t truth(uint64_t random)
{
    return 0 == random % 2          ? 0
           : 0 == (random >> 1 & 1) ? (uint64_t) 1 << (random >> 2 & 63)
                                    : random;
}

void kc_fill(enum gr_kernel kernel, unsigned char *to, size_t n, uint64_t *seed)
{
    const char *type = kd_type_name(kernel), *op = kd_op_name(kernel);
    int special = 0 == strcmp(op, "min") || 0 == strcmp(op, "max");
    size_t bytes = kd_elem_bytes(kernel);
    unsigned char *end = to + n * bytes;
    uint64_t random;

    for (; to < end; to += bytes) {
        if (NULL != strchr(type, '_')) {
            put_located(type, bytes, to, seed);
            continue;
        }
        if ('c' == type[0]) {
            put_complex(bytes, to, seed);
            continue;
        }
        random = rng_next(seed);
        if (0 == strcmp(type, "f32") || 0 == strcmp(type, "f64")) {
            put(type, special && 0 == (random >> 8 & 7) ? odd(random >> 12) : wild(random, 48), to);
        } else {
            random = 'l' == op[0] ? truth(random) : random;
            memcpy(to, &random, bytes);
        }
    }
}

/* ---- what a rank has ---- */

static size_t place(struct kc_image *image, size_t offset, size_t bytes)
{
    size_t at = image->size + GUARD + offset;

    image->size = (at + bytes + GUARD + 15) / 16 * 16;
    return at;
}

static void make_image(struct kc_call *call, int r, uint64_t *seed)
{
    const struct kc_case *c = call->c;
    struct kc_image *image = &call->ranks[r].image;
    size_t elem = call->elem_bytes, own = ex_block_count(blocks_of(c), r), all = span(c);
    size_t in = GR_COLL_ALLGATHER == c->coll ? own : all,
           out = GR_COLL_REDUCE_SCATTER == c->coll ? own : all;
    size_t offset[2];
    int k;

    for (k = 0; k < 2; k++) {
        offset[k] = c->offset[k] * (size_t) (r + 1) % 16;
    }
    image->size = 0;
    image->space[GR_OUT] = place(image, offset[1], out * elem);
    image->space[GR_TMP] = place(image, 0, all * elem);
    if (c->in_place && GR_COLL_REDUCE_SCATTER != c->coll && GR_COLL_ALLTOALL != c->coll) {
        image->space[GR_IN] =
            image->space[GR_OUT] +
            (GR_COLL_ALLGATHER == c->coll ? ex_block_begin(blocks_of(c), r) * elem : 0);
    } else {
        image->space[GR_IN] = place(image, offset[0], in * elem);
    }
    image->bytes = kd_calloc(image->size);
    memset(image->bytes, GUARD_BYTE, image->size);
    kc_fill(c->kernel, image->bytes + image->space[GR_IN], in, seed);
}

static void make_schedules(struct kc_call *call)
{
    const struct kc_case *c = call->c;
    struct gr_plan_spec spec = {
        .coll = c->coll,
        .algo = c->algo,
        .root = c->root,
        .nchannels = c->nchannels,
        .elem_bytes = call->elem_bytes,
        .chunk_bytes = c->chunk_bytes,
        .total = ex_has_blocks(c->coll) ? 0 : c->count,
        .block = ex_has_blocks(c->coll) ? c->count : 0,
        .counts = c->has_counts ? c->counts : NULL,
        .displs = c->has_displs ? c->displs : NULL,
        .slice_chunks = 0 == c->seed % 3 ? GR_GPU_SLICE_CHUNKS : 2 + (uint32_t) (c->seed % 5),
        .torus = c->torus,
    };
    const struct gr_rings rings = {.order = {call->order[0], call->order[1]},
                                   .where = {call->where[0], call->where[1]}};
    int r, k;

    for (k = 0; k < 2; k++) {
        for (r = 0; r < c->p; r++) {
            call->order[k][r] = 1 == k && c->reversed ? c->p - 1 - r : r;
        }
        for (r = 0; r < c->p; r++) {
            call->where[k][call->order[k][r]] = r;
        }
    }
    for (r = 0; r < c->p; r++) {
        struct kc_rank *rank = &call->ranks[r];
        uint32_t n, each = c->run;

        rank->split = gr_plan_split(&spec, c->p, c->slot_bytes, c->nslots, 16);
        n = rank->split.nchunks;
        for (k = 0; k < 2; k++) {
            rank->sched[k] = gr_plan_sched(&spec, c->p, r, &rings, (uint32_t) k, n);
            if (0 != each) {
                rank->sched[k].nchunks =
                    KT_RUNS((n + each - 1) / each, each, 0 == n % each ? each : n % each);
            }
        }
    }
}

struct gr_torus kc_torus(int p, uint64_t random)
{
    struct gr_torus t = {.ndims = 0};
    int d;

    for (d = 2; d < p && t.ndims + 1 < GR_MAX_DIMS; random >>= 2) {
        if (0 == p % d && 0 != random % 4) {
            t.dims[t.ndims++] = d;
            p /= d;
        } else {
            d++;
        }
    }
    t.dims[t.ndims++] = p;
    t.mesh = random % 2 ? (uint32_t) (random >> 1) & ((1u << t.ndims) - 1) : 0;
    return t;
}

void kc_set_torus(struct kc_case *c, const struct gr_torus *torus)
{
    uint32_t most = gr_algo_message_chunks(c->algo, c->coll, c->p, torus);

    c->torus = *torus;
    c->slot_elems = most > 1 ? 0 : c->slot_elems;
    if (most > 1 && c->slot_bytes / most * (c->nslots - 1) < 32) {
        c->slot_bytes *= most;
    }
    if (most >= c->nslots) {
        c->protocol = GR_PROTOCOL_SIMPLE;
    }
    /*
     * the host puts several chunks into one slot; of an Alltoall those, too, that it copies to
     * where they wait
     */
    c->untraced = (most > 1 || (gr_algo_is_by_rank(c->algo) && GR_COLL_ALLTOALL == c->coll)) &&
                  GR_PROTOCOL_SIMPLE != c->protocol;
}

void kc_set_lines(struct kc_case *c)
{
    size_t elem = kd_elem_bytes(c->kernel), data;
    uint32_t threads = c->threads - 32, units = threads;

    if (GR_PROTOCOL_SIMPLE == c->protocol) {
        return;
    }
    /* slots may have more lines than the threads of this block use */
    units *= 1 + (uint32_t) (c->seed % 2);
    data = (size_t) gr_line_bytes(c->protocol, threads, elem);
    c->slot_elems = data / elem;
    c->slot_bytes = units * (GR_PROTOCOL_LL == c->protocol ? GR_LL_UNIT : GR_LL128_UNIT);
    c->chunk_bytes = 0 == c->chunk_bytes || c->chunk_bytes > data ? data : c->chunk_bytes;
}

struct kc_call *kc_open(const struct kc_case *c)
{
    struct kc_call *call = kd_calloc(sizeof(*call));
    uint64_t seed = c->seed;
    int r;

    call->c = c;
    call->elem_bytes = kd_elem_bytes(c->kernel);
    call->slot_elems = 0 == c->slot_elems ? c->slot_bytes / call->elem_bytes : c->slot_elems;
    make_schedules(call);
    for (r = 0; r < c->p; r++) {
        make_image(call, r, &seed);
    }
    return call;
}

void kc_close(struct kc_call *call)
{
    int r;

    for (r = 0; r < call->c->p; r++) {
        free(call->ranks[r].image.bytes);
    }
    free(call);
}

void kc_note(struct kc_trace *t, const struct kt_piece *piece)
{
    if (t->n == t->room) {
        t->room = 0 == t->room ? 256 : 2 * t->room;
        t->pieces = realloc(t->pieces, t->room * sizeof(*t->pieces));
        if (NULL == t->pieces) {
            abort();
        }
    }
    t->pieces[t->n++] = *piece;
}

const char *kc_describe(const struct kc_case *c, char *text, size_t size)
{
    snprintf(text, size,
             "%s %s %s %s p=%d torus=%dx%dx%dx%d (%x) root=%d count=%zu%s%s channels=%u slots=%u "
             "of %zu (%zu) chunk=%zu offsets=%zu,%zu%s%s zero copy %d (%x, %x) run=%u first=%llx "
             "patience=%llu threads=%u seed=%llu",
             gr_protocol_name(c->protocol), gr_algo_name(c->algo), gr_coll_name(c->coll),
             kd_kernel_name(c->kernel), c->p, c->torus.dims[0], c->torus.dims[1], c->torus.dims[2],
             c->torus.dims[3], c->torus.mesh, c->root, c->count, c->has_counts ? " counts" : "",
             c->has_displs ? " displs" : "", (unsigned) c->nchannels, (unsigned) c->nslots,
             c->slot_bytes, c->slot_elems, c->chunk_bytes, c->offset[0], c->offset[1],
             c->in_place ? " in place" : "", c->reversed ? " reversed" : "", c->zero_copy,
             (unsigned) c->allows, (unsigned) c->mapped, (unsigned) c->run,
             (unsigned long long) c->first, (unsigned long long) c->patience, (unsigned) c->threads,
             (unsigned long long) c->seed);
    return text;
}

/* ---- comparing both sides ---- */

static int by_channel(const void *a, const void *b)
{
    const struct kt_piece *x = *(const struct kt_piece *const *) a,
                          *y = *(const struct kt_piece *const *) b;

    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->channel != y->channel) {
        return x->channel < y->channel ? -1 : 1;
    }
    return x < y ? -1 : 1; /* in the order in which they were noted */
}

static const struct kt_piece **sorted(const struct kc_trace *t)
{
    const struct kt_piece **all = kd_calloc(t->n * sizeof(*all));
    size_t k;

    for (k = 0; k < t->n; k++) {
        all[k] = &t->pieces[k];
    }
    qsort(all, t->n, sizeof(*all), by_channel);
    return all;
}

/* Both sides moved the same pieces, each channel in the same order. */
static int same_steps(const struct kc_trace *host, const struct kc_trace *device, char *why,
                      size_t size)
{
    const struct kt_piece **h = sorted(host), **d = sorted(device);
    size_t n = host->n < device->n ? host->n : device->n, k;

    for (k = 0; k < n && 0 == memcmp(h[k], d[k], sizeof(**h)); k++) {
    }
    if (k < n) {
        snprintf(why, size,
                 "rank %llu channel %u slice %u step %u: host moves %zu elements, slot %zu; device "
                 "in rank %llu channel %u slice %u step %u: %zu, slot %zu",
                 (unsigned long long) h[k]->rank, h[k]->channel, h[k]->slice, h[k]->index,
                 h[k]->count, h[k]->slot, (unsigned long long) d[k]->rank, d[k]->channel,
                 d[k]->slice, d[k]->index, d[k]->count, d[k]->slot);
    } else if (host->n != device->n) {
        snprintf(why, size, "the host moved %zu pieces, the device %zu", host->n, device->n);
    }
    free(h);
    free(d);
    return k < n || host->n != device->n ? -1 : 0;
}

static int same_bytes(const struct kc_call *call, unsigned char **images, char *why, size_t size)
{
    size_t i;
    int r;

    for (r = 0; r < call->c->p; r++) {
        const struct kc_image *image = &call->ranks[r].image;

        for (i = 0; i < image->size && image->bytes[i] == images[r][i]; i++) {
        }
        if (i < image->size) {
            snprintf(why, size,
                     "rank %d: byte %zu of %zu is %02x, on the host %02x (in %zu out %zu tmp %zu)",
                     r, i, image->size, images[r][i], image->bytes[i], image->space[GR_IN],
                     image->space[GR_OUT], image->space[GR_TMP]);
            return -1;
        }
    }
    return 0;
}

int kc_run(const struct kc_case *c, struct kc_device *seen, char *why, size_t size)
{
    struct kc_call *call = kc_open(c);
    struct kc_trace host = {0}, device = {0};
    unsigned char *images[KC_MAX_RANKS];
    int rc, r;

    for (r = 0; r < c->p; r++) {
        images[r] = kd_calloc(call->ranks[r].image.size);
        memcpy(images[r], call->ranks[r].image.bytes, call->ranks[r].image.size);
    }
    rc = kc_run_device(call, images, &device, seen, why, size);
    if (0 == rc) {
        rc = kc_run_host(call, &host, why, size);
    }
    if (0 == rc) {
        rc = same_bytes(call, images, why, size);
    }
    if (0 == rc && kd_is_fake() && !c->untraced) {
        rc = same_steps(&host, &device, why, size);
    }
    for (r = 0; r < c->p; r++) {
        free(images[r]);
    }
    free(host.pieces);
    free(device.pieces);
    kc_close(call);
    return rc;
}
