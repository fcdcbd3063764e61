# SPDX-License-Identifier: Apache-2.0
import pytest
import sqlglot
from sqlglot import exp

from sordino.errors import QueryError
from sordino.sql.parse import parse
from sordino.sql.whitelist import check_calls, check_complete, place, words
from tests.fixtures.hospital import hospital
from tests.fixtures.sql_cases import accepted

CATALOG = hospital()


def read(sql: str) -> exp.Select:
    tree = sqlglot.parse(sql, read="duckdb")[0]
    assert isinstance(tree, exp.Select)
    place(tree, words(sql))
    return tree


def titles(sql: str) -> list[str]:
    return [output.title for output in parse(sql, CATALOG).post.outputs]


@pytest.mark.parametrize("sql", accepted())
def test_every_word_of_an_ordinary_question_is_in_the_tree(sql: str) -> None:
    check_complete(read(sql), words(sql))


@pytest.mark.parametrize(
    ("dropped", "mark"),
    [
        ("SELECT QUANTILE(x, 0.1, 0.9) FROM t", "0.9"),
        ("SELECT QUANTILE(x, 0.1, y) FROM t", "y"),
        ("SELECT QUANTILE(x, 0.1, TRUE) FROM t", "TRUE"),
        ("SELECT QUANTILE(x, 0.1, NULL) FROM t", "NULL"),
        ("SELECT QUANTILE(x, 0.1, 'a') FROM t", "'a'"),
        ("SELECT DATE_TRUNC('month', x, 'zone') FROM t", "'zone'"),
        ("SELECT CAST(x AS VARCHAR(3)) FROM t", "3"),
    ],
)
def test_what_the_parser_drops_is_found(dropped: str, mark: str) -> None:
    with pytest.raises(QueryError) as caught:
        check_complete(read(dropped), words(dropped))
    assert caught.value.code == "construct"
    start, stop = caught.value.span or (0, 0)
    assert dropped[start:stop] == mark


@pytest.mark.parametrize("part", ["WHERE", "a + b", "FROM t", "x", "1"])
def test_what_is_cut_out_of_the_tree_is_found(part: str) -> None:
    sql = "SELECT SUM(x) FROM t WHERE (a + b) > 1"
    tree = read(sql)
    gone = {
        "WHERE": tree.args["where"],
        "a + b": tree.find(exp.Add),
        "FROM t": tree.args["from_"],
        "x": tree.find(exp.Sum),
        "1": tree.find(exp.Literal),
    }[part]
    assert gone is not None
    gone.pop()
    with pytest.raises(QueryError):
        check_complete(tree, words(sql))


def test_calls_are_counted_with_their_values_whatever_stands_inside() -> None:
    written = words(
        "SELECT f(a, (b, c), g(1, 2), [3, 4]), h(), i ( 'x,y' ) FROM t WHERE a IN (1, 2)"
    )
    named = [(written.tokens[call.place].text, call.values) for call in written.calls]
    assert named == [("f", 4), ("g", 2), ("h", 0), ("i", 1), ("IN", 2)]


def test_too_many_values_are_refused_with_what_to_write() -> None:
    with pytest.raises(QueryError) as caught:
        check_calls(words("SELECT Quantile(cost, 0.1, 0.9) FROM visits"))
    assert caught.value.message == "Quantile takes two values, not 3"
    assert caught.value.hint == "write QUANTILE(x, 0.5), and one QUANTILE for each share"
    assert caught.value.span == (7, 31)


def test_long_nests_of_calls_are_counted_in_time() -> None:
    assert len(words("f(" * 4_000 + ")" * 4_000).calls) == 4_000


def test_columns_without_a_name_are_called_by_their_text() -> None:
    assert titles(
        "SELECT percentile_cont(0.5) WITHIN GROUP\n  (ORDER BY cost), count( * ) /* rows */, "
        "COUNT(*)::DOUBLE, IFNULL(SUM(cost), 0), AVG(v.cost) AS mean FROM visits v"
    ) == [
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)",
        "count( * )",
        "COUNT(*)::DOUBLE",
        "IFNULL(SUM(cost), 0)",
        "mean",
    ]
    assert titles("SELECT (v.disease), SUM(cost) FROM visits v GROUP BY 1") == [
        "disease",
        "SUM(cost)",
    ]
    within = "WITH a AS (SELECT disease, cost FROM visits) SELECT MAX(cost), MIN( cost ) FROM a"
    assert titles(within) == ["MAX(cost)", "MIN( cost )"]
