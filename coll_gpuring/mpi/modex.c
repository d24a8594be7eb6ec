/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every process says of itself at MPI_Init, with the exchange of connection data that Open MPI
 * makes anyway: that gpuring is loaded, and its parameters. So a communicator's ranks know without
 * a message, and all alike, whether they may use gpuring together; a rank on which it is off or
 * absent cannot make the others wait for it.
 */
#include "mpi/comm.h"

#include "comm/collectives.h"
#include "comm/devices.h"
#include "comm/net_links.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "mpi/module.h"
#include "mpi/params.h"
#include "mpi/runtime.h"

#include "base/cma.h"
#include "base/memory.h"
#include "net/rails.h"
#include "topo/cpus.h"
#include "topo/torus.h"
#include "tune/constants.h"

#include "ompi/proc/proc.h"
#include "opal/mca/base/mca_base_var.h"

#include <stdlib.h>
#include <unistd.h>

/*
 * Increased when processes of different builds could not work together: another record, another
 * choice for the same call, other messages of set-up. Other algorithms need no increase, as their
 * hash is a part of the version.
 */
#define WIRE_VERSION 28

static uint64_t wire_version(void)
{
    return gr_algos_hash() << 16 | WIRE_VERSION;
}

struct modex_record {
    uint64_t version;
    int32_t on;       /* whether gpuring works in that process */
    int32_t gpu;      /* whether it may have buffers on a device */
    int32_t rails;    /* between nodes: those that it has and wants */
    int32_t yields;   /* whether it gives its core to others when it waits */
    int32_t measures; /* whether its communicators measure, where it is rank 0 */
    uint64_t node;    /* a number of its node, for orders: made of its name */
    gr_params_t params;
    gr_bad_param_t bad;
    struct gr_probe probe;     /* whether others can read its memory, they find out with this */
    struct gr_cpu_place place; /* processors that it may use */
    /* the last field, of the job's first rank only: the cost model's */
    struct gr_constants constants;
};

/* What is known of the processes of this job, by vpid. */
static struct {
    struct modex_record **records; /* NULL: not asked yet */
    size_t size;
} known;

/* Stands for a process that has no record. */
static struct modex_record absent;

/* Parameters about whose difference the user has been warned. */
static bool warned[GR_NPARAMS];

/* mpi_yield_when_idle: opal_progress, which acts on it, learns of it only later. */
static bool yields(void)
{
    int index = mca_base_var_find("ompi", "mpi", NULL, "yield_when_idle");
    const bool *value = NULL;

    return index >= 0 && OPAL_SUCCESS == mca_base_var_get_value(index, &value, NULL, NULL) &&
           NULL != value && *value;
}

/* Whether ranks of this node share cores: then measured times mean nothing. */
static bool shares_cores(const struct modex_record *record)
{
    return record->yields ||
           (long) opal_process_info.num_local_peers + 1 > sysconf(_SC_NPROCESSORS_ONLN);
}

/* Where this process runs, and what the job's first rank knows of the node, for all. */
static void describe_node(struct modex_record *record)
{
    bool wanted = record->on && 0 != record->params.value[GR_PARAM_HOST] &&
                  opal_process_info.num_local_peers > 0;
    cpu_set_t bound;

    memset(&record->place, 0xff, sizeof(record->place)); /* not known */
    if (wanted) {
        CPU_ZERO(&bound);
        (void) sched_getaffinity(0, sizeof(bound), &bound);
        record->place = gr_cpu_place_find(GR_SYSFS_CPUS, &bound);
    }
    if (0 == OPAL_PROC_MY_NAME.vpid) {
        /* times of processors that ranks have for themselves mean nothing where they share them */
        mca_coll_gpuring_constants_find(&record->constants, wanted && !shares_cores(record),
                                        record->on && record->gpu);
    }
}

/* Bytes of a process's record: only the job's first rank sends constants. */
static size_t record_size(opal_vpid_t vpid)
{
    return 0 == vpid ? sizeof(struct modex_record) : offsetof(struct modex_record, constants);
}

int mca_coll_gpuring_modex_publish(void)
{
    struct modex_record record;
    int rc;

    memset(&record, 0, sizeof(record));
    record.version = wire_version();
    record.params = gr_settings.params;
    record.bad = mca_coll_gpuring_bad_param;
    record.probe = gr_probe_make();
    record.on = 0 != gr_settings.priority;
    record.gpu = gr_gpu_possible();
    record.node = mca_coll_gpuring_locality_number();
    record.rails = gr_rails_here();
    record.yields = yields();
    record.measures = 0 != gr_settings.measure;
    describe_node(&record);
    OPAL_MODEX_SEND(rc, GR_MODEX_SCOPE, mca_coll_gpuring_registered, &record,
                    record_size(OPAL_PROC_MY_NAME.vpid));
    return OPAL_SUCCESS == rc ? OMPI_SUCCESS : OMPI_ERROR;
}

void mca_coll_gpuring_modex_close(void)
{
    size_t k;

    for (k = 0; k < known.size; k++) {
        if (&absent != known.records[k]) {
            free(known.records[k]);
        }
    }
    free(known.records);
    known.records = NULL;
    known.size = 0;
}

/* Whether a process of ours can have said so. */
static bool is_good(const struct modex_record *record, opal_vpid_t vpid)
{
    return wire_version() == record->version && record->rails >= 1 &&
           (0 != vpid || gr_constants_good(&record->constants)) && record->rails <= GR_NET_RAILS &&
           mca_coll_gpuring_params_good(&record->params, &record->bad);
}

/* Ask for a process's record; &absent when it has none. */
static struct modex_record *fetch(const opal_process_name_t *name)
{
    struct modex_record *record = NULL;
    size_t size = 0;
    int rc;

    OPAL_MODEX_RECV(rc, mca_coll_gpuring_registered, name, (void **) &record, &size);
    if (OPAL_SUCCESS == rc && NULL != record && record_size(name->vpid) == size &&
        is_good(record, name->vpid)) {
        return record;
    }
    free(record);
    return &absent;
}

/* Make room for that many processes; false: no memory. Caller holds the lock. */
static bool make_room(size_t wanted)
{
    size_t size = 2 * wanted;
    struct modex_record **grown;

    if (wanted <= known.size) {
        return true;
    }
    grown = gr_realloc(known.records, size * sizeof(*grown));
    if (NULL == grown) {
        return false;
    }
    memset(grown + known.size, 0, (size - known.size) * sizeof(*grown));
    known.records = grown;
    known.size = size;
    return true;
}

/* The record of a process of this job; asked for once, without the lock. NULL: no memory. */
static struct modex_record *record_of(const opal_process_name_t *name)
{
    pthread_mutex_t *lock = &gr_process.lock;
    size_t vpid = name->vpid;
    struct modex_record *record = NULL, *fetched;

    pthread_mutex_lock(lock);
    if (make_room(vpid + 1)) {
        record = known.records[vpid];
    }
    pthread_mutex_unlock(lock);
    if (NULL != record) {
        return record;
    }
    fetched = fetch(name);
    pthread_mutex_lock(lock);
    if (make_room(vpid + 1)) {
        if (NULL == known.records[vpid]) {
            known.records[vpid] = fetched;
            fetched = &absent;
        } /* else another thread was faster */
        record = known.records[vpid];
    }
    pthread_mutex_unlock(lock);
    if (&absent != fetched) {
        free(fetched);
    }
    return record;
}

/*
 * Say once per parameter that ranks differ, and what is used instead; only one rank of the
 * communicator does.
 */
static void tell_difference(struct ompi_communicator_t *comm, const char *topic, int param,
                            struct modex_record *const *records, int rank)
{
    const struct gr_param_row *row = mca_coll_gpuring_param_row(param);
    int64_t mine = records[0]->params.value[param], other = records[rank]->params.value[param];
    char a[64], b[64], d[64];

    if (warned[param] || 0 != ompi_comm_rank(comm)) {
        return;
    }
    warned[param] = true;
    gr_warn(topic, row->name, mca_coll_gpuring_param_text(param, mine, a, sizeof(a)),
            gr_ompi_name(comm), rank, mca_coll_gpuring_param_text(param, other, b, sizeof(b)),
            mca_coll_gpuring_param_text(param, row->def, d, sizeof(d)));
}

/*
 * gather_records() has found the records of all ranks when they are read.
 * NOLINTBEGIN(clang-analyzer-core.NullDereference)
 */

/* Say once what was bad on other ranks but not on this communicator's rank 0. */
static void warn_bad(struct ompi_communicator_t *comm, struct modex_record *const *records)
{
    static bool said;
    int p = ompi_comm_size(comm), r;

    for (r = 1; r < p && !said && 0 == ompi_comm_rank(comm); r++) {
        const gr_bad_param_t *bad = &records[r]->bad;

        if ('\0' != bad->name[0] && 0 != strcmp(bad->name, records[0]->bad.name)) {
            said = true;
            gr_warn("bad-parameter-on-rank", bad->name, bad->value, r, gr_ompi_name(comm),
                    bad->allowed);
        }
    }
}

/* The first rank whose parameter differs from rank 0's; 0: none. */
static int rank_that_differs(int p, struct modex_record *const *records, int param)
{
    int r = 1;

    while (r < p && records[r]->params.value[param] == records[0]->params.value[param]) {
        r++;
    }
    return r < p ? r : 0;
}

/* Where ranks differ, the default. Every rank computes the same. */
static void merge_params(struct ompi_communicator_t *comm, struct modex_record *const *records,
                         gr_params_t *merged)
{
    int p = ompi_comm_size(comm), k, r;
    bool warned_common = false;

    *merged = records[0]->params;
    for (k = 0; k < GR_NPARAMS; k++) {
        r = rank_that_differs(p, records, k);
        if (r > 0) {
            /* that of all collectives differs: no need to say it for each */
            if (!warned_common || k < GR_PARAM_ALGORITHM) {
                tell_difference(comm, "parameter-differs", k, records, r);
            }
            warned_common = warned_common || GR_PARAM_COMMON == k;
            merged->value[k] = mca_coll_gpuring_param_row(k)->def;
        }
    }
}

/* A torus is stated for MPI_COMM_WORLD; other communicators use it only where it happens to fit. */
static void check_torus(struct ompi_communicator_t *comm, gr_params_t *params)
{
    struct gr_torus torus = gr_param_torus(params->value[GR_PARAM_TORUS]);
    int p = ompi_comm_size(comm);
    char text[64];

    if (0 == torus.ndims || gr_torus_size(&torus) == p) {
        return;
    }
    if (&ompi_mpi_comm_world.comm == comm && 0 == ompi_comm_rank(comm)) {
        mca_coll_gpuring_param_text(GR_PARAM_TORUS, params->value[GR_PARAM_TORUS], text,
                                    sizeof(text));
        gr_warn("torus-does-not-fit", text, gr_torus_size(&torus), p, p);
    }
    params->value[GR_PARAM_TORUS] = 0;
}

static bool takes_part(const struct modex_record *record)
{
    return record->on && (record->gpu || 0 != record->params.value[GR_PARAM_HOST]);
}

/* Say once that gpuring is off on a rank; the lowest rank on which it is on does. */
static void warn_off(struct ompi_communicator_t *comm, struct modex_record *const *records, int off)
{
    static bool said;
    int speaker;

    for (speaker = 0; !takes_part(records[speaker]); speaker++) { /* it is on here at least */
    }
    if (!said && ompi_comm_rank(comm) == speaker) {
        said = true;
        gr_warn("off-on-rank", off, gr_ompi_name(comm), speaker);
    }
}

/* Whether all ranks want communicators of several nodes taken. */
static bool nodes_wanted(struct ompi_communicator_t *comm, struct modex_record *const *records)
{
    int r = rank_that_differs(ompi_comm_size(comm), records, GR_PARAM_NODES);

    if (r > 0) {
        tell_difference(comm, "parameter-differs", GR_PARAM_NODES, records, r);
        return 0 != mca_coll_gpuring_param_row(GR_PARAM_NODES)->def;
    }
    return 0 != records[0]->params.value[GR_PARAM_NODES];
}

/* Rails between nodes: as many as each rank has. */
static int count_rails(const struct gr_comm *comm, struct modex_record *const *records)
{
    int most = 1 == comm->params.value[GR_PARAM_NODES_RAILS] ? 1 : records[0]->rails, r;

    for (r = 1; r < comm->size; r++) {
        most = records[r]->rails < most ? records[r]->rails : most;
    }
    return most;
}

/* Where ranks are on several nodes: their order. OMPI error code. */
static int find_order(struct gr_comm *comm, struct modex_record *const *records)
{
    uint64_t *nodes = gr_calloc((size_t) comm->size, sizeof(*nodes));
    int r, rc = OMPI_ERR_OUT_OF_RESOURCE;

    for (r = 0; NULL != nodes && r < comm->size; r++) {
        nodes[r] = records[r]->node;
    }
    if (NULL != nodes) {
        rc = mca_coll_gpuring_locality_order(comm, nodes);
    }
    free(nodes);
    return rc;
}

/* Find all records; module->refused is why the module takes no part, or -1. OMPI error code. */
static int gather_records(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                          struct modex_record **records)
{
    ompi_proc_t *me = ompi_proc_local();
    int p = ompi_comm_size(comm), r, off = -1;

    if (1 == p || OMPI_COMM_IS_INTER(comm)) {
        module->refused = OMPI_COMM_IS_INTER(comm) ? GR_FALLBACK_INTER : GR_FALLBACK_ALONE;
        return OMPI_SUCCESS;
    }
    for (r = 0; r < p; r++) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, r);

        if (proc->super.proc_name.jobid != me->super.proc_name.jobid) {
            module->refused = GR_FALLBACK_JOBS;
            return OMPI_SUCCESS;
        }
    }
    for (r = 0; r < p; r++) {
        records[r] = record_of(&ompi_comm_peer_lookup(comm, r)->super.proc_name);
        if (NULL == records[r]) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        off = off < 0 && !takes_part(records[r]) ? r : off;
        module->comm.gpu = module->comm.gpu || records[r]->gpu;
        module->comm.oversubscribed = module->comm.oversubscribed || records[r]->yields;
        module->all_gpu = module->all_gpu && records[r]->gpu;
    }
    if (off >= 0) {
        warn_off(comm, records, off);
        module->refused = GR_FALLBACK_PEERS;
        return OMPI_SUCCESS;
    }
    /* where another component may have won on some rank, it does the work on all */
    r = rank_that_differs(p, records, GR_PARAM_PRIORITY);
    if (r > 0) {
        tell_difference(comm, "priority-differs", GR_PARAM_PRIORITY, records, r);
        module->refused = GR_FALLBACK_PEERS;
        return OMPI_SUCCESS;
    }
    module->refused = -1;
    return OMPI_SUCCESS;
}

/* Processes of the ranks, and whether these may share memory by single copy. OMPI error code. */
static int find_processes(struct gr_comm *comm, struct modex_record *const *records)
{
    int r;

    free(comm->pids); /* of an attempt that failed */
    comm->pids = gr_calloc((size_t) comm->size, sizeof(comm->pids[0]));
    if (NULL == comm->pids) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (r = 0; r < comm->size; r++) {
        comm->pids[r] = records[r]->probe.pid;
    }
    comm->direct = 0 != comm->params.value[GR_PARAM_SINGLE_COPY] && NULL == comm->remote;
    return OMPI_SUCCESS;
}

/*
 * The constants of the job's first rank, for all of its communicators, whose ranks choose alike:
 * those of processes inside a node, where those of the farthest ranks count, which every call waits
 * for; and those of devices. OMPI error code.
 */
static int find_constants(struct gr_comm *comm, struct modex_record *const *records)
{
    opal_process_name_t first = ompi_proc_local()->super.proc_name;
    struct modex_record *record;
    int r, distance = GR_CPU_CACHE;

    memset(&comm->machine, 0, sizeof(comm->machine));
    memset(&comm->fixed, 0, sizeof(comm->fixed));
    comm->constants = NULL;
    if (NULL != comm->remote && !comm->gpu) {
        return OMPI_SUCCESS;
    }
    first.vpid = 0;
    record = record_of(&first);
    if (NULL == record) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    comm->constants = &record->constants;
    if (NULL != comm->remote) {
        return OMPI_SUCCESS;
    }
    for (r = 1; r < comm->size; r++) {
        int other = gr_cpu_place_distance(&records[0]->place, &records[r]->place);

        distance = other > distance ? other : distance;
    }
    mca_coll_gpuring_constants_use(comm, &record->constants, distance);
    return OMPI_SUCCESS;
}

/* Whether first calls are to measure the network between nodes, as parameters do not say it all. */
static void find_network(struct gr_comm *comm, const struct modex_record *first)
{
    int k;

    comm->measures_network = NULL != comm->remote && 0 != first->measures &&
                             (0 == comm->params.value[GR_PARAM_NODES_LATENCY] ||
                              0 == comm->params.value[GR_PARAM_NODES_MBIT]);
    for (k = 0; k < GR_NORDERS; k++) {
        comm->network[k].network = (struct gr_network) {.latency = 0};
        comm->network[k].state = comm->measures_network ? GR_NETWORK_NEW : GR_NETWORK_KNOWN;
    }
}

int mca_coll_gpuring_modex_decide(mca_coll_gpuring_module_t *module,
                                  struct ompi_communicator_t *comm)
{
    struct modex_record **records =
        gr_calloc((size_t) ompi_comm_size(comm), sizeof(struct modex_record *));
    int rc;

    if (NULL == records) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    module->comm.gpu = module->comm.oversubscribed = false;
    module->all_gpu = true;
    rc = gather_records(module, comm, records);
    if (OMPI_SUCCESS == rc && 0 > module->refused) {
        rc = mca_coll_gpuring_locality_find(&module->comm);
    }
    if (OMPI_SUCCESS == rc && 0 > module->refused && NULL != module->comm.remote &&
        !nodes_wanted(comm, records)) {
        module->refused = GR_FALLBACK_NODES;
    }
    if (OMPI_SUCCESS == rc && 0 > module->refused) {
        warn_bad(comm, records);
        merge_params(comm, records, &module->comm.params);
        check_torus(comm, &module->comm.params);
        rc = find_processes(&module->comm, records);
        rc = OMPI_SUCCESS == rc ? find_constants(&module->comm, records) : rc;
        rc = OMPI_SUCCESS == rc && NULL != module->comm.remote ? find_order(&module->comm, records)
                                                               : rc;
    }
    if (OMPI_SUCCESS == rc && 0 > module->refused && NULL != module->comm.remote) {
        module->comm.rails = count_rails(&module->comm, records);
        gr_rails_log(&module->comm);
        find_network(&module->comm, records[0]);
    }
    free(records);
    return rc;
}

bool gr_runtime_reads(const struct gr_comm *comm, int rank)
{
    struct modex_record *record =
        record_of(&ompi_comm_peer_lookup(comm->mpi, rank)->super.proc_name);

    return NULL != record && gr_probe_test(&record->probe);
}

/* NOLINTEND(clang-analyzer-core.NullDereference) */
