# SPDX-License-Identifier: Apache-2.0
"""Exact and certified arithmetic: fractions, balls, and rounding in a known direction."""
