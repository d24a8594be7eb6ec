/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random legal MPI programs, one after the other: random_programs [OPTIONS]
 *
 *     --seed=S       of the first one; the others have the seeds that follow (test_seed)
 *     --count=N      programs (100); those of the cases of a profile are more
 *     --seconds=T    no further ones after so many seconds
 *     --least=N      but so many, however slow it is (3)
 *     --repeats=R    each so many times, with other draws of each rank's own (1)
 *     --threads=T    T programs at a time, in threads, each on communicators of its own (1)
 *     --limit=L      seconds after which a program is said to hang (120)
 *     --max-bytes=N  of a block, about: where slots are small, large messages take long
 *     --without=LIST numbers of steps to leave out, with those that need them: 3,7-12
 *     --print        prints what the programs do
 *     --growth=N     windows of N programs, always the same, in place of COUNT: nothing may grow
 *     --session      each on a session's communicator (Open MPI 5)
 *     --plant=wrong, --plant=hang    does not what it should, to see that this is found
 *     --at=FILE      rank 0 writes there which seed is being run
 *     --beyond       also what stock does wrong and gpuring right, in its own eight collectives:
 *                    see below
 *     --profile=LIST what programs are mostly made of, as profile.c says: persistent,types
 *     --no-idup --no-comms --no-nonsense --no-persistent --no-user-ops --no-neighbors --no-inter
 *                    draw none of these
 *     --no-sendrecv  no MPI_Sendrecv: see below
 *
 * With GPURING_MEMORY=mixed buffers lie in host memory or on devices, another kind for each of each
 * rank.
 *
 * What is legal and yet left out, since Open MPI 4.1.4 or 5.0.7 itself does not do it:
 * - beside a pending MPI_Comm_idup, nonblocking collectives on its parent and other communicators
 *   being made: they draw tags in the order of the calls, and idup draws its own whenever it goes on;
 * - MPI_Comm_idup in a thread, while another thread makes a communicator: the lowest one of a process
 *   goes first, which need not be the same on all ranks, and they wait for each other;
 * - communicators that are freed beside pending nonblocking collectives: libnbc goes on with what
 *   is freed (with --beyond those of gpuring are pending);
 * - MPI_Allgatherv with types that differ between ranks: coll/tuned takes the size from the
 *   sender's type and the receiver's counts, so that ranks choose different algorithms, and hang
 *   (with --beyond they differ);
 * - datatypes that are freed when a persistent request has been made: libnbc uses them (with
 *   --beyond those of gpuring are);
 * - MPI_Ialltoallv and MPI_Ialltoallw, and the persistent ones, in place: where a rank has nothing
 *   to exchange libnbc draws no tag, and does it on the others; derived types crash it;
 * - MPI_Ialltoallw, and the persistent one, on communicators with a topology, and on those that
 *   MPI_Comm_create_group made from one, which keep its marks: as many types are looked at as there
 *   are neighbors;
 * - nonblocking and persistent neighbourhood collectives that send two different blocks to one rank
 *   on a grid: where a rank is the neighbor on both sides, libnbc exchanges the two (both are the
 *   same here);
 * - with Open MPI 5, neighbourhood collectives on a graph or grid that was made from a communicator
 *   with another topology, which then has the marks of both; and MPI_Neighbor_allgatherv: it looks at
 *   as many counts as the communicator has ranks, where there are only as many as neighbors;
 * - MPI_Ireduce_scatter(_block), and the persistent ones, on intercommunicators: libnbc uses the
 *   group's communicator with tags that making a duplicate uses, too;
 * - blocking MPI_Allgatherv, MPI_Gatherv and MPI_Scatterv on intercommunicators with types that
 *   differ between ranks: coll/inter takes one rank's counts with another rank's type;
 * - MPI_Ibcast on intercommunicators with another count beside MPI_PROC_NULL: a rank with count 0
 *   draws no tag, and the others do;
 * - MPI_Reduce_init on intercommunicators with null for both buffers, without elements: a rank whose
 *   number is the root's takes that for an error;
 * - blocks of more than 64 KiB with derived types: a rank's own is copied no further
 *   (ompi_datatype_sndrcv; with --beyond gpuring's have them);
 * - derived types of elements of more than 16 bytes (long double complex): an element that begins in
 *   one fragment of a message and ends in the next is put together in an array of 16 bytes
 *   (opal_generic_simple_unpack; with --beyond gpuring's have them);
 * - with --no-sendrecv, over libfabric (mtl/ofi), MPI_Sendrecv beside pending nonblocking
 *   collectives: until its message is sent nothing but libfabric goes on, no collective, and the
 *   receiver may wait for one before it takes the message.
 */
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comms.h"
#include "devmem.h"
#include "forms.h"
#include "growth.h"
#include "profile.h"
#include "rng.h"
#include "run.h"
#include "tap.h"
#include "task.h"
#include "values.h"

#define MAX_THREADS 8

static struct {
    uint64_t seed;
    int count, least, repeats, threads, limit, growth;
    double seconds;
    bool print, session;
    bool without[MAX_STEPS];
    const char *at;
    struct draw_options draw;
    struct profile profile;
} options = {.count = 100,
             .least = 3,
             .repeats = 1,
             .threads = 1,
             .limit = 120,
             .seconds = 1e9,
             .draw = {true, true, true, true, true, true, true, 1 << 30, false, NULL}};

/* One thread's program. */
struct job {
    pthread_t thread;
    struct program program;
    MPI_Comm comm;
    int repeat;
    long calls;
    struct whereabouts where;
    void *context; /* CUDA's */
};

static struct job jobs[MAX_THREADS];

/* ---- options ---- */

static void parse_without(const char *text)
{
    for (char *end; '\0' != *text; text = *end == ',' ? end + 1 : end) {
        long first = strtol(text, &end, 10), last = first;

        if (end == text) {
            return;
        }
        if ('-' == *end) {
            last = strtol(end + 1, &end, 10);
        }
        for (; first <= last && first < MAX_STEPS; first++) {
            options.without[first] = true;
        }
    }
}

static const char *value_of(const char *arg, const char *name)
{
    const size_t n = strlen(name);

    return 0 == strncmp(arg, name, n) ? arg + n : NULL;
}

static bool parse_number(const char *arg)
{
    static const struct {
        const char *name;
        int *at;
    } numbers[] = {{"--count=", &options.count},
                   {"--repeats=", &options.repeats},
                   {"--threads=", &options.threads},
                   {"--limit=", &options.limit},
                   {"--growth=", &options.growth},
                   {"--least=", &options.least},
                   {"--max-bytes=", &options.draw.max_bytes}};
    const char *text;

    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        text = value_of(arg, numbers[k].name);
        if (NULL != text) {
            *numbers[k].at = atoi(text);
            return true;
        }
    }
    return false;
}

static bool parse_flag(const char *arg)
{
    static const struct {
        const char *name;
        bool *at, value;
    } flags[] = {{"--print", &options.print, true},
                 {"--session", &options.session, true},
                 {"--no-idup", &options.draw.idup, false},
                 {"--no-comms", &options.draw.comms, false},
                 {"--no-nonsense", &options.draw.nonsense, false},
                 {"--no-persistent", &options.draw.persistent, false},
                 {"--beyond", &options.draw.beyond, true},
                 {"--no-user-ops", &options.draw.user_ops, false},
                 {"--no-neighbors", &options.draw.neighbors, false},
                 {"--no-inter", &options.draw.inter, false},
                 {"--no-sendrecv", &task_sendrecv, false}};

    for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
        if (0 == strcmp(arg, flags[k].name)) {
            *flags[k].at = flags[k].value;
            return true;
        }
    }
    return false;
}

static bool parse(const char *arg)
{
    const char *text;

    if (parse_number(arg) || parse_flag(arg)) {
        return true;
    } else if (NULL != (text = value_of(arg, "--seed="))) {
        options.seed = strtoull(text, NULL, 0);
    } else if (NULL != (text = value_of(arg, "--seconds="))) {
        options.seconds = atof(text);
    } else if (NULL != (text = value_of(arg, "--profile="))) {
        return profile_apply(&options.profile, text);
    } else if (NULL != (text = value_of(arg, "--without="))) {
        parse_without(text);
    } else if (NULL != (text = value_of(arg, "--at="))) {
        options.at = text;
    } else if (0 == strcmp(arg, "--plant=wrong")) {
        run_plant = PLANT_WRONG;
    } else if (0 == strcmp(arg, "--plant=hang")) {
        run_plant = PLANT_HANG;
    } else {
        return false;
    }
    return options.threads >= 1 && options.threads <= MAX_THREADS;
}

/* ---- what hangs ---- */

/* All ranks say where they are, at about the same time, before the first of them ends the job. */
static void say_and_end(int signal)
{
    char line[200];
    int n;

    (void) signal;
    for (int t = 0; t < options.threads; t++) {
        n = snprintf(line, sizeof line, "HANGS seed %llu thread %d rank %d: step %d, %s\n",
                     (unsigned long long) jobs[t].program.seed, t, test_rank, jobs[t].where.step,
                     jobs[t].where.doing);
        if (write(STDOUT_FILENO, line, (size_t) n) < 0) {
            break;
        }
    }
    sleep(5);
    _exit(3);
}

/* ---- programs ---- */

static void print_program(const struct program *p)
{
    char text[400];

    for (int k = 0; k < p->n; k++) {
        if (!p->left_out[k]) {
            tap_note("seed %llu thread %d: %s", (unsigned long long) p->seed, p->thread,
                     step_text(p, k, text, sizeof text));
        }
    }
    fflush(stdout);
}

static void note_seed(uint64_t seed)
{
    FILE *file = 0 == test_rank && NULL != options.at ? fopen(options.at, "w") : NULL;

    if (NULL != file) {
        fprintf(file, "%llu\n", (unsigned long long) seed);
        fclose(file);
    }
}

static void *run_job(void *arg)
{
    struct job *job = arg;

    if (NULL != job->context) {
        ((int (*)(void *)) devmem_driver("cuCtxSetCurrent"))(job->context);
    }
    job->calls += program_run(&job->program, job->comm, job->repeat, &job->where);
    return NULL;
}

/* What has been drawn, one program for each thread. */
static void run_programs(void)
{
    for (int t = 0; t < options.threads; t++) {
        program_leave_out(&jobs[t].program, options.without);
        if (options.print) {
            print_program(&jobs[t].program);
        }
    }
    for (int repeat = 0; repeat < options.repeats; repeat++) {
        alarm((unsigned) options.limit);
        for (int t = 0; t < options.threads; t++) {
            jobs[t].repeat = repeat;
            jobs[t].where = (struct whereabouts) {-1, "before it"};
            comm_all_ranks(&jobs[t].comm, options.session);
        }
        for (int t = 1; t < options.threads; t++) {
            pthread_create(&jobs[t].thread, NULL, run_job, &jobs[t]);
        }
        run_job(&jobs[0]);
        for (int t = 1; t < options.threads; t++) {
            pthread_join(jobs[t].thread, NULL);
        }
    }
    alarm(0);
}

static void run_seed(uint64_t seed)
{
    for (int t = 0; t < options.threads; t++) {
        program_draw(&jobs[t].program, seed, t, &options.draw);
    }
    run_programs();
}

/* All cases of the profile; each thread does all of them. */
static void run_cases(void)
{
    long next = 0;

    while (program_of_cases(&jobs[0].program, options.seed, &next, test_size, &options.draw)) {
        for (int t = 1; t < options.threads; t++) {
            jobs[t].program = jobs[0].program;
            jobs[t].program.thread = t;
        }
        run_programs();
    }
}

static uint64_t growth_rng;

static bool run_one_of_window(int i)
{
    (void) i;
    run_seed(rng_next(&growth_rng) % 1000000);
    return true; /* what is wrong ends the job */
}

/* Whether there is time for a further one, as rank 0 sees it. */
static bool goes_on(double end)
{
    return 0 != tap_share(seconds_now() < end);
}

int main(int argc, char **argv)
{
    bool threads = false;
    double end;
    long calls = 0;
    int done = 0;

    options.draw.persistent = forms_here > FORM_PERSISTENT;
    options.profile = profile_usual;
    options.draw.profile = &options.profile;
    for (int k = 1; k < argc; k++) {
        if (!parse(argv[k])) {
            fprintf(stderr, "random_programs: %s: see the head of main.c\n", argv[k]);
            return 2;
        }
        threads = options.threads > 1;
    }
    options.draw.inter = options.draw.inter && 0 == (options.profile.which & WHICH_EIGHT);
    options.draw.idup = options.draw.idup && !threads;
    task_memory = devmem_open();
    if (threads && test_begin(&argc, &argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
        tap_skip("no MPI_THREAD_MULTIPLE here", "random programs");
        return test_end();
    } else if (!threads) {
        test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    }
    if (DEVMEM_HOST != task_memory && DEVMEM_SECRET != task_memory) {
        for (int t = 0; t < MAX_THREADS; t++) {
            ((int (*)(void **)) devmem_driver("cuCtxGetCurrent"))(&jobs[t].context);
        }
    }
    if (0 == options.seed) {
        options.seed = test_seed;
    }
    values_open();
    signal(SIGALRM, say_and_end);
    if (options.growth > 0) {
        mallopt(M_MMAP_THRESHOLD, 32768); /* buffers go back to the system: no fragments grow */
        growth_rng = options.seed;
        growth_check(run_one_of_window, options.growth, &growth_rng);
        options.count = 0;
    }
    run_cases();
    end = seconds_now() + options.seconds;
    while (done < options.count && (done < options.least || goes_on(end))) {
        note_seed(options.seed + (uint64_t) done);
        run_seed(options.seed + (uint64_t) done);
        done++;
    }
    for (int t = 0; t < options.threads; t++) {
        calls += jobs[t].calls;
    }
    tap_note("%d programs from seed %llu on, %ld collective calls on rank 0", done,
             (unsigned long long) options.seed, calls);
    tap_check(true, "random programs");
    values_close();
    comm_end_session();
    return test_end();
}
