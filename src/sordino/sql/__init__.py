# SPDX-License-Identifier: Apache-2.0
"""From SQL text to a question, or to a refusal that says why."""
