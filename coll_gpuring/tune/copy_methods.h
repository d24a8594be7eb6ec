/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The methods of moving messages inside a node, one row each: for which calls and algorithms, and
 * in what sizes. What they cost is in struct gr_costs, what they do in exec/.
 */
#ifndef GR_TUNE_COPY_METHODS_H
#define GR_TUNE_COPY_METHODS_H

#include "tune/select.h"

#include "sched/protocol.h"

struct gr_copy_method_desc {
    enum gr_protocol protocol; /* of its plans */
    int fetches;               /* its plans are direct */
    double least;              /* bytes of the shortest chunk worth a message */
    /* Whether the call's messages may be moved so. */
    int (*may)(const struct gr_select_args *q);
    /* Whether the messages of an algorithm can be moved so, which has the call's collective. */
    int (*can)(const struct gr_select_args *q, enum gr_algo algo);
    /* Bytes of a message that fits a slot. */
    size_t (*slot_bytes)(const struct gr_select_args *q);
};

extern const struct gr_copy_method_desc gr_copy_methods[GR_NCOPY_METHODS];

/* The method by which a plan of that protocol moves what is not fetched. */
enum gr_copy_method gr_copy_through_links(int protocol);

#endif
