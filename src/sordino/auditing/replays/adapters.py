# SPDX-License-Identifier: Apache-2.0
"""Adapters: how draws are seen and replaced in numpy, scipy, diffprivlib, OpenDP and sordino.

An adapter takes the recorder of a run and the function that is run, and returns a context in which
draws go through the recorder. A run that replays another gets the noisy values of that other run.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import random as plain
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from secrets import SystemRandom
from typing import Any, TypeAlias

import numpy as np
import numpy.random as numbers

from sordino.auditing.replays.draws import Draw, Norm, Recorder, caller, noise_of
from sordino.randomness import entropy
from sordino.randomness.entropy import Bits, UnsignedArray


@contextmanager
def patched(patches: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Set attributes, and put back afterwards what was there."""
    held: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, value in patches:
            held.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(held):
            setattr(owner, name, value)


@contextmanager
def replaced(function: Callable[..., Any], other: Callable[[Any], Any]) -> Iterator[None]:
    """Replace what a function holds: globals, closure, defaults and attributes of its object.

    ``other`` returns what is to stand in a place, or the same thing again.
    """
    undo: list[Callable[[], None]] = []
    try:
        for holder in _holders(function):
            for name, value in list(holder.items()):
                made = other(value)
                if made is not value:
                    undo.append(functools.partial(holder.__setitem__, name, value))
                    holder[name] = made
        for inner in _functions(function):
            undo.append(_replace_cells(inner, other))
            undo.append(_replace_defaults(inner, other))
        yield
    finally:
        for step in reversed(undo):
            step()


def _functions(function: Any) -> list[Any]:
    """Return the plain functions that a callable is made of."""
    if isinstance(function, functools.partial):
        return _functions(function.func)
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__globals__"):
        kinds = type(function).__mro__
        calls = [vars(kind)["__call__"] for kind in kinds if "__call__" in vars(kind)]
        return [call for call in calls[:1] if hasattr(call, "__globals__")]
    return [function]


def _holders(function: Any) -> list[dict[str, Any]]:
    held = [inner.__globals__ for inner in _functions(function)]
    if isinstance(function, functools.partial):
        return [*_holders(function.func), function.keywords]
    owner = getattr(function, "__self__", function)
    if not isinstance(owner, type) and not hasattr(owner, "__globals__"):
        held.append(getattr(owner, "__dict__", {}))
    return held


def _replace_cells(function: Any, other: Callable[[Any], Any]) -> Callable[[], None]:
    held = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty
            continue
        made = other(value)
        if made is not value:
            held.append((cell, value))
            cell.cell_contents = made

    def undo() -> None:
        for cell, value in held:
            cell.cell_contents = value

    return undo


def _replace_defaults(function: Any, other: Callable[[Any], Any]) -> Callable[[], None]:
    plain, named = function.__defaults__, function.__kwdefaults__
    if plain:
        function.__defaults__ = tuple(map(other, plain))
    if named:
        function.__kwdefaults__ = {name: other(value) for name, value in named.items()}

    def undo() -> None:
        function.__defaults__, function.__kwdefaults__ = plain, named

    return undo


Adapter: TypeAlias = Callable[[Recorder, Callable[..., Any]], AbstractContextManager[None]]

_UNPATCHED_RANDOM = plain.Random

# What is drawn around a location: the names of location and scale, and the norm for changes.
_LOCATED: dict[str, tuple[str, str, Norm]] = {
    "laplace": ("loc", "scale", "l1"),
    "normal": ("loc", "scale", "l2"),
    "gauss": ("mu", "sigma", "l2"),
    "normalvariate": ("mu", "sigma", "l2"),
}
_OF_SCIPY: dict[str, Norm] = {"laplace": "l1", "norm": "l2"}
_STANDARD_GAUSSIAN = {"standard_normal", "randn"}
_OF_DATA = {"choice", "choices", "permutation", "permuted", "sample", "shuffle"}
_NO_DRAW = {"seed", "set_state", "get_state", "getstate", "setstate", "spawn"}
_NAMES = {
    "laplace": ("loc", "scale", "size"),
    "normal": ("loc", "scale", "size"),
    "gauss": ("mu", "sigma"),
    "normalvariate": ("mu", "sigma"),
}


@contextmanager
def numpy_draws(recorder: Recorder, function: Callable[..., Any]) -> Iterator[None]:
    """Record what is drawn through numpy.random and through the module random.

    Generators are seen that the function makes while it runs, and those that it holds already: as
    globals of its module, in its closure, as defaults, or as attributes of the object it belongs
    to. Generators deep inside other objects are not.
    """
    # These are patched, never drawn from for noise that anybody relies on.
    make, make_state = numbers.default_rng, numbers.RandomState
    generators = _recording(recorder, numbers.Generator, make)
    states = _recording(recorder, make_state, lambda seed: make_state(_short(seed)))
    randoms = _recording(recorder, plain.Random, plain.Random)
    systems = _recording(recorder, plain.SystemRandom, _Foretold)
    state, single, system = states(), randoms(), systems()

    def default_rng(seed: Any = None) -> Any:
        if recorder.inside:
            return make(seed)
        return seed if isinstance(seed, generators) else generators(numbers.PCG64())

    new = {
        numbers.default_rng: default_rng,
        numbers.Generator: generators,
        numbers.RandomState: states,
        plain.Random: randoms,
        plain.SystemRandom: systems,
    }
    places = [(numbers, name, getattr(state, name)) for name in _draws_of(numbers.RandomState)]
    places += [(plain, name, getattr(single, name)) for name in _draws_of(plain.Random)]
    functions = {id(getattr(m, n)): f for m, n, f in places if hasattr(m, n)}
    functions |= {id(old): made for old, made in new.items()}

    def other(value: Any) -> Any:
        if isinstance(value, numbers.Generator):
            return generators(value.bit_generator)
        if isinstance(value, numbers.RandomState):
            return state
        if isinstance(value, plain.Random):
            return system if isinstance(value, SystemRandom) else single
        return functions.get(id(value), value) if callable(value) else value

    patches = [(module, name, made) for module, name, made in places if hasattr(module, name)]
    patches += [(numbers, made.__name__, made) for made in (default_rng,)]
    patches += [(numbers, "Generator", generators), (numbers, "RandomState", states)]
    patches += [(plain, "Random", randoms), (plain, "SystemRandom", systems)]
    patches += [(numbers.mtrand, "_rand", state)]
    with replaced(function, other), patched(patches):
        yield


def _draws_of(kind: type) -> list[str]:
    public = [name for name in dir(kind) if not name.startswith("_") and name not in _NO_DRAW]
    return [name for name in public if callable(getattr(kind, name))]


def _recording(recorder: Recorder, kind: type, fresh: Callable[[int], Any]) -> Any:
    """Return a kind of generator like the given one, whose draws are kept."""

    def method(name: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **options: Any) -> Any:
            if recorder.inside:
                return getattr(kind, name)(self, *args, **options)
            draw = _draw(name, args, options)
            with recorder.drawing():
                value = getattr(fresh(recorder.seed_of(draw)), name)(*args, **options)
            draw.shape = np.shape(value)
            recorder.keep(draw)
            return _noisy(value, draw)

        return call

    methods = {name: method(name) for name in _draws_of(kind)}
    return type(kind.__name__, (kind,), methods)


def _noisy(value: Any, draw: Draw) -> Any:
    """Return noise that is followed, or what was drawn around a number, which is a noisy value."""
    draw.result = value
    if draw.norm is None:
        return value
    twin = draw.twin
    if not any(held is not None and np.any(held.location) for held in (draw, twin)):
        return noise_of(value, draw)
    if twin is not None:
        draw.tied, draw.result = True, twin.result
    return draw.result


def _draw(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Draw:
    if name in _STANDARD_GAUSSIAN:
        return Draw(name, {}, caller(), norm="l2", scale=np.ones(()), location=np.zeros(()))
    if name not in _LOCATED:
        given = {str(place): value for place, value in enumerate(args)} | options
        many = None
        if name in _OF_DATA and given:  # what is shuffled may differ, but not how much of it
            values = given.pop(next(iter(given)))
            many = len(values) if hasattr(values, "__len__") else int(values)
        given.pop("size", None)
        return Draw(name, given, caller(), candidates=many)
    location, scale, norm = _LOCATED[name]
    named = dict(zip(_NAMES[name], args, strict=False)) | options
    width = np.asarray(named.get(scale, 1.0), dtype=np.float64)
    centre = np.asarray(named.get(location, 0.0), dtype=np.float64)
    return Draw(name, {"scale": width}, caller(), norm=norm, scale=width, location=centre)


def _short(seed: int) -> int:
    return ((seed >> 32) * 1_000_003 + seed) & 0xFFFFFFFF


class _Foretold(SystemRandom):
    """Passes for the system's randomness and follows from a number; for invented data only."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._plain = _UNPATCHED_RANDOM(seed)

    def random(self) -> float:
        return float(self._plain.random())

    def getrandbits(self, k: int) -> int:
        return int(self._plain.getrandbits(k))

    def randbytes(self, n: int) -> bytes:
        return self._plain.randbytes(n)


@contextmanager
def scipy_draws(recorder: Recorder, function: Callable[..., Any]) -> Iterator[None]:
    """Record what the distributions of scipy.stats draw; Laplace and Gaussian noise is followed."""
    del function
    kind = importlib.import_module("scipy.stats").rv_continuous.__mro__[1]
    old = kind.rvs

    def rvs(self: Any, *args: Any, **options: Any) -> Any:
        if recorder.inside:
            return old(self, *args, **options)
        idle = {"random_state", "discrete"}
        given = {name: value for name, value in options.items() if name not in idle}
        shapes, centre, width, _ = self._parse_args_rvs(*args, **given)
        draw = Draw(self.name, {"scale": width}, caller())
        if self.name in _OF_SCIPY:
            draw.norm = _OF_SCIPY[self.name]
            draw.scale, draw.location = np.asarray(width), np.asarray(centre)
        else:
            draw.parameters |= {"location": centre, "shapes": shapes}
        own = numbers.RandomState(_short(recorder.seed_of(draw)))
        with recorder.drawing():
            value = old(self, *args, **options | {"random_state": own})
        draw.shape = np.shape(value)
        recorder.keep(draw)
        return _noisy(value, draw)

    with patched([(kind, "rvs", rvs)]):
        yield


@contextmanager
def diffprivlib_draws(recorder: Recorder, function: Callable[..., Any]) -> Iterator[None]:
    """Record what the mechanisms of diffprivlib randomise, in its tools and models too."""
    del function
    mechanisms = importlib.import_module("diffprivlib.mechanisms")

    def wrap(old: Callable[..., Any]) -> Callable[..., Any]:
        def randomise(self: Any, value: Any = None) -> Any:
            args = () if value is None else (value,)
            if recorder.inside:
                return old(self, *args)
            held = self._rng
            draw = _randomised(self, value)
            secure, seed = isinstance(held, SystemRandom), recorder.seed
            self._rng = _Foretold(seed) if secure else numbers.RandomState(_short(seed))
            try:
                with recorder.drawing():
                    result = old(self, *args)
            finally:
                self._rng = held
            return recorder.keep(draw, result)

        return randomise

    kinds = [kind for kind in vars(mechanisms).values() if isinstance(kind, type)]
    own = [kind for kind in kinds if "randomise" in vars(kind) and not inspect.isabstract(kind)]
    with patched([(kind, "randomise", wrap(vars(kind)["randomise"])) for kind in own]):
        yield


def _randomised(mechanism: Any, value: Any) -> Draw:
    """Return what a mechanism of diffprivlib is about to draw."""
    names = inspect.getfullargspec(type(mechanism)).kwonlyargs
    given = {name: getattr(mechanism, name) for name in names if name != "random_state"}
    kind = type(mechanism).__name__
    draw = Draw(kind, given, caller(), price=_price(mechanism))
    draw.declared = getattr(mechanism, "sensitivity", None)
    given.pop("measure", None)  # of what the candidates stand for, such as gaps between records
    if "utility" in given:
        draw.location = np.asarray(given.pop("utility"), dtype=np.float64)
        draw.shape, draw.norm = draw.location.shape, "linf"
    elif isinstance(value, int | float | np.number):
        draw.location = np.asarray(value, dtype=np.float64)
        draw.norm = "l2" if kind.startswith("Gaussian") else "l1"
        draw.scale = _scale(mechanism)
    return draw


def _price(mechanism: Any) -> str:
    return f"epsilon {float(mechanism.epsilon):g}, delta {float(mechanism.delta):g}"


def _scale(mechanism: Any) -> Any:
    kind, epsilon, delta = type(mechanism).__name__, mechanism.epsilon, mechanism.delta
    if kind.startswith("Gaussian"):
        return None if mechanism._scale is None else np.asarray(mechanism._scale)
    if kind.startswith(("Laplace", "Geometric")) and delta < 1 and epsilon > 0:
        return np.asarray(mechanism.sensitivity / (epsilon - math.log1p(-delta)))
    return None


@contextmanager
def opendp_draws(recorder: Recorder, function: Callable[..., Any]) -> Iterator[None]:
    """Record what the measurements of OpenDP are called with, and what they promise.

    A measurement is opaque: what it is called with is seen, and its loss at distance 1, from which
    the scale of its noise follows. One that takes a whole data set is known by its promise alone.
    """
    del function
    kind = importlib.import_module("opendp.mod").Measurement

    def wrap(old: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, arg: Any) -> Any:
            if recorder.inside:
                return old(self, arg)
            draw = _measured(self, arg)
            with recorder.drawing():
                result = old(self, arg)
            return recorder.keep(draw, result)

        return call

    with patched([(kind, name, wrap(vars(kind)[name])) for name in ("__call__", "invoke")]):
        yield


def _measured(measurement: Any, arg: Any) -> Draw:
    """Return what a measurement is about to draw."""
    metric, measure = str(measurement.input_metric), str(measurement.output_measure)
    loss = measurement.map(1)
    draw = Draw(f"{measure} from {metric}", {}, caller(), price=f"{loss:g} at distance 1")
    draw.parameters = {"loss at distance 1": loss}
    if metric.startswith("LInfDistance"):
        draw.norm = "linf"
    elif metric.startswith(("AbsoluteDistance", "L1Distance", "L2Distance")):
        concentrated = measure.startswith("ZeroConcentrated")
        draw.norm = "l2" if concentrated else "l1"
        if loss > 0:
            draw.scale = np.asarray(1 / math.sqrt(2 * loss) if concentrated else 1 / loss)
    if draw.norm is not None:
        draw.location = np.asarray(arg, dtype=np.float64)
        draw.shape = draw.location.shape
    return draw


_OWN_NORMS: dict[str, Norm] = {"Laplace": "l1", "Gaussian": "l2"}


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
    from sordino.ledger.entry import Receipt
    from sordino.ledger.ledger import Ledger  # only what is replayed needs the whole package
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
    homes = dict.fromkeys(map(_home_of_release, (*ADDING, *CHOOSING, *RELEASING)))
    patches: list[tuple[Any, str, Any]] = [
        (home, "release", wrap(vars(home)["release"])) for home in homes
    ]
    patches += [
        (door, "add_noise", add_noise),
        *((Ledger, name, paying(vars(Ledger)[name])) for name in ("charge", "obtain")),
    ]
    with patched(patches), _reading(_Taped(own, recorder)):
        yield


def _home_of_release(kind: type) -> type:
    """Return the class that says how a mechanism releases: its own, or a base it shares."""
    return next(home for home in kind.__mro__ if "release" in vars(home))


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
    draw = Draw(kind, {"mechanism": repr(mechanism)}, caller(), price=_own_price(mechanism))
    try:
        draw.location = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return draw
    draw.shape = draw.location.shape
    if sensitivity is not None:
        draw.norm, draw.declared = _OWN_NORMS.get(kind, "linf"), float(sensitivity)
    if kind in _OWN_NORMS:
        width = mechanism.scale if kind == "Laplace" else mechanism.sigma
        draw.scale = np.asarray(float(width))
    return draw


def _own_price(mechanism: Any) -> str | None:
    found = getattr(mechanism, "epsilon", None)
    if found is not None:
        return f"epsilon {float(found):g}"
    loss = getattr(mechanism, "loss", None)
    return None if loss is None else repr(loss)
