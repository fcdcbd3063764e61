# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: programs that compare speeds within one run, started by ``make bench``."""
