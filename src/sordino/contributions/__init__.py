# SPDX-License-Identifier: Apache-2.0
"""Cutting what one person contributes, on arrays."""
