# SPDX-License-Identifier: Apache-2.0
"""What can be asked: the catalog, the tree of a question, and SQL."""
