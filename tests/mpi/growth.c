/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures growth over windows of rounds (growth.h). */
#include "growth.h"

#include "tap.h"

#include <dirent.h>
#include <stdio.h>

#define WINDOWS 7
/*
 * The heap's own mappings come and go, and a late rank may keep a slab longer; a window has more
 * rounds than that.
 */
#define MAPS_SLACK 3

/* Resources of this process, from /proc/self. */
struct usage {
    long rss_kib;   /* VmRSS, the shared part in it */
    long shmem_kib; /* RssShmem */
    long fds;       /* open descriptors */
    long maps;      /* mappings */
};

static void read_status(struct usage *u)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];

    while (f && fgets(line, sizeof line, f)) {
        (void) (1 == sscanf(line, "VmRSS: %ld", &u->rss_kib) ||
                1 == sscanf(line, "RssShmem: %ld", &u->shmem_kib));
    }
    if (f) {
        fclose(f);
    }
}

static long count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    long n = -3; /* ".", "..", and the directory itself */

    while (d && readdir(d)) {
        n++;
    }
    if (d) {
        closedir(d);
    }
    return n;
}

static long count_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    long n = 0;
    int c;

    while (f && EOF != (c = getc(f))) {
        n += '\n' == c;
    }
    if (f) {
        fclose(f);
    }
    return n;
}

static struct usage usage_now(void)
{
    struct usage u = {0, 0, 0, 0};

    read_status(&u);
    u.fds = count_fds();
    u.maps = count_maps();
    return u;
}

static bool fits(const struct usage *before, const struct usage *after, long slack)
{
    return after->rss_kib - before->rss_kib <= slack &&
           after->shmem_kib - before->shmem_kib <= slack && after->fds <= before->fds &&
           after->maps <= before->maps + MAPS_SLACK;
}

static long larger(long a, long b)
{
    return a > b ? a : b;
}

static struct usage most(struct usage a, struct usage b)
{
    return (struct usage) {larger(a.rss_kib, b.rss_kib), larger(a.shmem_kib, b.shmem_kib),
                           larger(a.fds, b.fds), larger(a.maps, b.maps)};
}

/*
 * What was taken at first may be filled bit by bit, a leak grows in every window: so the last of at
 * most WINDOWS is judged, and there is no next one when nothing grew. It is judged by the most that
 * an earlier window has left, since the pool keeps 2 MiB or gives them back, on each rank at another
 * time.
 */
void growth_check(bool (*round)(int i), int rounds, uint64_t *calls)
{
    long slack = env_long("GPURING_SLACK_KIB", 512);
    uint64_t calls_at = *calls;
    struct usage before = {0, 0, 0, 0}, after = usage_now();
    bool ok = true, grew = true;

    for (int w = 0; w <= WINDOWS && grew; w++) {
        before = most(before, after);
        *calls = calls_at;
        for (int i = 0; i < rounds; i++) {
            ok = round(i) && ok;
        }
        tap_sync();
        after = usage_now();
        grew = 0 == w || !tap_agree(fits(&before, &after, slack));
        tap_note("rank 0, window %d: rss %ld -> %ld KiB, shared %ld -> %ld KiB, descriptors %ld -> "
                 "%ld, mappings %ld -> %ld",
                 w, before.rss_kib, after.rss_kib, before.shmem_kib, after.shmem_kib, before.fds,
                 after.fds, before.maps, after.maps);
    }
    tap_check(ok, "results while counting");
    tap_check(after.rss_kib - before.rss_kib <= slack, "resident memory stays, within %ld KiB",
              slack);
    tap_check(after.shmem_kib - before.shmem_kib <= slack, "shared memory stays, within %ld KiB",
              slack);
    tap_check(after.fds <= before.fds, "no more descriptors");
    tap_check(after.maps <= before.maps + MAPS_SLACK, "no more mappings, within %d", MAPS_SLACK);
}
