# SPDX-License-Identifier: Apache-2.0
"""Cryptographic randomness, and exact draws from it."""
