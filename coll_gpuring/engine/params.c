/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of parameters, which mpi/params.c sets. */
#include "engine/params.h"

struct gr_settings gr_settings;
