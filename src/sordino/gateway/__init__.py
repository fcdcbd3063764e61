# SPDX-License-Identifier: Apache-2.0
"""The gateway: HTTP on one side, the keeper's socket on the other, and nothing in between."""
