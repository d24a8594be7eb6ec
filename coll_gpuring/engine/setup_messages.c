/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of set-ups: requests, and tags that tell one set-up's from another's. */
#include "engine/setup_messages.h"

#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "engine/setup.h"

#include "ompi/mca/pml/pml.h"

#include <stdlib.h>

int mca_coll_gpuring_setup_tag(uint32_t number)
{
    return mca_coll_gpuring_tag(GR_TAGS_SETUPS) - GR_SETUP_TAGS * (int) (number % GR_TAGGED_SETUPS);
}

int mca_coll_gpuring_setup_post(struct gr_setup *s, bool send, void *buf, size_t bytes, int rank,
                                int tag)
{
    ompi_request_t **request = &s->requests[s->nrequests++];

    return send ? MCA_PML_CALL(isend(buf, bytes, MPI_BYTE, rank, tag, MCA_PML_BASE_SEND_STANDARD,
                                     s->queue->comm, request))
                : MCA_PML_CALL(irecv(buf, bytes, MPI_BYTE, rank, tag, s->queue->comm, request));
}

int mca_coll_gpuring_setup_reserve(struct gr_setup *s, int n)
{
    free(s->requests);
    s->requests = calloc((size_t) n + 2, sizeof(ompi_request_t *));
    return NULL == s->requests ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}
