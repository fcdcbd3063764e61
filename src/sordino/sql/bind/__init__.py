# SPDX-License-Identifier: Apache-2.0
"""From syntax to a typed question: what names mean, and what each clause becomes."""
