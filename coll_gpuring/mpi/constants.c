/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning files and the measurement of the job's first rank (comm.h). */
#include "mpi/comm.h"

#include "comm/params.h"
#include "comm/runtime.h"
#include "mpi/runtime.h"

#include "base/errors.h"
#include "base/text.h"
#include "exec/reduce.h"
#include "topo/cpus.h"
#include "tune/constants.h"
#include "tune/tune_file.h"

#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Seconds after which the measurement is given up. On a quiet machine it takes 5 ms. */
#define MEASURE_LIMIT 0.02

/* The tuning file that this process uses; empty: none. */
static char used_file[4096];

struct gr_constants_said mca_coll_gpuring_constants_said[2] = {{"", "built-in"}, {"", "built-in"}};

/* ---- tuning files ---- */

/* What constants of a file are wanted, and what they are added to. */
struct wanted {
    struct gr_constants *c;
    bool cores;   /* those of processes */
    bool devices; /* those of devices */
};

/* Try one file. Returns whether it is there, for better or worse. */
static bool try_file(const char *path, bool given, const struct gr_machine_kind *kind,
                     const struct wanted *wanted)
{
    struct gr_tune_file file;
    char why[512];
    int rc = gr_tune_file_read(path, kind, &file, why, sizeof(why)), at;

    if (GR_ERR_SYS == rc) {
        if (ENOENT == errno && !given) {
            return false;
        }
        snprintf(why, sizeof(why), "%s", strerror(errno));
    }
    if (0 != rc) {
        gr_warn("tune-file", path, why);
        return true;
    }
    for (at = 0; at < GR_RELATIONS; at++) {
        if (at < GR_CPU_DISTANCES ? wanted->cores : wanted->devices) {
            gr_constants_take(wanted->c, at, &file.constants.at[at], GR_FROM_FILE);
        }
    }
    if (wanted->devices) {
        memcpy(wanted->c->device, file.constants.device, sizeof(wanted->c->device));
    }
    snprintf(used_file, sizeof(used_file), "%s", path);
    return true;
}

/* The given file; else the user's, else the system's. */
static void find_file(const struct wanted *wanted)
{
    const char *given = gr_settings.tune_file, *home = getenv("HOME");
    struct gr_machine_kind kind;
    char name[160], path[4096];

    if (NULL != given && 0 == strcmp(given, "none")) {
        return;
    }
    gr_machine_kind_find("", &kind);
    if (NULL != given && '\0' != given[0]) {
        (void) try_file(given, true, &kind, wanted);
        return;
    }
    (void) gr_tune_file_name(&kind, name, sizeof(name));
    snprintf(path, sizeof(path), "%s/.gpuring/%s", NULL == home ? "" : home, name);
    if (NULL != home && try_file(path, false, &kind, wanted)) {
        return;
    }
    snprintf(path, sizeof(path), "%s/gpuring/%s", opal_install_dirs.sysconfdir, name);
    (void) try_file(path, false, &kind, wanted);
}

/* ---- the measurement ---- */

/* The parent of a process; 0: it has none, or it is not known. */
static pid_t parent_of(pid_t pid)
{
    char line[256];
    int parent;

    return gr_text_read_line(line, sizeof(line), "/proc/%d/stat", (int) pid) &&
                   1 == sscanf(line, "%*d (%*[^)]) %*c %d", &parent)
               ? (pid_t) parent
               : 0;
}

/* Whether a process is mpirun, or a daemon of it, by its name. */
static bool is_launcher(pid_t pid)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "orted", "prte"};
    char name[32];
    bool found = gr_text_read_line(name, sizeof(name), "/proc/%d/comm", (int) pid);
    size_t k;

    for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (found && 0 == strncmp(name, names[k], strlen(names[k]))) {
            return true;
        }
    }
    return false;
}

/* Add what Slurm bound the other ranks of this node to, where it is Slurm that bound this one. */
static void add_slurm_tasks(cpu_set_t *allowed)
{
    const char *type = getenv("SLURM_CPU_BIND_TYPE"), *masks = getenv("SLURM_CPU_BIND_LIST");
    const char *task = getenv("SLURM_LOCALID");
    cpu_set_t own, all;

    if (NULL != type && 0 == strncmp(type, "mask_cpu", 8) && NULL != masks && NULL != task &&
        gr_cpu_masks_read(masks, atoi(task), &own, &all) && CPU_EQUAL(&own, allowed)) {
        CPU_OR(allowed, allowed, &all);
    }
}

/*
 * Processors that ranks of this job may use: those of mpirun or its daemon, where it has bound this
 * rank to some of them, or of srun's tasks. A rank that was bound otherwise (taskset) stays there.
 */
static void find_allowed(cpu_set_t *allowed)
{
    pid_t pid = getppid();
    cpu_set_t set;
    int k;

    CPU_ZERO(allowed);
    (void) sched_getaffinity(0, sizeof(*allowed), allowed);
    add_slurm_tasks(allowed);
    if (!gr_ompi_may_be_bound()) {
        return;
    }
    for (k = 0; k < 8 && pid > 1 && !is_launcher(pid); k++) { /* wrappers of the program */
        pid = parent_of(pid);
    }
    if (pid > 1 && is_launcher(pid) && 0 == sched_getaffinity(pid, sizeof(set), &set)) {
        CPU_OR(allowed, allowed, &set);
    }
}

static void measure(struct gr_constants *c)
{
    struct gr_measure_node_args args = {
        .folder = GR_SYSFS_CPUS,
        .cpu = sched_getcpu(),
        .ranks = (int) opal_process_info.num_local_peers + 1,
        .limit = MEASURE_LIMIT,
        .sum = gr_reduce_find(GR_TYPE_F32, GR_OP_SUM),
    };

    find_allowed(&args.allowed);
    if (args.cpu >= 0 && args.cpu < CPU_SETSIZE) {
        (void) gr_constants_measure(c, &args);
    }
}

void mca_coll_gpuring_constants_find(struct gr_constants *c, bool cores, bool devices)
{
    struct wanted wanted = {c, cores, devices};

    if (cores || devices) {
        find_file(&wanted);
    }
    if (cores && 0 != gr_settings.measure) {
        measure(c);
    }
}

/* ---- their use ---- */

/* Keep what is said of the first communicator with ranks of that relation. */
static void keep_text(const struct gr_constants *c, int relation, enum gr_constant_source least)
{
    const char *file = '\0' == used_file[0] ? NULL : used_file;
    bool device = relation >= GR_CPU_DISTANCES;
    struct gr_constants_said *said = &mca_coll_gpuring_constants_said[device];
    char text[1400], path[48] = "";

    if (device) {
        snprintf(path, sizeof(path), "%s: ", gr_path_name(relation - GR_CPU_DISTANCES));
    }
    pthread_mutex_lock(&gr_process.lock);
    if ('\0' == said->text[0]) {
        snprintf(said->sources, sizeof(said->sources), "%s",
                 gr_constants_sources(c, relation, least));
        snprintf(said->text, sizeof(said->text), "%s%s", path,
                 gr_constants_text(c, relation, least, file, text, sizeof(text)));
    }
    pthread_mutex_unlock(&gr_process.lock);
}

void mca_coll_gpuring_constants_use(struct gr_comm *comm, const struct gr_constants *c,
                                    int distance)
{
    comm->machine = gr_constants_at(c, distance, GR_FROM_MEASUREMENT, NULL);
    comm->fixed = gr_constants_at(c, distance, GR_FROM_FILE, NULL);
    keep_text(c, distance, GR_FROM_BUILD);
}

void gr_stats_constants(const struct gr_comm *comm, enum gr_path path,
                        enum gr_constant_source least)
{
    keep_text(comm->constants, gr_relation_of_path(path), least);
    if (gr_should_log(comm->rank, 1)) {
        gr_print("gpuring: the cost model's constants between devices: %s",
                 mca_coll_gpuring_constants_said[1].text);
    }
}
