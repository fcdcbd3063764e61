# SPDX-License-Identifier: Apache-2.0
"""The questions of the demonstration, and how each of them is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words and in SQL, what it may cost or how far off it may be, and a remark."""

    words: str
    remark: str
    sql: str
    asked: tuple[tuple[str, Any], ...]

    @property
    def code(self) -> str:
        """The Python that asks it."""
        arguments = "".join(f", {name}={value!r}" for name, value in self.asked)
        lines = self.sql.splitlines()
        if len(lines) == 1:
            return f'hospital.ask("{lines[0]}"{arguments})'
        return "\n".join(
            ('hospital.ask("""', *(f"    {line}" for line in lines), f'"""{arguments})')
        )


QUESTIONS = (
    Question(
        words="How many visits were there for each disease, and what did one cost?",
        remark="The list of diseases is public. Every number comes with an error bar; AVG divides "
        "a noisy sum by a noisy count.",
        sql="SELECT disease, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY disease",
        asked=(("epsilon", 0.5),),
    ),
    Question(
        words="Which disease is the most common one?",
        remark="The answer is a name, so the noise goes into the choice.",
        sql="SELECT MODE(disease) AS disease FROM visits",
        asked=(("epsilon", 0.1),),
    ),
    Question(
        words="What does the middle urgent visit cost?",
        remark="A median is drawn near the middle rank; its interval is drawn too, and paid for.",
        sql="SELECT MEDIAN(cost) AS cost FROM visits WHERE urgent",
        asked=(("epsilon", 0.5),),
    ),
    Question(
        words="How many patients came from each region?",
        remark="Two private tables are joined on the patient, and a public one on the city.",
        sql="""SELECT region, COUNT(DISTINCT patient_id) AS patients
FROM visits JOIN patients USING (patient_id) JOIN cities ON city = name
GROUP BY region ORDER BY patients DESC""",
        asked=(("epsilon", 0.5), ("groups", 1)),
    ),
    Question(
        words="Which cities do patients come from?",
        remark="Nobody listed the cities. A city is told if enough patients live there; one where "
        "only three do stays hidden, and that is why this costs a delta.",
        sql="SELECT city, COUNT(*) AS patients FROM patients GROUP BY city\n"
        "ORDER BY patients DESC LIMIT 8",
        asked=(("epsilon", 0.5),),
    ),
    Question(
        words="How many visits fell into December 2024, within 150?",
        remark="Say how far off the answer may be, and the price follows.",
        sql="SELECT COUNT(*) AS n FROM visits WHERE day >= '2024-12-01'",
        asked=(("within", 150),),
    ),
)

REFUSED = "SELECT patient_id, cost FROM visits WHERE disease = 'migraine'"
