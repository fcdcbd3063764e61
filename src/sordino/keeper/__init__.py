# SPDX-License-Identifier: Apache-2.0
"""The keeper: the process that holds data, ledger and people, and has no network."""
