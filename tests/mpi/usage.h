/* SPDX-License-Identifier: BSD-3-Clause */
/* Resources of this process, from /proc/self. */
#ifndef TEST_USAGE_H
#define TEST_USAGE_H

struct usage {
    long rss_kib;   /* VmRSS, the shared part in it */
    long shmem_kib; /* RssShmem */
    long fds;       /* open descriptors */
    long maps;      /* mappings */
};

struct usage usage_now(void);

#endif
