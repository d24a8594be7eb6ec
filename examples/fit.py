#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A linear least-squares fit by gradient descent, with NumPy arrays and mpi4py:

    mpirun -np 2 --mca coll gpuring python3 fit.py

The ranks share the samples; each knows all parameters. In each iteration a rank computes the gradient of its samples, and
Allreduce sums the ranks' gradients in place. At the end Allgather collects the residuals of all samples.

The samples follow known parameters exactly, so the program knows how far it is off. Rank 0 prints the iterations and the
largest error; all ranks end with 0 if that is small.
"""
import sys

import numpy as np
from mpi4py import MPI

PARAMETERS, MOST = 256, 1000

comm = MPI.COMM_WORLD
samples = 2048 // comm.size # of this rank
wanted = np.sin(np.arange(PARAMETERS))
x = np.random.default_rng(comm.rank).uniform(-1.5, 1.5, (samples, PARAMETERS))
y = x @ wanted

w = np.zeros(PARAMETERS)
gradient = np.empty(PARAMETERS)
largest = 1.0
iterations = 0
while largest > 1e-8 and iterations < MOST:
    np.matmul(x.T, x @ w - y, out=gradient)
    comm.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)
    w -= 0.5 / (samples * comm.size) * gradient
    largest = np.abs(gradient).max() # the same on all ranks
    iterations += 1

residuals = np.empty(samples * comm.size)
comm.Allgather(x @ w - y, residuals)
error = np.abs(residuals).max()
if comm.rank == 0:
    print(f"{iterations} iterations, largest error {error:.3g}: {'right' if error < 1e-6 else 'WRONG'}")
sys.exit(0 if error < 1e-6 else 1)
