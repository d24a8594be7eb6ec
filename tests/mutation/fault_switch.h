/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which planted fault is on. Every source file with faults includes this first, before its own
 * feature macros: so no header is included, and functions are declared under names of their own.
 * Environment: MUTANT_ON (a fault's number), MUTANT_SEEN (a file with a byte for each fault, which
 * becomes 1 where the fault's place is executed).
 */
#ifndef GR_FAULT_SWITCH_H
#define GR_FAULT_SWITCH_H

#define GR_FAULTS 65536 /* bytes of the file MUTANT_SEEN */

#ifdef __cplusplus
extern "C" {
#endif
char *gr_fault_getenv(const char *) __asm__("getenv");
int gr_fault_atoi(const char *) __asm__("atoi");
int gr_fault_open(const char *, int, ...) __asm__("open");
int gr_fault_close(int) __asm__("close");
void *gr_fault_mmap(void *, unsigned long, int, int, int, long) __asm__("mmap");
#ifdef __cplusplus
}
#endif

static int gr_fault_on;                       /* the number of the fault that is on; 0: none */
static volatile unsigned char *gr_fault_seen; /* the bytes of MUTANT_SEEN, or NULL */

__attribute__((constructor)) static void gr_fault_begin(void)
{
    const char *on = gr_fault_getenv("MUTANT_ON"), *seen = gr_fault_getenv("MUTANT_SEEN");

    gr_fault_on = on ? gr_fault_atoi(on) : 0;
    if (seen) {
        int fd = gr_fault_open(seen, 2 /* O_RDWR */);

        if (fd >= 0) {
            gr_fault_seen = (volatile unsigned char *) gr_fault_mmap(
                0, GR_FAULTS, 3 /* PROT_READ | PROT_WRITE */, 1 /* MAP_SHARED */, fd, 0);
            gr_fault_close(fd);
            if ((void *) -1 == (void *) gr_fault_seen) { /* a test may let any mmap() fail */
                gr_fault_seen = 0;
            }
        }
    }
}

static inline int gr_fault(int number)
{
    if (gr_fault_seen) {
        gr_fault_seen[number] = 1;
    }
    return number == gr_fault_on;
}

#endif
