# SPDX-License-Identifier: BSD-3-Clause
"""Invalid parameters: one line per job names the parameter, its value and the allowed values. Results are right."""

import os
import time
from pathlib import Path

from rows import *

PROCESSORS = os.sched_getaffinity(0)


def one_line_with(*words):
    """Exactly one line of what was said has all the words; counters are not said."""
    return wants(lambda job: 1 == sum(all(word in line for word in words) for line in job.text.splitlines()
                                      if not line.startswith("count ")), f"one line with {words}")


def of_values(*names):
    """With the words in these columns."""
    return of_row(lambda v: one_line_with(f"coll_gpuring_{v.name}", *" ".join(getattr(v, n) for n in names).split()))


# the words that the line must have beside them; the first ones are all given at once
AT_ONCE = """algorithm foo allowed ring chain tree flat oneshot twoshot doubling mailbox
channels 99 allowed ..16
slots 1 allowed 2..
slot_bytes 1000 allowed 64
mailbox_bytes -1 allowed 0..
cuda 2 allowed 1..1
nodes_rails 9 allowed 0..8
timeout -1 allowed 0..
torus 0x2 allowed 4x4x2
report loudly allowed summary
priority 101 allowed ..100"""
BAD = """name value allowed
timeout 1.5 allowed 0..
slot_bytes 8kb allowed 256..
torus 3x3 allowed 4
|
torus many allowed 4x4x2
nodes_transport tcp allowed auto ucx pml
protocol ll64 allowed auto simple ll ll128
algorithm_allreduce foo allowed ring
algorithm_bcast ring allowed tree
algorithm_reduce_scatter 7 allowed ring
channels 0 allowed 1..
slots 100000 allowed ..64
slot_bytes 3 allowed 256
single_copy 2 allowed 0..1
measure 2 allowed 0..1
progress_thread 5 allowed 1..1
device_channels 33 allowed 1..32
device_slots 1 allowed 2..64
device_slot_bytes 1000 allowed 256
device_pool_mib 0 allowed 1..
stage_bytes -1 allowed 0..
nodes 2 allowed 0..1
nodes_ask -1 allowed 0..1000000
nodes_direct 2 allowed -1..1
nodes_channels 17 allowed 1..16
nodes_latency -1 allowed 0..1000000
nodes_mbit -5 allowed 0..
timeout_abort 2 allowed 0..1
signal 32 allowed 0..31
timeout abc allowed 0..
timeout 1m allowed 0..
pool_mib 0 allowed 1..
pack_mib 0 allowed 1..
setup_mib -1 allowed 0..
verbose 9 allowed 0.."""
# rank 0 has the first value, the others have another
DIFFERENT = """name first others
slot_bytes 4096 8192
algorithm ring tree
torus 2x2 4x1
nodes_mbit 100 1000
step_sync none timed
|
channels 1 2
slots 4 8
mailbox_bytes 0 4096
single_copy 0 1
algorithm_allreduce auto flat
protocol simple ll
nodes 0 1"""
DIFFER = "$name differs between ranks"


def bad(line, judge, rows):
    """The value is not possible."""
    return row("$name = $value: one line says what is allowed", 4, line, of_values("value", "allowed"), rows=rows,
               also={"$name = $value: right results, with the default": judge})


def at_once():
    """Several values are not possible: a line each."""
    given = [line.split() for line in AT_ONCE.splitlines()]
    return row("values that are not possible: right results, with the defaults", 4,
               f"{' '.join(f'{name}={value}' for name, value, *_ in given)} -- hello_coll", also={
                   f"{name} = {value}: one line says what is allowed": one_line_with(f"coll_gpuring_{name} ", value, *words)
                   for name, value, *words in given})


def different(rows, text, judge, options=""):
    """The value differs between ranks."""
    return row(f"{DIFFER}: one line says so", 4, f"NAME=$name FIRST=$first OTHERS=$others {options} -- hello_coll",
               of_values("first", "others"), also={f"{DIFFER}: {text}": judge}, rows=rows, wrapper=each_rank(
                   '[ "$OMPI_COMM_WORLD_RANK" = 0 ] && v=$FIRST || v=$OTHERS\nexport OMPI_MCA_coll_gpuring_$NAME=$v'))


ALONE = Path(WORK, "alone")  # the component, without its file of texts
ALONE.mkdir()
(ALONE / "mca_coll_gpuring.so").symlink_to(f"{os.environ['GR_DIR']}/mca_coll_gpuring.so")
BUILT_IN = "built in"
OWN = each_rank("export OMPI_MCA_mpi_yield_when_idle=0")  # ranks have cores of their own
EACH = "tune_file=none verbose=1"


def constants(words):
    """One line says so; results are right."""
    return one_line_with(f"constants inside a node: {words}"), good_through_gpuring


test_rows = table(
    at_once(),
    bad("$name=$value -- hello_coll", good_through_gpuring, BAD),
    bad("GR_HOST=$value -- hello_coll", good_without_gpuring, "name value allowed\nhost 7 allowed auto 0 1"),
    different(DIFFERENT, "right results", good_through_gpuring),
    different("name first others\nalgorithm chain flat", "it has its default on all",
              (good_through_gpuring, "gpuring: allreduce on .* bytes: ", r"!\(forced\)"), "verbose=2"),
    # Open MPI asks each rank which component has the highest priority: with another one, ranks would part
    different("name first others\npriority 90 91", "all is left to others, and the line says so",
              (good_without_gpuring, r"; allowed: one value for all ranks\. gpuring is off there \(default: 90\)\.$")),
    row("a value that is not possible on one rank: one line names the rank", 2, "-- hello_coll", good_through_gpuring,
        lines_seen(1, 'gpuring: coll_gpuring_slots = "4x" on rank 1 of MPI_COMM_WORLD is not possible; allowed: 2..64. '
                   r"That rank uses the default\.$"),
        wrapper=each_rank("[ $OMPI_COMM_WORLD_RANK = 0 ] || export OMPI_MCA_coll_gpuring_slots=4x")),
    # host on some ranks only: nobody may be left alone in a call
    row("host = 1 on some ranks only: right results", 4, "GR_HOST= -- hello_coll", all_good,
        wrapper=each_rank("export OMPI_MCA_coll_gpuring_host=$((OMPI_COMM_WORLD_RANK % 2))")),
    row("measure = 0: built-in constants", 2, f"{EACH} measure=0 -- hello_coll", *constants(BUILT_IN), wrapper=OWN),
    row("ranks that share cores: built-in constants", 2, "verbose=1 -- hello_coll", *constants(BUILT_IN)),
    row("parameters that there were pin nothing", 2, f"{EACH} measure=0 cost_exchange=0.5 cost_slots=1,2,3,4 -- hello_coll",
        *constants(BUILT_IN), wrapper=OWN,
        also={"and one line says so": lines_seen(1, "coll_gpuring_cost_... do not exist any more")}),
    row("$name: one line names the nearest one", 2, "$name=1 -- hello_coll", of_row(lambda v: one_line_with(
        f"coll_gpuring_{v.name} is no parameter", f"coll_gpuring_{v.nearest};")), good_through_gpuring,
        rows="name nearest\nchanels channels\nalgoritm_bcast algorithm_bcast\n|\nslotbytes slot_bytes"),
    row("a parameter file is read as carefully", 2, "-- hello_coll", good_through_gpuring,
        one_line_with("coll_gpuring_chanels is no parameter"), one_line_with('coll_gpuring_slots = "4x"', "allowed: 2..64"),
        wrapper=each_rank("""export OMPI_MCA_mca_base_param_files=$PWD/params.$OMPI_COMM_WORLD_RANK
        printf '# coll_gpuring_not = 1\n coll_gpuring_chanels= 2\ncoll_gpuring_slots = 4x\n' >$OMPI_MCA_mca_base_param_files""")),
    row("an algorithm that cannot do calls: one line for each collective", 2, "algorithm=mst -- hello_coll",
        good_through_gpuring, lines_seen(1, "algorithm mst cannot do bcast of .* bytes by 2 ranks of MPI_COMM_WORLD: mailbox"),
        lines_seen(2, "algorithm mst cannot do")),
    row("without the file of texts: one line with the topic", 2, "OPAL_PKGDATADIR=$work slotbytes=1 -- hello_coll",
        good_through_gpuring, one_line_with("unknown-parameter", "help-coll-gpuring.txt, which cannot be read"),
        GR_DIR=str(ALONE)),
    row("kibibytes are numbers of bytes", 2, "verbose=2 slot_bytes=8k -- hello_coll", good_through_gpuring,
        lines_seen(0, "is not possible")),
    # In a large Bcast of two ranks that have cores of their own both copy.
    row("ranks with cores of their own: right results, large ones too", 2,
        "--mca op ^avx measure=0 verbose=2 -- eight_in blocking,big --seconds=1 --least=8", good_through_gpuring, "bcast on .* bytes: .* single copy", wrapper=OWN),
)


def measured(mpi, text, options="", wrapper=OWN):
    """Constants of the cost model are measured where ranks have cores of their own."""
    too_long = constants("built in (measuring took too long)")
    for _ in range(40):  # on a busy machine the time may not suffice
        job = mpi.run(2, f"{EACH} {options} -- hello_coll", wrapper=wrapper)
        if not job.wait_for(0, *too_long):
            job.check(text, *constants("measured: exchange"))
            return
        time.sleep(0.5)
    skip(text, "two processors were not free at a time for 20 ms in 40 tries")


def bound(mpi, text, options, wrapper=OWN, **more):
    """A processor that is not left."""
    job = mpi.run(2, f"{EACH} {options} -- hello_coll", wrapper=wrapper, **more)
    job.check(text, *constants("built in (rank 0 may use one processor only)"))


def test_measured(mpi):
    if len(PROCESSORS) < 2:
        mpi.run(2, f"{EACH} -- hello_coll", wrapper=OWN).check("constants of one processor", *constants(BUILT_IN))
        return
    measured(mpi, "constants are measured")
    if not {0, 1} <= PROCESSORS:
        return
    # A taskset of one processor, which each rank sets for itself, is not left; but one of srun's is
    own = OWN[:2] + [OWN[2].replace('exec', 'exec taskset -c "$OMPI_COMM_WORLD_LOCAL_RANK"'), "sh"]
    srun = 'export SLURM_CPU_BIND_TYPE=mask_cpu: SLURM_CPU_BIND_LIST={} SLURM_LOCALID="$OMPI_COMM_WORLD_LOCAL_RANK"\n'
    bound(mpi, "a taskset of one processor is not left", "--bind-to none", own)
    measured(mpi, "the processor of a task of srun's is left", "--bind-to none",
             own[:2] + [srun.format("0x1,0x2") + own[2], "sh"])
    bound(mpi, "a taskset of a task that srun did not bind is not", "--bind-to none", own[:2] + [
        'export SLURM_LOCALID="$OMPI_COMM_WORLD_LOCAL_RANK"\n' + own[2], "sh"])
    bound(mpi, "a taskset in such a task is not", "--bind-to none", own[:2] + [srun.format("0x3") + own[2], "sh"])
    # nor is one of mpirun, which Open MPI's binding does not heed
    bound(mpi, "nor is mpirun's", "--bind-to core:overload-allowed", launcher=["taskset", "-c", "0"])
