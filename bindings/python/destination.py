"""Print the directory, relative to a prefix, in which this Python looks for packages.

    destination.py PREFIX

Debian's Python looks under /usr and /usr/local, each with a layout of its own. Under any other prefix
PYTHONPATH has to name the directory.
"""

import os
import site
import sys

prefix = os.path.join(sys.argv[1], "")
known = [found[len(prefix):] for found in site.getsitepackages() if found.startswith(prefix + "lib")]
print(known[0] if known else "lib/python%d.%d/site-packages" % sys.version_info[:2])
