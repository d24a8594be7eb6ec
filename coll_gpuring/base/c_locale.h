/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers with a decimal point, whatever locale the application has set by setlocale(): for files
 * and parameters. Between enter and leave this thread reads and writes as in C.
 */
#ifndef GR_BASE_C_LOCALE_H
#define GR_BASE_C_LOCALE_H

#include <locale.h>

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
