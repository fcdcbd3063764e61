# SPDX-License-Identifier: Apache-2.0
"""Quantiles of private values, one or several at once."""
