"""Names and signatures of methods that are made from other functions, in help() and in errors about arguments."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def name_methods(kind: type) -> None:
    """Give the methods of a class the names under which they are called."""
    for name, method in vars(kind).items():
        if isinstance(method, types.FunctionType) and hasattr(method, "__wrapped__"):
            method.__name__ = name
            method.__qualname__ = f"{kind.__qualname__}.{name}"


def shows(build: Any, returns: str) -> Callable[[F], F]:
    """Like functools.wraps. `returns`: what the method returns, with {} for T of a Plan[T]."""
    code = build.__code__
    first, *others = code.co_varnames
    if first not in code.co_cellvars:
        code = code.replace(co_varnames=("self", *others))
    copy = types.FunctionType(code, build.__globals__, build.__name__, build.__defaults__, build.__closure__)
    made = build.__annotations__.get("return", "").removeprefix("Plan[").removesuffix("]").strip("\"'")
    copy.__kwdefaults__ = build.__kwdefaults__
    copy.__annotations__ = {**build.__annotations__, "return": returns.format(made)}
    copy.__annotations__.pop(first, None)

    def decorate(method: F) -> F:
        functools.update_wrapper(method, build)
        vars(method)["__wrapped__"] = copy
        return method

    return decorate


@functools.lru_cache(maxsize=None)
def named(name: str, build: F) -> F:
    """A copy of a method that makes plans. The failures of its plans name the method `name`."""
    copy = types.FunctionType(build.__code__, build.__globals__, name, build.__defaults__, build.__closure__)
    functools.update_wrapper(copy, build)
    copy.__name__ = name
    copy.__kwdefaults__ = build.__kwdefaults__
    return copy  # type: ignore[return-value]


def name_of(build: Any) -> str:
    """The name under which a program calls the method that makes a plan."""
    name = str(build.__name__)
    return name if name.startswith("__") else name.strip("_").removesuffix("_plan")


def called_as(owner: type, build: Any) -> str:
    """The method of a class that was made from `build`."""
    for kind in owner.__mro__:
        for method in vars(kind).values():
            shown = getattr(method, "__wrapped__", None)
            if shown is not None and (shown.__name__, shown.__globals__) == (build.__name__, build.__globals__):
                return f"{owner.__name__}.{method.__name__}"
    return str(build.__qualname__)


def with_method(error: TypeError, owner: type, build: Any) -> TypeError:
    """An error of Python about the number or the names of arguments, with the method that was called."""
    message = str(error)
    if not message.startswith(f"{build.__qualname__}() "):
        return error
    return TypeError(message.replace(build.__qualname__, called_as(owner, build), 1))
