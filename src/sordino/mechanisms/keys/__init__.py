# SPDX-License-Identifier: Apache-2.0
"""Which keys may be told, when the keys themselves come from the data."""
