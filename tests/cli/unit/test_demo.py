# SPDX-License-Identifier: Apache-2.0
import ast
from typing import Any

import pytest

from sordino.cli.demo import QUESTIONS, Question


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.words)
def test_the_code_shown_asks_the_question(question: Question) -> None:
    call = ast.parse(question.code).body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    (text,) = (ast.literal_eval(argument) for argument in call.value.args)
    asked: dict[str, Any] = {
        word.arg or "": ast.literal_eval(word.value) for word in call.value.keywords
    }
    assert text.split() == question.sql.split()
    assert asked == dict(question.asked)
