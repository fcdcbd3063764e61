# SPDX-License-Identifier: Apache-2.0
"""Who has spent what: charged before anything is looked at, and never given back."""
