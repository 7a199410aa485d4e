"""This module says which optional parts of the emulator are built in. Device code reads the flags as constants, and the
compiler leaves out what is off.

CHECKING: the poison and race modes, and the counters of single instructions. The `python` engine always has them. The
`numba` engine is built without them, and a second time with them when a run asks for one.
"""

CHECKING = True
