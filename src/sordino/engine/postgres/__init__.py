# SPDX-License-Identifier: Apache-2.0
"""Bounded questions on PostgreSQL."""
