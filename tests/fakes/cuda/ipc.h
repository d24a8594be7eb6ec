/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of other processes: the exporter's process and file descriptor, by which it is opened. */
#ifndef FAKECUDA_IPC_H
#define FAKECUDA_IPC_H

#include "memory.h"

namespace fake
{

struct ticket {
    uint32_t magic;
    int32_t pid, fd, machine;
    uint64_t base, bytes, map, id, inode;
};

/* For memory of this process; false: no room for it. */
bool ticket_make(const region_ref &r, ticket *out);
bool ticket_good(const ticket &t);
/* Map another process's memory. */
CUresult ticket_attach(const ticket &t, memory_kind kind, CUcontext c, region_ref *out);

} /* namespace fake */

#endif
