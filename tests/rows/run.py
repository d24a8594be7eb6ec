# SPDX-License-Identifier: BSD-3-Clause
"""Programs under mpirun with the component.

Environment:
    MPIRUN       the launcher and its options, without -np
    PROGDIR      the compiled programs of tests/mpi
    GR_DIR       the folder of mca_coll_gpuring.so
    OMPI_INFO    ompi_info of the same Open MPI
    OMPI_SERIES  4, 5 or 6
    TEST_LIMIT   seconds that a program may take (300)
    GR_HOST      0 leaves host buffers to others (1)
"""

import atexit
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .judge import judge_of
from .tap import depth, result

__all__ = ["OMPI_SERIES", "WORK", "Job", "Runner", "each_rank", "has_ulfm", "in_make", "kill_tree", "ompi_info", "running",
           "stock_segments", "text_of", "threads_apart", "within"]

OMPI_SERIES = int(os.environ.get("OMPI_SERIES", "4"))
WORK = tempfile.mkdtemp()  # an empty folder, until the test ends
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that jobs end, too
# mpirun of Open MPI 5 has its session's folder there: in /tmp it sometimes fails ("listener thread
# failed to start") where another one's folder just goes.
os.environ["PRTE_MCA_prte_tmpdir_base"] = WORK
for launcher in "OMPI", "PRTE":
    os.environ[f"{launcher}_ALLOW_RUN_AS_ROOT"] = "1"
    os.environ[f"{launcher}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
# Open MPI's own segments, which a killed job leaves behind, go where we clean up.
stock_segments = f"--mca btl_{'sm' if OMPI_SERIES >= 5 else 'vader'}_backing_directory {WORK}"
# Threads that send at the same time mix up numbers in btl/sm's eager buffers of 6.0.0rc2, and a message is lost.
threads_apart = "--mca btl_sm_fbox_max 0" if OMPI_SERIES >= 6 else ""


def in_make(target):
    """What make prints for it in the build folder, also below another make."""
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    make = ["make", "-s", "--no-print-directory", "-C", os.environ["builddir"], target]
    return subprocess.run(make, env=clean, stdout=subprocess.PIPE, text=True, check=True).stdout


def ompi_info(*options, env=None):
    """What it prints, with env beside what is in the environment."""
    words = [os.environ.get("OMPI_INFO", "ompi_info"), *options]
    return subprocess.run(words, env=os.environ | (env or {}), stdout=subprocess.PIPE, text=True, check=False).stdout


if os.environ.get("OMPI_LOADS") == "no":  # PyPI's: mpirun does not add its own folder
    os.environ["LD_LIBRARY_PATH"] = ":".join(
        filter(None, [os.path.dirname(in_make("print-libmpi")), os.environ.get("LD_LIBRARY_PATH")])
    )


def has_ulfm():
    """Fault tolerance, which comes with Open MPI 5."""
    return OMPI_SERIES >= 5 and bool(re.search("FT Checkpoint|ftmpi|Fault Tolerance support: yes", ompi_info(), re.I))


def text_of(path):
    """What a file holds; nothing where there is none."""
    return Path(path).read_text(errors="replace") if Path(path).exists() else ""


def each_rank(line):
    """A wrapper: each rank does this line of shell, and then runs the program."""
    return ["sh", "-c", f'{line}\nexec "$@"', "sh"]


def children(pid):
    """Processes that this one has started."""
    try:
        return [int(c) for f in Path(f"/proc/{pid}/task").glob("*/children") for c in f.read_text().split()]
    except OSError:
        return []


def running(pid, program):
    """Those of a process and all below it that run this program."""
    found = [each for child in children(pid) for each in running(child, program)]
    try:
        return [pid] * (Path(f"/proc/{pid}/comm").read_text() == f"{program}\n") + found
    except OSError:
        return found


def kill_tree(pid):
    """SIGKILL to a process and all below it, each stopped before its children are listed."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return
    for child in children(pid):
        kill_tree(child)
    os.kill(pid, signal.SIGKILL)


def within(seconds, condition):
    """Whether it becomes true within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(0.05)
    return True


class Job:
    """A job that was started; or that ended, with its exit status, 124 where it ran out of time."""

    def __init__(self, line, env):
        self.line, self.rc = line, None
        self.out, self.messages = Path(WORK, "out"), Path(WORK, "messages")
        self.process = subprocess.Popen(
            ["timeout", "-k", "5", env.get("TEST_LIMIT", "300"), *line],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=self.out.open("wb"),
            stderr=self.messages.open("wb"),
        )
        atexit.register(self.kill)

    @property
    def text(self):
        """What it wrote: messages behind what the program printed, since the launcher may put one
        of them into the middle of a line."""
        return (self.out.read_bytes() + self.messages.read_bytes()).decode(errors="replace")

    def lines(self, pattern):
        """Lines of the output that match."""
        return [line for line in self.text.splitlines() if re.search(pattern, line)]

    def wait(self):
        """To its end."""
        self.rc = self.process.wait()
        return self

    def signal(self, number, rank=1):
        """To a rank whose pid the program has said."""
        for pid in re.findall(rf"^# rank {rank} pid (\d+)$", self.text, re.MULTILINE):
            with contextlib.suppress(ProcessLookupError):  # it may have ended
                os.kill(int(pid), number)

    def resume(self, rank=1):
        """A rank that was stopped goes on, to the job's end; also where it stops itself only now."""
        while self.process.poll() is None:
            self.signal(signal.SIGCONT, rank)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.2)
        return self.wait()

    def kill(self):
        """It and all that it started."""
        if self.process.poll() is None:
            kill_tree(self.process.pid)
        self.process.wait()

    def wait_for(self, seconds, *judges):
        """Whether all judges are content within so many seconds."""
        judges = [judge_of(want) for want in judges]
        return within(seconds, lambda: all(judge(self) for judge in judges))

    def check(self, text, *judges, within=0):
        """A row: passed if all judges are content, within so many seconds."""
        if self.wait_for(within, *judges):
            result(text, True)
            return
        judges = [judge_of(want) for want in judges]
        wrong = ", ".join(judge.__name__ for judge in judges if not judge(self))
        shown = self.text.splitlines()
        if len(shown) > 80:  # what MPI said comes first, what the program found last
            shown = [*shown[:30], "...", *shown[-50:]]
        says = [f"failed: {wrong}", f"exit status {self.rc} of: {shlex.join(self.line)}"]
        result(text, False, "\n".join(says + shown))


class Runner:
    """Runs programs, in the environment and with the options that a test module gives for all."""

    def __init__(self, env=None, options=""):
        self.env, self.options = os.environ | (env or {}), options

    def eight_in(self, env, profiles, *options):
        """Random programs of the eight, of further profiles."""
        beyond = ["--beyond"] if env.get("GR_HOST", "1") == "1" else []
        return ["random_programs", "--count=9999", f"--seconds={depth(0.4, 3)}", *beyond] + [
            "--no-user-ops",
            f"--profile=eight,{profiles}",
            *options,
        ]

    def start(self, np, line, wrapper=(), launcher=(), **more):
        """In the background. line: "[WORD... --] PROGRAM [ARGUMENT...]"; a word NAME=VALUE is of the
        environment, name=value is a parameter of gpuring, all others are options of mpirun. Each
        rank runs the program through `wrapper`, `launcher` runs mpirun. No ranks: without mpirun,
        which takes a second; GR_DIR empty: without gpuring."""
        options, dashes, program = f" {line}".partition(" -- ")
        if not dashes:
            options, program = "", line
        words, env = iter(shlex.split(f"{self.options} {options}")), self.env | more
        given, given_env = [], {}
        for word in words:
            name, equals, value = word.partition("=")
            if word in ("--mca", "-x"):
                given += [word, next(words)] + ([next(words)] if word == "--mca" else [])
            elif equals and name[0].isupper():
                given_env[name] = value
            elif equals and name.isidentifier():
                given += ["--mca", f"coll_gpuring_{name}", value]
            else:
                given.append(word)
        env |= given_env
        path, program = f"SYSTEM_DEFAULT:{env['GR_DIR']}", shlex.split(program)
        if program[0] == "eight_in":
            program = self.eight_in(env, *program[1:])
        if not env["GR_DIR"]:
            load = []
        elif OMPI_SERIES >= 5:  # whose PMIx must not see the path
            load = ["-x", f"OMPI_MCA_mca_base_component_path={path}"]
            load += ["--mca", "mca_base_component_show_load_errors", "0"]
        else:
            load = ["--mca", "mca_base_component_path", path]
        if program[0] == "gpuring_bench":
            program[0] = os.environ["BENCH"]
        if "/" not in program[0] and env["PROGDIR"]:
            program[0] = f"{env['PROGDIR']}/{program[0]}"
        if not np:
            return Job([*launcher, *wrapper, *program], env)
        mpirun = env.get("MPIRUN", "mpirun --oversubscribe --mca mpi_yield_when_idle 1").split()
        host = ["--mca", "coll_gpuring_host", env.get("GR_HOST", "1")]
        host = host if host[2] else []
        return Job([*launcher, *mpirun, *load, *host, *given, "-np", str(np), *wrapper, *program], env)

    def run(self, *args, **more):
        """To the end."""
        return self.start(*args, **more).wait()
