# SPDX-License-Identifier: BSD-3-Clause
"""The machine, the build, and running a command on it."""
import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

# What a command printed, its exit status (negative: a signal), and whether it ran out of time.
Result = collections.namedtuple("Result", "out err status late")

# A build of gpuring: paths of programs, its Open MPI, the environment of every command; and the machine.
Build = collections.namedtuple("Build", "mpirun ompi_info bench sched floor version env cores model")


def siblings(cpu):
    """The processors of the same core, as the kernel writes them; the processor itself where it does not."""
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as f:
            return f.read().strip()
    except OSError:
        return str(cpu)


def cores():
    """One processor of each core that this process may use."""
    first = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        first.setdefault(siblings(cpu), cpu)
    return sorted(first.values())


def model():
    try:
        text = subprocess.run(["lscpu"], stdout=subprocess.PIPE, universal_newlines=True,
                              env={**os.environ, "LC_ALL": "C"}).stdout
    except OSError:
        text = ""
    found = re.search(r"^Model name: *(.*)$", text, re.M)
    return found.group(1) if found else "unknown processor"


def find_build(builddir):
    path = subprocess.run(["sh", "-c", '. "$1/env.sh" && printf %s "$PATH"', "sh", builddir], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    env = {**os.environ, "PATH": path, "HOSTS_RELAY": os.path.join(builddir, "gpuring_relay")}
    if os.geteuid() == 0:  # as tools/build.sh: containers run as root
        for who in ("OMPI", "PRTE"):
            env[who + "_ALLOW_RUN_AS_ROOT"] = env[who + "_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    ompi_info = shutil.which("ompi_info", path=path)
    said = subprocess.run([ompi_info, "--version"], stdout=subprocess.PIPE, universal_newlines=True).stdout
    return Build(mpirun=shutil.which("mpirun", path=path), ompi_info=ompi_info,
                 bench=os.path.join(builddir, "gpuring_bench"), sched=os.path.join(builddir, "gpuring_sched"),
                 floor=os.path.join(builddir, "gpuring_floor"), version=said.split("\n")[0].strip(), env=env, cores=cores(), model=model())


def gone(process):
    """Whether the process has ended. Not by Popen.wait(): an interrupt inside of it may have left its lock taken for ever."""
    if process.returncode is None:
        try:
            pid, status = os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode is not None


def end(process):
    """Ends a command that timed out, or that is not wanted any more; mpirun gets 10 seconds to end its ranks."""
    process.terminate()
    for _ in range(200):
        if gone(process):
            return
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    while not gone(process):
        time.sleep(0.05)


def run(command, env, limit, stdin=subprocess.DEVNULL):
    """Runs a command for at most limit seconds, or None. Its output goes to files: no rank left behind blocks this process."""
    late = False
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, env=env, stdin=stdin, stdout=out, stderr=err,
                                   start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            late = True
            end(process)
        except BaseException:
            end(process)
            raise
        texts = []
        for f in (out, err):
            f.seek(0)
            texts.append(f.read().decode(errors="replace"))
    return Result(texts[0], texts[1], process.returncode, late)


def why(result, limit):
    """A failed command's reason in one line."""
    if result.late:
        return f"no end within {limit} s"
    lines = [re.sub(r"^(\[[^]]*\] *)+", "", line).strip(" *") for line in (result.err + result.out).split("\n")]
    telling = [line for line in lines if re.search(r"error|cannot|could not|fail|signal|abort|refus", line, re.I)]
    words = (telling or [line for line in lines if line.strip("-")] or [""])[0]
    return f"exit status {result.status}" + (f": {words[:100]}" if words else "")
