"""What the project is built from: are the locks sound, the licences allowed, the versions safe.

For development only; it is not installed with the library. `python -m supply --help`.
"""
