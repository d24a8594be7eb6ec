/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends of links as processes. A test starts this program again, once per process, each with its
 * part of a scenario; it only watches, stops and kills. So each scenario begins with a fresh UCX,
 * and its variables.
 *
 * Built with ENDS_ON_GPUS all slots are GPUs', and with GR_UCX_GPU (net/ucx.h) UCX is told that
 * these are host memory.
 *
 *      test ---- starts ----> part 0 <--- a socket between each two ---> part 1 ...
 */
#ifndef GR_TESTS_NET_ENDS_H
#define GR_TESTS_NET_ENDS_H

#include "net/net.h"

#include <stdint.h>
#include <sys/types.h>

enum { MAX_PARTS = 4, PATIENCE = 480 /* seconds until a process that hangs is ended */ };

/* ---- in a part ---- */

/* A condition that must hold: else the process says which, and ends with status 1. */
#define need(condition) ((condition) ? (void) 0 : need_failed(__FILE__, __LINE__, #condition))
_Noreturn void need_failed(const char *file, int line, const char *condition);

struct part {
    struct gr_net *net;
    int number, nparts;
    int sockets[MAX_PARTS]; /* to the other parts, */
    int control;            /* and to the test */
    int idle_looks;         /* at the network, since something moved */
};

/* One end of a link, with the executor's end of its FIFO. */
struct end {
    struct part *part;
    enum gr_net_side side;
    struct gr_net_link *net;
    struct gr_link_shared *shared;
    struct gr_fifo fifo;
    struct gr_lease_user slots; /* ENDS_ON_GPUS: their user, */
    uint64_t flushes;
    struct gr_link link;
    uint32_t fill[GR_MAX_SLOTS];
    uint64_t done; /* slots pushed or popped */
    uint64_t seed; /* of what they contain, the same at both ends */
};

/* What all links of a test look like. */
struct shape {
    uint32_t nslots;
    size_t slot_bytes;
    int vary; /* the lengths of messages */
};

/* A new end towards another part, open but not joined. */
void end_open(struct end *e, struct part *p, enum gr_net_side side, struct shape shape);

/* Exchange handles with the other part and join. Ends are joined in the same order at both. */
void end_join(struct end *e, int other);

/* Leave the link, and wait until the network has left the FIFO. */
void end_close(struct end *e);

/*
 * Push, or pop and check, as many slots as can be at once, up to `until` altogether; whether that
 * is reached.
 */
int end_go_on(struct end *e, uint64_t until, const struct shape *shape);

/* All ends of the array up to that many slots, with progress. */
void ends_finish(struct end *ends, int n, uint64_t until, const struct shape *shape);

/* Progress for a while: until nothing has moved for that many seconds. */
void settle(struct part *p, double seconds);

/* Meet another part: whatever it has done before, it has done. Makes progress meanwhile. */
void meet(struct part *p, int other);

/* To the test, or from it. */
void tell(struct part *p, char word);
char hear(struct part *p);

double seconds(void);

/* ---- in the test ---- */

struct scenario {
    const char *name;
    void (*run)(struct part *p); /* with its network open; closes all but that */
};
extern const struct scenario scenarios[];

struct running {
    int n;
    pid_t pids[MAX_PARTS];
    int control[MAX_PARTS];
};

/* Start n parts. tls: UCX_TLS of all, or of part 0 only when others are given for the rest. */
struct running parts_start(const char *scenario, int n, const char *tls, const char *others);
char parts_hear(const struct running *r, int part);
void parts_tell(const struct running *r, int part, char word);

/* Wait for a part; its wait status. */
int part_await(struct running *r, int part);

/* All parts ended well. */
void parts_await(struct running *r);

/* Start and await. */
void parts_run(const char *scenario, int n, const char *tls);

/* For main(): the part that this process is, or the tests. */
int parts_main(int argc, char **argv, int (*tests)(void));

#endif
