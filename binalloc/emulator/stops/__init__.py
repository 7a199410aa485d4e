"""Why a run stopped: faults, deadlocks, loops without end, told in the words of the program."""
