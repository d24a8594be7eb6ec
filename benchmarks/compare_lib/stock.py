# SPDX-License-Identifier: BSD-3-Clause
"""The configurations to compare with: of stock Open MPI every pml with every set of collectives that really runs here, and
other MPIs, the peers."""
import collections
import os
import re
import subprocess

from . import machine

HOSTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests/hosts/hosts.sh")

# name; coll: the component that must be active; args: mpirun options; launch: of a peer, in the place of mpirun and its
# options, all words up to and including the program
Config = collections.namedtuple("Config", "name pml coll args launch", defaults=[None])

# Open MPI takes pml/ucx only where it knows the network, unless told that any will do.
PMLS = {"ob1": [], "ucx": ["--mca", "opal_common_ucx_tls", "any", "--mca", "opal_common_ucx_devices", "any"]}
# tuned is what the default selection comes to on one node.
COLLS = {"tuned": [], "han": ["--mca", "coll_han_priority", "100"], "sm": ["--mca", "coll_sm_priority", "100"]}

ALL = [Config(f"{pml}+{coll}", pml, coll, ["--mca", "coll", "^gpuring", "--mca", "pml", pml] + pml_args + coll_args)
       for pml, pml_args in PMLS.items() for coll, coll_args in COLLS.items()]
# Rates that gpuring_bench would measure at each start, for ideals that are not used here.
NOT_MEASURED = ["-B", "1", "-I", "1"]
PROBE_LIMIT = 60  # seconds
NAMES = [config.name for config in ALL]


def gpuring(opts):
    args = ["--mca", "coll", "gpuring"]
    return Config("gpuring", None, "gpuring", args + opts.gpuring_arg)


def peer(name, launch):
    return Config(name, None, None, [], launch)


def command(opts, build, config, program):
    """mpirun's command line; the same for all sides but for the configuration's options."""
    if config.launch:
        return config.launch + program[1:]
    if opts.hosts:
        return between_hosts(opts, build, config.args, program)
    sharing = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if opts.ranks > len(build.cores) else []
    return [build.mpirun, "-np", str(opts.ranks)] + sharing + config.args + program


def between_hosts(opts, build, args, program):
    """The same among namespaces of this machine. Rank r runs on core r modulo their number: the kernel would place ranks
    of several hosts on the same cores differently in each job."""
    network = [f"--rate={opts.rate}"] if opts.rate else []
    network += [f"--delay={opts.delay}"] if opts.delay else []
    pin = ["bash", "-c", 'exec taskset -c $((OMPI_COMM_WORLD_RANK % $(nproc))) "$@"', "-"]
    return [HOSTS, "run", opts.hosts, *network, build.mpirun, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1",
            "-np", str(opts.ranks), *args, *pin, *program]


def installed(build):
    """Names like "coll:han" of the components of this Open MPI."""
    said = subprocess.run([build.ompi_info, "--parsable"], stdout=subprocess.PIPE, universal_newlines=True,
                          env=build.env).stdout
    return {":".join(line.split(":")[1:3]) for line in said.split("\n") if line.startswith("mca:")}


def call_once(opts, build, config, collectives, size):
    """One call of each collective: the result, and None or why it failed."""
    program = [build.bench, *collectives, "-m", f"{size}:{size}", "-i", "1", "-x", "0", *NOT_MEASURED, "-o", "csv"]
    limit = min(opts.timeout, PROBE_LIMIT)
    result = machine.run(command(opts, build, config, program), build.env, limit)
    return result, machine.why(result, limit) if result.status != 0 or result.late else None


def probe(opts, build, config):
    """None where the configuration runs and its collectives are active; else why not."""
    tried = config._replace(args=config.args + ["--mca", "coll_base_verbose", "10"])
    result, failure = call_once(opts, build, tried, ["bcast"], 4)
    said = result.out + result.err
    if failure or config.launch:
        return failure
    if re.search(rf"selecting +{config.coll}, priority +\d+, Enabled", said):
        return None
    reason = re.search(rf"coll:{config.coll}:\w+ \(0/MPI_COMM_WORLD\): (.*?)[,;] disqualif", said)
    return f"coll/{config.coll} is not active" + (f": {reason.group(1)}" if reason else "")


def find(opts, build):
    """The configurations to compare with, and a line per reason why others are not."""
    found, reasons = [], {}
    have = installed(build)
    for config in [config for config in ALL if config.name in opts.configs] + opts.peers:
        lacks = [] if config.launch else [c for c in ("pml:" + config.pml, "coll:" + config.coll) if c not in have]
        reason = "this Open MPI has no " + lacks[0].replace(":", "/") if lacks else probe(opts, build, config)
        if reason:
            reasons.setdefault(reason, []).append(config.name)
        else:
            found.append(config)
    return found, [f"left out: {', '.join(names)}: {reason}" for reason, names in reasons.items()]
