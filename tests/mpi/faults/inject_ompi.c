/* SPDX-License-Identifier: BSD-3-Clause */
/* Injected faults of the functions of Open MPI and hwloc that the component calls. */
#include "mpi/runtime.h"

#include "inject.h"

#include "ompi/mca/pml/pml.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/argv.h"
#include "opal/util/show_help.h"

#include <hwloc.h>
#include <stdarg.h>

/* ---- the clock ---- */

double __real_gr_runtime_now(void);
double __wrap_gr_runtime_now(void);

double __wrap_gr_runtime_now(void)
{
    const char *times = getenv("GPURING_FAULT_CLOCK");

    return (NULL == times ? 1 : atof(times)) * __real_gr_runtime_now();
}

/* ---- messages: the component's objects see a copy of Open MPI's table of functions ---- */

extern mca_pml_base_module_t __real_mca_pml;
mca_pml_base_module_t __wrap_mca_pml;

int __real_mca_coll_gpuring_module_enable(mca_coll_base_module_t *module,
                                          struct ompi_communicator_t *comm);
int __wrap_mca_coll_gpuring_module_enable(mca_coll_base_module_t *module,
                                          struct ompi_communicator_t *comm);

static int isend(const void *buf, size_t count, struct ompi_datatype_t *type, int to, int tag,
                 mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
                 struct ompi_request_t **request)
{
    return FAULT_DUE("isend")
               ? OMPI_ERR_OUT_OF_RESOURCE
               : __real_mca_pml.pml_isend(buf, count, type, to, tag, mode, comm, request);
}

static int irecv(void *buf, size_t count, struct ompi_datatype_t *type, int from, int tag,
                 struct ompi_communicator_t *comm, struct ompi_request_t **request)
{
    return FAULT_DUE("irecv")
               ? OMPI_ERR_OUT_OF_RESOURCE
               : __real_mca_pml.pml_irecv(buf, count, type, from, tag, comm, request);
}

static int isend_init(const void *buf, size_t count, struct ompi_datatype_t *type, int to, int tag,
                      mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
                      struct ompi_request_t **request)
{
    return FAULT_DUE("isend_init")
               ? OMPI_ERR_OUT_OF_RESOURCE
               : __real_mca_pml.pml_isend_init(buf, count, type, to, tag, mode, comm, request);
}

static int irecv_init(void *buf, size_t count, struct ompi_datatype_t *type, int from, int tag,
                      struct ompi_communicator_t *comm, struct ompi_request_t **request)
{
    /* of data that come behind their head, net_pml.c */
    bool data = GR_TAG_NET_DATA == tag && FAULT_DUE("irecv_init_data");

    return FAULT_DUE("irecv_init") || data
               ? OMPI_ERR_OUT_OF_RESOURCE
               : __real_mca_pml.pml_irecv_init(buf, count, type, from, tag, comm, request);
}

static int start(size_t count, struct ompi_request_t **requests)
{
    return FAULT_DUE("start") ? OMPI_ERR_OUT_OF_RESOURCE
                              : __real_mca_pml.pml_start(count, requests);
}

static int iprobe(int from, int tag, struct ompi_communicator_t *comm, int *there,
                  ompi_status_public_t *status)
{
    return FAULT_DUE("iprobe") ? OMPI_ERR_OUT_OF_RESOURCE
                               : __real_mca_pml.pml_iprobe(from, tag, comm, there, status);
}

static int receive(void *buf, size_t count, struct ompi_datatype_t *type, int from, int tag,
                   struct ompi_communicator_t *comm, ompi_status_public_t *status)
{
    return FAULT_DUE("recv") ? OMPI_ERR_OUT_OF_RESOURCE
                             : __real_mca_pml.pml_recv(buf, count, type, from, tag, comm, status);
}

/* Open MPI has chosen its messages when it enables the first module. */
int __wrap_mca_coll_gpuring_module_enable(mca_coll_base_module_t *module,
                                          struct ompi_communicator_t *comm)
{
    __wrap_mca_pml = __real_mca_pml;
    __wrap_mca_pml.pml_isend = isend;
    __wrap_mca_pml.pml_irecv = irecv;
    __wrap_mca_pml.pml_isend_init = isend_init;
    __wrap_mca_pml.pml_irecv_init = irecv_init;
    __wrap_mca_pml.pml_start = start;
    __wrap_mca_pml.pml_iprobe = iprobe;
    __wrap_mca_pml.pml_recv = receive;
    return __real_mca_coll_gpuring_module_enable(module, comm);
}

/* ---- data with gaps ---- */

int32_t __real_opal_convertor_pack(opal_convertor_t *c, struct iovec *iov, uint32_t *n,
                                   size_t *bytes);
int32_t __wrap_opal_convertor_pack(opal_convertor_t *c, struct iovec *iov, uint32_t *n,
                                   size_t *bytes);
int32_t __real_opal_convertor_unpack(opal_convertor_t *c, struct iovec *iov, uint32_t *n,
                                     size_t *bytes);
int32_t __wrap_opal_convertor_unpack(opal_convertor_t *c, struct iovec *iov, uint32_t *n,
                                     size_t *bytes);

int32_t __wrap_opal_convertor_pack(opal_convertor_t *c, struct iovec *iov, uint32_t *n,
                                   size_t *bytes)
{
    return FAULT_DUE("opal_convertor_pack") ? OPAL_ERROR
                                            : __real_opal_convertor_pack(c, iov, n, bytes);
}

int32_t __wrap_opal_convertor_unpack(opal_convertor_t *c, struct iovec *iov, uint32_t *n,
                                     size_t *bytes)
{
    return FAULT_DUE("opal_convertor_unpack") ? OPAL_ERROR
                                              : __real_opal_convertor_unpack(c, iov, n, bytes);
}

/* ---- callbacks, words, the machine ---- */

int __real_opal_progress_register(opal_progress_callback_t callback);
int __wrap_opal_progress_register(opal_progress_callback_t callback);
char **__real_opal_argv_split(const char *text, int by);
char **__wrap_opal_argv_split(const char *text, int by);
int __real_hwloc_topology_init(hwloc_topology_t *topology);
int __wrap_hwloc_topology_init(hwloc_topology_t *topology);
int __real_hwloc_topology_load(hwloc_topology_t topology);
int __wrap_hwloc_topology_load(hwloc_topology_t topology);

int __wrap_opal_progress_register(opal_progress_callback_t callback)
{
    return FAULT_DUE("opal_progress_register") ? OPAL_ERR_OUT_OF_RESOURCE
                                               : __real_opal_progress_register(callback);
}

char **__wrap_opal_argv_split(const char *text, int by)
{
    return FAULT_DUE("opal_argv_split") ? NULL : __real_opal_argv_split(text, by);
}

int __wrap_hwloc_topology_init(hwloc_topology_t *topology)
{
    return FAULT_DUE("hwloc_topology_init") ? -1 : __real_hwloc_topology_init(topology);
}

int __wrap_hwloc_topology_load(hwloc_topology_t topology)
{
    return FAULT_DUE("hwloc_topology_load") ? -1 : __real_hwloc_topology_load(topology);
}
