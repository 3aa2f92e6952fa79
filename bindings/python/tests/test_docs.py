"""The examples of the docstrings and of the documents."""

from __future__ import annotations

import asyncio
import dataclasses
import doctest
import inspect
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import mcds
import mcds.plan
import pytest

HERE = Path(__file__).parent.parent
DOCUMENTS = [HERE / "README.md", HERE.parent.parent / "README.md"]


def objects() -> Iterator[Tuple[str, Any]]:
    for name in mcds.__all__:
        public = getattr(mcds, name)
        yield name, public
        if inspect.isclass(public):
            for member, value in vars(public).items():
                if inspect.isfunction(value):
                    yield f"{name}.{member}", value


def test_docstrings() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    attempted = 0
    for name, public in objects():
        for test in finder.find(public, name, module=False, globs={}):
            with mcds.open("memory:", timeout=60) as s:
                test.globs = {"mcds": mcds, "s": s, "asyncio": asyncio, "time": time}
                result = doctest.DocTestRunner().run(test)
            assert result.failed == 0, name
            attempted += result.attempted
    assert attempted > 60


def test_every_public_name_is_documented() -> None:
    assert [name for name, public in objects() if not public.__doc__
            and not name.rpartition(".")[2].startswith("_")] == []


def fields_of(public: Any) -> Tuple[str, ...]:
    if dataclasses.is_dataclass(public):
        return tuple(field.name for field in dataclasses.fields(public))
    return tuple(getattr(public, "_fields", ())) if inspect.isclass(public) else ()


def test_help_explains_each_field_of_a_result() -> None:
    results = {name: fields for name in mcds.__all__ if (fields := fields_of(getattr(mcds, name)))}
    assert len(results) >= 10
    assert [f"{name}.{field}" for name, fields in results.items() for field in fields
            if not re.search(rf"^ *{field}  +\S", getattr(mcds, name).__doc__, re.M)] == []


def blocks(document: Path) -> List[str]:
    return re.findall(r"^```python\n(.*?)^```", document.read_text(), re.S | re.M)


@pytest.mark.parametrize("document", DOCUMENTS, ids=["package", "project"])
def test_documents(document: Path, tmp_path: Path, memcached: str) -> None:
    """Each block is a program of its own; a memcached of the test answers for every host."""
    found = blocks(document)
    assert found
    for number, block in enumerate(found):
        own = f"{memcached}&ns=doc{DOCUMENTS.index(document)}-{number}"
        program = re.sub(r"memcached://[\w.,:]+", lambda _: own, block)
        path = tmp_path / f"block{number}.py"
        path.write_text(f"import asyncio\n{program}")
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True,
                              cwd=tmp_path)
        assert done.returncode == 0, block + done.stderr
        wanted = re.findall(r"# => (.*)", block)
        assert done.stdout.splitlines() == wanted, block
