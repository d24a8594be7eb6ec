# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the sources with a build folder of its own, in which faults are planted.

    DIR/src      the sources; those that differ from the originals are copied again when a run begins
    DIR/build    configured as the build that was given; kernels.fatbin and the fake driver come from there
    DIR/few      kernels for the fake driver, a few of them: all take minutes to compile
"""
import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

VARIABLES = ("core_tests", "device_tests", "mpi_tests", "device_built", "fakecuda_built", "mpi_built",
             "kernel_programs", "mpi_programs", "check_LTLIBRARIES", "CC", "CXX", "CUDA_CPPFLAGS")
LEFT_OUT = re.compile(r"^tests/(mutation|build)/")
KERNEL_SOURCE = re.compile(r"^coll_gpuring/(exec/gpu/(kernels|args\.h)|base/|sched/|topo/)")
KERNEL_MODES = "tests/unit/gpu/kernel_modes_test.sh"
TEAM_TEST = "tests/unit/gpu/team_test"
FAKE_DRIVER = "tests/fakes/cuda/lib"
USUAL_KERNELS = ["f32_sum", "f64_max"]


class BuildError(Exception):
    """What make or the compiler said."""


class Test:
    """One test of make check: its path, its group, whether it is a script, and whether it runs all its rows. Its name is its
    path, with --all behind it in the latter case."""

    def __init__(self, path, group, all_rows=False):
        self.path = path
        self.group = group
        self.all_rows = all_rows
        self.name = f"{path} --all" if all_rows else path
        self.script = path.endswith(".sh")

    def with_all_rows(self):
        return Test(self.path, self.group, True)


def is_build_folder(path):
    """Whether the folder is that of a build, or of git."""
    return path.name in (".git", "autom4te.cache", "__pycache__") or (path / "config.status").exists()


def sync(source, copy, texts):
    """
    Copy what is not there, with its time; and what is there and differs, which is newer then than all that was made of it
    (a fault that was left behind is older than its objects). texts: {file: what stands there instead}.
    """
    for folder, names, files in os.walk(source):
        here = Path(folder)
        names[:] = [n for n in names if not is_build_folder(here / n) and here / n not in (copy, *copy.parents)]
        there = copy / here.relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            old, new = here / name, there / name
            if str(old.relative_to(source)) in texts:
                continue
            if not new.exists():
                shutil.copy2(old, new)
            elif new.stat().st_mtime_ns != old.stat().st_mtime_ns and new.read_bytes() != old.read_bytes():
                shutil.copy(old, new)
    for file, text in texts.items():
        if not (copy / file).exists() or (copy / file).read_text() != text:
            (copy / file).write_text(text)


def make_variables(build, names):
    """Values of variables of the Makefile, as lists of words."""
    rule = "mutation-print:\n\t@: " + "".join(f"$(info {n}=$({n}))" for n in names) + "\n"
    said = subprocess.run(["make", "-s", "-f", "Makefile", "-f", "-", "mutation-print"], cwd=build, input=rule,
                          capture_output=True, text=True, env=clean_environment(), check=True).stdout
    return {n: v.split() for n, _, v in (line.partition("=") for line in said.splitlines()) if n in names}


def clean_environment():
    """The environment without what would change the tests or configure, or is of a make above."""
    return {k: v for k, v in os.environ.items()
            if not re.match(r"GPURING_|FAKECUDA_|MAKE|MFLAGS|(TESTS|LD_LIBRARY_PATH|MPIRUN|OMPI_INFO)$", k)}


class Work:
    """The copy, its build, and the fault that is planted there."""

    def __init__(self, source, build, folder, configure=(), texts=None):
        self.source, self.given = Path(source), Path(build)
        self.folder = Path(folder)
        self.src, self.build, self.few = (self.folder / n for n in ("src", "build", "few"))
        self.fake_driver = self.build / FAKE_DRIVER
        self.configure = list(configure)
        self.texts = texts or {}  # of files that differ from the sources
        self.changed = {}  # file: its text without the fault
        self.made = set()  # targets since the sources changed last

    def prepare(self):
        """Copy and configure what is not there yet."""
        sync(self.source, self.src, self.texts)
        self.build.mkdir(parents=True, exist_ok=True)
        if not (self.build / "config.status").exists():
            given = subprocess.run([self.given / "config.status", "--config"], capture_output=True, text=True,
                                   check=True).stdout
            self.command([self.src / "configure", *shlex.split(given), *self.configure], self.build)
        for name in ("kernels", "kernels.fatbin"):
            if not (self.build / name).exists() and (self.given / name).exists():
                copy = shutil.copytree if (self.given / name).is_dir() else shutil.copy2
                copy(self.given / name, self.build / name)
        self.vars = make_variables(self.build, VARIABLES)
        self.environment = " ".join(make_variables(self.build, ["AM_TESTS_ENVIRONMENT"])["AM_TESTS_ENVIRONMENT"])
        self.copy_fake_driver()

    def copy_fake_driver(self):
        """The folder with the fake driver and its kernels, where the given build has it."""
        if (self.given / FAKE_DRIVER).exists() and not (self.build / FAKE_DRIVER).exists():
            shutil.copytree(self.given / FAKE_DRIVER, self.build / FAKE_DRIVER, symlinks=True)
            for path in (self.build / FAKE_DRIVER).rglob("*"):  # newer than the sources: nvcc is not started
                if self.texts and path.name.endswith("_kernels.so"):
                    path.unlink()
                else:
                    path.touch()

    def command(self, words, folder, env=None):
        """Run a command; BuildError with the end of what it said."""
        done = subprocess.run([str(w) for w in words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", env=env or clean_environment())
        if done.returncode != 0:
            wrong = [line for line in done.stdout.splitlines() if "error:" in line or "Error" in line]
            raise BuildError("\n".join(wrong[:3] or done.stdout.splitlines()[-3:]))

    def tests(self):
        """All tests that faults can be run against, in make's order."""
        return [Test(name, group) for group in ("core", "device", "mpi") for name in self.vars[f"{group}_tests"]
                if not LEFT_OUT.search(name)]

    # ---- building ----

    def make(self, targets):
        """Make targets, unless they were made since the sources changed. nvcc is never started."""
        wanted = [t for t in dict.fromkeys(targets) if t not in self.made]
        if wanted:
            self.command(["make", "-j2", "-o", "kernels.fatbin", "NVCC=false", *wanted], self.build)
            self.made.update(wanted)

    def targets(self, test):
        """What a test needs."""
        beside = [t for t in self.vars["check_LTLIBRARIES"] if os.path.dirname(t) == os.path.dirname(test.path)]
        own = beside if test.script else [test.path, *beside]
        if test.group == "core":
            return ["all", *own] if test.script or test.path.startswith("tests/unit/net/") else own  # which load modules
        if test.path.startswith("tests/fakes/"):  # without the component's kernels, which take minutes
            return self.vars["fakecuda_built"]
        if test.group == "device":
            built = [*self.vars["fakecuda_built"], *self.vars["device_built"]]
            if test.path in (TEAM_TEST, KERNEL_MODES):  # they get a few kernels
                built = [t for t in built if not t.endswith("/fakecuda_kernels.so")]
            own += self.vars["kernel_programs"] if test.path == KERNEL_MODES else ["all"] if test.script else []
            return [*own, *built]
        built = [t for t in self.vars["mpi_built"] if not t.startswith("tests/mpi/faults/")]
        return ["all", *self.vars["mpi_programs"], *built, *own]

    def prepare_test(self, test, kernels):
        """Build what the test needs; returns what it has to find in its environment."""
        self.make(self.targets(test))
        if test.path == KERNEL_MODES:
            self.build_few(self.few_kernels(kernels), self.fake_driver / "traced_kernels.so",
                           ["-include", self.src / "tests/unit/gpu/kernel_trace.h"])
            return {"KERNEL_TEST_FEW": ",".join(kernels or USUAL_KERNELS)}
        if test.path == TEAM_TEST:
            out = self.few / "team_kernels.so"
            self.build_few(self.src / "tests/unit/gpu/team_kernels.cu", out, [])
            return {"TEAM_TEST_KERNELS": f"{out}:{self.fake_driver / 'device_kernels.so'}"}
        return {}

    def few_kernels(self, kernels):
        """A source with these few kernels."""
        table = " ".join("X({}, {})".format(*k.rsplit("_", 1)) for k in kernels or USUAL_KERNELS)
        self.few.mkdir(exist_ok=True)
        source = self.few / "few.cu"
        source.write_text('#include "exec/gpu/kernels.h"\n#undef GR_KERNELS\n'
                          f'#define GR_KERNELS(X) {table}\n#include "exec/gpu/kernels/kernels.cu"\n')
        return source

    def build_few(self, source, out, flags):
        """Compile a few kernels for the fake driver, where that is not what is there already."""
        digest = hashlib.sha256(source.read_bytes())
        for path in sorted(p for p in (self.src / "coll_gpuring").rglob("*.*")
                           if KERNEL_SOURCE.match(str(p.relative_to(self.src)))):
            digest.update(path.read_bytes())
        stamp = out.with_suffix(".stamp")
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        stamp.unlink(missing_ok=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        link = out.parent / "libcuda.so.1"
        if not link.exists():
            link.symlink_to(self.fake_driver / "libcuda.so.1")
        env = clean_environment() | {n: " ".join(self.vars[n]) for n in ("CC", "CXX", "CUDA_CPPFLAGS")}
        self.command(["bash", self.src / "tests/fakes/cuda/build.sh", out.parent, "plain", out.name, source, "-O1", "-w",
                      *flags, "-I", self.src / "coll_gpuring"], self.build, env)
        stamp.write_text(digest.hexdigest())

    # ---- faults ----

    def read(self, file):
        return (self.src / file).read_text()

    def plant(self, texts):
        """Write {file: text}; the present texts come back with restore()."""
        for file, text in texts.items():
            self.changed[file] = self.read(file)
            (self.src / file).write_text(text)
        self.made.clear()

    def restore(self):
        """Take the fault out again."""
        for file, text in self.changed.items():
            (self.src / file).write_text(text)
        if self.changed:
            self.made.clear()
        self.changed = {}
