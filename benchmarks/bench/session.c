/* SPDX-License-Identifier: BSD-3-Clause */
/* The course of a program, session.h. */
#include "session.h"
#include "collect.h"
#include "collectives.h"
#include "placement.h"

int session_fail(struct session *s, const char *text)
{
    snprintf(s->error, sizeof s->error, "%s", text);
    return -1;
}

static int run(struct session *s, const struct session_program *program)
{
    int rc;

    placement_check(&s->options, s->rank, s->error);
    if (!collect_complaint(s->error, sizeof s->error)) {
        return -1;
    }
    mpit_open(&s->mpit, "coll_gpuring_algorithm_");
    rc = program->run(s);
    collectives_end();
    mpit_close(&s->mpit);
    return rc;
}

int session_run(struct session *s, const struct session_program *program, int argc, char **argv)
{
    int rc = program->parse(s, argc, argv);

    if (0 == rc && !s->options.help) {
        placement_open(&s->options, s->error);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
    if (0 == rc && !s->options.help) {
        rc = run(s, program);
    } else if (0 == rc && 0 == s->rank) {
        program->help(stdout);
    }
    if (0 != rc && 0 == s->rank) {
        fprintf(stderr, "%s: %s\n", s->name, s->error);
    }
    MPI_Finalize();
    placement_close();
    return 0 != rc ? EXIT_USAGE : s->wrong ? EXIT_WRONG : EXIT_RIGHT;
}
