# SPDX-License-Identifier: Apache-2.0
"""What the owner declares: tables, who is protected, public bounds and keys, and budgets."""
