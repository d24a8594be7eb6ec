/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of words in buffers of fixed size, for messages. */
#ifndef GR_BASE_WORDS_H
#define GR_BASE_WORDS_H

#include <string.h>

#define GR_WORDS_CUT " ..."

/*
 * Append a blank and a word to the list in a buffer of size bytes, at least sizeof(GR_WORDS_CUT),
 * which begins as a string shorter than that. Where a word does not fit, GR_WORDS_CUT ends the
 * list, and nothing is appended any more.
 */
static inline void gr_words_add(char *list, size_t size, const char *word)
{
    const size_t cut = strlen(GR_WORDS_CUT);
    size_t used = strlen(list);

    if (used >= cut && 0 == strcmp(list + used - cut, GR_WORDS_CUT)) {
        return;
    }
    /* room for the word, and for the cut behind it, which a next one may need */
    if (used + 1 + strlen(word) + cut < size) {
        list[used] = ' ';
        strcpy(list + used + 1, word);
    } else if (used + cut < size) {
        strcpy(list + used, GR_WORDS_CUT);
    }
}

#endif
