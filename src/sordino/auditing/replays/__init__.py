# SPDX-License-Identifier: Apache-2.0
"""Record and replay: the same noisy numbers on neighbouring data."""
