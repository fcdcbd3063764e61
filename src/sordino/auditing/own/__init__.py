# SPDX-License-Identifier: Apache-2.0
"""What is audited of sordino itself."""
