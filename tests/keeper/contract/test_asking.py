# SPDX-License-Identifier: Apache-2.0
"""A price is signed, an answer is charged once, and both say the same."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from sordino.answer.answer import from_bytes
from sordino.keeper import quotes
from tests.keeper.study import COUNT, Study, code, question, study, told

ARABIC = "\u0660.\u0661"  # a tenth, in digits that Python would read


def priced(served: Study, credential: str, **terms: Any) -> dict[str, Any]:
    reply = served.send("prices", credential, {"questions": [question(**terms)]})
    (found,) = told(reply)["prices"]
    assert isinstance(found, dict)
    return found


def test_a_quote_is_answered_at_its_price(served: Study) -> None:
    ann = served.person("ann", "analyst")
    price = priced(served, ann)
    assert served.charges == []
    answer = told(served.send("ask", ann, {"quote": price["quote"]}))
    assert answer["price_nanos"] == price["price_nanos"] == 100_000_000
    assert [
        {"title": column["title"], "type": column["type"], "kind": column["kind"]}
        for column in answer["columns"]
    ] == [
        {name: column[name] for name in ("title", "type", "kind")}
        for column in price["columns_of_answer"]
    ]
    (charge,) = served.charges
    assert (charge.who, charge.price) == ("ann", 100_000_000)


def test_the_same_question_again_costs_nothing(served: Study) -> None:
    ann = served.person("ann", "analyst")
    first, second = told(served.ask(ann)), told(served.ask(ann))
    assert (first["again"], second["again"]) == (False, True)
    assert first["rows"] == second["rows"]
    assert len(served.charges) == 1


def test_two_analysts_are_charged_each(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    served.ask(ann)
    served.ask(bob)
    assert [charge.who for charge in served.charges] == ["ann", "bob"]


def test_a_record_is_the_answer_of_a_session(served: Study) -> None:
    ann = served.person("ann", "analyst")
    reply = served.ask(ann, query={"format": "record"})
    assert reply.media == "application/vnd.sordino.answer"
    answer = from_bytes(reply.body)
    stored = told(served.send("answer", ann, path={"answer": "people:2"}))
    assert answer.receipt == stored["receipt"]
    again = served.ask(ann, query={"format": "record"})
    assert (again.body, again.headers) == (reply.body, {"Sordino-Again": "1"})


@pytest.mark.parametrize("form", ["json", "csv", "arrow", "record", "certificate", "text"])
def test_a_stored_answer_has_several_forms(served: Study, form: str) -> None:
    ann = served.person("ann", "analyst")
    served.ask(ann)
    reply = served.send("answer", ann, path={"answer": "people:2"}, query={"format": form})
    assert reply.status == 200
    assert reply.body


def test_answers_of_others_are_as_little_there_as_none(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    auditor, owner = served.person("ida", "auditor"), served.person("olga", "owner")
    served.ask(ann)
    mine = {"answer": "people:2"}
    nothing = served.send("answer", bob, path={"answer": "people:99"})
    assert served.send("answer", bob, path=mine) == nothing
    assert served.send("answer", bob, path={"answer": "other:2"}) == nothing
    assert served.send("answer", bob, path={"answer": "2"}) == nothing
    assert served.send("answer", auditor, path=mine) == nothing
    certificate = served.send("answer", auditor, path=mine, query={"format": "certificate"})
    assert certificate.status == 200
    assert served.send("answer", owner, path=mine).status == 200


def test_a_forged_quote_buys_nothing(served: Study) -> None:
    ann = served.person("ann", "analyst")
    body, _, signature = priced(served, ann)["quote"].partition(".")
    other, _, _ = priced(served, ann, epsilon="0.2")["quote"].partition(".")
    flipped = ("A" if signature[0] != "A" else "B") + signature[1:]
    wrong = [
        f"{other}.{signature}",
        f"{body}.{flipped}",
        body,
        f"{body}.",
        f".{signature}",
        "x.y",
        "",
    ]
    for quote in [*wrong, f"{body}=.{signature}", f"{body}.{signature}\n", f"{body}.é"]:
        reply = served.send("ask", ann, {"quote": quote})
        assert (reply.status, code(reply)) == (403, "quote_wrong"), quote
    assert served.charges == []


def test_a_quote_is_for_one_person(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    reply = served.send("ask", bob, {"quote": priced(served, ann)["quote"]})
    assert (reply.status, code(reply)) == (403, "quote_wrong")


def test_a_quote_expires(served: Study) -> None:
    ann = served.person("ann", "analyst")
    quote = priced(served, ann)["quote"]
    served.time.now += quotes.SECONDS
    reply = served.send("ask", ann, {"quote": quote})
    assert (reply.status, code(reply)) == (400, "quote_expired")
    assert served.charges == []


def test_a_quote_of_an_older_generation_is_not_priced_anew(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    quote = priced(served, ann)["quote"]
    body = {"text": served.text(epsilon="4"), "why": "more"}
    assert served.send("swap", olga, body).status == 201
    reply = served.send("ask", ann, {"quote": quote})
    assert (reply.status, code(reply)) == (412, "generation_changed")
    assert served.charges == []


def test_a_quote_of_another_server_is_worth_nothing(served: Study, tmp_path: Path) -> None:
    ann = served.person("ann", "analyst")
    with study(tmp_path / "other") as other:
        quote = priced(other, other.person("ann", "analyst"))["quote"]
    assert code(served.send("ask", ann, {"quote": quote})) == "quote_wrong"


def test_either_a_quote_or_a_question(served: Study) -> None:
    ann = served.person("ann", "analyst")
    quote = priced(served, ann)["quote"]
    assert served.send("ask", ann, {}).status == 400
    assert served.send("ask", ann, {"quote": quote, "question": question()}).status == 400


def test_equal_questions_at_once_are_charged_once(served: Study) -> None:
    ann = served.person("ann", "analyst")
    many = 16
    start = Barrier(many)

    def one(_: int) -> Any:
        start.wait()
        return told(served.ask(ann))["rows"]

    with ThreadPoolExecutor(many) as pool:
        rows = list(pool.map(one, range(many)))
    assert all(row == rows[0] for row in rows)
    assert len(served.charges) == 1


def test_what_is_wrong_with_one_price_does_not_hide_the_others(served: Study) -> None:
    ann = served.person("ann", "analyst")
    asked = [question(), question(sql="SELECT x FROM visits"), question(epsilon=ARABIC)]
    found = told(served.send("prices", ann, {"questions": asked}))["prices"]
    assert "quote" in found[0]
    assert found[1]["problem"]["status"] == 422
    assert found[2]["problem"]["status"] == 400


@pytest.mark.parametrize(
    "terms",
    [
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"epsilon": "NaN"},
        {"epsilon": "Infinity"},
        {"epsilon": "1" * 400},
        {"epsilon": "1e999999999"},
        {"epsilon": ARABIC},
        {"epsilon": "1_0"},
        {"epsilon": " 1"},
        {"epsilon": True},
        {"epsilon": 1e308},
        {"epsilon": 5e-324},
        {"epsilon": 1, "within": 5},
        {"within": {"m": 5}},
        {"within": "5 %"},
        {"confidence": 1},
        {"delta": 2},
        {"rows": 10**40},
        {"sql": ""},
        {"sql": "\x00"},
        {"sql": "SELECT " + "(" * 5000},
        {"sql": "DROP TABLE visits"},
        {"integer": 1},
    ],
)
def test_a_wrong_question_is_refused_and_costs_nothing(served: Study, terms: Any) -> None:
    ann = served.person("ann", "analyst")
    reply = served.ask(ann, **terms)
    assert reply.status in (400, 422), reply
    assert served.charges == []


def test_what_does_not_fit_is_refused_in_the_words_of_a_session(served: Study) -> None:
    ann = served.person("ann", "analyst")
    reply = served.ask(ann, epsilon=5)
    assert (reply.status, code(reply)) == (409, "budget_exceeded")
    asked, left, hint = told(reply)["arguments"]
    assert (asked, left) == ("epsilon 5", "epsilon 3")
    assert hint


def test_a_client_that_has_seen_more_stops_the_server(served: Study) -> None:
    ann = served.person("ann", "analyst")
    receipt = told(served.ask(ann))["receipt"]
    assert served.send("budget", ann, seen=receipt).status == 200
    lost = f"people:99:{'ab' * 32}"
    reply = served.ask(ann, sql="SELECT COUNT(*) FROM visits", seen=lost)
    assert (reply.status, code(reply)) == (503, "ledger")
    assert len(served.charges) == 1
    assert served.send("budget", ann, seen="nonsense").status == 400


def test_rehearsals_are_free_and_marked(served: Study) -> None:
    ann = served.person("ann", "analyst")
    reply = served.send("rehearse", ann, {"question": question()})
    assert reply.status == 200
    assert "rehearsal" in told(reply)
    assert served.entries == []


def test_a_catalog_that_is_known_is_not_sent_again(served: Study) -> None:
    ann = served.person("ann", "analyst")
    first = served.send("catalog", ann)
    tag = first.headers["ETag"]
    for stated in (tag, f'"other",{tag}', f"W/{tag}", "*"):
        assert served.send("catalog", ann, tag=stated).status == 304
    assert served.send("catalog", ann, tag='"other"').status == 200
    text = first.body.decode()
    assert "parquet" not in text
    assert str(served.folder) not in text


def test_a_token_for_some_tables_knows_of_no_others(served: Study) -> None:
    served.person("ann", "analyst")
    some = served.token("ann", ["price", "ask"], tables=["staff"])
    assert [table["name"] for table in told(served.send("catalog", some))["tables"]] == ["staff"]
    sql = "SELECT COUNT(*) FROM {}"
    there, nowhere = (told(served.ask(some, sql=sql.format(name))) for name in ("visits", "visitz"))
    assert there["code"] == nowhere["code"]
    assert there["detail"].replace("visits", "visitz") == nowhere["detail"]
    assert there["hint"] == nowhere["hint"]
    assert served.ask(some, sql="SELECT COUNT(*) AS n FROM staff").status == 200
    assert COUNT not in served.send("history", some).body.decode()
    served.token("ann", ["price"], tables=["visits"], note="for the visits")
    (own,) = told(served.send("tokens", some))["tokens"]
    assert own["tables"] == ["staff"]


ABOVE = """
[tables.stays]
parquet = "visits.parquet"
parent = "visits.patient"
via = "patient"
[tables.stays.columns]
patient = "integer"
"""


def test_a_token_for_some_tables_knows_nothing_of_what_is_asked_about_those_above(
    served: Study,
) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    text = served.text(server="approve_above = 0.2") + ABOVE
    assert served.send("swap", olga, {"text": text, "why": "stays"}).status == 201
    below = served.token("ann", ["price", "ask"], tables=["stays"])
    seen = [table["name"] for table in told(served.send("catalog", below))["tables"]]
    assert seen == ["visits", "stays"]
    assert code(served.ask(below)) == "forbidden"
    assert served.ask(ann, epsilon="0.3").status == 202
    place = told(served.ask(ann))["place"]
    stays = "SELECT COUNT(*) AS n FROM stays"
    own = told(served.ask(ann, sql=stays))["place"]
    assert served.ask(ann, sql=stays, epsilon="0.3").status == 202
    statuses = [
        served.send("answer", below, path={"answer": answer}).status for answer in (place, own)
    ]
    assert statuses == [404, 200]
    listed = told(served.send("requests", below))["requests"]
    assert [one["number"] for one in listed] == [2]
    assert served.send("request", below, path={"request": "1"}).status == 404
