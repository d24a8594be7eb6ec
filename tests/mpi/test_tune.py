# SPDX-License-Identifier: BSD-3-Clause
"""gpuring_tune, and the tuning files that the component finds: a given one, the user's, bad ones. Two ranks that have cores
of their own, which they say they have."""

import json
import os
import re
import subprocess
from pathlib import Path

from rows import *

TUNE = os.environ.get("TUNE", "gpuring_tune")
HOME, GIVEN, REPORT = (Path(WORK, name) for name in ("home", "given", "report.json"))
HOME.mkdir()
os.environ["HOME"] = str(HOME)
OWN = each_rank("export OMPI_MCA_mpi_yield_when_idle=0")
USES = f"tune_file={GIVEN}"
alone = len(os.sched_getaffinity(0)) < 2
GENERAL = "gpuring_tune", "processor", "processors", "kernel", "date", "version"


def tune(*arguments):
    return subprocess.run([TUNE, *map(str, arguments)], capture_output=True, text=True, check=False)


def program(text, done, *conditions):
    result(text, all(conditions), done.stderr + done.stdout)


def the_file():
    return next(HOME.glob(".gpuring/*.tune"))


def says(words):
    """One line, once, and right results."""
    return lines_seen(1, re.escape(words)), good_through_gpuring


def constants(words):
    return says(f"constants inside a node: {words}")


def job(mpi, options=""):
    """Of two ranks, without a measurement."""
    return mpi.run(2, f"verbose=1 measure=0 {options} -- hello_coll", wrapper=OWN)


def is_json(text):
    try:
        return bool(json.loads(text))
    except ValueError:
        return False


def refuses(text, words, *arguments):
    """Exit status 2, one line."""
    done = tune(*arguments)
    program(text, done, done.returncode == 2, not done.stdout, done.stderr.count("\n") == 1, words in done.stderr)


def test_program(mpi):
    refuses("an option that it does not have", "-x", "-x")
    refuses("a time that is none", "-t", "-t", "long")
    refuses("an operand", "file", "file")
    done = tune("-h")
    program("help", done, "usage: gpuring_tune" in done.stdout)
    job(mpi).check("no file: built-in constants", *constants("built in"))
    if alone:
        done = tune("-q")
        program("one processor: nothing to measure", done, done.returncode == 1, "one processor only" in done.stderr)


def test_measures():
    if alone:
        return
    done = tune("-t", 0)
    program("it measures", done, done.returncode == 0)
    files = [path for path in HOME.rglob("*") if path.is_file()]
    program("one file, for this kind of machine", done, len(files) == 1)
    program("it shows progress", done, "100%" in done.stdout + done.stderr)
    text = the_file().read_text()
    wanted = [f"{name} = ." for name in GENERAL] + [r"[a-z]+\.exchange = [0-9.]+$", r"[a-z]+\.slots =( [0-9.]+){4}$"]
    lacks = [line for line in wanted if not re.search(f"^{line}", text, re.M)]
    result("it says on what it was made, and the constants", not lacks, f"no {lacks} in\n{text}")
    done = tune("-c", the_file())
    program("it knows its file", done, done.returncode == 0)
    program("and says that it is used", done, "is used here" in done.stdout + done.stderr)
    done = tune("-q", "-t", 0, "-o", "-")
    program("standard output, without progress", done, not done.stderr, re.search("^gpuring_tune = 1$", done.stdout, re.M))
    done = tune("-q", "-t", 0, "-o", f"{WORK}/no/where")
    program("a file that cannot be written", done, done.returncode, "no/where" in done.stderr)
    folder = Path(WORK, "folder")
    folder.mkdir()
    done, other = tune("-q", "-t", 0, "-o", folder), tune("-q", "-t", 0, "-o", f"{folder}/")
    program("a folder: nothing is left behind", done, done.returncode, other.returncode, not any(folder.iterdir()),
            not Path(f"{folder}.part").exists())
    pipe = Path(WORK, "pipe")
    os.mkfifo(pipe)
    with subprocess.Popen(["timeout", "60", "cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        done = tune("-q", "-t", 0, "-o", pipe)
        got = reader.communicate()[0]
    program("a pipe, or a device, is written to and not replaced", done, done.returncode == 0, reader.returncode == 0,
            pipe.is_fifo(), re.search("^gpuring_tune = 1$", got, re.M))


def test_found(mpi):
    """Files that the component finds."""
    if alone:
        return
    file = the_file()
    did = job(mpi)
    did.check("the user's file", *constants(f"file {file}: exchange"))
    did.check("each constant of a whole file is the file's", "!inside a node: .*(measured|built in)")
    job(mpi, "tune_file=none").check("none: no file", *constants("built in"))
    mpi.run(2, "verbose=1 -- hello_coll").check("ranks that share cores read none", *constants("built in"))
    system = Path(WORK, "etc/gpuring", file.name)
    system.parent.mkdir(parents=True)
    system.write_text(re.sub(r"\.exchange = .*", ".exchange = 0.75", file.read_text()))
    etc = f"-x OPAL_SYSCONFDIR={WORK}/etc"
    job(mpi, etc).check("the user's file comes before the system's", *constants(f"file {file}: exchange"))
    file.rename(GIVEN)
    job(mpi, etc).check("the system's file", *constants(f"file {system}: exchange 0.75 us"))
    GIVEN.write_text(re.sub(r"^([a-z]*)\.exchange = .*", r"\1.exchange = 0.625", GIVEN.read_text(), flags=re.M))
    given = f"file {GIVEN}: exchange 0.625 us"
    job(mpi, USES).check("a given file", *constants(given))
    job(mpi, f"{USES} report=json:{REPORT}")
    text = text_of(REPORT)
    result("the report says where constants come from", '"constants": "file"' in text, text)
    job(mpi, f"{USES} report=summary").check("and its summary which", f"^# constants inside a node: {re.escape(given)}")
    job(mpi, "report=json:/dev/full").check("a report for which there is no space: one line",
                                            *says('cannot write the report to "/dev/full"'))
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{WORK}/de_DE.UTF-8"], capture_output=True, check=False)
    if made.returncode:
        skip("a program with a decimal comma", "no locale can be made here")
    else:
        REPORT.unlink(missing_ok=True)
        job(mpi, f"-x LOCPATH={WORK} -x LC_ALL=de_DE.UTF-8 {USES} report=json:{REPORT}").check(
            "a program with a decimal comma", *constants(given))
        result("its report has points", is_json(text_of(REPORT)))


def test_bad(mpi):
    """Files that are of no use: one line says so, and constants are built in."""
    if alone:
        return

    def bad(text, why):
        did = job(mpi, USES)
        did.check(f"{text}: one line", *says(f'the tuning file "{GIVEN}" is not used: {why}'))
        did.check(f"{text}: built-in constants", *constants("built in"))

    GIVEN.write_text(re.sub("^processor = .*", "processor = another", GIVEN.read_text(), flags=re.M))
    bad("a file of another machine", 'it was made on another machine (processor: "another", here')
    done = tune("-c", GIVEN)
    program("which gpuring_tune says, too", done, done.returncode, "made on another machine" in done.stderr)
    GIVEN.write_text("nonsense\n")
    bad("a file that is none", "line 1 is not possible")
    GIVEN.unlink()
    bad("no file", "No such file or directory")
    file = HOME / ".gpuring" / next(Path(WORK, "etc/gpuring").iterdir()).name
    file.mkdir()
    job(mpi).check("the user's, unreadable: one line", *says(f'the tuning file "{file}" is not used: Is a directory'))
