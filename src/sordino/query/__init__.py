# SPDX-License-Identifier: Apache-2.0
"""What can be asked: types, operations, aggregates, and the tree of a question."""
