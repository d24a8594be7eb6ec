/* SPDX-License-Identifier: BSD-3-Clause */
/* MCA parameters: registered and checked. */
#ifndef GR_MPI_PARAMS_H
#define GR_MPI_PARAMS_H

#include "mpi/ompi.h"

#include "comm/params.h"

/* What Open MPI's registries of parameters and addresses know this component by. */
extern mca_base_component_t *mca_coll_gpuring_registered;

/* Register all parameters, for the component. OMPI error code. */
int mca_coll_gpuring_params_register(mca_base_component_t *component);

/* Check what the user gave; a bad value is reported once and replaced by the default. */
void mca_coll_gpuring_params_check(void);

/* Free the texts of gr_settings. */
void mca_coll_gpuring_params_close(void);

/*
 * The first parameter that was bad on this process, for the other ranks: a record's fields of
 * modex.c.
 */
typedef struct {
    char name[32], value[32], allowed[192]; /* name "" when all were good */
} gr_bad_param_t;
extern gr_bad_param_t mca_coll_gpuring_bad_param;

/* Whether checked parameters can be these: those of another process come from outside. */
bool mca_coll_gpuring_params_good(const gr_params_t *params, const gr_bad_param_t *bad);

/* ---- the table of parameters (param_rows.c) ---- */

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
    int compared; /* an enum gr_compared_param, or -1: may differ between ranks */
    /* GR_KIND_INT; def: also of words, -1 where the default is no word of the list (auto) */
    int def, min, max;
    int *local;       /* GR_KIND_INT, not compared: where the checked value goes */
    const char *help; /* GR_KIND_ALGORITHM: of what; the names are those of the registry */
};

#define GR_PARAM_ROWS 45

extern const struct gr_param_row mca_coll_gpuring_param_rows[]; /* [GR_PARAM_ROWS] */

/* The row that describes a compared parameter; each has one. */
const struct gr_param_row *mca_coll_gpuring_param_row(int param);

/* A value of a compared parameter as text, for messages; into buf, which is returned. */
const char *mca_coll_gpuring_param_text(int param, int64_t value, char *buf, size_t size);

/* ---- what the user wrote (given.c) ---- */

/* Read what environment and parameter files say of coll_gpuring_...; forget it. */
void mca_coll_gpuring_params_read_given(void);
void mca_coll_gpuring_params_forget_given(void);

/* What was written for the parameter; NULL: nothing. Until it is forgotten. */
const char *mca_coll_gpuring_param_given(const char *name);

/*
 * The next of the given names, from number *at on, that no parameter has: in name[size]. *at is
 * moved behind it. NULL: there is none.
 */
const char *mca_coll_gpuring_param_unknown(int *at, char *name, size_t size);

/* ---- what `mpirun --mca coll gpuring` says (selection.c) ---- */

/* Whether the selection names gpuring, alone or with other components (^gpuring does not). */
bool mca_coll_gpuring_selection_names_it(void);

/* Make a selection of gpuring alone work; see selection.c. */
int mca_coll_gpuring_selection_complete(void);

#endif
