/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats of sched_print.h. */
#include "sched_print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MATRIX_RANKS 8 /* ranks that stand side by side in full */
#define CELL 80        /* characters of a cell's line, with room */

/* ---- the words of a step ---- */

static const char *const spaces[] = {"in", "out", "tmp"};

/* Whether the operand is read. */
static int has_operand(const struct gr_step *s)
{
    return 0 == (s->bits & GR_RECV) || 0 != (s->bits & GR_REDUCE);
}

__attribute__((format(printf, 2, 3))) static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, CELL - used, format, args);
    va_end(args);
}

/* "1,2", or nothing. */
static void add_ranks(char *text, const int32_t *ranks, int n)
{
    int k;

    for (k = 0; k < n; k++) {
        add(text, "%s%d", 0 == k ? "" : ",", (int) ranks[k]);
    }
}

/*
 * "c3", or "c0..c6/2" for a run of chunks, "c1=c2" where it is stored as c2; with a prime: it is
 * being distributed.
 */
static void add_chunk(char *text, const struct entry *e)
{
    const struct gr_step *s = &e->step;

    add(text, "c%u", s->first);
    if (s->count > 1) {
        add(text, "..c%u", s->first + (s->count - 1) * s->stride);
        if (s->stride > 1) {
            add(text, "/%u", s->stride);
        }
    }
    if (0 != s->shift) {
        add(text, "=c%u", s->first + (uint32_t) s->shift);
    }
    add(text, "%s", e->distributes ? "'" : "");
}

/* A matrix cell: the primitive above, what it moves below. */
static void full_text(char *text, const struct entry *e, int line)
{
    const struct gr_step *s = &e->step;

    if (0 == line) {
        add(text, "%s", gr_step_name(s));
        return;
    }
    add_chunk(text, e);
    add(text, " ");
    add_ranks(text, s->from, s->nfrom);
    add(text, "%s.%s", s->nfrom > 0 ? ">" : "", s->nto > 0 ? ">" : "");
    add_ranks(text, s->to, s->nto);
    if (has_operand(s) && GR_IN != s->operand) {
        add(text, " %s %s", s->bits & GR_RECV ? "onto" : "of", spaces[s->operand]);
    }
    if ((s->bits & GR_STORE) && GR_OUT != s->dest) {
        add(text, " into %s", spaces[s->dest]);
    }
}

/* The same as one word: 3>+c2!>1. */
static void short_text(char *text, const struct entry *e, int line)
{
    const struct gr_step *s = &e->step;

    (void) line;
    add_ranks(text, s->from, s->nfrom);
    add(text, "%s%s", s->nfrom > 0 ? ">" : "", s->bits & GR_REDUCE ? "+" : "");
    add_chunk(text, e);
    add(text, "%s%s", s->bits & GR_STORE ? "!" : "", s->nto > 0 ? ">" : "");
    add_ranks(text, s->to, s->nto);
}

/* ---- the grid of ticks and ranks ---- */

struct style {
    int lines; /* of a cell */
    void (*text)(char *text, const struct entry *e, int line);
    const char *idle;
    const char *legend;
};

static const struct style full_style = {
    2, full_text, "", "Below the primitive: chunk, from > . > to; the prime: distributing."};
static const struct style short_style = {
    1, short_text, ".",
    "a>c: received from a   +: combined with mine   !: stored   c>b: sent to b   ': distributing"};

/* Characters of the widest cell. */
static int cell_width(const struct table *t, const struct style *style)
{
    int width = (int) strlen("rank 1023"), r, line;
    uint32_t k;

    for (r = 0; r < t->p; r++) {
        for (k = 0; k < t->lanes[r].n; k++) {
            for (line = 0; line < style->lines; line++) {
                char text[CELL] = "";

                style->text(text, &t->lanes[r].entries[k], line);
                width = (int) strlen(text) > width ? (int) strlen(text) : width;
            }
        }
    }
    return width;
}

/* Print a cell behind pending blanks, so that no line ends in blanks. */
static void print_cell(const char *text, int width, int *blanks)
{
    int len = (int) strlen(text);

    if (len > 0) {
        printf("%*s%s", *blanks, "", text);
        *blanks = 0;
    }
    *blanks += width + 2 - len;
}

/* A line of the cells of the tick's step number `row`, of all ranks; at[r]: its first entry. */
static void print_grid_line(const struct table *t, const struct style *style, int width,
                            const uint32_t *at, uint32_t tick, uint32_t row, int line)
{
    int blanks = 2, r;

    if (0 == row && 0 == line) {
        printf("%4u", tick);
    } else {
        blanks += 4;
    }
    for (r = 0; r < t->p; r++) {
        const struct lane *lane = &t->lanes[r];
        uint32_t k = at[r] + row;
        char text[CELL] = "";

        if (k < lane->n && lane->entries[k].step.tick == tick) {
            style->text(text, &lane->entries[k], line);
        } else if (0 == row && 0 == line) {
            add(text, "%s", style->idle);
        }
        print_cell(text, width, &blanks);
    }
    putchar('\n');
}

static void print_grid(const struct table *t, const struct style *style)
{
    static uint32_t at[MAX_RANKS], end[MAX_RANKS];
    int width = cell_width(t, style), blanks = 2, r, line;
    uint32_t tick, row, rows;

    printf("%s\n\ntick", style->legend);
    for (r = 0; r < t->p; r++) {
        char text[CELL] = "";

        add(text, "rank %d", r);
        print_cell(text, width, &blanks);
    }
    putchar('\n');
    for (tick = 0; tick < t->ticks; tick++) {
        rows = 0;
        for (r = 0; r < t->p; r++) {
            at[r] = end[r];
            while (end[r] < t->lanes[r].n && t->lanes[r].entries[end[r]].step.tick == tick) {
                end[r]++;
            }
            rows = end[r] - at[r] > rows ? end[r] - at[r] : rows;
        }
        for (row = 0; row < rows; row++) {
            for (line = 0; line < style->lines; line++) {
                print_grid_line(t, style, width, at, tick, row, line);
            }
        }
    }
}

/* ---- a rank, a graph ---- */

/* All steps of a rank. */
static void print_rank(const struct table *t, int rank)
{
    const struct lane *lane = &t->lanes[rank];
    uint32_t k;

    printf("\nrank %d\n  %4s  %-18s  %-8s %-12s %-12s %-7s %-4s  %s\n", rank, "tick", "primitive",
           "chunk", "from", "to", "operand", "dest", "phase");
    for (k = 0; k < lane->n; k++) {
        const struct gr_step *s = &lane->entries[k].step;
        char chunk[CELL] = "", from[CELL] = "", to[CELL] = "";

        add_chunk(chunk, &lane->entries[k]);
        add_ranks(from, s->from, s->nfrom);
        add_ranks(to, s->to, s->nto);
        printf("  %4u  %-18s  %-8s %-12s %-12s %-7s %-4s  %s%s\n", s->tick, gr_step_name(s), chunk,
               s->nfrom > 0 ? from : "-", s->nto > 0 ? to : "-",
               has_operand(s) ? spaces[s->operand] : "-",
               s->bits & GR_STORE ? spaces[s->dest] : "-",
               lane->entries[k].distributes ? "distributing" : "reducing",
               s->bits & GR_FINAL ? ", result" : "");
    }
    if (0 == lane->n) {
        puts("  does nothing");
    }
}

/* One arrow from rank to rank with all messages that it carries, chunk @ tick. */
static void print_arrow(const struct table *t, int from, int to)
{
    const struct lane *lane = &t->lanes[from];
    int messages = 0, k;
    uint32_t i;

    for (i = 0; i < lane->n; i++) {
        const struct gr_step *s = &lane->entries[i].step;

        for (k = 0; k < s->nto; k++) {
            if (s->to[k] == to) {
                char text[CELL] = "";

                add_chunk(text, &lane->entries[i]);
                if (0 == messages) {
                    printf("    %d -> %d [label=\"", from, to);
                }
                printf("%s%s@%u",
                       0 == messages       ? ""
                       : 0 == messages % 4 ? "\\n"
                                           : " ",
                       text, s->tick);
                messages++;
            }
        }
    }
    if (messages > 0) {
        puts("\"];");
    }
}

static void print_dot(const struct table *t)
{
    int a, b;

    printf("digraph \"%s %s\" {\n    label=\"%s %s, %d ranks: chunk@tick\";\n    node "
           "[shape=circle];\n",
           gr_algo_name(t->algo), gr_coll_name(t->coll), gr_algo_name(t->algo),
           gr_coll_name(t->coll), t->p);
    for (a = 0; a < t->p; a++) {
        printf("    %d;\n", a);
    }
    for (a = 0; a < t->p; a++) {
        for (b = 0; b < t->p; b++) {
            print_arrow(t, a, b);
        }
    }
    puts("}");
}

/* ---- title and sums ---- */

static void print_title(const struct table *t)
{
    int k;

    printf("%s %s, %d rank%s", gr_algo_name(t->algo), gr_coll_name(t->coll), t->p,
           1 == t->p ? "" : "s");
    if (GR_BLOCKS == t->layout) {
        printf("; vector S in %d block%s, c0 is rank 0's\n", t->p, 1 == t->p ? "" : "s");
    } else if (GR_COLL_BARRIER == t->coll) {
        printf("; S is a token\n");
    } else {
        printf(", root %d; vector S in %u chunk%s\n", t->root, t->parts, 1 == t->parts ? "" : "s");
    }
    if (t->ordered) {
        printf("Order of ranks:");
        for (k = 0; k < t->p; k++) {
            printf(" %d", t->order[k]);
        }
        putchar('\n');
    }
}

/* parts of the vector as "3/4 S". */
static void add_share(char *text, uint64_t parts, uint64_t of)
{
    uint64_t a = parts, b = of, rest;

    while (0 != b) { /* their greatest common divisor */
        rest = a % b;
        a = b;
        b = rest;
    }
    if (of == a || 0 == parts) {
        add(text, "%llu S", (unsigned long long) (parts / of));
    } else {
        add(text, "%llu/%llu S", (unsigned long long) (parts / a), (unsigned long long) (of / a));
    }
}

struct sum {
    uint64_t least, most, total;
};

static void sum_add(struct sum *sum, uint64_t v)
{
    sum->least = v < sum->least ? v : sum->least;
    sum->most = v > sum->most ? v : sum->most;
    sum->total += v;
}

static void print_share(const struct table *t, const char *what, const struct sum *sum)
{
    char least[CELL] = "", most[CELL] = "";

    add_share(least, sum->least, t->parts);
    add_share(most, sum->most, t->parts);
    if (sum->least == sum->most) {
        printf("%s per rank: %s", what, most);
    } else {
        printf("%s per rank: %s to %s", what, least, most);
    }
}

static void print_sums(const struct table *t)
{
    struct sum steps = {UINT64_MAX, 0, 0}, sent = steps, received = steps;
    uint64_t messages = 0;
    uint32_t k;
    int r;

    for (r = 0; r < t->p; r++) {
        uint64_t out = 0, in = 0;

        for (k = 0; k < t->lanes[r].n; k++) {
            const struct gr_step *s = &t->lanes[r].entries[k].step;

            out += (uint64_t) s->nto * s->count;
            in += (uint64_t) s->nfrom * s->count;
            messages += s->nto;
        }
        sum_add(&steps, t->lanes[r].n);
        sum_add(&sent, out);
        sum_add(&received, in);
    }
    printf("steps per rank: %llu", (unsigned long long) steps.least);
    if (steps.least != steps.most) {
        printf(" to %llu", (unsigned long long) steps.most);
    }
    printf("; messages: %llu; ticks: %u\n", (unsigned long long) messages, t->ticks);
    print_share(t, "sent", &sent);
    print_share(t, "; received", &received);
    putchar('\n');
}

void table_print(const struct table *t, enum show show, int rank)
{
    int first = rank < 0 ? 0 : rank, last = rank < 0 ? t->p - 1 : rank, r;

    if (SHOW_DOT == show) {
        print_dot(t);
        return;
    }
    print_title(t);
    if (SHOW_TICKS == show) {
        print_grid(t, &short_style);
    } else if (rank < 0 && t->p <= MATRIX_RANKS) {
        print_grid(t, &full_style);
    } else {
        for (r = first; r <= last; r++) {
            print_rank(t, r);
        }
    }
    putchar('\n');
    print_sums(t);
}
