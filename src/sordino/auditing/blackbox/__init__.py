# SPDX-License-Identifier: Apache-2.0
"""Auditing any mechanism by running it on two inputs."""
