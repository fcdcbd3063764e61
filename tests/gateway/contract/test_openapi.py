# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document: valid, complete, and true of what the gateway does."""

import json
import re
from typing import Any

import httpx
import jsonschema_rs
import pytest
import schemathesis
from schemathesis.core.result import Ok

from sordino.channel.calls import BY_NAME, CALLS
from sordino.gateway.openapi import contents, document
from sordino.gateway.problems import ALL
from tests.support.gateways import RunningGateway

TOLD = json.loads(document())
OPERATIONS = {
    one["operationId"]: (path, method, one)
    for path, methods in TOLD["paths"].items()
    for method, one in methods.items()
}


def resolved(schema: Any) -> Any:
    """A schema with the shared ones beside it, so that it stands by itself."""
    text = json.dumps({**schema, "$defs": TOLD["components"]["schemas"]})
    return json.loads(text.replace("#/components/schemas/", "#/$defs/"))


def test_the_gateway_serves_this_document(gateway: RunningGateway) -> None:
    assert httpx.get(f"{gateway.url}/openapi.json").json() == TOLD == contents()


def test_it_is_read_by_a_program_that_makes_requests_of_it() -> None:
    schema = schemathesis.openapi.from_dict(TOLD)
    made = [result for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert len(made) == len(OPERATIONS)


def test_every_schema_is_one() -> None:
    for name in TOLD["components"]["schemas"]:
        schema = resolved({"$ref": f"#/components/schemas/{name}"})
        jsonschema_rs.meta.validate(schema)
        jsonschema_rs.validator_for(schema)


def test_every_reference_leads_somewhere() -> None:
    for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(TOLD)):
        assert name in TOLD["components"]["schemas"]


def test_every_call_is_described_and_nothing_else() -> None:
    assert OPERATIONS.keys() == BY_NAME.keys() | {"healthz", "openapi"}
    for call in CALLS:
        path, method, told = OPERATIONS[call.name]
        assert (path, method) == (call.path, call.method.lower())
        assert ("requestBody" in told) is (call.body is not None)
        named = {(one["in"], one["name"]) for one in told["parameters"]}
        wanted = {("query", name) for name in call.query}
        wanted |= {("path", name) for name in re.findall(r"\{(\w+)\}", call.path)}
        assert wanted <= named
        assert {place for place, _ in named - wanted} <= {"header"}
        assert {str(status) for status in call.statuses} <= told["responses"].keys()


@pytest.mark.parametrize("name", [call.name for call in CALLS if call.body is not None])
def test_the_example_of_a_body_is_one(name: str) -> None:
    (content,) = OPERATIONS[name][2]["requestBody"]["content"].values()
    validator = jsonschema_rs.validator_for(resolved(content["schema"]))
    validator.validate(content["example"])
    assert not validator.is_valid({**content["example"], "something": 1})


def test_whoever_needs_no_token_is_told_so() -> None:
    assert TOLD["security"] == [{"token": []}]
    assert TOLD["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    opened = {name for name, (_, _, one) in OPERATIONS.items() if one.get("security") == []}
    nobody = {call.name for call in CALLS if call.roles is None}
    assert opened == nobody | {"healthz", "openapi"}


def test_problems_have_the_shape_that_is_described_and_their_status_is_listed() -> None:
    schema = resolved({"$ref": "#/components/schemas/Problem"})
    validator = jsonschema_rs.validator_for(schema)
    listed = {status for _, _, one in OPERATIONS.values() for status in one["responses"]}
    for problem in ALL:
        validator.validate(json.loads(problem.body))
        if problem.status != 405:  # of methods that are not described
            assert str(problem.status) in listed
