"""Work that is done once: what it may return, and what becomes of its claim."""

from __future__ import annotations

from typing import Callable

import mcds
import pytest

Opener = Callable[..., mcds.Store]


def test_once(s: mcds.Store, opener: Opener) -> None:
    payments = s.once("payments", run=3, keep=60)
    run = payments.begin("order:1", request=b"10 euro")
    assert run.mine and run.result is None and run.until > 0
    with opener() as other:
        with pytest.raises(mcds.Busy):
            other.once("payments", run=3).begin("order:1", request=b"10 euro")
        with pytest.raises(mcds.Exists):
            other.once("payments", run=3).begin("order:1", request=b"20 euro")
    run.renew()
    run.finish(b"receipt", code=-3)
    again = payments.begin("order:1")
    assert not again.mine and again.result == b"receipt" and again.code == -3
    state = payments.get("order:1")
    assert state is not None and (state.state, state.code, state.result) == ("done", -3, b"receipt")
    assert payments.run("order:2", lambda: b"two") == b"two"
    assert payments.run("order:2", lambda: b"never") == b"two"
    with pytest.raises(ZeroDivisionError):
        payments.run("order:3", lambda: b"%d" % (1 // 0))
    assert payments.get("order:3") is None and payments.run("order:3", lambda: b"3") == b"3"
    with pytest.raises(mcds.Exists):
        payments.settle("order:3", b"4")
    payments.settle("order:4", b"four", code=4)
    assert payments.begin("order:4").code == 4
    assert payments.forget("order:4") and not payments.forget("order:4")
