"""Orders in which the virtual blocks of a merged block use shared memory, one after another."""
