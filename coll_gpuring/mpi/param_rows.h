/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of MCA parameters. */
#ifndef GR_MPI_PARAM_ROWS_H
#define GR_MPI_PARAM_ROWS_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

enum gr_param_kind {
    GR_KIND_INT,
    GR_KIND_HOST,
    GR_KIND_ALGORITHM,
    GR_KIND_PROTOCOL,
    GR_KIND_TORUS,
    GR_KIND_SYNC,
    GR_KIND_TRANSPORT,
    GR_KIND_REPORT,
    GR_KIND_FILE
};

struct gr_param_row {
    const char *name;
    int level; /* an enum of Open MPI: from which ompi_info --level on it is shown */
    enum gr_param_kind kind;
    int compared;      /* an enum gr_compared_param, or -1: may differ between ranks */
    int def, min, max; /* GR_KIND_INT */
    int *local;        /* GR_KIND_INT, not compared: where the checked value goes */
    const char *help;  /* GR_KIND_ALGORITHM: of what; the names are those of the registry */
};

#define GR_PARAM_ROWS 44

extern const struct gr_param_row mca_coll_gpuring_param_rows[]; /* [GR_PARAM_ROWS] */

END_C_DECLS

#endif
