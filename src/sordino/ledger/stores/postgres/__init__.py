# SPDX-License-Identifier: Apache-2.0
"""A ledger in a PostgreSQL database."""
