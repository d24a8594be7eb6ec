/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of crew.h. */
#include "crew.h"

#include "common/cli.h"

#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct crew_shared {
    pthread_barrier_t barrier;
    char told[CREW_RANKS][CREW_BYTES];
};

/* The board lies behind the struct. */
static struct crew_shared *share(int processes, size_t board_bytes)
{
    struct crew_shared *shared = mmap(NULL, sizeof *shared + board_bytes, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;

    if (MAP_FAILED == shared) {
        return NULL;
    }
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attr, (unsigned) processes);
    pthread_barrierattr_destroy(&attr);
    return shared;
}

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Waits for all; when one fails, the others are killed. */
static int reap(const pid_t *children, int n)
{
    int worst = 0, status, mine;

    for (int left = n; left > 0; left--) {
        pid_t pid = wait(&status);

        if (pid < 0) {
            return EXIT_USAGE;
        }
        mine = status_of(status);
        for (int i = 0; mine > 1 && worst <= 1 && i < n; i++) {
            if (children[i] != pid) {
                kill(children[i], SIGKILL);
            }
        }
        /* the first failure, not those that it caused */
        worst = worst > 1 || mine < worst ? worst : mine;
    }
    return worst;
}

int crew_run(int ranks, int processes, size_t board_bytes,
             int (*work)(struct crew *crew, void *ctx), void *ctx)
{
    struct crew crew = {.ranks = ranks,
                        .n = processes ? 1 : ranks,
                        .shared = share(processes ? ranks : 1, board_bytes)};
    pid_t children[CREW_RANKS];

    if (NULL == crew.shared) {
        warnx("out of memory");
        return EXIT_USAGE;
    }
    crew.board = crew.shared + 1;
    if (!processes) {
        return work(&crew, ctx);
    }
    fflush(NULL);
    for (int r = 0; r < ranks; r++) {
        children[r] = fork();
        if (0 == children[r]) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            crew.first = r;
            exit(work(&crew, ctx));
        }
        if (children[r] < 0) {
            warn("fork");
            for (int i = 0; i < r; i++) {
                kill(children[i], SIGKILL);
            }
            reap(children, r);
            return EXIT_USAGE;
        }
    }
    return reap(children, ranks);
}

void crew_meet(struct crew *crew)
{
    pthread_barrier_wait(&crew->shared->barrier);
}

void crew_tell(struct crew *crew, const void *mine, void *all, size_t bytes)
{
    for (int i = 0; i < crew->n; i++) {
        memcpy(crew->shared->told[crew->first + i], (const char *) mine + (size_t) i * bytes,
               bytes);
    }
    crew_meet(crew);
    for (int r = 0; r < crew->ranks; r++) {
        memcpy((char *) all + (size_t) r * bytes, crew->shared->told[r], bytes);
    }
    crew_meet(crew);
}

/* The numbers of all processes, of which each is its first rank's; the other ranks' are 0. */
static void tell_numbers(struct crew *crew, double mine, double all[CREW_RANKS])
{
    double own[CREW_RANKS] = {mine};

    crew_tell(crew, own, all, sizeof mine);
}

double crew_sum(struct crew *crew, double mine)
{
    double all[CREW_RANKS], sum = 0;

    tell_numbers(crew, mine, all);
    for (int r = 0; r < crew->ranks; r++) {
        sum += all[r];
    }
    return sum;
}

double crew_max(struct crew *crew, double mine)
{
    double all[CREW_RANKS], most = 0;

    tell_numbers(crew, mine, all);
    for (int r = 0; r < crew->ranks; r++) {
        most = all[r] > most ? all[r] : most;
    }
    return most;
}
