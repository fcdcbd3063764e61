# SPDX-License-Identifier: Apache-2.0
"""Cryptographic randomness and exact arithmetic: the layer everything else stands on."""
