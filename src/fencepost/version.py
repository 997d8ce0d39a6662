"""The version: the package is built with it, and `fencepost --version` says it without reading metadata."""

VERSION = "0.1.0"
__version__ = VERSION
