/* SPDX-License-Identifier: BSD-3-Clause */
/* MCA parameters: registered and checked. */
#ifndef GR_MPI_PARAMS_H
#define GR_MPI_PARAMS_H

#include "mpi/ompi.h"

#include "engine/params.h"

BEGIN_C_DECLS

/* What Open MPI's registries of parameters and addresses know this component by. */
extern mca_base_component_t *mca_coll_gpuring_registered;

/* Register all parameters, for the component. OMPI error code. */
int mca_coll_gpuring_params_register(mca_base_component_t *component);

/* Check what the user gave; a bad value is reported once and replaced by the default. */
void mca_coll_gpuring_params_check(void);

/* Free the texts of gr_settings. */
void mca_coll_gpuring_params_close(void);

/* Name, value and allowed values of a compared parameter as text, for messages. Value into buf. */
const char *mca_coll_gpuring_param_name(int param);
const char *mca_coll_gpuring_param_text(int param, int64_t value, char *buf, size_t size);
int64_t mca_coll_gpuring_param_default(int param);

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

END_C_DECLS

#endif
