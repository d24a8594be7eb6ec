/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's port (comm/runtime.h) on Open MPI. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr, vasprintf */
#endif
#include "mpi/runtime.h"

#include "base/errors.h"
#include "base/system.h"

#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/proc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct gr_process gr_process = GR_PROCESS_INIT;

const bool *const gr_runtime_threads = &opal_uses_threads;

/* ---- error codes ---- */

static const struct {
    int error, ompi;
} codes[] = {
    {0, OMPI_SUCCESS},
    {GR_ERR_FAILED, OMPI_ERROR},
    {GR_ERR_NOMEM, OMPI_ERR_OUT_OF_RESOURCE},
    {GR_ERR_DIFFER, OMPI_ERR_BAD_PARAM},
    {GR_ERR_FALLBACK, OMPI_ERR_NOT_AVAILABLE},
    {GR_ERR_REVOKED, GR_OMPI_REVOKED},
    {GR_ERR_LOST_RANK, GR_OMPI_LOST_RANK},
    {GR_ERR_TRUNCATE, MPI_ERR_TRUNCATE},
};
#define NCODES (sizeof(codes) / sizeof(codes[0]))

int mca_coll_gpuring_ompi_code(int error)
{
    size_t k;

    for (k = 0; k < NCODES && codes[k].error != error; k++) {
    }
    return k < NCODES ? codes[k].ompi : OMPI_ERROR;
}

int mca_coll_gpuring_engine_code(int rc)
{
    size_t k;

    for (k = 0; k < NCODES && codes[k].ompi != rc; k++) {
    }
    return k < NCODES ? codes[k].error : GR_ERR_FAILED;
}

/* ---- variables of Open MPI ---- */

/* The value of a variable. NULL: there is none of that type, or, with `set`, it has its default. */
static const mca_base_var_storage_t *variable(const char *name, mca_base_var_type_t type, bool set)
{
    const mca_base_var_storage_t *value = NULL;
    const mca_base_var_t *var;
    int index;

    return OPAL_SUCCESS == mca_base_var_find_by_name(name, &index) &&
                   OPAL_SUCCESS == mca_base_var_get(index, &var) && type == var->mbv_type &&
                   (!set || MCA_BASE_VAR_SOURCE_DEFAULT != var->mbv_source) &&
                   OPAL_SUCCESS == mca_base_var_get_value(index, &value, NULL, NULL)
               ? value
               : NULL;
}

size_t mca_coll_gpuring_ompi_size(const char *name)
{
    const mca_base_var_storage_t *value = variable(name, MCA_BASE_VAR_TYPE_SIZE_T, false);

    return NULL == value ? 0 : value->sizetval;
}

/* A text that the user has set, or NULL. If its component is not loaded, the environment has it. */
static const char *set_text(const char *name)
{
    const mca_base_var_storage_t *value = variable(name, MCA_BASE_VAR_TYPE_STRING, true);
    char in_environment[64];
    const char *text;

    snprintf(in_environment, sizeof(in_environment), "OMPI_MCA_%s", name);
    text = NULL == value ? getenv(in_environment) : value->stringval;
    return NULL == text || '\0' == text[0] ? NULL : text;
}

const char *gr_runtime_interfaces(bool *exclude)
{
    const char *list = set_text("btl_tcp_if_include");

    *exclude = NULL == list;
    return NULL == list ? set_text("btl_tcp_if_exclude") : list;
}

/* ---- messages ---- */

/*
 * Our tags on the application's communicators are one range in the middle of the negative tags that
 * the PML has. That is below those of the blocking collectives and far from where libnbc begins to
 * count down; a lower one might be an application's where a tag has 24 bits (pml/ucx) or 20
 * (mtl/ofi).
 */
#define MOST_TAG ((1 << 23) - 1)
_Static_assert(GR_NTAGS <= 1 << 18, "tags of 20 bits, one of them a sign, have room");

int gr_runtime_tag(int offset)
{
    int most = mca_pml.pml_max_tag < MOST_TAG ? mca_pml.pml_max_tag : MOST_TAG;

    return -(most / 2 + 1) - offset;
}

int mca_coll_gpuring_pml_request_done(ompi_request_t **pml_request)
{
    int rc;

    if (MPI_REQUEST_NULL == *pml_request) {
        return 1;
    }
    if (!REQUEST_COMPLETE(*pml_request)) {
        return 0;
    }
    rc = (*pml_request)->req_status.MPI_ERROR;
    (void) ompi_request_free(pml_request);
    *pml_request = MPI_REQUEST_NULL;
    return MPI_SUCCESS == rc ? 1 : OMPI_ERROR;
}

/* A message is a request of the PML. */
static int posted(int rc, ompi_request_t *pml_request, struct gr_message **message)
{
    *message = OMPI_SUCCESS == rc ? (struct gr_message *) pml_request : NULL;
    return OMPI_SUCCESS == rc ? 0 : GR_ERR_FAILED;
}

int gr_runtime_send(const struct gr_comm *comm, const void *buf, size_t bytes, int rank, int tag,
                    struct gr_message **message)
{
    ompi_request_t *pml_request = MPI_REQUEST_NULL;
    int rc = MCA_PML_CALL(isend(buf, bytes, MPI_BYTE, rank, tag, MCA_PML_BASE_SEND_STANDARD,
                                comm->mpi, &pml_request));

    return posted(rc, pml_request, message);
}

int gr_runtime_receive(const struct gr_comm *comm, void *buf, size_t bytes, int rank, int tag,
                       struct gr_message **message)
{
    ompi_request_t *pml_request = MPI_REQUEST_NULL;
    int rc = MCA_PML_CALL(irecv(buf, bytes, MPI_BYTE, rank, tag, comm->mpi, &pml_request));

    return posted(rc, pml_request, message);
}

int gr_runtime_test(struct gr_message **message)
{
    ompi_request_t *pml_request = (ompi_request_t *) *message;
    int rc = NULL == pml_request ? 1 : mca_coll_gpuring_pml_request_done(&pml_request);

    if (0 != rc) {
        *message = NULL;
    }
    return 0 > rc ? GR_ERR_FAILED : rc;
}

/* ---- messages between processes, on MPI_COMM_WORLD ---- */

int gr_runtime_number(const struct gr_comm *comm, int rank)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(comm->mpi, rank), *self = ompi_proc_local();

    return proc->super.proc_name.jobid == self->super.proc_name.jobid
               ? (int) proc->super.proc_name.vpid
               : -1;
}

int gr_runtime_job_send(struct gr_process *process, const void *message, size_t bytes, int number)
{
    ompi_request_t *pml_request = MPI_REQUEST_NULL;

    (void) process;
    if (OMPI_SUCCESS !=
        MCA_PML_CALL(isend(message, bytes, MPI_BYTE, number, gr_runtime_tag(GR_TAGS_FAILURE),
                           MCA_PML_BASE_SEND_STANDARD, gr_ompi_world(), &pml_request))) {
        return GR_ERR_FAILED;
    }
    (void) ompi_request_free(&pml_request);
    return 0;
}

bool gr_runtime_job_probe(struct gr_process *process, int *number)
{
    ompi_status_public_t status;
    int there = 0;

    (void) process;
    if (OMPI_SUCCESS != MCA_PML_CALL(iprobe(MPI_ANY_SOURCE, gr_runtime_tag(GR_TAGS_FAILURE),
                                            gr_ompi_world(), &there, &status)) ||
        !there) {
        return false;
    }
    *number = status.MPI_SOURCE;
    return true;
}

int gr_runtime_job_receive(struct gr_process *process, void *message, size_t bytes, int number)
{
    (void) process;
    return OMPI_SUCCESS == MCA_PML_CALL(recv(message, bytes, MPI_BYTE, number,
                                             gr_runtime_tag(GR_TAGS_FAILURE), gr_ompi_world(),
                                             MPI_STATUS_IGNORE))
               ? 0
               : GR_ERR_FAILED;
}

/* ---- communicators ---- */

void gr_runtime_retain(const struct gr_comm *comm)
{
    struct ompi_communicator_t *mpi = comm->mpi;

    OBJ_RETAIN(mpi);
}

void gr_runtime_release(const struct gr_comm *comm)
{
    struct ompi_communicator_t *mpi = comm->mpi;

    OBJ_RELEASE(mpi);
}

int gr_runtime_state(const struct gr_comm *comm)
{
    struct ompi_communicator_t *mpi = comm->mpi;

    (void) mpi; /* where Open MPI has no fault tolerance */
    if (GR_COMM_REVOKED(mpi)) {
        return GR_ERR_REVOKED;
    }
    return GR_COMM_LOST_RANK(mpi) ? GR_ERR_LOST_RANK : 0;
}

bool gr_runtime_lost(const struct gr_comm *comm, int rank)
{
    struct ompi_communicator_t *mpi = comm->mpi;

    return GR_RANK_IS_LOST(mpi, rank);
}

const char *gr_runtime_host(const struct gr_comm *comm, int rank)
{
    const char *name = opal_get_proc_hostname(&ompi_comm_peer_lookup(comm->mpi, rank)->super);

    return NULL == name ? "an unknown host" : name;
}

/* ---- the process ---- */

struct gr_peer_id gr_runtime_self(void)
{
    const ompi_process_name_t *me = &ompi_proc_local()->super.proc_name;

    return (struct gr_peer_id) {.job = me->jobid, .vpid = me->vpid};
}

int gr_runtime_local_rank(void)
{
    return (int) opal_process_info.my_local_rank;
}

double gr_runtime_now(void)
{
    return gr_now();
}

void gr_runtime_progress(void)
{
    opal_progress();
}

/*
 * opal_progress yields whenever its callbacks have moved nothing, also where the event library has
 * just received data over TCP: that says nothing. Where threads meet here, one yields once too
 * often.
 */
void gr_runtime_progress_no_yield(void)
{
    if (!gr_runtime_shares_cores()) {
        opal_progress();
        return;
    }
    opal_progress_yield_when_idle = false;
    opal_progress();
    opal_progress_yield_when_idle = true;
}

/* opal_progress knows no context. */
static struct {
    int (*progress)(void *ctx);
    void *ctx;
} registered[GR_NPROGRESS];

static int progress_queues(void)
{
    return registered[GR_PROGRESS_QUEUES].progress(registered[GR_PROGRESS_QUEUES].ctx);
}

static int progress_network(void)
{
    return registered[GR_PROGRESS_NETWORK].progress(registered[GR_PROGRESS_NETWORK].ctx);
}

static int (*const entries[GR_NPROGRESS])(void) = {
    [GR_PROGRESS_QUEUES] = progress_queues,
    [GR_PROGRESS_NETWORK] = progress_network,
};

int gr_runtime_register(enum gr_progress_kind kind, int (*progress)(void *ctx), void *ctx,
                        bool often)
{
    int rc;

    registered[kind].progress = progress;
    registered[kind].ctx = ctx;
    rc = often ? opal_progress_register(entries[kind]) : opal_progress_register_lp(entries[kind]);
    return OMPI_SUCCESS == rc ? 0 : GR_ERR_NOMEM;
}

void gr_runtime_unregister(enum gr_progress_kind kind)
{
    (void) opal_progress_unregister(entries[kind]);
}

bool gr_runtime_shares_cores(void)
{
    return opal_progress_yield_when_idle;
}

void gr_runtime_abort(void)
{
    ompi_mpi_abort(gr_ompi_world(), MPI_ERR_OTHER);
}

/* ---- messages for the user ---- */

/*
 * Lines on stderr. Their texts are in a file in the format of Open MPI's show_help, which reads no
 * files any more from 6.0 on.
 */
#define TEXTS "help-coll-gpuring.txt"

static const char here; /* an address in the component's file, for dladdr() */

/* The file of texts in a folder; length: of the folder's name. NULL: there is no such file. */
static FILE *open_texts(const char *folder, int length)
{
    char *path = NULL;
    FILE *file = NULL;

    if (asprintf(&path, "%.*s/" TEXTS, length, folder) > 0) {
        file = fopen(path, "r");
        free(path);
    }
    return file;
}

/* The file beside the component, where it is before an installation, or the installed one. */
static FILE *find_texts(void)
{
    const char *installed = opal_install_dirs.opaldatadir, *slash;
    Dl_info info;
    FILE *file = NULL;

    if (0 != dladdr(&here, &info) && NULL != info.dli_fname &&
        NULL != (slash = strrchr(info.dli_fname, '/'))) {
        file = open_texts(info.dli_fname, (int) (slash - info.dli_fname));
    }
    return NULL == file && NULL != installed ? open_texts(installed, (int) strlen(installed))
                                             : file;
}

/* The line below [topic], for vasprintf; to be freed. NULL: there is none, or no memory. */
static char *find_text(const char *topic)
{
    size_t size = 0, length = strlen(topic);
    FILE *file = find_texts();
    char *line = NULL;
    bool found = false;

    while (NULL != file && !found && getline(&line, &size, file) > 0) {
        found = '[' == line[0] && 0 == strncmp(line + 1, topic, length) && ']' == line[1 + length];
    }
    found = found && getline(&line, &size, file) > 0;
    if (NULL != file) {
        fclose(file);
    }
    if (!found) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static void write_all(const char *line, size_t length)
{
    while (write(STDERR_FILENO, line, length) < 0 && EINTR == errno) {
    }
}

/*
 * A line on stderr, in the form of opal_output(), which takes 9 KiB of stack: a thread of the
 * application may have no more than 16 KiB. It also uses memory without asking whether it got some,
 * and that there is none may be what the line is about: then its beginning is written. It is one
 * write(), so that lines of ranks do not mix.
 */
static void write_line(const char *format, va_list args)
{
    char host[64] = "", spare[512], *text = NULL, *line = NULL;
    int length = -1;
    va_list again;

    (void) gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    va_copy(again, args);
    if (vasprintf(&text, format, args) >= 0) {
        length = asprintf(&line, "[%s:%05d] %s\n", host, (int) getpid(), text);
        free(text);
    }
    if (length >= 0) {
        write_all(line, (size_t) length);
        free(line);
    } else {
        vsnprintf(spare, sizeof(spare) - 1, format, again);
        write_all(spare, strlen(strcat(spare, "\n")));
    }
    va_end(again);
}

/* Rendered here and printed as it is: mpirun's own aggregation shows only one message per topic. */
void gr_warn(const char *topic, ...)
{
    char *format = find_text(topic);
    va_list args;

    if (NULL == format) {
        gr_print("gpuring: %s (the file " TEXTS ", which cannot be read, says more)", topic);
        return;
    }
    va_start(args, topic);
    write_line(format, args);
    va_end(args);
    free(format);
}

void gr_print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line(format, args);
    va_end(args);
}
