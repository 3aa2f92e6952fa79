"""The table of keys in docs/formats.md: which keys there may be, and what each holds."""

import os
import re

import maps
import segments
import reader

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/formats.md")
NAME = r"(~[\w-]{27}|(?!~)([!-$&-9;-~]|%[0-9A-F]{2}){1,100})"
WORDS = {"NAME": NAME, "VISITOR": NAME, "IDENTITY": NAME, "PAGE": NAME, "GENERATION": "[0-9a-f]{16}",
         "BLOCKS": "[0-9a-f]{16}", "PIECES": "[0-9a-f]{16}", "KEY": NAME, "TAG": NAME, "WRITER": "[0-9a-f]{16}", "DIGITS": "([0-9a-f]{0,7}[wxyz]|[0-9a-f]{1,8})"}


def descriptor(key, flags, value):
    tag = key.split(b":")[1]
    is_plain = tag in reader.ROOTS
    return reader.plain_root(key, flags, value) if is_plain else reader.descriptor(key, flags, value)


KINDS = {
    "number": reader.number, "map": maps.map_key, "segment": segments.segment,
    "count": segments.count, "empty": segments.tombstone,
    "bytes": lambda key, flags, value: value, "L": lambda *item: (reader.readers if item[2][3] == 2 else reader.lease)(*item),
    "S": reader.permits, "V": reader.pair(b"V"),
    "O": reader.beats,
    "B": reader.pair(b"B"), "M": reader.pair(b"M"), "R": reader.record, "D": descriptor,
    "C": reader.cached, "I": reader.ids, "N": reader.once, "K": reader.generation, "P": segments.block, "H": reader.exact_head, "X": reader.exact_slot,
    "Y": reader.exact_drop,
}


def pattern(form):
    tag, *words = form.split(":")
    texts = [WORDS.get(word, "(0|[1-9][0-9]*)") for word in words]
    return re.compile(":".join(["mcds", tag, *texts]))


def forms():
    """{(form, kind): what the key looks like}"""
    with open(DOCUMENT, encoding="utf-8") as file:
        rows = re.findall(r"^\| [^|]* \| (`\w+[12]c?:NAME.*?) \| (.*?) \|$", file.read(), re.M)
    found = {}
    for keys, value in rows:
        before = ""
        for form in re.findall("`(.*?)`", keys):
            before = form.replace("...", before)
            kind = re.match("(?:frame `)?([a-z]+|[A-Z])", value).group(1)
            found[before, kind] = pattern(before)
    return found


FORMS = forms()


def kind_of(value):
    if value[:3] == b"mdF":
        return "map"
    return value[2:3].decode() if value[:2] == b"md" else None


def read(key, flags, value):
    """(form, kind) of a key, the value of which can be read so."""
    named = kind_of(value)
    found = [(form, kind) for (form, kind), looks in FORMS.items()
             if looks.fullmatch(key.decode()) and (kind == named or (named is None and len(kind) > 1))]
    assert len(found) == 1, (key, named, found)
    KINDS[found[0][1]](key, flags, value)
    return found[0]
