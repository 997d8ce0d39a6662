"""The version: the package is built with it, and `fencepost --version` says it without reading metadata."""

VERSION = "0.2.0"
__version__ = VERSION
