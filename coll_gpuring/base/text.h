/* SPDX-License-Identifier: BSD-3-Clause */
/* Text: reports and lists of words in a buffer, the distance between words, and numbers. */
#ifndef GR_BASE_TEXT_H
#define GR_BASE_TEXT_H

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Append to text, which ends in 0, in a buffer of `size` bytes; cut, also in mid-word, to fit. */
__attribute__((format(printf, 3, 4))) static inline void gr_text_add(char *text, size_t size,
                                                                     const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* Append " r" for each of n ranks in the same manner. */
static inline void gr_text_ranks(char *text, size_t size, const int *ranks, int n)
{
    int k;

    for (k = 0; k < n; k++) {
        gr_text_add(text, size, " %d", ranks[k]);
    }
}

/*
 * Read the first line of a file, with its newline; the path is printed as `format` says. False:
 * there is no file, or nothing in it, and line is empty.
 */
__attribute__((format(printf, 3, 4))) static inline bool gr_text_read_line(char *line, size_t size,
                                                                           const char *format, ...)
{
    char path[4096];
    va_list args;
    bool good;
    FILE *f;

    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    line[0] = '\0';
    f = fopen(path, "r");
    if (NULL == f) {
        return false;
    }
    good = NULL != fgets(line, (int) size, f);
    fclose(f);
    return good;
}

/* ---- lists of words, for messages ---- */

/* Ends a list that did not fit. */
#define GR_WORDS_CUT " ..."

/*
 * Append a space and a word to a list. size: bytes of the buffer, at least sizeof(GR_WORDS_CUT). If
 * the word does not fit, GR_WORDS_CUT ends the list, and later words are dropped.
 */
static inline void gr_words_add(char *list, size_t size, const char *word)
{
    const size_t cut = strlen(GR_WORDS_CUT);
    size_t used = strlen(list);

    if (used >= cut && 0 == strcmp(list + used - cut, GR_WORDS_CUT)) {
        return;
    }
    /* reserve space for GR_WORDS_CUT, which the next word may need */
    if (used + 1 + strlen(word) + cut < size) {
        list[used] = ' ';
        strcpy(list + used + 1, word);
    } else if (used + cut < size) {
        strcpy(list + used, GR_WORDS_CUT);
    }
}

enum { GR_TEXT_LONGEST = 63 };

/*
 * The least number of letters that are added, left out or replaced in a to make b, of which the
 * first GR_TEXT_LONGEST letters count.
 */
static inline size_t gr_text_distance(const char *a, const char *b)
{
    size_t row[GR_TEXT_LONGEST + 1], i, j, left, corner, n = strnlen(b, GR_TEXT_LONGEST);

    for (j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (i = 0; '\0' != a[i]; i++) {
        corner = row[0];
        row[0] = i + 1;
        for (j = 0; j < n; j++) {
            left = row[j + 1];
            row[j + 1] = corner + (a[i] != b[j]);
            row[j + 1] = left + 1 < row[j + 1] ? left + 1 : row[j + 1];
            row[j + 1] = row[j] + 1 < row[j + 1] ? row[j] + 1 : row[j + 1];
            corner = left;
        }
    }
    return row[n];
}

/*
 * ---- numbers ----
 *
 * With a decimal point, whatever locale the application has set by setlocale(): for files
 * and parameters. Between enter and leave this thread reads and writes as in C.
 */

struct gr_c_locale {
    locale_t c;      /* (locale_t) 0: no memory, nothing was changed */
    locale_t before; /* this thread's */
};

static inline struct gr_c_locale gr_c_locale_enter(void)
{
    struct gr_c_locale l = {newlocale(LC_ALL_MASK, "C", (locale_t) 0), (locale_t) 0};

    if ((locale_t) 0 != l.c) {
        l.before = uselocale(l.c);
    }
    return l;
}

static inline void gr_c_locale_leave(struct gr_c_locale l)
{
    if ((locale_t) 0 != l.c) {
        uselocale(l.before);
        freelocale(l.c);
    }
}

#endif
