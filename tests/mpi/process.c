/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What else goes on in the process: signals that interrupt system calls, children of every kind,
 * threads with small stacks that end at once, threads in a circle of communicators. All collectives
 * in all forms meanwhile: process [SCENE]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* close_range, pthread_attr_setstacksize */
#endif
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forms.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define STACK ((size_t) 20 << 10)
#define MAX_THREADS 7

extern char **environ;

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

/* ---- calls ---- */

/* Each collective once in each form, of random sizes. */
static bool call_all(MPI_Comm comm)
{
    bool ok = true;

    for (int coll = 0; coll < NUM_COLLS; coll++) {
        for (int form = 0; form < forms_here; form++) {
            struct form_shape shape = form_draw_coll(&calls, SIZES_ANY, (enum coll) coll);

            form_delay(&mine);
            ok = form_run(comm, &shape, (enum form) form, rng_next(&calls)) && ok;
        }
    }
    return ok;
}

/* ---- signals ---- */

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
    (void) number;
    ticks++;
}

/* System calls are interrupted and not restarted. */
static bool timer(void)
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_tick}, before;
    bool ok;

    ticks = 0;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    ok = call_all(MPI_COMM_WORLD);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    return ok && ticks > 0;
}

/* ---- children: each function starts one and returns its number, or 0 if it has ended ---- */

static pid_t child_exits(void)
{
    pid_t pid = fork();

    if (0 == pid) {
        exit(0); /* runs what libraries do at exit */
    }
    return pid;
}

static pid_t child_closes_all(void)
{
    pid_t pid = fork();

    if (0 == pid) {
        for (int i = 0; i < 1024; i++) {
            close(i);
        }
        _exit(0);
    }
    return pid;
}

/* It goes on while the parent calls, which writes to pages that both have. */
static pid_t child_stays(void)
{
    pid_t pid = fork();

    if (0 == pid) {
        quick_sleep(20000);
        _exit(0);
    }
    return pid;
}

/* A daemon: a child's child, in a session of its own, which nobody waits for. */
static pid_t child_is_daemon(void)
{
    pid_t pid = fork();

    if (0 == pid) {
        setsid();
        if (0 == fork()) {
            quick_sleep(20000);
        }
        _exit(0);
    }
    return pid;
}

static pid_t child_executes(void)
{
    pid_t pid = vfork();

    if (0 == pid) {
        execl("/bin/true", "true", (char *) NULL);
        _exit(1);
    }
    return pid;
}

static pid_t child_is_spawned(void)
{
    char *argv[] = {"true", NULL};
    pid_t pid;

    return 0 == posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ? pid : -1;
}

static pid_t shell(void)
{
    return 0 == system("exit 0") ? 0 : -1;
}

static pid_t piped_shell(void)
{
    FILE *from = popen("echo x", "r");
    bool ok = NULL != from && 'x' == fgetc(from);

    return ok && 0 == pclose(from) ? 0 : -1;
}

static pid_t (*const starts[])(void) = {child_exits,    child_closes_all, child_stays,
                                        child_executes, child_is_spawned, shell,
                                        piped_shell,    child_is_daemon};

/* With a call under way that began before the child, and others while it lives. */
static bool children(void)
{
    bool ok = true;

    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        int in = 1, sum = 0, status = 0;
        MPI_Request request;
        pid_t pid;

        MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        fflush(stdout);
        pid = starts[i]();
        ok = call_all(MPI_COMM_WORLD) && ok;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ok = test_size == sum && ok;
        ok = pid >= 0 && (0 == pid || (pid == waitpid(pid, &status, 0) && 0 == status)) && ok;
    }
    return ok;
}

/* ---- threads ---- */

struct task {
    pthread_t thread;
    MPI_Comm comm;
    uint64_t salt;
    int size;
    bool ok;
};

static bool run_threads(void *(*function)(void *), struct task *tasks, int n, size_t stack)
{
    pthread_attr_t attr;
    bool ok = true;

    pthread_attr_init(&attr);
    if (stack > 0) {
        ok = 0 == pthread_attr_setstacksize(&attr, stack);
    }
    for (int t = 0; t < n; t++) {
        tasks[t].ok = true;
        ok = 0 == pthread_create(&tasks[t].thread, &attr, function, &tasks[t]) && ok;
    }
    for (int t = 0; t < n; t++) {
        pthread_join(tasks[t].thread, NULL);
        ok = ok && tasks[t].ok;
    }
    pthread_attr_destroy(&attr);
    return ok;
}

/* Buffers on the stack, which goes with the thread. */
static void *small_thread(void *arg)
{
    struct task *t = arg;
    int in[64], sum[64], all[8 * 64], expected = t->size * (t->size - 1) / 2, rank;
    MPI_Request request;

    MPI_Comm_rank(t->comm, &rank);
    for (int i = 0; i < 64; i++) {
        in[i] = rank;
    }
    MPI_Allreduce(in, sum, 64, MPI_INT, MPI_SUM, t->comm);
    MPI_Barrier(t->comm);
    t->ok = expected == sum[0] && expected == sum[63];
    MPI_Iallgather(in, t->size > 8 ? 0 : 64, MPI_INT, all, t->size > 8 ? 0 : 64, MPI_INT, t->comm,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    t->ok = t->ok && (t->size > 8 || t->size - 1 == all[64 * t->size - 1]);
    t->ok = quick_call(t->comm, (enum coll)(t->salt % NUM_COLLS), 30000, t->salt) && t->ok;
    return NULL;
}

static bool small_stacks(void)
{
    struct task tasks[MAX_THREADS];
    bool ok = true;

    for (int t = 0; t < MAX_THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &tasks[t].comm);
        tasks[t].size = test_size;
    }
    for (int round = 0; round < NUM_COLLS; round++) {
        for (int t = 0; t < MAX_THREADS; t++) {
            tasks[t].salt = (uint64_t) (round + t);
        }
        ok = run_threads(small_thread, tasks, MAX_THREADS, STACK) && ok;
    }
    for (int t = 0; t < MAX_THREADS; t++) {
        MPI_Comm_free(&tasks[t].comm);
    }
    return ok;
}

static void *pair_thread(void *arg)
{
    struct task *t = arg;

    for (int i = 0; i < 4 * NUM_COLLS; i++) {
        t->ok = quick_call(t->comm, (enum coll)(i % NUM_COLLS), 1 + 700 * i, (uint64_t) i) && t->ok;
    }
    return NULL;
}

/*
 * Pairs of neighbours closed to a circle: each rank blocks in calls with its left and its right
 * neighbour at the same time, in two threads.
 */
static bool circle(void)
{
    const int left = (test_rank + test_size - 1) % test_size;
    struct task tasks[2];
    bool ok;

    for (int first = 0; first < test_size; first++) {
        const bool mine_right = first == test_rank, mine_left = first == left;
        MPI_Comm comm;

        MPI_Comm_split(MPI_COMM_WORLD, mine_right || mine_left ? 0 : MPI_UNDEFINED, mine_left,
                       &comm);
        if (mine_right || mine_left) {
            tasks[mine_right ? 0 : 1].comm = comm;
        }
    }
    ok = run_threads(pair_thread, tasks, test_size > 1 ? 2 : 0, 0);
    for (int t = 0; t < (test_size > 1 ? 2 : 0); t++) {
        MPI_Comm_free(&tasks[t].comm);
    }
    return ok;
}

static const struct {
    const char *name, *what;
    bool (*run)(void);
    bool threads;
} scenes[] = {
    {"timer", "a signal each 200 us", timer, false},
    {"children", "children of eight kinds", children, false},
    {"stacks", "7 threads with stacks of 20 KiB", small_stacks, true},
    {"circle", "two threads in a circle of pairs", circle, true},
};

int main(int argc, char **argv)
{
    const int level = test_begin(&argc, &argv, MPI_THREAD_MULTIPLE);

    calls = rng_key(test_seed, 170, 0);
    mine = rng_key(test_seed, 171, (uint64_t) test_rank);
    kinds_open();
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        if (argc > 1 && 0 != strcmp(argv[1], scenes[i].name)) {
            continue;
        }
        if (scenes[i].threads && level < MPI_THREAD_MULTIPLE) {
            tap_skip("no MPI_THREAD_MULTIPLE", "%s", scenes[i].what);
        } else {
            tap_check(scenes[i].run(), "%s", scenes[i].what);
        }
    }
    kinds_close();
    return test_end();
}
