"""Build with `pip install .`, or without a network with `python3 setup.py build`."""

from setuptools import setup

setup(cffi_modules=["build_binding.py:ffi"])
