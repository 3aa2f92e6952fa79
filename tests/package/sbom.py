#!/usr/bin/env python3
"""Check a bill of materials against SPDX 2.3, the archive beside it and what the library links.

    sbom.py SOURCE FILE.spdx.json
"""

import hashlib
import json
import os
import re
import sys

LICENCES = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Beerware", "ISC", "LGPL-2.1-or-later", "MIT",
            "OLDAP-2.8", "PSF-2.0", "blessing"}
RELATIONSHIPS = {"DESCRIBES", "DEPENDS_ON", "BUILD_DEPENDENCY_OF", "OPTIONAL_DEPENDENCY_OF",
                 "TEST_DEPENDENCY_OF"}


def check_document(document):
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT"
    assert re.fullmatch(r"https?://[^#@]+", document["documentNamespace"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
    for creator in document["creationInfo"]["creators"]:
        assert re.match(r"(Tool|Organization|Person): ", creator)
    assert "@" not in json.dumps(document), "a placeholder is left"


def check_package(package, extracted):
    assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"])
    for field in ("name", "downloadLocation", "copyrightText"):
        assert package[field], (package["name"], field)
    assert package["filesAnalyzed"] is False
    for field in ("licenseConcluded", "licenseDeclared"):
        for licence in re.split(r" (?:AND|OR) ", package[field]):
            assert licence in LICENCES | extracted, (package["name"], licence)


def check_relationships(document, names):
    """The package of each name has some relationship to mcds. Returns the names that mcds depends on."""
    ids = {"SPDXRef-" + name for name in names} | {"SPDXRef-DOCUMENT"}
    related = set()
    needed = set()
    for relationship in document["relationships"]:
        kind = relationship["relationshipType"]
        ends = relationship["spdxElementId"], relationship["relatedSpdxElement"]
        assert kind in RELATIONSHIPS and ids.issuperset(ends), relationship
        related.update(ends)
        if kind in ("DEPENDS_ON", "BUILD_DEPENDENCY_OF"):
            needed.update(end[len("SPDXRef-"):] for end in ends)
    assert related == ids, ids - related
    return needed


def linked(source):
    """The modules that the build of the library asks pkg-config for."""
    found = set()
    for name in ("library.cmake", "mcds-dependencies.cmake"):
        with open(os.path.join(source, "cmake", name), encoding="utf-8") as file:
            for arguments in re.findall(r"pkg_check_modules\((.*?)\)", file.read()):
                found.add(re.split("[<>=]", arguments.split()[-1])[0])
    assert "lmdb" in found
    return found


def main():
    source, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    check_document(document)
    extracted = {licence["licenseId"] for licence in document["hasExtractedLicensingInfos"]}
    packages = {package["name"]: package for package in document["packages"]}
    assert len(packages) == len(document["packages"])
    for package in packages.values():
        check_package(package, extracted)
    missing = linked(source) - check_relationships(document, packages)
    assert not missing, f"not in the bill: {missing}"
    mcds = packages["mcds"]
    with open(os.path.join(os.path.dirname(path), mcds["packageFileName"]), "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == mcds["checksums"][0]["checksumValue"]
    assert f"mcds-{mcds['versionInfo']}.tar.gz" == mcds["packageFileName"]
    print(f"{len(packages)} packages")


main()
