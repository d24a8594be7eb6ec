# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the sources, with all faults behind switches, and its build.

DIR/src      the sources; those that differ from the originals are copied again when a run begins
DIR/build    configured as the build that was given, which kernels.fatbin and the fake driver
             come from
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

GROUPS = ("core", "device", "mpi")
LEFT_OUT = re.compile(r"^tests/(mutation|build)/")
FAKE_DRIVER = "tests/fakes/cuda/lib"


class BuildError(Exception):
    """What make or the compiler said."""


class Test:
    """One test of make check: its path, its group, and whether it runs all its rows. Its name is
    its path, with --all behind it in that case."""

    def __init__(self, path, group, all_rows=False):
        self.path = path
        self.group = group
        self.all_rows = all_rows
        self.name = f"{path} --all" if all_rows else path
        self.script = path.endswith((".sh", ".py"))

    def starter(self, src):
        """What runs the script."""
        return f"sh {src}/tests/rows/pytest.sh" if self.path.endswith(".py") else "bash"

    def with_all_rows(self):
        return Test(self.path, self.group, True)


def is_build_folder(path):
    """Whether the folder is that of a build, or of git."""
    return (
        path.name in (".git", "autom4te.cache", "__pycache__") or (path / "config.status").exists()
    )


def sync(source, copy, texts):
    """
    Copy what is not there, with its time; and what is there and differs, which is newer then than
    all that was made of it. texts: {file: what stands there in place of the source}.
    """
    for folder, names, files in os.walk(source):
        here = Path(folder)
        names[:] = [
            n
            for n in names
            if not is_build_folder(here / n) and here / n not in (copy, *copy.parents)
        ]
        there = copy / here.relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            old, new = here / name, there / name
            if str(old.relative_to(source)) in texts:
                continue
            if not new.exists():
                shutil.copy2(old, new)
            elif (
                new.stat().st_mtime_ns != old.stat().st_mtime_ns
                and new.read_bytes() != old.read_bytes()
            ):
                shutil.copy(old, new)
    for file, text in texts.items():
        if not (copy / file).exists() or (copy / file).read_text() != text:
            (copy / file).write_text(text)


def make_variables(build, names):
    """Values of variables of the Makefile, as lists of words."""
    rule = "mutation-print:\n\t@: " + "".join(f"$(info {n}=$({n}))" for n in names) + "\n"
    said = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f", "-", "mutation-print"],
        cwd=build,
        input=rule,
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=True,
    ).stdout
    return {
        n: v.split()
        for n, _, v in (line.partition("=") for line in said.splitlines())
        if n in names
    }


def clean_environment():
    """The environment without what would change the tests or configure, or is of a make above."""
    return {
        k: v
        for k, v in os.environ.items()
        if not re.match(
            r"GPURING_|FAKECUDA_|MUTANT_|MAKE|MFLAGS|(TESTS|TEST_PART|LD_LIBRARY_PATH|MPIRUN|OMPI_INFO)$", k
        )
    }


class Work:
    """The copy and its build."""

    def __init__(self, source, build, folder, texts):
        self.source, self.given, self.folder, self.texts = (
            Path(source),
            Path(build),
            Path(folder),
            texts,
        )
        self.src, self.build = self.folder / "src", self.folder / "build"

    def prepare(self):
        """Copy, configure and build what is not there yet. nvcc is never started."""
        sync(self.source, self.src, self.texts)
        self.build.mkdir(parents=True, exist_ok=True)
        if not (self.build / "config.status").exists():
            given = subprocess.run(
                [self.given / "config.status", "--config"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            self.command([self.src / "configure", *shlex.split(given)])
        for name in ("kernels", "kernels.fatbin"):
            if not (self.build / name).exists() and (self.given / name).exists():
                copy = shutil.copytree if (self.given / name).is_dir() else shutil.copy2
                copy(self.given / name, self.build / name)
        self.copy_fake_driver()
        self.vars = make_variables(
            self.build, ["check_LTLIBRARIES", *(f"{g}_tests" for g in GROUPS)]
        )
        targets = [*(f"programs-{g}" for g in GROUPS), *self.vars["check_LTLIBRARIES"]]
        self.command(["make", "-j2", "-o", "kernels.fatbin", "NVCC=false", "all", *targets])
        self.environment = " ".join(
            make_variables(self.build, ["AM_TESTS_ENVIRONMENT"])["AM_TESTS_ENVIRONMENT"]
        )

    def copy_fake_driver(self):
        """The folder with the fake driver, where the given build has it. g++ compiles the faulty
        kernels anew."""
        if (self.given / FAKE_DRIVER).exists() and not (self.build / FAKE_DRIVER).exists():
            shutil.copytree(self.given / FAKE_DRIVER, self.build / FAKE_DRIVER, symlinks=True)
            for path in (self.build / FAKE_DRIVER).rglob("*"):
                if path.name.endswith("_kernels.so"):
                    path.unlink()
                else:
                    path.touch()  # newer than the sources

    def command(self, words):
        """Run a command in the build; BuildError with the end of what it said."""
        done = subprocess.run(
            [str(w) for w in words],
            cwd=self.build,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=clean_environment(),
            check=False,
        )
        if done.returncode != 0:
            wrong = [
                line for line in done.stdout.splitlines() if "error:" in line or "Error" in line
            ]
            raise BuildError("\n".join(wrong[:3] or done.stdout.splitlines()[-3:]))

    def tests(self):
        """All tests that faults can be run against, in make's order."""
        return [
            Test(name, group)
            for group in GROUPS
            for name in self.vars[f"{group}_tests"]
            if not LEFT_OUT.search(name)
        ]
