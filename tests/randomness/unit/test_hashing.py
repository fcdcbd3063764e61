# SPDX-License-Identifier: Apache-2.0
"""Keyed hashes are functions of a pair and a secret, and nothing else."""

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sordino.randomness import hashing
from sordino.randomness.hashing import digests, fresh_secret, keyed_hash

SECRET = bytes(range(32))


def column(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def test_a_hash_is_half_a_block_of_aes() -> None:
    key = hashing._subkey(SECRET, "groups")
    block = (7).to_bytes(8, "little") + (2**64 - 3).to_bytes(8, "little")
    sealed = Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(block)  # noqa: S305
    expected = int.from_bytes(sealed[:8], "little")
    assert keyed_hash(column(7), column(-3), SECRET).tolist() == [expected]


def test_the_hash_of_a_pair_does_not_depend_on_its_place_or_on_the_others() -> None:
    ids = np.arange(70_000)
    keys = ids * 7 - 100
    whole = keyed_hash(ids, keys, SECRET)
    order = np.random.default_rng(1).permutation(ids.size)
    assert (keyed_hash(ids[order], keys[order], SECRET) == whole[order]).all()
    assert (
        keyed_hash(ids[65_000:65_003], keys[65_000:65_003], SECRET) == whole[65_000:65_003]
    ).all()
    assert np.unique(whole).size == whole.size


def test_types_of_integers_do_not_matter_but_order_secret_and_purpose_do() -> None:
    a, b = column(1, 2), column(3, 4)
    base = keyed_hash(a, b, SECRET)
    assert (keyed_hash(a.astype(np.uint8), b.astype(np.uint64), SECRET) == base).all()
    assert not (keyed_hash(b, a, SECRET) == base).any()
    assert not (keyed_hash(a, b, bytes(32)) == base).any()
    assert not (keyed_hash(a, b, SECRET, purpose="rows") == base).any()


def test_hashes_have_each_bit_half_of_the_time() -> None:
    hashes = keyed_hash(np.zeros(40_000, dtype=np.int64), np.arange(40_000), SECRET)
    ones = [int(((hashes >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)]
    assert max(abs(count - 20_000) for count in ones) < 600  # six standard deviations; no chance


def test_contents_have_keyed_digests() -> None:
    found = digests([b"a", b"b", b"a", b"a\0", b""], SECRET)
    assert found[0] == found[2]
    assert np.unique(found).size == 4
    assert digests([b"a"], bytes(32))[0] != found[0]
    assert digests([], SECRET).size == 0


def test_secrets_are_fresh_and_long_and_never_shown() -> None:
    assert len(fresh_secret()) == 32
    assert fresh_secret() != fresh_secret()
    with pytest.raises(ValueError, match="at least 16 random bytes") as caught:
        keyed_hash(column(1), column(1), b"hush")
    assert "hush" not in str(caught.value)
    with pytest.raises(TypeError, match="secret must be bytes, got a value of type str"):
        keyed_hash(column(1), column(1), "a secret of sixteen")  # type: ignore[arg-type]


def test_columns_of_other_things_are_refused() -> None:
    with pytest.raises(ValueError, match="two columns of one length"):
        keyed_hash(column(1), column(1, 2), SECRET)
    with pytest.raises(TypeError, match="takes integers, not float64"):
        keyed_hash(np.array([1.0]), column(1), SECRET)
    assert keyed_hash(column(), column(), SECRET).size == 0
