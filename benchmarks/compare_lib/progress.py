# SPDX-License-Identifier: BSD-3-Clause
"""How far the rounds are, on stderr."""
import sys
import time


class Progress:
    def __init__(self, name, rounds, per_round):
        self.name, self.rounds, self.per_round = name, rounds, per_round
        self.start, self.tty = time.time(), sys.stderr.isatty()

    def step(self, number, done, name):
        if self.tty:
            print(f"\rround {number} of {self.rounds}, run {done + 1} of {self.per_round}: {name}\033[K", end="",
                  file=sys.stderr, flush=True)

    def round_done(self, number):
        took = time.time() - self.start
        left = took / number * (self.rounds - number)
        print(("\r\033[K" if self.tty else "") + f"{self.name}: round {number} of {self.rounds} done in all {took:.0f} s" +
              (f", about {left:.0f} s to go" if left else ""), file=sys.stderr, flush=True)
