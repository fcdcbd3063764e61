# SPDX-License-Identifier: Apache-2.0
"""Files of reports come back as they were written, are whole or not there, and betray others."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.cli.local import files
from sordino.cli.local.files import Data, check_out, read_pieces, read_protocol, reports_file
from sordino.cli.local.protocols import KINDS, NUMBER_KINDS, AnyProtocol, about, read_about
from sordino.local.protocol import Protocol

PROTOCOLS = [*(f"{name}, {size}" for name in KINDS for size in (3, 300)), *NUMBER_KINDS]


def made(name: str) -> AnyProtocol:
    kind, _, size = name.partition(", ")
    if not size:
        return NUMBER_KINDS[kind](-1, 2.5, epsilon=1)
    return KINDS[kind](["a", "b", "é"] if size == "3" else int(size), epsilon=0.5)


def some(protocol: AnyProtocol, people: int) -> Data:
    label = protocol.labels[1] if isinstance(protocol, Protocol) else 1
    return protocol.client().encode([label] * people).data


def write(path: Path, protocol: AnyProtocol, *pieces: Data, force: bool = False) -> None:
    people = sum(map(len, pieces))
    with reports_file(path, protocol, people, force=force) as add:
        for piece in pieces:
            add(piece)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_reports_come_back_as_they_were_written(name: str, ending: str, tmp_path: Path) -> None:
    path, protocol = tmp_path / f"reports{ending}", made(name)
    pieces = [some(protocol, 5), some(protocol, 1)]
    write(path, protocol, *pieces)
    found, people = read_protocol(path, most=1000)
    read = list(read_pieces(path, found))
    assert (found.fingerprint, people) == (protocol.fingerprint, 6)
    assert np.array_equal(np.concatenate(read), np.concatenate(pieces))
    assert all(protocol.accepts(piece) for piece in read)
    assert sorted(tmp_path.iterdir()) == [path]


def test_reports_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = KINDS["hashing"](5, epsilon=1)
    data = some(protocol, 1000)
    pq.write_table(
        pa.table(
            [files._array(data, pa.binary(12))],
            schema=pa.schema(
                [pa.field("report", pa.binary(12), nullable=False)],
                metadata={b"sordino": about(protocol, 1000).encode()},
            ),
        ),
        tmp_path / "one_group.parquet",
    )
    monkeypatch.setattr(files, "REPORTS_AT_ONCE", 300)
    read = list(read_pieces(tmp_path / "one_group.parquet", protocol))
    assert [len(piece) for piece in read] == [300, 300, 300, 100]
    assert np.array_equal(np.concatenate(read), data)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_that_fails_half_way_is_not_there(ending: str, tmp_path: Path) -> None:
    path, protocol = tmp_path / f"reports{ending}", made("response, 3")

    def fail() -> None:
        with reports_file(path, protocol, 10, force=False) as add:
            add(some(protocol, 5))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_written_over(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, protocol = tmp_path / "reports.csv", made("response, 3")

    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    def late() -> None:
        with reports_file(path, protocol, 5, force=False) as add:
            add(some(protocol, 5))
            path.write_text("another's", "utf-8")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(ValueError, match="is there already; add --force"):
        late()
    assert path.read_text("utf-8") == "another's"
    write(path, protocol, some(protocol, 5), force=True)
    assert read_protocol(path, most=1000)[1] == 5
    write(tmp_path / "new.csv", protocol, some(protocol, 4))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["new.csv", "reports.csv"]


def test_a_disk_that_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    protocol = made("response, 3")
    with pytest.raises(ValueError, match="cannot be written: No space left on device"):
        write(tmp_path / "reports.csv", protocol, some(protocol, 5))
    assert list(tmp_path.iterdir()) == []


def test_the_file_states_all_that_a_server_needs(tmp_path: Path) -> None:
    protocol = KINDS["response"](["yes", "no"], epsilon=0.5)
    write(tmp_path / "r.parquet", protocol, some(protocol, 2))
    write(tmp_path / "r.csv", protocol, some(protocol, 2))
    table = pq.read_schema(tmp_path / "r.parquet")
    line = (tmp_path / "r.csv").read_text("utf-8").splitlines()[0].removeprefix("# ")
    told = json.loads(line)
    assert json.loads(table.metadata[b"sordino"]) == told
    assert told["protocol"] == "response"
    assert told["epsilon"] == "1/2"
    assert told["categories"] == ["yes", "no"]
    assert told["people"] == 2
    assert table.names == ["report"]


GOOD = {
    "kind": "sordino local reports 1",
    "protocol": "response",
    "epsilon": "1",
    "categories": ["yes", "no"],
    "fingerprint": KINDS["response"](["yes", "no"], epsilon=1).fingerprint,
    "people": 7,
}
BAD = [
    {"kind": "another"},
    {"protocol": "no such"},
    {"protocol": ["response"]},
    {"protocol": "piecewise"},
    {"epsilon": 1},
    {"epsilon": "1/0"},
    {"epsilon": "1e9"},
    {"epsilon": "-1"},
    {"categories": ["yes"]},
    {"categories": ["yes", {}]},
    {"categories": None},
    {"people": -1},
    {"people": True},
    {"people": "7"},
    {"people": 1 << 60},
]


@pytest.mark.parametrize("changed", BAD, ids=str)
def test_a_file_that_says_nonsense_of_itself_holds_no_reports(changed: dict[str, object]) -> None:
    path = Path("reports.csv")
    assert read_about(json.dumps(GOOD).encode(), path, most=1000)[1] == 7
    with pytest.raises(ValueError, match=r"reports\.csv holds no reports"):
        read_about(json.dumps(GOOD | changed).encode(), path, most=1000)


def test_categories_that_are_not_listed_are_limited() -> None:
    path, names = Path("reports.csv"), [f"{k:04}" for k in range(1001)]
    for categories, most in ((1001, 1000), (1 << 24, 1000), (10**30, 1 << 24)):
        text = json.dumps(GOOD | {"protocol": "hadamard", "categories": categories}).encode()
        with pytest.raises(ValueError, match=f"{categories:,} categories, and lists none") as found:
            read_about(text, path, most=most)
        assert str(found.value).endswith(f"add --most-categories {categories}")
    for some_categories, most in ((1001, 1001), (names, 1000)):
        protocol = KINDS["hadamard"](some_categories, epsilon=1)
        found_protocol, _ = read_about(about(protocol, 7).encode(), path, most=most)
        assert found_protocol.fingerprint == protocol.fingerprint


def test_lines_that_are_longer_than_a_block_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CSV_BLOCK", 1 << 10)
    protocol = KINDS["unary"](50_000, epsilon=1)
    data = some(protocol, 9)
    write(tmp_path / "reports.csv", protocol, data)
    read = list(read_pieces(tmp_path / "reports.csv", protocol))
    assert len(read) > 1
    assert np.array_equal(np.concatenate(read), data)


def test_lines_of_more_than_a_mebibyte_come_back(tmp_path: Path) -> None:
    protocol = KINDS["unary"](5_000_000, epsilon=1)
    data = np.zeros((2, 625_000), dtype=np.uint8)
    data[1] = 255
    write(tmp_path / "reports.csv", protocol, data)
    read = np.concatenate(list(read_pieces(tmp_path / "reports.csv", protocol)))
    assert np.array_equal(read, data)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_longest_name_that_a_file_may_have_will_do(ending: str, tmp_path: Path) -> None:
    protocol = made("response, 3")
    path = tmp_path / ("a" * (255 - len(ending)) + ending)
    check_out(path, tmp_path / "answers.csv", force=False)
    write(path, protocol, some(protocol, 5))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_even_json_holds_no_reports(text: bytes) -> None:
    with pytest.raises(ValueError, match="holds no reports"):
        read_about(text, Path("reports.csv"), most=1000)


@pytest.mark.parametrize(
    "changed", [{"epsilon": "2"}, {"categories": ["no", "yes"]}, {"fingerprint": "0"}], ids=str
)
def test_a_changed_description_is_seen(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="have been changed; have them made again"):
        read_about(json.dumps(GOOD | changed).encode(), Path("reports.csv"), most=1000)


def damaged(path: Path, protocol: AnyProtocol, body: str) -> Path:
    path.write_text(f"# {about(protocol, 2)}\n{body}", "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("response, 3", ""),
        ("response, 3", "report\n1\n256\n"),
        ("response, 3", "report\n1\nx\n"),
        ("response, 3", 'report\n1\n""\n'),
        ("response, 3", "report\n1\n0x1\n"),
        ("response, 3", "report\n1\n0X1\n"),
        ("response, 3", "report\n1\n\n2\n"),
        ("response, 3", "report\n1\n2\n\n"),
        ("response, 3", "\nreport\n1\n2\n"),
        ("response, 3", "report\n1\n+2\n"),
        ("response, 3", "report\n1\n 2\n"),
        ("response, 3", "report\n1\n2.0\n"),
        ("response, 3", 'report\n1\n"2"\n'),
        ("response, 3", "report,more\n1,2\n2,3\n"),
        ("unary, 3", "report\n80\n\n80\n"),
        ("response, 3", "other\n1\n2\n"),
        ("response, 3", "report\n1\n2,3\n"),
        ("unary, 3", "report\n80\nzz\n"),
        ("unary, 3", "report\n80\n8\n"),
        ("unary, 3", "report\n80\n8 \n"),
        ("unary, 3", "report\n80\né\n"),
        ("unary, 3", "report\n80\n8080\n"),
    ],
)
def test_damaged_lines_are_refused(name: str, body: str, tmp_path: Path) -> None:
    protocol = made(name)
    path = damaged(tmp_path / "reports.csv", protocol, body)
    with pytest.raises(ValueError, match=r"reports\.csv are damaged or cut off"):
        list(read_pieces(path, protocol))


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"report": pa.array([1, 2], pa.int64())}),
        pa.table({"report": pa.array([1, None], pa.uint8())}),
        pa.table({"other": pa.array([1, 2], pa.uint8())}),
        pa.table({"report": pa.array([1], pa.uint8()), "more": [2]}),
    ],
    ids=["type", "missing", "name", "columns"],
)
def test_other_columns_are_no_reports(table: pa.Table, tmp_path: Path) -> None:
    protocol, path = made("response, 3"), tmp_path / "reports.parquet"
    pq.write_table(table, path)
    with pytest.raises(ValueError, match="are damaged or cut off"):
        list(read_pieces(path, protocol))
    with pytest.raises(ValueError, match="holds no reports"):
        read_protocol(path, most=1000)
