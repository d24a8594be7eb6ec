/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of MCA parameters (param_rows.c), for who registers and checks them (params.c). */
#ifndef MCA_COLL_GPURING_PARAMS_H
#define MCA_COLL_GPURING_PARAMS_H

#include "coll_gpuring.h"

BEGIN_C_DECLS

enum gr_param_kind {
    GR_KIND_INT, GR_KIND_ALGORITHM, GR_KIND_PROTOCOL, GR_KIND_TORUS, GR_KIND_SYNC, GR_KIND_TRANSPORT, GR_KIND_REPORT
};

struct gr_param_row {
    const char *name;
    enum gr_param_kind kind;
    int shared;        /* an enum gr_shared_param, or -1: may differ between ranks */
    int def, min, max; /* GR_KIND_INT */
    int *local;        /* GR_KIND_INT, not shared: where the checked value goes */
    const char *help;
};

#define GR_PARAM_ROWS 40

extern const struct gr_param_row mca_coll_gpuring_param_rows[GR_PARAM_ROWS];

/* Whether checked parameters can be these: those of another process come from outside. */
bool mca_coll_gpuring_params_good(const gr_params_t *params, const gr_bad_param_t *bad);

END_C_DECLS

#endif
