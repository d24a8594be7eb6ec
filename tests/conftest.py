# SPDX-License-Identifier: BSD-3-Clause
"""What tests are given."""

import pytest

from rows.run import Runner

pytest_plugins = ["rows.tap"]


@pytest.fixture(scope="module")
def mpi(request):
    """Runs programs as the module wants all of its own to: ENV, a dict, and OPTIONS, a string."""
    return Runner(getattr(request.module, "ENV", None), getattr(request.module, "OPTIONS", ""))
