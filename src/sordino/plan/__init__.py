# SPDX-License-Identifier: Apache-2.0
"""From a question to a plan: what is cut, which noise, what it costs; all of it public."""
