# SPDX-License-Identifier: BSD-3-Clause
"""python -m gpuring: the component's path, for mpirun -x LD_PRELOAD=..."""
from . import component

print(component)
