# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that die inside collectives, with ULFM: the others get an error, shrink, and go on."""

import pytest

from rows import *

if not has_ulfm():
    pytest.skip("ULFM comes with Open MPI 5", allow_module_level=True)
OPTIONS = f"{stock_segments} --with-ft ulfm"
# the boards of 12 ranks are in groups of 4, whose leaders are 0, 4 and 8
FORMS = "blocking", "nonblocking", "persistent", "first"
JOBS = [(form, 4, what, 3, "") for what in ("allreduce", "barrier") for form in FORMS]
JOBS += [(form, 12, "small", victim, "") for form, victim in zip(FORMS, (4, 11, 4, 11))]
JOBS += [(form, 12, "barrier", victim, "") for form, victim in zip(FORMS, (11, 4, 11, 4))]
JOBS += [(form, 5, "barrier", victim, "algorithm_barrier=dissemination") for form, victim in zip(FORMS, (2, 0))]


@pytest.mark.parametrize("form, np, what, victim, options", JOBS)
def test_dies(mpi, form, np, what, victim, options):
    """The job is not waited for: MPI_Finalize of those who are left may hang in Open MPI 5.0."""
    job = mpi.start(np, f"{options} -- ulfm {form} {what} {victim}")
    shown = options and ", --mca coll_gpuring_algorithm_barrier dissemination"
    job.check(f"{form} {what}, {np} ranks{shown}: rank {victim} dies, the others go on",
              lines_seen(4, "^ok [0-9] - "), "!^not ok", within=300)
    job.kill()
