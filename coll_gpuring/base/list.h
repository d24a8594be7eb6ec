/* SPDX-License-Identifier: BSD-3-Clause */
/* Singly linked lists through a member `next`. */
#ifndef GR_BASE_LIST_H
#define GR_BASE_LIST_H

#include <stddef.h>

/* Remove the first element of a list and assign it to `element`. False: the list is empty. */
#define GR_POP(element, list) (NULL != ((element) = (list)) && ((list) = (element)->next, 1))

/* Make an element the first of a list. */
#define GR_PUSH(element, list) ((element)->next = (list), (void) ((list) = (element)))

#endif
