# SPDX-License-Identifier: Apache-2.0
"""Bounded questions on Apache Spark, over Spark Connect."""
