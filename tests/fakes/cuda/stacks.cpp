/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks of fibers. */
#include "fiber.h"
#include "options.h"

#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

namespace fake
{

constexpr size_t GUARD = 4096;

struct pool {
    std::mutex mutex;
    std::map<unsigned, std::vector<char *>> idle; /* by the number of fibers */
};

static pool &all_stacks()
{
    static pool *p = new pool;
    return *p;
}

char *stacks_at(char *stacks, unsigned i)
{
    return stacks + (size_t) i * (GUARD + STACK) + GUARD;
}

char *stacks_take(unsigned n)
{
    static int guards = 20000; /* each costs two mappings, of which a process has 65530 */
    pool &p = all_stacks();
    std::lock_guard<std::mutex> lock(p.mutex);
    std::vector<char *> &idle = p.idle[n];
    char *stacks;

    if (!idle.empty()) {
        stacks = idle.back();
        idle.pop_back();
        return stacks;
    }
    stacks = (char *) mmap(nullptr, n * (GUARD + STACK), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == (void *) stacks) {
        die("no memory for the stacks of %u threads", n);
    }
    for (unsigned i = 0; i < n && guards > 0; i++, guards--) {
        (void) mprotect(stacks_at(stacks, i) - GUARD, GUARD, PROT_NONE);
    }
    return stacks;
}

void stacks_give(unsigned n, char *stacks)
{
    pool &p = all_stacks();
    std::lock_guard<std::mutex> lock(p.mutex);

    p.idle[n].push_back(stacks);
}

} /* namespace fake */
