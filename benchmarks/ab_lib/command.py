# SPDX-License-Identifier: BSD-3-Clause
"""The user's command on either side: the same words, and an environment that selects gpuring or leaves it out. mpirun passes
variables that begin with OMPI_MCA_ to all ranks by itself, srun all."""
import os
import re
import shutil
import subprocess

from .options import Refused

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
CALLS = os.path.join(HERE, "gpuring_ab_calls.so")
# beside this folder: in a bundle and a wheel, in a build folder. An installed component is where Open MPI looks by itself.
COMPONENTS = [os.path.join(os.path.dirname(HERE), folder, "mca_coll_gpuring.so") for folder in ("gpuring", "component")]
LAUNCHERS = re.compile(r"(mpirun|mpiexec|orterun|prterun|oshrun)([.-].*)?$")
SELECTS = re.compile(r"OMPI_MCA_coll=(.*)")
PATH = "OMPI_MCA_mca_base_component_path"


def own_component():
    return next((path for path in COMPONENTS if os.path.exists(path)), None)


def output_of(*words):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)
    except OSError:
        return ""
    return done.stdout


def is_mpirun(word):
    return bool(LAUNCHERS.match(os.path.basename(word)))


def selects(words):
    """The text that selects coll components in the command, and what it selects; or None."""
    for first, second, third in zip(words, words[1:] + [""], words[2:] + ["", ""]):
        if first.lstrip("-") in ("mca", "gmca") and first.startswith("-") and second == "coll":
            return f"{first} coll {third}", third
        if SELECTS.match(first):
            return first, SELECTS.match(first)[1]
    return None


def check(words):
    """Refuses what cannot be compared."""
    path = shutil.which(words[0])
    if not path:
        raise Refused(f"{words[0]}: there is no such program" + ("" if "/" in words[0] else " on PATH"))
    said = selects(words)
    if said:
        others = said[1].replace("^gpuring", "").strip(",")
        instead = f"; for other components: OMPI_MCA_coll='{others}' gpuring_ab ..." if others not in ("", "gpuring") else ""
        raise Refused(f"leave '{said[0]}' out of the command, since gpuring_ab selects gpuring itself{instead}")
    exports = [word for word in words if word.startswith("--export=") and "ALL" not in word]
    if os.path.basename(words[0]) == "srun" and exports:
        raise Refused(f"'{exports[0]}' hides the environment, by which gpuring is selected, from ranks: --export=ALL,...")
    if is_mpirun(words[0]) and re.search(r"hydra|intel|mvapich", output_of(path, "--version"), re.I):
        raise Refused(f"{path} is not Open MPI's, and gpuring is a component of Open MPI")
    if not os.path.exists(CALLS):
        raise Refused(f"{CALLS} is not there: run make, and take the gpuring_ab of build/bin or of an installation")
    if re.search(r"[\s:]", CALLS):
        raise Refused(f"{CALLS} cannot be preloaded: its path has a blank or a colon")
    if "OMPI_MCA_coll" in os.environ and "gpuring" in os.environ["OMPI_MCA_coll"].strip("^").split(",") and \
            os.environ["OMPI_MCA_coll"].startswith("^"):
        raise Refused("OMPI_MCA_coll leaves gpuring out: unset it, or take gpuring out of its list")


def selection(wanted):
    """OMPI_MCA_coll on both sides (None: unset), from what the user has there, and more variables of gpuring's side."""
    names = [name for name in wanted.lstrip("^").split(",") if name and name != "gpuring"]
    if wanted.startswith("^"):  # gpuring takes part beside all others, and has the highest priority
        return "^" + ",".join(["gpuring"] + names), "^" + ",".join(names), {"OMPI_MCA_coll_gpuring_host": "1"}
    if names:
        return ",".join(names), ",".join(["gpuring"] + names), {}
    return "^gpuring", "gpuring", {}


def opens_components(words):
    """Whether this Open MPI opens components; PyPI's takes only what the process has loaded."""
    beside = os.path.join(os.path.dirname(shutil.which(words[0]) or ""), "ompi_info")
    text = output_of(beside if os.path.exists(beside) else "ompi_info", "--parsable")
    return not text or "mca:dl:" in text


class Side:
    """Stock or gpuring: how it is named, and the environment of its runs."""

    def __init__(self, name, environment):
        self.name, self.environment = name, environment


def sides(words, control):
    """Both sides. What they share: the library that counts calls, and where the component is."""
    stock, gpuring, more = selection(os.environ.get("OMPI_MCA_coll", ""))
    component, preloads = own_component(), [CALLS]
    shared = {}
    if component and PATH not in os.environ:
        shared[PATH] = "SYSTEM_DEFAULT:" + os.path.dirname(component)
        # PRRTE over an external PMIx (Debian 13) replaces the variable by PMIx's path
        if "PRTE_MCA_odls_base_exec_agent" not in os.environ:
            shared["PRTE_MCA_odls_base_exec_agent"] = f"/usr/bin/env {PATH}={shared[PATH]}"
        if not opens_components(words):
            preloads.append(component)
    shared["LD_PRELOAD"] = ":".join(preloads + [p for p in [os.environ.get("LD_PRELOAD")] if p])
    first = Side("stock", {**shared, "OMPI_MCA_coll": stock})
    second = Side("stock again", first.environment) if control else \
        Side("gpuring", {**shared, "OMPI_MCA_coll": gpuring, **{k: v for k, v in more.items() if k not in os.environ}})
    return first, second


def preloading(words, preload):
    """The options of one program of mpirun's command line, with what its ranks preload."""
    for k, word in enumerate(words):
        if word.startswith("LD_PRELOAD=") and words[k - 1] == "-x":
            return words[:k] + [f"LD_PRELOAD={preload}:{word.split('=', 1)[1]}"] + words[k + 1:]
    return ["-x", f"LD_PRELOAD={preload}"] + words


def for_mpirun(words, environment):
    """(words, environment): mpirun takes other variables than OMPI_MCA_... to other nodes with -x only, for each program of
    its command line. Of the component's path, mpirun 5 would pass a variable on to PMIx, which would complain."""
    if not is_mpirun(words[0]):
        return words, environment
    extra, made = ["-x", "GPURING_AB"], words[:1]
    if PATH in environment and PATH not in os.environ:
        extra += ["-x", f"{PATH}={environment[PATH]}"]
        environment = {name: value for name, value in environment.items() if name != PATH}
    left = words[1:]
    while left:
        end = left.index(":") + 1 if ":" in left else len(left)
        made += extra + preloading(left[:end], environment["LD_PRELOAD"])
        left = left[end:]
    return made, environment
