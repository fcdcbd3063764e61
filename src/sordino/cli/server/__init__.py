# SPDX-License-Identifier: Apache-2.0
"""The commands for whoever runs a server."""
