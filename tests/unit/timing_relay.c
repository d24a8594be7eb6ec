/* SPDX-License-Identifier: BSD-3-Clause */
/* The relay of timing_relay.h. */
#include "timing_relay.h"

#include "timing/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAILS = 4096, PATIENCE_S = 300 };

static const int64_t delay_ns[2] = {2000000, 5000000};
static int sockets[P][2]; /* the relay's end, the rank's */
pid_t relay_pids[P];
static pid_t relay_pid;

int64_t relay_now(void)
{
    struct gr_clock monotonic = {.kind = GR_CLOCK_MONOTONIC};

    return gr_clock_now(&monotonic);
}

void relay_nap(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};

    nanosleep(&t, NULL);
}

/* ---- the relay ---- */

struct mail {
    int to;
    int64_t due;
    struct gr_note note;
};

static void forward(struct mail *mails, int *n)
{
    int64_t t = relay_now();
    int k, left = 0;

    for (k = 0; k < *n; k++) {
        if (mails[k].due > t) {
            mails[left++] = mails[k];
        } else if (send(sockets[mails[k].to][0], &mails[k], sizeof(mails[k]), 0) < 0) {
            _exit(1);
        }
    }
    *n = left;
}

static void relay(void)
{
    static struct mail mails[MAILS];
    struct pollfd fds[P];
    struct timespec tick = {0, 50000};
    int n = 0, r, d;

    for (r = 0; r < P; r++) {
        fds[r] = (struct pollfd) {sockets[r][0], POLLIN, 0};
    }
    for (;;) {
        ppoll(fds, P, &tick, NULL);
        for (r = 0; r < P; r++) {
            while (n < MAILS &&
                   sizeof(mails[n]) == recv(fds[r].fd, &mails[n], sizeof(mails[n]), MSG_DONTWAIT)) {
                mails[n].due = relay_now();
                for (d = 0; d < 2; d++) {
                    mails[n].due +=
                        gr_torus_coord(&torus, r, d) != gr_torus_coord(&torus, mails[n].to, d)
                            ? delay_ns[d]
                            : 0;
                }
                n++;
            }
        }
        forward(mails, &n);
    }
}

/* ---- a rank ---- */

static int64_t port_now(void *ctx)
{
    return relay_now() + ((struct relay_rank *) ctx)->offset;
}

int relay_send(void *ctx, int to, const struct gr_note *note)
{
    struct mail mail = {to, 0, *note};

    if (send(((struct relay_rank *) ctx)->fd, &mail, sizeof(mail), MSG_DONTWAIT) == sizeof(mail)) {
        return 1;
    }
    return EAGAIN == errno || ENOBUFS == errno ? 0 : -1;
}

int relay_poll(void *ctx, struct gr_note *note, int64_t *at)
{
    struct mail mail;

    if (sizeof(mail) != recv(((struct relay_rank *) ctx)->fd, &mail, sizeof(mail), MSG_DONTWAIT)) {
        return 0;
    }
    *note = mail.note;
    *at = port_now(ctx);
    return 1;
}

void relay_rest(const struct relay_rank *r)
{
    struct pollfd fd = {r->fd, POLLIN, 0};
    struct timespec t = {0, 30000};

    ppoll(&fd, 1, &t, NULL);
}

/* ---- all of them ---- */

int relay_start(void (*body)(struct relay_rank *r))
{
    int k, size = 1 << 20;

    fflush(stdout);
    for (k = 0; k < P; k++) {
        if (0 != socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets[k])) {
            return -1;
        }
        setsockopt(sockets[k][0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        setsockopt(sockets[k][1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    }
    for (k = 0; k <= P; k++) {
        pid_t pid = fork();

        if (0 == pid) {
            struct relay_rank r = {
                .rank = k, .fd = k < P ? sockets[k][1] : -1, .offset = k * (int64_t) 3000000000};

            alarm(PATIENCE_S);
            if (P == k) {
                relay();
            }
            r.port = (struct gr_port) {port_now, relay_send, relay_poll, &r, 0, 1};
            body(&r);
            _exit(0);
        }
        if (pid < 0) {
            return -1;
        }
        *(P == k ? &relay_pid : &relay_pids[k]) = pid;
    }
    return 0;
}

void relay_end(int status[P])
{
    int k;

    for (k = 0; k < P; k++) {
        if (waitpid(relay_pids[k], &status[k], 0) != relay_pids[k]) {
            status[k] = -1;
        }
    }
    kill(relay_pid, SIGKILL);
    waitpid(relay_pid, NULL, 0);
    for (k = 0; k < P; k++) {
        close(sockets[k][0]);
        close(sockets[k][1]);
    }
}
