"""Small scripts for work on the repository; nothing here is shipped.

environment  the virtual environment from the lock (runs before anything is installed)
lock         requirements/*.lock from pyproject.toml
system       the Debian packages that some tests need
generated    every file that is made from another one: write them, or check that they are up to date
demo         runs the examples and says where to look next
sbom         the bill of materials of a release
check        what `make check` runs
"""
