"""This package turns virtual Loom into Loom: predicates to seven, block layout, and the way to and from the common
allocator.

`predicates` reduces the predicates to seven, by live ranges over `flat_routine`. `block_order` and `layout` put the
blocks in sequence. `virtualise` makes the virtual code; `transform` allocates its registers and emits it. `program`
goes through the call graph.
"""
