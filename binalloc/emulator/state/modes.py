"""What of the emulator is built in. Device code reads these as constants: the compiler leaves out what is off.

CHECKING: the poison and race modes, and what is counted of single instructions. The `python` engine has them always;
the `numba` engine is built without them, and a second time, with them, when a run asks for one.
"""

CHECKING = True
