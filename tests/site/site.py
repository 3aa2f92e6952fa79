#!/usr/bin/env python3
"""Build the web site, and check every link, anchor and picture. Then break it in each way that must be found.

    site.py SOURCE MANUALS
"""

import functools
import glob
import html.parser
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
ELSEWHERE = re.compile(r"(?:[a-z]+:)?//|(?:https?|ftp|ws):", re.I)
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data", "video": "src"}
CODE = 0.6  # the advance of a letter of a program, in its size


class Page(html.parser.HTMLParser):
    """The ids, links, loads and inline scripts of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.scripts, self.faults = set(), [], [], [], []
        self.tag = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tag, values = tag, dict(attrs)
        if "id" in values:
            if values["id"] in self.ids:
                self.faults.append(f"the id {values['id']} is there twice")
            self.ids.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if values.get(LOADS.get(tag)):
            self.loads.append(values[LOADS[tag]])
        if tag == "img" and not values.get("alt"):
            self.faults.append(f"{values.get('src')} has no text for readers who do not see it")

    def handle_data(self, data):
        if self.tag == "script":
            self.scripts.append(data)


parse = functools.cache(Page)


def resolve(path, target):
    """The file and the anchor of a link of the page."""
    target, _, anchor = target.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
    return there, anchor


def judge_pages(files):
    """Faults of the pages; the pages that a reader of index.html can reach."""
    pages = {path: parse(text) for path, text in files.items() if path.endswith(".html")}
    faults = [f"{path}: {fault}" for path, page in pages.items() for fault in page.faults]
    faults += [f"{path}: a placeholder of the converter is left" for path, text in files.items()
               if path.endswith((".html", ".json")) and ("\x02" in text or "\\u0002" in text)]
    reached, todo = {"index.html"}, ["index.html"]
    for path, page in pages.items():
        for load in page.loads:
            if ELSEWHERE.match(load) or resolve(path, load)[0] not in files:
                faults.append(f"{path}: loads {load}")
        faults += [f"{path}: a script names another host" for script in page.scripts if ELSEWHERE.search(script)]
        for link in page.links:
            there, anchor = resolve(path, link)
            if not ELSEWHERE.match(link) and there not in files:
                faults.append(f"{path}: a link to {link}, which is not there")
            elif anchor and there in pages and anchor not in pages[there].ids:
                faults.append(f"{path}: a link to {link}: no such place in the page")
    while todo:
        path = todo.pop()
        new = {resolve(path, link)[0] for link in pages[path].links} & set(pages) - reached
        reached |= new
        todo += new
    return faults + [f"{path}: no link leads there" for path in sorted(set(pages) - reached)]


def judge_styles(files):
    for path, text in files.items():
        for target in re.findall(r"(?:url\(|@import )\s*[\"']?([^\"')]+)", text) if path.endswith(".css") else []:
            if not target.startswith("data:") and (ELSEWHERE.match(target) or resolve(path, re.sub(r"\?.*", "", target))[0] not in files):
                yield f"{path}: loads {target}"


def width_of(text):
    """About the width of a text: each letter by its size, with that of a usual font."""
    return sum(0.28 if letter in "ijl.,:;'| !I()[]ft/" else 0.85 if letter in "mwMW@" else 0.53 for letter in text)


def judge_picture(svg):
    """Faults of an SVG: each line of text lies in the smallest box around its beginning or its middle."""
    if re.search(r"(?:href|src)=|url\(|@import|<script", svg):
        yield "loads something"
    try:
        root = xml.etree.ElementTree.fromstring(svg)
    except xml.etree.ElementTree.ParseError as error:
        yield f"no XML: {error}"
        return
    if root.find(SVG + "title") is None or root.find(SVG + "desc") is None:
        yield "no title or no description"
    boxes = [tuple(float(box.get(name) or 0) for name in ("x", "y", "width", "height")) for box in root.iter(SVG + "rect")]
    for text in root.iter(SVG + "text"):
        x, y = float(text.get("x")), float(text.get("y"))
        width = 13 * width_of(text.text or "")
        if "code" in (text.get("class") or "").split():
            width = 13 * CODE * len(text.text)
        for part in text:
            width += 12 * CODE * len(part.text or "") + 13 * width_of(part.tail or "")
        left = x - width / 2 if text.get("text-anchor") == "middle" else x
        around = [box for box in boxes if box[0] <= x <= box[0] + box[2] and box[1] <= y - 4 <= box[1] + box[3]]
        if not around:
            yield f"'{''.join(text.itertext())}' is outside"
            continue
        box = min(around, key=lambda box: box[2] * box[3])
        if left < box[0] or left + width > box[0] + box[2] or y > box[1] + box[3]:
            yield f"'{''.join(text.itertext())}' does not fit into its box"


def judge(files, wanted):
    faults = judge_pages(files) + list(judge_styles(files))
    pictures = [path for path in files if path.endswith(".svg") and path.startswith("pictures/")]
    faults += [f"{path}: {fault}" for path in pictures for fault in judge_picture(files[path])]
    return faults + [f"no page {path}" for path in wanted if path not in files]


def wanted_pages(source, manuals):
    """A page for each guide, each document and each manual page that is not another name of one."""
    yield from (f"guides/{os.path.basename(path)[:-3]}.html" for path in glob.glob(f"{source}/docs/guides/*.md"))
    yield from (f"{os.path.basename(path)[:-3]}.html" for path in glob.glob(f"{source}/docs/*.md"))
    for path in glob.glob(f"{manuals}/man?/*"):
        with open(path, encoding="utf-8") as file:
            if not file.read(4).startswith(".so "):
                yield f"man/{os.path.basename(path)}.html"


def read_tree(folder):
    files = {}
    for path in glob.glob(folder + "/**", recursive=True):
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files


# (file, what is replaced, by what, the fault that this must give)
BREAKS = [
    ("guides/queue.html", 'href="once.html"', 'href="ones.html"', "a link to ones.html, which is not there"),
    ("design.html", "#map-a-change-in-one-command", "#map-a-change", "no such place in the page"),
    ("man/mcds-lock.1.html", 'href="mcds.1.html"', 'href="mcds.8.html"', "a link to mcds.8.html, which is not there"),
    ("changelog.html", 'href="man/mcds_counter.3.html"', 'href="man/mcds_counter.html"', "a link to man/mcds_counter.html, which is not there"),
    ("guides/cache.html", 'href="../man/mcds-cache.1.html"', 'href="../man/mcds-cache.html"', "which is not there"),
    ("man/index.html", 'href="mcds-uri.7.html"', 'href="mcds-uri.html"', "a link to mcds-uri.html, which is not there"),
    ("index.html", "<head>", '<head><script src="https://example.com/a.js"></script>', "loads https://example.com/a.js"),
    ("index.html", 'src="pictures/overview.svg"', 'src="//example.com/a.svg"', "loads //example.com/a.svg"),
    ("index.html", "<head>", "<head><script>fetch('https://example.com')</script>", "a script names another host"),
    ("search/search_index.json", '"title":"', '"title":"\\u0002', "a placeholder of the converter is left"),
    ("site.css", ".manual pre {", "@import 'https://example.com/a.css'; .manual pre {", "loads https://example.com/a.css"),
    ("index.html", 'alt="programs', 'alt="" title="programs', "has no text for readers"),
    ("pictures/map.svg", "</svg>", "", "no XML"),
    ("pictures/call.svg", ">program<", ">program, which is a very long name<", "does not fit into its box"),
    ("pictures/overview.svg", ">mcds</text>", ' href="a.png">mcds</text>', "loads something"),
]


def check_breaks(files, wanted):
    for path, old, new, fault in BREAKS:
        assert old in files[path], f"{path} has no {old}"
        found = judge({**files, path: files[path].replace(old, new)}, wanted)
        assert any(fault in line for line in found), f"{path} with {new} instead of {old}: not found"
    unlinked = {path: text.replace('/mcds-uri.7.html"', '/index.html"').replace('"mcds-uri.7.html', '"index.html')
                for path, text in files.items()}
    assert "man/mcds-uri.7.html: no link leads there" in judge(unlinked, wanted), "a page without a link is not found"
    missing = {path: text for path, text in files.items() if path != "guides/first-hour.html"}
    assert "no page guides/first-hour.html" in judge(missing, wanted), "a missing page is not found"


def main():
    source, manuals = sys.argv[1:]
    for program in ("mkdocs", "mandoc"):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            sys.exit(77)
    subprocess.run([source + "/tools/pictures", "--check"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run([source + "/tools/site", manuals, folder + "/site"], check=False).returncode != 0:
            sys.exit("site: tools/site has failed")
        files = read_tree(folder + "/site")
    wanted = list(wanted_pages(source, manuals))
    faults = judge(files, wanted)
    print("\n".join(faults) or f"site: {len(wanted)} pages and more, {len(files)} files")
    if faults:
        sys.exit(1)
    check_breaks(files, wanted)


main()
