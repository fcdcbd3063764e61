# SPDX-License-Identifier: Apache-2.0
"""From a bounded question to one statement in the dialect of an engine."""
