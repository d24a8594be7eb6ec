#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An MPI program in Python that knows nothing of gpuring: collectives on NumPy arrays, on CuPy arrays, or on memory
that the CUDA driver gives. Every result is checked; prints TAP on rank 0.

    mpirun -np 4 --mca coll gpuring python3 mpi4py_collectives.py --cupy

mpi4py (3.1 or newer) takes any object that says by __cuda_array_interface__ where it lies. CuPy's arrays do; so does
DeviceArray here, which needs the driver only. With --memory mixed the even ranks have those, the odd ones NumPy arrays.
"""
import argparse
import ctypes
import functools
import os
import sys

import numpy as np

TYPES = ["float32", "float64", "int32", "int64", "uint8", "complex64"]
COUNTS = [1, 1000, 40000]


# ---- kinds of memory: each has make(values), an array that MPI takes, and look(array), its values ----

class Host:
    make = staticmethod(np.array)
    look = staticmethod(np.array)


class Cupy:
    def __init__(self):
        import cupy
        cupy.cuda.Device(0).use()
        self.make, self.look = cupy.asarray, cupy.asnumpy


class DeviceArray:
    """As much of a CuPy array as mpi4py looks at."""
    def __init__(self, address, like):
        self.like = like
        self.__cuda_array_interface__ = {"shape": like.shape, "typestr": like.dtype.str, "data": (address, False),
                                         "strides": None, "version": 3}


class Driver:
    """Memory of the device 0, by the driver alone."""
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        result = getattr(self.cuda, name)(*args)
        if result != 0:
            raise RuntimeError(f"{name}: CUDA error {result}")

    def make(self, values):
        values = np.array(values)
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(values.nbytes, 1)))
        self.call("cuMemcpyHtoD_v2", address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))
        self.call("cuStreamSynchronize", None)
        return DeviceArray(address.value, values)

    def look(self, array):
        values = np.empty_like(array.like)
        address = ctypes.c_uint64(array.__cuda_array_interface__["data"][0])
        self.call("cuMemcpyDtoH_v2", values.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(values.nbytes))
        return values


# ---- the collectives: each takes who calls and yields (array, what it must be) ----

class Caller:
    """A rank with its memory. given(rank): what that rank puts in; small whole numbers, so that sums are exact."""
    def __init__(self, comm, memory, dtype, count):
        self.comm, self.memory, self.dtype, self.count = comm, memory, np.dtype(dtype), count
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def given(self, rank, count=None):
        at = np.arange(self.count if count is None else count)
        return ((at * 7 + rank * 3 + 1) % 11).astype(self.dtype)

    def array(self, values):
        return self.memory.make(values)

    def mine(self, count=None):
        return self.array(self.given(self.rank, count))

    def room(self, count):
        return self.array(np.full(count, 99, self.dtype))

    def combined(self, how=np.add, count=None):
        return functools.reduce(how, [self.given(r, count) for r in range(self.size)]).astype(self.dtype)

    def block(self, values, rank):
        return values[rank * self.count:(rank + 1) * self.count]


def allreduce(c, mpi):
    out = c.room(c.count)
    c.comm.Allreduce(c.mine(), out)
    yield out, c.combined()


def allreduce_max(c, mpi):
    out = c.room(c.count)
    c.comm.Allreduce(c.mine(), out, op=mpi.MAX)
    yield out, c.combined(np.maximum)


def allreduce_in_place(c, mpi):
    out = c.mine()
    c.comm.Allreduce(mpi.IN_PLACE, out)
    yield out, c.combined()


def iallreduce(c, mpi):
    given = c.mine()  # has a name: mpi4py 3.1 does not keep a temporary until the request is done
    outs = [c.room(c.count), c.mine()]
    requests = [c.comm.Iallreduce(given, outs[0]), c.comm.Iallreduce(mpi.IN_PLACE, outs[1])]
    mpi.Request.Waitall(requests)
    for out in outs:
        yield out, c.combined()


def allgather(c, mpi):
    out = c.room(c.count * c.size)
    c.comm.Allgather(c.mine(), out)
    yield out, np.concatenate([c.given(r) for r in range(c.size)])


def allgather_in_place(c, mpi):
    values = np.full(c.count * c.size, 99, c.dtype)
    c.block(values, c.rank)[:] = c.given(c.rank)
    out = c.array(values)
    c.comm.Allgather(mpi.IN_PLACE, out)
    yield out, np.concatenate([c.given(r) for r in range(c.size)])


def allgatherv(c, mpi):
    counts = [c.count + r for r in range(c.size)]
    out = c.room(sum(counts))
    c.comm.Allgatherv(c.mine(counts[c.rank]), [out, counts])
    yield out, np.concatenate([c.given(r, counts[r]) for r in range(c.size)])


def bcast(c, mpi):
    for root in {0, c.size - 1}:
        out = c.mine()
        c.comm.Bcast(out, root=root)
        yield out, c.given(root)


def reduce(c, mpi):
    for root in {0, c.size - 1}:
        out = c.room(c.count)
        c.comm.Reduce(c.mine(), out if c.rank == root else None, root=root)
        yield out, c.combined() if c.rank == root else np.full(c.count, 99, c.dtype)


def reduce_in_place(c, mpi):
    out = c.mine()
    c.comm.Reduce(mpi.IN_PLACE if c.rank == 0 else out, out if c.rank == 0 else None, root=0)
    yield out, c.combined() if c.rank == 0 else c.given(c.rank)


def reduce_scatter(c, mpi):
    counts = [c.count + r for r in range(c.size)]
    out = c.room(counts[c.rank])
    c.comm.Reduce_scatter(c.mine(sum(counts)), out, counts)
    at = sum(counts[:c.rank])
    yield out, c.combined(count=sum(counts))[at:at + counts[c.rank]]


def reduce_scatter_block(c, mpi):
    out = c.room(c.count)
    c.comm.Reduce_scatter_block(c.mine(c.count * c.size), out)
    yield out, c.block(c.combined(count=c.count * c.size), c.rank)


def alltoall(c, mpi):
    out = c.room(c.count * c.size)
    c.comm.Alltoall(c.mine(c.count * c.size), out)
    yield out, np.concatenate([c.block(c.given(r, c.count * c.size), c.rank) for r in range(c.size)])


COLLECTIVES = [allreduce, allreduce_max, allreduce_in_place, iallreduce, allgather, allgather_in_place, allgatherv,
               bcast, reduce, reduce_in_place, reduce_scatter, reduce_scatter_block, alltoall]


def cases(collectives):
    """All but the largest of complex numbers, which there is not."""
    return [(c, dtype) for c in collectives for dtype in TYPES if (c, dtype) != (allreduce_max, "complex64")]


# ---- running ----

def wrong_elements(caller, collective, mpi, corrupt):
    """Of this rank."""
    wrong = 0
    for array, wanted in collective(caller, mpi):
        values = caller.memory.look(array)
        if corrupt and caller.rank == 0:
            values[-1] += 1
        wrong += int(np.count_nonzero(values != wanted))
    return wrong


def open_memory(name):
    if name == "mixed":
        name = "device" if int(os.environ["OMPI_COMM_WORLD_RANK"]) % 2 == 0 else "host"
    return {"host": Host, "device": Driver, "cupy": Cupy}[name]()


def parse():
    names = [collective.__name__ for collective in COLLECTIVES]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("collectives", nargs="*", metavar="COLLECTIVE", help=" ".join(names) + "; default: all")
    parser.add_argument("--memory", choices=["host", "device", "cupy", "mixed"], default="host")
    parser.add_argument("--cupy", dest="memory", action="store_const", const="cupy", help="as --memory cupy")
    parser.add_argument("--early", action="store_true", help="the driver is opened before MPI_Init")
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="elements of each rank")
    parser.add_argument("--corrupt", action="store_true", help="for tests: one element is wrong before each check")
    opts = parser.parse_args()
    for name in set(opts.collectives) - set(names):
        parser.error(f"{name} is none of: {' '.join(names)}")
    opts.collectives = [c for c in COLLECTIVES if not opts.collectives or c.__name__ in opts.collectives]
    return opts


def main():
    opts = parse()
    memory = open_memory(opts.memory) if opts.early else None
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    memory = memory or open_memory(opts.memory)
    failed = number = 0
    for collective, dtype in cases(opts.collectives):
        wrong = sum(wrong_elements(Caller(comm, memory, dtype, count), collective, MPI, opts.corrupt)
                    for count in opts.counts)
        wrong = comm.allreduce(wrong)
        number += 1
        failed += wrong > 0
        if comm.Get_rank() == 0:
            print(f"{'not ok' if wrong else 'ok'} {number} - {collective.__name__} {dtype}" +
                  (f": {wrong} wrong elements" if wrong else ""))
    if comm.Get_rank() == 0:
        print(f"1..{number}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
