# SPDX-License-Identifier: Apache-2.0
"""What the keeper and the gateway say to each other, and who may say what."""
