/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of help.h. */
#include "help.h"

#include <string.h>

enum { LINE = 80 };

static const char options[] =
    "  -m MIN:MAX    sizes in bytes, doubling; suffixes k M G are powers of 1024 (4:4M).\n"
    "                A size is rounded down to whole elements (of every rank, where it is\n"
    "                the sum over ranks); the bytes printed are those moved\n"
    "  -d DEVICE     where buffers live: host (default), cuda: device memory, managed: memory\n"
    "                that moves between device and host, pinned: host memory that stays where\n"
    "                it is. Or a list, such as cuda,host: rank i takes number i modulo its\n"
    "                length. All but host need a CUDA driver; rank i of a node uses its GPU i\n"
    "                modulo their number. cuda also needs gpuring, or an Open MPI with CUDA\n"
    "                support (sendrecv: the latter)\n"
    "  -T TYPE       int8 (char) uint8 (byte) int16 uint16 int32 uint32 int64 uint64\n"
    "                float (default) double\n"
    "  -O OP         sum (default) prod min max, and for integers band bor bxor\n"
    "  -r ROOT       root of bcast, reduce, gather(v) and scatter(v) (0)\n"
    "  -i ITERS      timed calls per size (1000 to 64k bytes, 100 to 4M, 20 above); a\n"
    "                barrier of messages precedes each, untimed\n"
    "  -x WARMUP     untimed calls before them (a tenth of ITERS)\n"
    "  --in-place    MPI_IN_PLACE; bcast is so anyway; barrier, neighbor_..., sendrecv have none\n"
    "  --nonblocking  MPI_I... and MPI_Waitall     --persistent  ..._init, then start and wait\n"
    "  -c            check every element, before and after the timed calls\n"
    "  -B GB/s       bandwidth of a rank inside its node (default: measured)\n"
    "  -I GB/s       bandwidth of a node to the others (default: measured)\n"
    "  --ideal=bound|published  what efficiency refers to: the bound that holds for the\n"
    "                collective (default), or the published formula for all\n"
    "  --fit         also fit t = overhead + bytes / bandwidth\n"
    "  -o FORMAT     table (default) csv json      -f FILE  write there, not to stdout\n"
    "  --progress    say on stderr which size runs, also where that is no terminal\n"
    "  -h            this text\n"
    "Exit status: 0, 1 when a result was wrong (-c), 2 when the call was.\n";

/* Names, with a comma before the last word, in lines of at most LINE characters. */
static void put_names(FILE *out, const char *const *names, int n)
{
    int used = fprintf(out, "COLLECTIVE:");

    for (int i = 0; i < n; i++) {
        if (used + 1 + (int) strlen(names[i]) >= LINE) {
            used = fprintf(out, "\n           ") - 1;
        }
        used += fprintf(out, " %s", names[i]);
    }
    fprintf(out, ", or all\n");
}

void help_print(FILE *out, const char *const *names, int n)
{
    fprintf(out,
            "gpuring_bench " GR_VERSION "\n"
            "usage: mpirun ... gpuring_bench COLLECTIVE... [options]\n"
            "Measure MPI collectives, and how close they come to what the hardware allows.\n\n");
    put_names(out, names, n);
    fputs(options, out);
}
