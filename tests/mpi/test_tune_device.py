# SPDX-License-Identifier: BSD-3-Clause
"""The cost model's constants of devices on the fake CUDA driver: built in, by parameters, by a tuning file; a file of another
device; and gpuring_tune -d cuda, whose numbers mean nothing there. Two ranks, on one device but where a row has two."""

import os
import re
import subprocess
from pathlib import Path

from rows import *
from rows.devices import *

TUNE = os.environ.get("TUNE", "gpuring_tune")
HOME, MADE, TWO, FILE, PROCESSORS, REPORT = (
    Path(WORK, name) for name in ("home", "made", "two", "file", "processors", "report.json"))
HOME.mkdir()
os.environ["HOME"] = str(HOME)
ENV = DEVICES | {"FAKECUDA_DEVICES": "1", "GR_HOST": ""}
alone = len(os.sched_getaffinity(0)) < 2  # then gpuring_tune has no pair of processors to measure


def job(mpi, options="", **more):
    """Three Allreduces of 8 bytes, checked. The first one makes the links; the others know what these are like. With an
    algorithm that is forced: ranks that share a device have a leader else, and nothing to choose."""
    return mpi.run(2, f"--mca op ^avx verbose=2 algorithm_allreduce=oneshot {options} -- "
                   "gpuring_bench allreduce -d cuda -m 8:8 -i 2 -x 1 -B 10 -c -o csv", **more)


def said(words):
    """In one line, once."""
    return lines_seen(1, re.escape(words))


def constants(words, protocol, links="one device"):
    """They are said, results are right, and 8 bytes go by that protocol."""
    return ended, "^allreduce,.*,0$", said(f"constants between devices: {links}: {words}"), wants(
        lambda job: f", {protocol}, " in ["", *job.lines(re.escape(f"on devices ({links})"))][-1], f"by {protocol}")


def tune(*arguments, **env):
    return subprocess.run([TUNE, "-q", "-t", "0", *map(str, arguments)], env=os.environ | ENV | env, capture_output=True,
                          text=True, check=False)


def tuned(file, *paths, **env):
    """On devices that hold few blocks it measures some constants of each path. A busy machine makes others impossible, which
    are left out: several tries."""
    for _ in range(5):
        done = tune("-d", "cuda", "-o", file, FAKECUDA_SMS="2", **env)
        text = text_of(file)
        if done.returncode or not re.search("^device = fakecuda$", text, re.M):
            return False
        if all(len(re.findall(rf"^{path}\.device_[a-z0-9_]+ = [0-9.e+-]+$", text, re.M)) >= 2 for path in paths):
            return True
    return False


def row_of(text, file, *conditions):
    result(text, all(conditions), text_of(file) or "no file")


def lacks(file, pattern):
    return not re.search(pattern, text_of(file), re.M)


def lines_of(file, pattern):
    return [line for line in text_of(file).splitlines() if re.match(pattern, line)]


def test_program(mpi):
    job(mpi).check("nothing is given", *constants("built in", "ll"))
    row_of("gpuring_tune measures one device", MADE, tuned(MADE, "one_device"), lacks(MADE, "^pcie"))
    row_of("and two of them", TWO, tuned(TWO, "one_device", "pcie", FAKECUDA_DEVICES="2"), lacks(TWO, "^pcie.*ll128"))
    if in_all:
        row_of("and two that do not reach each other", TWO,
               tuned(TWO, "host_memory", FAKECUDA_DEVICES="2", FAKECUDA_PEER="none"), lacks(TWO, "^pcie"))
        if NVML:
            beside = {"LD_LIBRARY_PATH": f"{ENV['LD_LIBRARY_PATH']}:{NVML}", "FAKENVML_BUSSES": "16,17"}
            row_of("and two joined by NVLink", TWO, tuned(TWO, "nvlink", FAKECUDA_DEVICES="2", **beside))
        else:
            skip("and two joined by NVLink", "no fake NVML was built")
    job(mpi, f"tune_file={MADE}").check("what it measured is used",
                                        said(f"constants between devices: one device: file {MADE}: device_"))
    none = Path(WORK, "none")
    done = tune("-d", "cuda", "-o", none, LD_LIBRARY_PATH=WITHOUT)
    result("without a driver it says so", done.returncode == 1 and not none.exists() and done.stderr.count("\n") == 1
           and "needs a CUDA driver" in done.stderr, done.stderr)
    if alone:
        return
    devices = lines_of(MADE, "one_device")
    done = tune("-o", MADE)
    row_of("processors are measured, devices stay in the file", MADE, done.returncode == 0, lines_of(MADE, r"[a-z]*\.exchange"),
           lines_of(MADE, "device = fakecuda$"), lines_of(MADE, "one_device") == devices)
    processors = lines_of(MADE, r"[a-z]*\.[es]")
    row_of("and the reverse", MADE, tuned(MADE, "one_device"), lines_of(MADE, r"[a-z]*\.[es]") == processors)


def test_files(mpi):
    if alone:
        return
    row_of("a file", FILE, tune("-o", FILE).returncode == 0)
    PROCESSORS.write_text(FILE.read_text())
    FILE.write_text(FILE.read_text() + "device = fakecuda\none_device.device_ll_step = 5000\none_device.device_own = 0.75\n"
                    "pcie.device_ll_step = 4000\n")
    uses = f"tune_file={FILE}"
    job(mpi, f"{uses} report=json:{REPORT}").check("a file, where ranks share cores", *constants(
        f"file {FILE}: device_own 0.75 us, device_ll_step 5000 us", "simple"))
    row_of("the report says where constants come from", REPORT, lines_of(REPORT, '.*"memory": "cuda".*"constants": "file"'))
    job(mpi, f"{uses} report=summary").check("and its summary which", said(
        f"# constants between devices: one device: file {FILE}: device_own 0.75 us"))
    shown = subprocess.run([TUNE, "-c", FILE], env=os.environ | ENV, capture_output=True, text=True, check=False)
    text = shown.stdout + shown.stderr
    result("gpuring_tune shows them", shown.returncode == 0, text)
    result("with the device", re.search("^device: fakecuda", text, re.M) and re.search(
        "^one_device: file: device_own 0.75 us", text, re.M), text)
    job(mpi, uses, FAKECUDA_DEVICES="2").check("of two devices it has others", *constants(
        f"file {FILE}: device_ll_step 4000 us", "simple", "PCIe"))
    FILE.write_text(re.sub("^device = .*", "device = another", FILE.read_text(), flags=re.M))
    did = job(mpi, uses)
    did.check("a file of another device: one line", said('were measured on "another", which is not the device of rank 0'))
    did.check("a file of another device: built-in constants", *constants("built in", "ll"))
    did = job(mpi, f"tune_file={PROCESSORS}")
    did.check("a file without devices", *constants("built in", "ll"))
    did.check("a file without devices: no line", "!tuning file")
