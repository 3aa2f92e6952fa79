"""Derive the C declarations for cffi from the public headers.

    declare.py INCLUDE-DIRECTORY      print them

The preprocessor expands the macros of the headers. Only lines that come from the headers of mcds
are kept, so nothing is written twice and nothing can differ from the header.
"""

import os
import re
import shlex
import subprocess
import sys


def preprocess(include: str, *options: str) -> str:
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [*compiler, "-E", *options, "-I", include, "-x", "c", "-"]
    return subprocess.run(command, input="#include <mcds.h>\n", capture_output=True, text=True,
                          check=True).stdout


def own_lines(text: str, include: str) -> str:
    """The lines that the line markers of the preprocessor assign to a file under `include`."""
    kept = []
    is_own = False
    for line in text.split("\n"):
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            is_own = marker.group(1).startswith(include.rstrip("/") + "/mcds")
        elif is_own:
            kept.append(line)
    return "\n".join(kept)


def declarations(include: str) -> str:
    """Types and functions, without the bodies of inline functions."""
    text = own_lines(preprocess(include, "-D__attribute__(x)="), include)
    return re.sub(r"static inline [^{;]*\{.*?\n\}", "", text, flags=re.S)


def constants(include: str) -> str:
    """The macros that are numbers; the compiler fills in their values."""
    text = own_lines(preprocess(include, "-dD"), include)
    number = r"-?\d\w*|UINT32_MAX|INT32_MIN|\([^,A-Z]*INT64_C\(\d+\)[^,A-Z]*\)"
    names = re.findall(rf"^#define (MCDS_\w+) (?:{number})$", text, re.M)
    return "".join(f"#define {name} ...\n" for name in names)


def declare(include: str) -> str:
    return constants(include) + declarations(include)


if __name__ == "__main__":
    print(declare(sys.argv[1]))
