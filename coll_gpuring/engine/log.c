/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rank prints messages for the user. */
#include "engine/log.h"

#include "engine/params.h"

bool mca_coll_gpuring_should_log(int rank, int level)
{
    return gr_settings.verbose >= level && 0 == rank;
}
