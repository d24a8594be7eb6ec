/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes, and the offsets of blocks. */
#include "layout.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "devmem.h"
#include "rng.h"

#define FAR (1 << 20)

static void *room_for(int n, size_t bytes)
{
    void *at = calloc((size_t) n + 1, bytes);

    if (NULL == at) {
        abort();
    }
    return at;
}

static void plain(struct layout *l, int basic)
{
    *l = (struct layout) {.type = basics[basic].type, .per = 1, .extent = basics[basic].bytes};
}

/* Runs of `run` elements, one every `stride` elements, which may be less than 0. */
static void vector(struct layout *l, int basic, int runs, int run, int stride)
{
    l->per = runs * run;
    for (int k = 0; k < l->per; k++) {
        l->off[k] = (long) (k / run * stride + k % run) * basics[basic].bytes;
    }
    MPI_Type_vector(runs, run, stride, basics[basic].type, &l->type);
}

/* The elements in any order, with gaps, now and then all in front of the address. */
static void indexed(struct layout *l, int basic, int per, uint64_t *rng)
{
    int places[LAYOUT_UNIT];
    int at = rng_below(rng, 3) - (0 == rng_below(rng, 4) ? 3 * per + 3 : 0), j;

    for (int k = 0; k < per; k++) {
        j = rng_below(rng, k + 1);
        places[k] = places[j];
        places[j] = at;
        at += 1 + rng_below(rng, 3);
    }
    l->per = per;
    for (int k = 0; k < per; k++) {
        l->off[k] = (long) places[k] * basics[basic].bytes;
    }
    MPI_Type_create_indexed_block(per, 1, places, basics[basic].type, &l->type);
}

static void resize(struct layout *l, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype before = l->type;

    MPI_Type_create_resized(before, lb, extent, &l->type);
    MPI_Type_free(&before);
}

static void draw_layout(struct layout *l, int basic, bool derived, uint64_t *rng)
{
    static const int pers[] = {1, 2, 3, 4, 6, 12};
    const int per = pers[rng_below(rng, 6)];
    const MPI_Aint bytes = basics[basic].bytes;
    MPI_Aint lb, extent;

    if (!derived || 0 == rng_below(rng, 4)) {
        plain(l, basic);
        return;
    }
    l->derived = true;
    switch (rng_below(rng, 6)) {
    case 0:
        vector(l, basic, 1, per, per);
        break; /* contiguous */
    case 1:
        vector(l, basic, 3, 2, 3 + rng_below(rng, 3));
        break;
    case 2:
        vector(l, basic, 4, 1, -2);
        break;
    case 3: /* elements lie in each other's gaps */
        vector(l, basic, 3, 1, 4);
        resize(l, 0, 3 * bytes);
        break;
    default:
        indexed(l, basic, per, rng);
        MPI_Type_get_extent(l->type, &lb, &extent);
        resize(l, lb - rng_below(rng, 3) * bytes, extent + (2 + rng_below(rng, 3)) * bytes);
        break;
    }
    MPI_Type_commit(&l->type);
    MPI_Type_get_extent(l->type, &lb, &extent);
    l->extent = (long) extent;
}

static struct layout *layout_of(const struct side *s, int block)
{
    return &s->layouts[s->apart ? block : 0];
}

/* Bytes from what MPI gets to this element. */
static long offset(const struct side *s, int block, long element)
{
    const struct layout *l = layout_of(s, block);
    const long scale = s->apart ? 1 : l->extent;

    return s->displs[block] * scale + element / l->per * l->extent + l->off[element % l->per];
}

long side_place(const struct side *s, int block, long element)
{
    return s->origin + offset(s, block, element);
}

/* Displacements: block by block, in an order of their own unless they are dense. */
static void place_blocks(struct side *s, bool dense, uint64_t *rng)
{
    int *order = room_for(s->n, sizeof *order);
    long at = 0;

    for (int k = 0; k < s->n; k++) {
        const int j = dense ? k : rng_below(rng, k + 1);

        order[k] = order[j];
        order[j] = k;
    }
    for (int k = 0; k < s->n; k++) {
        const int block = order[k];
        const long size = s->apart ? layout_of(s, block)->extent : 1;

        s->displs[block] = (int) at;
        if (!dense && 0 == s->counts[block]) { /* of nothing, said to lie anywhere */
            s->displs[block] += (int[]) {0, FAR, -FAR}[rng_below(rng, 3)];
        }
        s->offsets[block] = (MPI_Aint) s->displs[block];
        /* the gap beside a layout with negative offsets is as wide as all of it */
        at += (s->counts[block] + (dense ? 0 : rng_below(rng, 3))) * size +
              (s->apart ? 16 * (long) LAYOUT_UNIT * 6 : 0);
    }
    free(order);
}

/* Mostly host memory or the rank's own device. */
static enum devmem_kind draw_kind(enum devmem_kind memory, uint64_t *rng)
{
    if (DEVMEM_MIXED != memory) {
        return memory;
    }
    return (enum devmem_kind)(0 != rng_below(rng, 4) ? rng_below(rng, 2)
                                                     : rng_below(rng, DEVMEM_MIXED));
}

/* Widens [*low, *high] by where the elements of a block begin. */
static void find_bounds(const struct side *s, int b, long *low, long *high)
{
    const int per = layout_of(s, b)->per;

    for (int e = 0; e < s->elements[b]; e++) {
        if (e == per && s->elements[b] > 2 * per) {
            e = s->elements[b] - per; /* what lies between reaches no farther */
        }
        const long at = offset(s, b, e);

        *low = at < *low ? at : *low;
        *high = at > *high ? at : *high;
    }
}

/* Memory for all elements. */
static void find_room(struct side *s, enum devmem_kind memory, uint64_t *rng)
{
    long low = 0, high = 0;

    for (int b = 0; b < s->n; b++) {
        find_bounds(s, b, &low, &high);
    }
    high += basics[s->basic].data;
    low -= low % 16 != 0 ? 16 + low % 16 : 0; /* aligned as the basic types want it */
    s->origin = -low;
    s->mem = guarded_alloc((size_t) (high - low),
                           (size_t) rng_below(rng, 4) * (size_t) basics[s->basic].bytes);
    s->at = guarded_lend_kind(&s->mem, draw_kind(memory, rng)) + s->origin;
}

/* The datatype with an absolute address in it, for MPI_BOTTOM. */
static void make_absolute(struct layout *l, MPI_Aint at)
{
    MPI_Datatype relative = l->type;

    MPI_Type_create_hindexed(1, (int[]) {1}, &at, relative, &l->type);
    MPI_Type_commit(&l->type);
    if (l->derived) {
        MPI_Type_free(&relative);
    }
    l->derived = true;
}

/* Instead of one piece of memory one for each block, of any kind. */
static void divide(struct side *s, enum devmem_kind memory, uint64_t *rng)
{
    s->parts = room_for(s->n, sizeof *s->parts);
    s->zeros = room_for(s->n, sizeof *s->zeros);
    for (int b = 0; b < s->n; b++) {
        struct part *p = &s->parts[b];
        long low = LONG_MAX, high = LONG_MIN;
        MPI_Aint at;

        find_bounds(s, b, &low, &high);
        if (high < low) {
            low = 0;
            high = -basics[s->basic].data;
        }
        low -= ((low % 16) + 16) % 16; /* aligned as the basic types want it */
        p->low = s->origin + low;
        p->mem = guarded_alloc((size_t) (high - low + basics[s->basic].data), 0);
        MPI_Get_address(guarded_lend_kind(&p->mem, draw_kind(memory, rng)), &at);
        make_absolute(layout_of(s, b), at - low + s->displs[b]);
        s->types[b] = layout_of(s, b)->type;
    }
    s->at = MPI_BOTTOM;
}

/* Instead of an address MPI_BOTTOM, and a datatype that has it. */
static void hide_address(struct side *s, uint64_t *rng)
{
    struct layout *l = &s->layouts[0];
    MPI_Aint at;

    if (0 == rng_below(rng, 6) && l->derived && !s->apart) {
        MPI_Get_address(s->at, &at);
        make_absolute(l, at);
        s->at = MPI_BOTTOM;
        for (int k = 0; k < s->n; k++) {
            s->types[k] = l->type;
        }
    }
}

void side_make(struct side *s, int n, const int *elements, int basic, bool derived,
               enum placement placement, enum devmem_kind memory, uint64_t *rng)
{
    *s = (struct side) {.n = n, .basic = basic, .apart = PLACE_APART == placement};
    s->layouts = room_for(n, sizeof *s->layouts);
    s->elements = room_for(n, sizeof *s->elements);
    s->counts = room_for(n, sizeof *s->counts);
    s->displs = room_for(n, sizeof *s->displs);
    s->offsets = room_for(n, sizeof *s->offsets);
    s->types = room_for(n, sizeof(MPI_Datatype));
    for (int k = 0; k < (s->apart ? n : 1); k++) {
        draw_layout(&s->layouts[k], basic, derived, rng);
    }
    for (int k = 0; k < n; k++) {
        s->elements[k] = elements[k];
        s->counts[k] = elements[k] / layout_of(s, k)->per;
        s->types[k] = layout_of(s, k)->type;
    }
    place_blocks(s, PLACE_DENSE == placement, rng);
    find_room(s, memory, rng);
    if (s->apart && 0 == rng_below(rng, 3)) {
        divide(s, memory, rng);
    } else {
        hide_address(s, rng);
    }
}

void side_put(const struct side *s)
{
    for (int b = 0; NULL != s->parts && b < s->n; b++) {
        memcpy(s->parts[b].mem.data, s->mem.data + s->parts[b].low, s->parts[b].mem.bytes);
        guarded_put(&s->parts[b].mem);
    }
    if (NULL == s->parts) {
        guarded_put(&s->mem);
    }
}

void side_get(const struct side *s)
{
    for (int b = 0; NULL != s->parts && b < s->n; b++) {
        guarded_get(&s->parts[b].mem);
        memcpy(s->mem.data + s->parts[b].low, s->parts[b].mem.data, s->parts[b].mem.bytes);
    }
    if (NULL == s->parts) {
        guarded_get(&s->mem);
    }
}

bool side_intact(const struct side *s)
{
    for (int b = 0; NULL != s->parts && b < s->n; b++) {
        if (!guarded_intact(&s->parts[b].mem)) {
            return false;
        }
    }
    return guarded_intact(&s->mem);
}

void side_forget_types(struct side *s)
{
    for (int k = 0; k < (s->apart ? s->n : 1) && s->n > 0; k++) {
        if (s->layouts[k].derived) {
            MPI_Type_free(&s->layouts[k].type);
            s->layouts[k].derived = false;
        }
    }
}

void side_free(struct side *s)
{
    if (0 == s->n) {
        return;
    }
    side_forget_types(s);
    for (int b = 0; NULL != s->parts && b < s->n; b++) {
        guarded_free(&s->parts[b].mem);
    }
    free(s->parts);
    free(s->zeros);
    guarded_free(&s->mem);
    free(s->layouts);
    free(s->elements);
    free(s->counts);
    free(s->displs);
    free(s->offsets);
    free(s->types);
    s->n = 0;
}
