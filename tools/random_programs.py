#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs random correct MPI programs (tests/mpi/random/) in batches, and shrinks failing programs.

    tools/random_programs.py --state=FILE --count=10000             continue from FILE until 10000 programs were run
    tools/random_programs.py --seed=77 --count=1 --ranks=3          one program
    tools/random_programs.py --stock ...                            Open MPI without gpuring

A batch is one mpirun with some hundred seeds; the first seed determines the ranks and MCA parameters. For a failing program
the seed, the shortest variant that still fails, its steps as text, and the command are printed and stored in FILE.
"""
import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Parameters of a batch, used in turns. Some faults appear only with small slots or a progress thread.
VARIATIONS = [
    "",
    "coll_gpuring_mailbox_bytes=0",
    "coll_gpuring_single_copy=0",
    "coll_gpuring_progress_thread=1",
    "coll_gpuring_slots=2 coll_gpuring_slot_bytes=512 coll_gpuring_channels=2",
    "coll_gpuring_algorithm=ring coll_gpuring_mailbox_bytes=0",
    "coll_gpuring_algorithm=tree coll_gpuring_slot_bytes=1024",
    "coll_gpuring_algorithm=flat",
    "coll_gpuring_algorithm=chain",
    "coll_gpuring_algorithm=doubling",
    "coll_gpuring_progress_thread=1 coll_gpuring_mailbox_bytes=0",
    "coll_gpuring_single_copy=0 coll_gpuring_slots=2",
]

# The same with --device.
DEVICE_VARIATIONS = [
    "",
    "coll_gpuring_device_channels=2 coll_gpuring_device_slot_bytes=16384",
    "coll_gpuring_device_channels=1 coll_gpuring_device_slots=2 coll_gpuring_device_slot_bytes=4096",
    "coll_gpuring_host=0",
    "coll_gpuring_device_pool_mib=1 coll_gpuring_stage_bytes=1024",
    "coll_gpuring_host=0 coll_gpuring_device_pool_mib=1",
    "coll_gpuring_progress_thread=1",
    "coll_gpuring_protocol=ll coll_gpuring_device_channels=2",
    "coll_gpuring_protocol=simple coll_gpuring_algorithm=tree",
    "coll_gpuring_algorithm=oneshot",
    "coll_gpuring_stage_bytes=512",
]


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(ROOT, "build"), help="build directory")
    p.add_argument("--stock", action="store_true", help="without gpuring")
    p.add_argument("--seed", type=int, default=1, help="of the first program")
    p.add_argument("--count", type=int, default=100, help="programs in all, with those that FILE knows")
    p.add_argument("--batch", type=int, default=200, help="programs in one mpirun")
    p.add_argument("--ranks", default="2,3,4,5", help="numbers of ranks, one of which a batch has")
    p.add_argument("--threads", default="1", help="numbers of threads, likewise")
    p.add_argument("--device", action="store_true", help="buffers on the fake CUDA driver's devices, too")
    p.add_argument("--hosts", help="a layout of tests/hosts/hosts.sh, 2x2: its ranks")
    p.add_argument("--mca", help="parameters, as 'NAME=VALUE NAME=VALUE', instead of the variations")
    p.add_argument("--limit", type=int, default=20, help="seconds after which a program hangs")
    p.add_argument("--state", help="file that says how far it is, and what failed")
    p.add_argument("--no-shrink", action="store_true")
    p.add_argument("program", nargs="*", help="behind --: options of the program, as --no-idup")
    return p.parse_args()


class Runner:
    def __init__(self, args):
        self.args = args
        self.series = 4
        with open(os.path.join(args.build, "Makefile"), encoding="utf-8") as makefile:
            found = dict(re.findall(r"^(ompi_series|OMPI_INFO) = (.*)$", makefile.read(), re.M))
        self.series = int(found.get("ompi_series", "4"))
        info = found.get("OMPI_INFO", "ompi_info")
        self.prefix = os.path.dirname(info)

    def command(self, config):
        """mpirun and its options, without the program's."""
        args = self.args
        mpirun = os.path.join(self.prefix, "mpirun") if self.prefix else "mpirun"
        line = [mpirun]
        if args.hosts:
            line = [os.path.join(ROOT, "tests/hosts/hosts.sh"), "run", args.hosts] + line
        else:
            line += ["--oversubscribe"]
        component = os.path.join(args.build, "component")
        if self.series >= 5:
            line += ["-x", "OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:" + component,
                     "--mca", "mca_base_component_show_load_errors", "0"]
        else:
            line += ["--mca", "mca_base_component_path", "SYSTEM_DEFAULT:" + component]
        # op/avx of Open MPI 4.1.4 saturates sums of small integers
        line += ["--mca", "mpi_yield_when_idle", "1", "--mca", "op", "^avx", "-np", str(config["ranks"])]
        if args.stock:
            line += ["--mca", "coll", "^gpuring"]
        else:
            line += ["--mca", "coll", "gpuring", "--mca", "coll_gpuring_timeout", "4"]
            if args.hosts:
                line += ["--mca", "coll_gpuring_nodes", "1"]
            pairs = config["mca"].split()
            if "coll_gpuring_host=" not in config["mca"]:
                pairs.append("coll_gpuring_host=1")
            for pair in pairs:
                line += ["--mca"] + pair.split("=", 1)
        small = ["--max-bytes=40000"] if "slot_bytes" in config["mca"] and not args.stock else []
        program = os.path.join(args.build, "tests/mpi/random_programs")
        return line + [program, "--threads=%d" % config["threads"]] + \
            ([] if args.stock or "_host=0" in config["mca"] else ["--beyond"]) + small + args.program

    def environment(self):
        env = dict(os.environ)
        for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT",
                     "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"):
            env[name] = "1"
        if self.args.device:
            fake = os.path.join(self.args.build, "tests/fakes/cuda/lib")
            env["LD_LIBRARY_PATH"] = fake + ":" + env.get("LD_LIBRARY_PATH", "")
            env.update(GPURING_MEMORY="mixed", FAKECUDA_SMS="64", FAKECUDA_DEVICES="2")
        return env

    def run(self, config, options, seconds):
        """Exit status, output, and the last seed that was started."""
        with tempfile.TemporaryDirectory() as folder:
            at = os.path.join(folder, "at")
            line = self.command(config) + options + ["--at=" + at]
            with subprocess.Popen(line, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, start_new_session=True) as process:
                try:
                    output, _ = process.communicate(timeout=seconds)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, 9)
                    output, _ = process.communicate()
                    process.returncode = 124
            seed = None
            if os.path.exists(at):
                with open(at, encoding="utf-8") as file:
                    text = file.read().strip()
                    seed = int(text) if text else None
            return process.returncode, output.decode(errors="replace"), seed

    # ---- shrinking ----

    def fails(self, config, seed, without, repeats, limit):
        options = ["--seed=%d" % seed, "--count=1", "--repeats=%d" % repeats, "--limit=%d" % limit,
                   "--without=" + ",".join(map(str, sorted(without)))]
        status, output, _ = self.run(config, options, repeats * limit + 30)
        return status != 0, output

    def steps(self, config, seed, without=()):
        """The steps of the program: their numbers, and lines of text. The program may not reach its end."""
        options = ["--seed=%d" % seed, "--count=1", "--print", "--limit=3",
                   "--without=" + ",".join(map(str, sorted(without)))]
        _, output, _ = self.run(config, options, 60)
        lines = re.findall(r"^# seed \d+ (thread \d+: (\d+): .*)$", output, re.M)
        return sorted({int(number) for _, number in lines}), [line for line, _ in lines]

    def shrink(self, config, seed):
        """Leave out steps while the program still fails. Returns the numbers of the steps that were left out."""
        limit = max(4, self.args.limit // 4)
        steps, _ = self.steps(config, seed)
        for repeats in (1, 20, 100):
            bad, _ = self.fails(config, seed, set(), repeats, limit)
            if bad:
                break
        else:
            return None, 1
        # several times, so that a sporadic failure is not taken for fixed
        repeats = min(100, repeats * 5)
        without, size = set(), max(1, len(steps) // 2)
        while True:
            left = [k for k in steps if k not in without]
            shorter = False
            for at in range(0, len(left), size):
                attempt = without | set(left[at:at + size])
                if len(attempt) == len(steps):
                    continue
                if self.fails(config, seed, attempt, repeats, limit)[0]:
                    without, shorter = attempt, True
            if not shorter and size == 1:
                return without, repeats
            size = max(1, size // 2) if not shorter else size


def complaint(output):
    lines = [line for line in output.splitlines()
             if re.search(r"FAILED seed|HANGS seed|Segmentation|Signal:|gpuring:|MPI_ERR|abort", line)]
    return lines[:14] or output.splitlines()[-10:]


def load(path):
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    return {"done": 0, "failures": []}


def save(path, state):
    if path:
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(state, file, indent=1)
        os.replace(path + ".new", path)


def draw_config(args, seed):
    rng = random.Random(seed)
    config = {"ranks": int(rng.choice(args.ranks.split(","))),
              "threads": int(rng.choice(args.threads.split(","))),
              "mca": rng.choice(DEVICE_VARIATIONS if args.device else VARIATIONS)}
    if args.mca is not None:
        config["mca"] = args.mca
    if args.hosts:
        layout = args.hosts.split()[0]
        hosts, _, each = layout.partition("x")
        config["ranks"] = int(hosts) * int(each) if each else sum(map(int, layout.split("+")))
    return config


def report_failure(runner, config, seed, output):
    failure = {"seed": seed, "config": config, "said": complaint(output)}
    what = "stock" if runner.args.stock else config["mca"] or "no parameters"
    print("seed %d, %d ranks, %s: fails" % (seed, config["ranks"], what))
    print("\n".join("    " + line for line in failure["said"]))
    sys.stdout.flush()
    if not runner.args.no_shrink:
        without, repeats = runner.shrink(config, seed)
        if without is None:
            print("  alone it does not fail again")
        else:
            failure["without"] = sorted(without)
            _, failure["program"] = runner.steps(config, seed, without)
            print("  the shortest program that still fails (repeats %d):" % repeats)
            print("\n".join("    " + line for line in failure["program"]))
        options = ["--seed=%d" % seed, "--count=1", "--repeats=%d" % repeats]
        if without:
            options.append("--without=" + ",".join(map(str, sorted(without))))
        print("  " + shlex.join(runner.command(config) + options))
    sys.stdout.flush()
    return failure


def main():
    args = parse()
    runner = Runner(args)
    state = load(args.state)
    while state["done"] < args.count:
        first = args.seed + state["done"]
        batch = min(args.batch, args.count - state["done"])
        config = draw_config(args, first - (first - args.seed) % args.batch)
        options = ["--seed=%d" % first, "--count=%d" % batch, "--limit=%d" % args.limit]
        status, output, at = runner.run(config, options, 60 + 10 * batch)
        if status == 0:
            state["done"] += batch
        elif at is None:
            print("no program was started:\n" + output)
            return 2
        else:
            state["failures"].append(report_failure(runner, config, at, output))
            state["done"] = at + 1 - args.seed
        save(args.state, state)
        print("%d programs run, %d failures" % (state["done"], len(state["failures"])))
        sys.stdout.flush()
    return 1 if state["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
