# SPDX-License-Identifier: Apache-2.0
"""How draws of noise are seen and replaced in sordino itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sordino.auditing.replays.adapters import patched
from sordino.auditing.replays.draws import Draw, Norm, Recorder, caller
from sordino.randomness import entropy
from sordino.randomness.entropy import Bits, UnsignedArray

_NORMS: dict[str, Norm] = {"Laplace": "l1", "Gaussian": "l2"}


class _Taped:
    """Hands out this thread's own bits and keeps them, or those of the run that is replayed.

    It is for bits that are read outside of any release, so that a run is loose that reads them.
    """

    def __init__(self, bits: Bits, recorder: Recorder) -> None:
        self._bits = bits
        self._recorder = recorder

    def _take(self, count: int) -> bytes:
        fresh = np.empty(count, dtype=np.uint8)
        self._bits.fill(fresh)
        return self._recorder.tape.take(fresh.tobytes())

    def word16(self) -> int:
        """Return the next 16 bits as an integer."""
        return self.integer(16)

    def integer(self, width: int) -> int:
        """Return the next ``width`` bits as an integer."""
        return int.from_bytes(self._take(width // 8), "little")

    def fill(self, out: UnsignedArray) -> None:
        """Overwrite a contiguous array of unsigned integers."""
        out[...] = np.frombuffer(self._take(out.nbytes), dtype=out.dtype).reshape(out.shape)


@contextmanager
def sordino_draws(recorder: Recorder, function: Callable[..., Any]) -> Iterator[None]:
    """Record what the mechanisms of sordino release, and what sessions charge, in this thread.

    Noise is drawn as ever; a run that replays another gets the values that the other one released.
    """
    del function
    from sordino.ledger.ledger import Ledger  # only what is replayed needs the whole package
    from sordino.ledger.receipt import Receipt
    from sordino.mechanisms import ADDING, CHOOSING, RELEASING
    from sordino.release import door
    from sordino.release.draw import Noisy
    from sordino.release.draw import add_noise as held

    def kept(draw: Draw, act: Callable[[], Any]) -> Any:
        with recorder.drawing(), _reading(own):
            result = act()
        return recorder.keep(draw, result)

    def wrap(old: Callable[..., Any]) -> Callable[..., Any]:
        def release(self: Any, value: Any, *args: Any, **options: Any) -> Any:
            if recorder.inside:
                return old(self, value, *args, **options)
            draw = _released(self, value)
            return kept(draw, lambda: old(self, value, *args, **options))

        return release

    def add_noise(release: Any, exact: Any) -> Any:
        if recorder.inside:
            return held(release, exact)
        draw = _released(release.mechanism, exact)
        noisy = kept(draw, lambda: held(release, exact).steps)
        return Noisy(release, noisy)

    def paying(held: Any) -> Any:
        def pay(self: Any, people: str, loss: Any, **options: Any) -> Any:
            bought = held(self, people, loss, **options)
            if not recorder.inside and isinstance(bought, Receipt):  # else an answer on record
                price = f"{bought.price}, slack {float(bought.slack):g}"
                recorder.keep(Draw("charge", {}, caller(), price=price, tied=True))
            return bought

        return pay

    own = entropy.system()
    kinds = [kind for kind in (*ADDING, *CHOOSING, *RELEASING) if "release" in vars(kind)]
    patches: list[tuple[Any, str, Any]] = [
        (kind, "release", wrap(vars(kind)["release"])) for kind in kinds
    ]
    patches += [
        (door, "add_noise", add_noise),
        *((Ledger, name, paying(vars(Ledger)[name])) for name in ("charge", "obtain")),
    ]
    with patched(patches), _reading(_Taped(own, recorder)):
        yield


@contextmanager
def _reading(bits: Bits) -> Iterator[None]:
    """Let this thread read these bits; afterwards those that it read before."""
    held = entropy.system()
    entropy._local.bits = bits  # the one other door to it
    try:
        yield
    finally:
        entropy._local.bits = held


def _released(mechanism: Any, value: Any) -> Draw:
    """Return what a mechanism is about to release."""
    kind = type(mechanism).__name__
    sensitivity = getattr(mechanism, "sensitivity", None)
    draw = Draw(kind, {"mechanism": repr(mechanism)}, caller(), price=_price(mechanism))
    try:
        draw.location = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return draw
    draw.shape = draw.location.shape
    if sensitivity is not None:
        draw.norm, draw.declared = _NORMS.get(kind, "linf"), float(sensitivity)
    if kind in _NORMS:
        width = mechanism.scale if kind == "Laplace" else mechanism.sigma
        draw.scale = np.asarray(float(width))
    return draw


def _price(mechanism: Any) -> str | None:
    found = getattr(mechanism, "epsilon", None)
    if found is not None:
        return f"epsilon {float(found):g}"
    loss = getattr(mechanism, "loss", None)
    return None if loss is None else repr(loss)
