# SPDX-License-Identifier: BSD-3-Clause
"""What gpuring_ab is made of."""
