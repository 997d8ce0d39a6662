"""The site of the documentation: the pages of `docs/`, staged for Sphinx and built into `build/site`."""
