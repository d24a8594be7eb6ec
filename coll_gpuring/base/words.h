/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of words in fixed-size buffers, for messages. */
#ifndef GR_BASE_WORDS_H
#define GR_BASE_WORDS_H

#include <string.h>

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

#endif
