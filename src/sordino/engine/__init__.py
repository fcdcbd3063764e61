# SPDX-License-Identifier: Apache-2.0
"""Engines compute exact bounded integers from private rows, and hand them over sealed."""
