"""From virtual Loom to Loom: predicates to seven, registers without limit, calls, branches and reconvergence.

`live_ranges` says where each unit lives, `predicates` brings them to seven, `assign` joins what copies connect and
hands out registers, `spill` makes room above 255, `calls` passes arguments, `emit` writes the code, `program` goes
through the call graph.
"""
