/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network between the nodes of a test, in this process: rank r is on node r modulo their
 * number, each node has a net/net.h of its own, and messages travel by chance
 * (tests/unit/net/post.h): late, in steps, past each other. What a rank polls moves its own node's
 * network, as a waiting call does; nobody else does.
 *
 * With TEAM_TEST_DIRECT in the environment it reaches the memory of devices, by the fake driver's
 * card (fakecuda_nic_write).
 */
#ifndef GR_TESTS_TEAM_NET_H
#define GR_TESTS_TEAM_NET_H

#include "team_ranks.h"

/* From here on there are so many nodes, at most POST_ENDS; 1: no network. */
void tn_open(int nodes);

/* [rank]: whether it is on another node than this one; NULL: there is one node. */
const unsigned char *tn_remote(int rank);

/* Whether the network reaches devices. */
int tn_rdma(void);

/* The links of this making between nodes: open both ends of each, and join them. */
void tn_join(struct tr_team *t);

/* A rank's turn. None of its node's links may have failed, unless tn_cut() was called. */
void tn_progress(int rank);

/* Links may fail from here on. */
void tn_expect_failures(void);

/*
 * Break the connections between the first two nodes; whether the rank has a link that has failed.
 */
void tn_cut(void);
int tn_failed(int rank);

/* Leave the links of a team's rank; all of all ranks' are through when the last has left. */
void tn_leave(const struct gr_gpu_team *team);
void tn_settle(void);
void tn_close(void);

#endif
