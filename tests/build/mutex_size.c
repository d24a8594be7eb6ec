/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints "the same" if opal_mutex_t has the same size in the component's headers and in
 * libopen-pal, and both can lock a mutex that the other has initialised.
 */
#include "ompi_config.h"

#include "opal/class/opal_object.h"
#if OMPI_MAJOR_VERSION < 5
#include "opal/threads/mutex.h"
#else
#include "opal/mca/threads/mutex.h"
#endif

#include <stdio.h>

int main(void)
{
    static opal_mutex_t fixed = OPAL_MUTEX_STATIC_INIT;
    opal_mutex_t *made = OBJ_NEW(opal_mutex_t); /* by libopen-pal's constructor */

    if (sizeof(opal_mutex_t) != opal_mutex_t_class.cls_sizeof ||
        sizeof(opal_recursive_mutex_t) != opal_recursive_mutex_t_class.cls_sizeof) {
        printf("%zu here, %zu there\n", sizeof(opal_mutex_t), opal_mutex_t_class.cls_sizeof);
        return 1;
    }
    opal_mutex_lock(made);
    opal_mutex_lock(&fixed);
    if (0 == opal_mutex_trylock(made) || 0 == opal_mutex_trylock(&fixed)) {
        printf("a mutex that is locked can be locked again\n");
        return 1;
    }
    opal_mutex_unlock(&fixed);
    opal_mutex_unlock(made);
    OBJ_RELEASE(made); /* by libopen-pal's destructor */
    printf("the same\n");
    return 0;
}
