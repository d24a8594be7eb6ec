#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Failures everywhere: the k-th call of a kind fails (inject.h), in runs of calls.c, each in namespaces of its own.

    failing.py all RESULTS CONFIG [KIND...]     every k of every kind, or of these; goes on where it was left off
    failing.py places RESULTS CONFIG [KIND...]  the same, of each place in the code the first, middle and last call
    failing.py one CONFIG RANK KIND:K           one of them: what was printed, and how it is judged
    failing.py one CONFIG RANK KIND@FUNCTION:N  the N-th (1) that rank 1 makes in that function of the component
    failing.py kinds CONFIG                     "KIND CALLS" lines, of the rank with most calls
    failing.py table RESULTS                    how many of each kind ended how
CONFIG: host thread device leader staged nodes pml: calls of all sizes; pml-asks: data leave when their receiver asks for
them; groups: small ones and barriers, ten ranks with boards in groups; barriers (boards), dissemination (steps),
barriers-nodes, barriers-pml: barriers only; life: a few allreduces on devices, each of which must end alike on all ranks;
life-leader: on one that all share; life-staged: by the host. RANK: of MPI_COMM_WORLD, or all. RESULTS holds lines
    CONFIG RANK KIND K ENDED PLACE NOTE
KIND driver: the calls of all the driver's functions, which are kinds of their own, too; it runs only where it is asked for.
ENDED: right (all the same), error (returned, the rest right), others (errors on several communicators), unreached
(the call was not made), and, which are defects: silent (a rank with an error and no line of the component), hang, crash,
wrong, aborted (the job ended early), exit (a bad exit status), left (a process, a segment, or something in /dev/shm), split
(life: an error on some ranks only of a call).

Environment: builddir, srcdir as for the tests; GPURING_FAULT_RESERVE=1: what base/memory.h does then; FAULT_RANKS="1 all",
or turns (1 for odd k, all for even ones); FAULT_LIMIT=300 seconds for a run. Needs pytest (python3-pytest).
"""

import collections
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = Path(os.environ.setdefault("srcdir", str(HERE.parents[2])))
BUILD = Path(os.environ.setdefault("builddir", str(SOURCES / "build")))
FAKE = os.environ.setdefault("FAKECUDA", str(BUILD / "tests/fakes/cuda/lib"))
os.environ.setdefault("GR_DIR", str(BUILD / "component"))
sys.path.insert(0, str(SOURCES / "tests"))
from rows.run import WORK, Runner, stock_segments  # noqa: E402

MPIRUN = os.environ.get("MPIRUN", "mpirun --oversubscribe --mca mpi_yield_when_idle 1")
LIMIT = os.environ.get("FAULT_LIMIT", "300")
ALLOCATOR = "gr_[mcre]*alloc"  # inline functions of base/memory.h: their callers are meant
ENDS = "right error others unreached silent hang crash wrong aborted exit left split".split()
NAMESPACES = "setpriv --pdeathsig KILL unshare --mount --ipc --pid --fork --mount-proc --kill-child".split()
# the first process of a run's namespaces: LIMIT COMMAND..., and what it leaves
INSIDE = r"""
mount -t tmpfs -o mode=1777 none /dev/shm
timeout -k 2 "$0" "$@"
rc=$?
for _ in $(seq 600); do # the last ones may still be dying
    left=$(grep -s . /proc/[0-9]*/comm | sed 's,^/proc/\([0-9]*\)/comm:,\1 ,' | awk '$1 != 1 && !/ (grep|sed|awk|bash)$/')
    [ -n "$left" ] || break
    sleep 0.1
done
[ -z "$left" ] || echo "LEFT process: $left"
left=$(find /dev/shm -mindepth 1 ! -name 'fakecuda*' -printf '%f\n') # those the driver leaves
[ -z "$left" ] || echo "LEFT in /dev/shm: $left"
left=$(tail -n +2 /proc/sysvipc/shm)
[ -z "$left" ] || echo "LEFT of shared memory: $left"
exit $rc
"""
Ended = collections.namedtuple("Ended", "config rank kind k ended place note text")


def component(folder):
    """Into this folder of the work folder: that whose calls fail, with its module for UCX."""
    folder = Path(WORK, folder)
    if not folder.exists():
        folder.mkdir()
        for name in "mca_coll_gpuring.so", "gpuring_net_ucx.so":
            if (BUILD / "tests/mpi/faults/.libs" / name).exists():
                shutil.copy(BUILD / "tests/mpi/faults/.libs" / name, folder)
        shutil.copy(SOURCES / "coll_gpuring/help-coll-gpuring.txt", folder)
    return folder


def addr2line(module, *addresses):
    return subprocess.run(["addr2line", "-a", "-s", "-f", "-i", "-e", module], input="\n".join(addresses),
                          stdout=subprocess.PIPE, text=True, check=True).stdout


def place_of(text):
    """FUNCTION@FILE:LINE of "called before MODULE+0xOFFSET"."""
    found = re.search(r"^fault: .* called before (.*)\+(0x[0-9a-f]*)$", text, re.M)
    lines = addr2line(found[1], hex(int(found[2], 16) - 1)).splitlines()[1:] if found else []
    for function, place in zip(lines[::2], lines[1::2]):
        if not re.fullmatch(ALLOCATOR, function):
            return f"{function}@{place.split(' (disc')[0]}"
    return "-"


class Faults:
    """Runs of one configuration. more: FAULT_TIMEOUT, and what ranks have in their environment."""

    def __init__(self, config, FAULT_TIMEOUT=None, **more):
        self.config, self.np, self.calls, self.layout, options = config, 3, "mixed", None, ""
        patience = FAULT_TIMEOUT or os.environ.get("FAULT_TIMEOUT", "60")  # more than a loaded machine uses up by itself
        more |= {name: os.environ[name] for name in ("GPURING_FAULT_RESERVE", "GPURING_FAULT_CLOCK") if name in os.environ}
        env = more | {"GPURING_MEMORY": "host", "GPURING_ENTERED": f"{WORK}/entered"}
        self.exported = " ".join(f"-x {name}" for name in env)
        env |= {"GR_HOST": "1", "GR_DIR": str(component("component")), "PROGDIR": str(BUILD / "tests/mpi/faults")}
        env |= {"TMPDIR": WORK, "TEST_LIMIT": str(int(LIMIT) + 120)}  # mpirun's files: in namespaces all have the same pid
        first = config.partition("-")[0]
        self.alike = first == "life"
        if config in ("groups", "barriers", "dissemination"):
            self.np = {"groups": 10, "barriers": 3, "dissemination": 5}[config]
            self.calls = "small" if config == "groups" else "barriers"
            options = "algorithm_barrier=dissemination" * (config == "dissemination")
        elif config == "thread":
            options = "progress_thread=1"
        elif config in ("device", "leader", "staged") or first == "life":
            leader = config.endswith("leader")
            self.np, self.calls = 3 if leader else 2, "life" if self.alike else "mixed"
            options = "device_channels=2 device_slot_bytes=16384 --mca op ^avx"
            options += " device_pool_mib=1 stage_bytes=65536" * config.endswith("staged")
            env |= {"LD_LIBRARY_PATH": f"{FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"), "FAKECUDA_SMS": "64",
                    "FAKECUDA_DEVICES": "1" if leader else "2", "GPURING_MEMORY": "device", "GR_HOST": "0"}
        elif config in ("nodes", "pml", "pml-asks", "barriers-nodes", "barriers-pml"):
            options, self.layout = "nodes=1", "2+1"
            if first == "barriers":  # rank 1 is the first one of its host, which speaks for it
                self.np, self.calls, self.layout = 4, "barriers", "2x2"
                options += " --map-by node measure=0"  # how many messages that sends is chance
            options += " nodes_transport=pml" * ("pml" in config) + " --mca btl_tcp_eager_limit 4096" * (config == "pml-asks")
        elif config != "host":
            sys.exit(f"{config} is no configuration")
        self.options = f"{options} timeout={patience} timeout_abort=1"
        env["MPIRUN"] = MPIRUN.replace(" --oversubscribe", "") if self.layout else MPIRUN
        self.runner = Runner(env, stock_segments)

    def run(self, rank="-", fault="-", exported="", **more):
        """One run in which this call fails."""
        Path(WORK, "entered").write_bytes(bytes(4096))
        hosts = [str(SOURCES / "tests/hosts/hosts.sh"), "run", self.layout] if self.layout else []
        job = self.runner.run(self.np, f"-x GPURING_FAULT -x GPURING_FAULT_RANK {self.exported} {exported} {self.options} -- "
                              f"calls {self.calls}", launcher=[*NAMESPACES, "bash", "-c", INSIDE, LIMIT, *hosts],
                              GPURING_FAULT=fault, GPURING_FAULT_RANK=rank, **more)
        ended, note = self.judge(job)
        kind, _, k = fault.partition(":")
        return Ended(self.config, rank, kind, k, ended, place_of(job.text), " ".join(note.split()), job.text)

    def judge(self, job):
        """How it ended, and a note."""
        def first(pattern, number=2):
            return " ".join(job.lines(pattern)[:number])

        def most(lines, number):
            return " ".join(f"{n} {line}" for line, n in collections.Counter(lines).most_common(number))

        errors = job.lines("^error")
        if job.lines("aborting the job") or job.rc in (124, 137):
            return "hang", most(re.findall("waits [0-9]+ s in .*", job.text), 2)
        if job.lines(r"[sS]ignal: |exited on signal|Assertion|double free|corrupted|AddressSan|fakecuda: pid"):
            return "crash", first(r"Assertion|double free|corrupted|fakecuda: pid|Signal: |\[ 1\]|\[ 2\]", 3)
        if job.lines("^WRONG"):
            return "wrong", first("^WRONG")
        if len(job.lines("^verdict rank")) != self.np:
            return "aborted", first("MPI_|failed|gpuring")
        if job.lines("^LEFT"):
            return "left", first("^LEFT")
        if job.rc:
            return "exit", f"status {job.rc}"
        if not job.lines("^fault: "):
            return "unreached", ""
        ended, note = ("error", most([re.sub("rank [0-9]*: ", "", line) for line in errors], 1)) if errors else ("right", "")
        if errors:
            spoke = set(re.findall("gpuring: rank ([0-9]+) of", job.text))
            silent = sorted({line.split()[2].rstrip(":") for line in errors} - spoke)
            # that a communicator fails is no matter to others
            if len(set(re.findall(r"^error.* on (MPI_COMM_WORLD|the [a-z]* one): ", job.text, re.M))) > 1:
                ended = "others"
            elif silent:
                ended, note = "silent", f"rank {','.join(silent)} says nothing; {note}"
        if self.alike and ended != "silent" and len(set(re.findall("^outcomes rank [0-9]*: (.*)", job.text, re.M))) != 1:
            return "split", first("^outcomes", 9) + " " + first("^gpuring: rank")
        return ended, note

    def observe(self, variable):
        """A run without a fault, with a file per rank that the variable names."""
        ended = self.run(exported=f"-x {variable}", **{variable: f"{WORK}/{variable}"})
        if ended.ended != "unreached":
            raise RuntimeError(f"without a fault: {ended.ended} {ended.note}\n{ended.text}")
        return lambda rank: Path(WORK, f"{variable}.{rank}").read_text().splitlines()

    def kinds(self):
        """{KIND: CALLS}, the most that a rank made."""
        lines, most = self.observe("GPURING_FAULT_COUNTS"), {}
        for rank in range(self.np):
            for kind, calls in map(str.split, lines(rank)):
                most[kind] = max(most.get(kind, 0), int(calls))
        return dict(sorted(most.items()))

    def made(self):
        """(KIND, K, ADDRESS) of rank 1's calls."""
        return [line.split()[:3] for line in self.observe("GPURING_FAULT_TRACE")(1)]

    def numbered(self, fault):
        """KIND:K of KIND@FUNCTION:N."""
        if "@" not in fault:
            return fault
        kind, function, n = re.fullmatch("(.*)@([^:]*):?(.*)", fault).groups()
        made = [call for call in self.made() if call[0] == kind]
        # the call itself: what follows it may be another function's, inlined
        places = addr2line(f"{WORK}/component/mca_coll_gpuring.so", *(hex(int(call[2], 16) - 1) for call in made))
        at = [call[1] for call, frames in zip(made, re.split("^0x.*\n", places, flags=re.M)[1:]) if function == next(
            (name for name in frames.splitlines()[::2] if not re.fullmatch(ALLOCATOR, name)), "")]
        if len(at) < int(n or 1):
            raise RuntimeError(f"rank 1 makes {len(at)} calls {fault}")
        return f"{kind}:{at[int(n or 1) - 1]}"

    def every(self, kinds=()):
        """(KIND, K) of every call of these kinds, by default of all but the one that is all of the driver's."""
        return [(kind, k) for kind, calls in self.kinds().items() if kind in (kinds or {kind} - {"driver"})
                for k in range(1, calls + 1)]

    def by_place(self, kinds=()):
        """The same, of each place where rank 1 makes calls the first, middle and last one."""
        places = {}
        for kind, k, address in self.made():
            if kind in (kinds or {kind} - {"driver"}):
                places.setdefault((kind, address), []).append(int(k))
        return sorted((kind, k) for (kind, _), ks in places.items() for k in {ks[0], ks[-1], ks[(len(ks) + 1) // 2 - 1]})

    def one(self, rank, fault):
        return self.run(rank, self.numbered(fault))


def ranks_for(k):
    ranks = os.environ.get("FAULT_RANKS", "1 all")
    return ["1" if k % 2 else "all"] if ranks == "turns" else ranks.split()


def many(path, config, which, *kinds):
    """Into a file, what is not there."""
    faults = Faults(config)
    with open(path, "a+", encoding="utf-8") as file:
        file.seek(0)
        there = {tuple(line.split()[:4]) for line in file}
        for kind, k in which(faults, kinds):
            for rank in ranks_for(k):
                if (config, rank, kind, str(k)) not in there:
                    print(*faults.run(rank, f"{kind}:{k}")[:7], file=file, flush=True)


def table(path):
    counts = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        config, _, kind, _, ended, *_ = line.split()
        counts.setdefault((config, kind), collections.Counter())[ended] += 1
    print(f"{'config':10} {'kind':30} {'runs':>6}" + "".join(f" {end:>9}" for end in ENDS))
    for (config, kind), ended in counts.items():
        print(f"{config:10} {kind:30} {sum(ended.values()):6}" + "".join(f" {ended[end] or '.':>9}" for end in ENDS))


def main(what="", *args):
    if what in ("all", "places"):
        many(*args[:2], Faults.every if what == "all" else Faults.by_place, *args[2:])
    elif what == "one":
        done = Faults(args[0]).one(*args[1:])
        print(done.text, *done[:7])
    elif what == "kinds":
        print("\n".join(f"{kind} {calls}" for kind, calls in Faults(*args).kinds().items()))
    elif what == "table":
        table(*args)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except RuntimeError as error:
        sys.exit(str(error))
