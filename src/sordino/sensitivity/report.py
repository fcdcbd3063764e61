# SPDX-License-Identifier: Apache-2.0
"""What brute force found, and why a sensitivity is what it is, as text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sordino.sensitivity.bounds import shown
from sordino.sensitivity.neighbours import Neighbours, Units
from sordino.sensitivity.norms import Sensitivity, described, norms, root_up
from sordino.sensitivity.witness import Witness

Claim: TypeAlias = "Sensitivity | Fraction"

_ROUNDING = Fraction(1, 10**9)  # an excess below this share of the claim looks like rounding
_LETTERS = {"l1": "L1", "l2": "L2", "linf": "Linf"}


@dataclass(frozen=True, slots=True)
class Report:
    """The largest moves between all neighbours in a small universe, with the pairs that move most.

    ``datasets`` is how often the function was called and ``pairs`` how many pairs of neighbours
    were compared. ``holds`` tells whether a claim was kept to; None if none was made.

    Guarantee:
        Neighbours: as given, of the data sets that were looked at and of no others.
        Loss: none. A claim that is exceeded is false; one that holds here may fail elsewhere.
        Numerics: exact, for the numbers that the function returned.
        Proof: docs/proofs/sensitivity.md, theorem 10.
    """

    scope: str
    neighbours: Neighbours | Units
    datasets: int
    pairs: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    witnesses: tuple[Witness, ...]
    claimed: Claim | None = None
    floats: bool = False

    @property
    def l2(self) -> float:
        """The root of ``l2_squared``, as the least double that reads as at least that."""
        return root_up(self.l2_squared)

    @property
    def witness(self) -> Witness | None:
        """A pair of neighbouring data sets that attains L1; None if nothing moves."""
        return self.witnesses[0] if self.witnesses else None

    @property
    def holds(self) -> bool | None:
        """Whether the claim was kept to by all pairs; a number claims L1."""
        return None if self.claimed is None else not self._exceeded()

    def __bool__(self) -> bool:
        """Refuse: a report of a wrong claim must not pass for a yes."""
        raise TypeError("a report is neither true nor false; read .holds")

    def _exceeded(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Return the norms that are larger than what was claimed, with both numbers."""
        if self.claimed is None:
            return {}
        found = {"l1": self.l1, "l2": self.l2_squared, "linf": self.linf}
        claims = {"l1": self.claimed}
        if isinstance(self.claimed, Sensitivity):
            c = self.claimed
            claims = {"l1": c.l1, "l2": c.l2_squared, "linf": c.linf}
        return {
            name: (found[name], Fraction(claim))
            for name, claim in claims.items()
            if isinstance(claim, Fraction) and found[name] > claim
        }

    def __str__(self) -> str:
        """Write what was looked at, the norms, the fate of the claim, and the worst pairs."""
        lines = [f"{self.scope}; {described(self.neighbours)}; {norms(self)}"]
        broken = self._exceeded()
        for name, (found, claim) in broken.items():
            if self.l1 == self.linf and len(lines) > 1:
                continue  # a single number: all norms say the same
            if name == "l2":
                got, said = f"{root_up(found):.6g}", f"{root_up(claim):.6g}"
            else:
                got, said = shown(found), shown(claim)
            lines.append(f"the claim is wrong: {_LETTERS[name]} of at most {said}, but it is {got}")
        small = all(found - claim <= _ROUNDING * claim for found, claim in broken.values())
        if broken and small and self.floats:
            lines.append(
                "by so little that it may be rounding: let the function return Fractions, or "
                "claim more"
            )
        if self.holds:
            lines.append("the claim holds here")
        shown_pairs = [w for w in self.witnesses if not broken or set(w.attains) & set(broken)]
        return "\n".join([*lines, *_blocks(shown_pairs)])


@dataclass(frozen=True, slots=True)
class Why:
    """The neighbouring data sets that move an answer the most; printing it shows them.

    Guarantee: none needed; an example, made from public numbers.
    """

    title: str
    witnesses: tuple[Witness, ...]

    def __str__(self) -> str:
        """Write the title and the pairs of data sets."""
        return "\n".join([self.title, *_blocks(self.witnesses)])


def why(found: Sensitivity | Report) -> Why:
    """Return why a sensitivity is as large as it is: data sets that attain it, side by side.

    >>> from sordino.sensitivity.sums import sum
    >>> print(why(sum(bounds=(10, 100), neighbours="replace_one")))
    sum of values from 10 to 100; one record replaced; moves by at most 90
                one   other
      records   100   10
      answer    100   10
      moved by  90

    Guarantee: none needed; an example, made from public numbers.
    """
    if isinstance(found, Report):
        return Why(str(found).partition("\n")[0], found.witnesses)
    if not isinstance(found, Sensitivity):
        raise TypeError(
            f"why takes a sensitivity or the report of a check, not {type(found).__name__}"
        )
    return Why(str(found), found.witnesses)


def _blocks(witnesses: list[Witness] | tuple[Witness, ...]) -> list[str]:
    """Write each pair, with the norms that it attains if there are several pairs."""
    if len(witnesses) == 1:
        return [str(witnesses[0])]
    lines = []
    for witness in witnesses:
        names = " and ".join(_LETTERS[name] for name in witness.attains)
        lines += [f"for {names}:", str(witness)]
    return lines
