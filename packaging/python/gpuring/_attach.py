# SPDX-License-Identifier: BSD-3-Clause
"""Gives gpuring's component to the Open MPI of a process that imports mpi4py.MPI.

gpuring.pth imports this at each start of Python. mpi4py calls MPI_Init while it is imported, so the component is loaded
between the loading of libmpi and that. GPURING_ATTACH=0 in the environment: nothing is done.
"""
import os
import sys


def _attach():
    import ctypes

    from . import component, directory

    # an Open MPI that opens components finds it there; that of the package index takes it when it is loaded
    path = os.path.join(directory, "lib", "gpuring")
    os.environ.setdefault("OMPI_MCA_mca_base_component_path", "SYSTEM_DEFAULT:" + path)
    os.environ.setdefault("OMPI_MCA_coll_gpuring_host", "1")
    try:
        ctypes.CDLL(component)
    except OSError as error:
        print(f"gpuring: {error}; gpuring is off", file=sys.stderr)


class _Loader:
    """The loader of mpi4py.MPI, and the component between its two steps."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        module = self._loader.create_module(spec)
        _attach()
        return module

    def exec_module(self, module):
        self._loader.exec_module(module)


class _Finder:
    @classmethod
    def find_spec(cls, fullname, path, target=None):
        if fullname != "mpi4py.MPI":
            return None
        sys.meta_path.remove(cls)
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader)
                return spec
        return None


if os.environ.get("GPURING_ATTACH") != "0":
    sys.meta_path.insert(0, _Finder)
