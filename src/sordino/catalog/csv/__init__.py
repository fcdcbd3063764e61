# SPDX-License-Identifier: Apache-2.0
"""CSV files: where cells lie, how they are decoded, and what their values mean."""
