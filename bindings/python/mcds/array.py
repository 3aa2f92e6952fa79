"""Short sequences, changed as a whole."""

from __future__ import annotations

import builtins
from typing import Any, Callable, Iterable, Iterator, Optional

from ._binding import ffi, lib
from .arguments import check_elements, check_function
from .core import Core, Opened
from .encoding import encode_returned, encoded
from .errors import check, error_of
from .plan import (Bytes, Plan, Structure, as_array, as_bytes, awaited, called, closed_of, encode_name,
                   is_closed, keep_raised, new_options, started, take_found, take_none, waiting)
from .stream import collect_value, in_one, read_all, rest_of

#: change(old) returns the new elements
Change = Callable[["builtins.list[bytes]"], Iterable[Bytes]]
#: What the callback returns where the program's function has raised.
RAISED = 1 << 20


class Changing:
    """One call of change_by: the program's function, and the exception that it raised."""

    def __init__(self, change: Change, structure: Structure) -> None:
        self.change = change
        self.structure = structure
        self.raised: Optional[BaseException] = None

    def failed(self, error: BaseException) -> int:
        self.raised = error
        return RAISED

    def check_open(self) -> None:
        """Before and after the function: nothing is changed after the close of the store."""
        if is_closed(self.structure):
            raise closed_of(self.structure)


@ffi.def_extern(error=RAISED, onerror=keep_raised)  # type: ignore[misc]
def mcds_py_change(context: Any, old: Any, old_count: int, fresh: Any) -> int:
    changing: Changing = ffi.from_handle(context)
    changing.raised = None
    try:
        elements = [bytes(ffi.buffer(old[i].data, old[i].length)) if old[i].length > 0 else b""
                    for i in range(old_count)]
        changing.check_open()
        changed = changing.change(elements)
        changing.check_open()
        check_elements(changed, "change", "must return")
        for element in changed:
            check(lib.mcds_elements_add(fresh, as_bytes(encode_returned(element, "change"))))
    except BaseException as error:
        return changing.failed(error)
    return 0


def open_array(core: Core, name: Bytes) -> Opened:
    """A short sequence that is read often and changed as a whole.

    >>> servers = s.array("servers")
    >>> servers.set(["web1", "web2"])
    >>> servers.change(add=["web3"], remove=["web1"])
    >>> servers.get()
    [b'web2', b'web3']
    >>> servers.change_by(lambda old: sorted(old, reverse=True))
    >>> list(servers)
    [b'web3', b'web2']
    """
    return core.open("array", encode_name(name), new_options("mcds_array_options"), ())


class ArrayPlans(Structure):
    def _get(self) -> Plan["builtins.list[bytes]"]:
        """All elements in order; none where there is no array."""
        return read_all(self, lib.mcds_array_scan, lib.mcds_array_scan_start, (), collect_value,
                        lambda record: record[3])

    def _set(self, elements: Iterable[Bytes]) -> Plan[None]:
        """Set the whole array."""
        array, kept = as_array(elements, "elements")
        return Plan(lib.mcds_array_set, lib.mcds_array_set_start,
                    (self._opened.handle, array, len(kept)), take_none, (array, kept))

    def _change(self, add: Iterable[Bytes] = (), remove: Iterable[Bytes] = ()) -> Plan[None]:
        """Remove the first element equal to each of `remove`, then add those of `add`."""
        added, kept_added = as_array(add, "add")
        removed, kept_removed = as_array(remove, "remove")

        def take(code: int, out: Any) -> None:
            if code not in (0, lib.MCDS_NOT_FOUND):
                raise error_of(code)

        return Plan(lib.mcds_array_change, lib.mcds_array_change_start,
                    (self._opened.handle, added, len(kept_added), removed, len(kept_removed)), take,
                    (added, kept_added, removed, kept_removed))

    def _change_by(self, change: Change) -> Plan[None]:
        """Set the array to what change(elements) returns.

        It is called again when another change was made meanwhile, so it must have no other effect,
        and it must not use this store. What it raises is raised here, and nothing is written.
        """
        check_function(change, "change")
        changing = Changing(change, self)
        context = ffi.new_handle(changing)

        def take(code: int, out: Any) -> None:
            raised, changing.raised = changing.raised, None
            try:
                if code == RAISED and raised is not None:
                    raise raised
            finally:
                del raised  # its traceback refers to this frame
            check(code)

        return Plan(lib.mcds_array_change_by, lib.mcds_array_change_by_start,
                    (self._opened.handle, lib.mcds_py_change, context), take, (changing, context))

    def _drop(self) -> Plan[bool]:
        """Erase the array. False: there was none."""
        return Plan(lib.mcds_array_drop, lib.mcds_array_drop_start, (self._opened.handle,),
                    take_found)


class Array(ArrayPlans):
    """A short sequence that is read often and changed as a whole."""

    get = waiting(ArrayPlans._get)
    set = waiting(ArrayPlans._set)
    change = waiting(ArrayPlans._change)
    change_by = waiting(ArrayPlans._change_by)
    drop = waiting(ArrayPlans._drop)

    def __iter__(self) -> Iterator[bytes]:
        return in_one(rest_of(self), called("__iter__", ArrayPlans._get, self))

    def __contains__(self, element: object) -> bool:
        return encoded(element) in called("__contains__", ArrayPlans._get, self)

    def __len__(self) -> int:
        return len(called("__len__", ArrayPlans._get, self))


class PipelineArray(ArrayPlans):
    """An array in a pipeline."""

    get = started(ArrayPlans._get)
    set = started(ArrayPlans._set)
    change = started(ArrayPlans._change)
    change_by = started(ArrayPlans._change_by)
    drop = started(ArrayPlans._drop)


class AioArray(ArrayPlans):
    """An array whose operations are awaited."""

    get = awaited(ArrayPlans._get)
    set = awaited(ArrayPlans._set)
    change = awaited(ArrayPlans._change)
    change_by = awaited(ArrayPlans._change_by)
    drop = awaited(ArrayPlans._drop)
