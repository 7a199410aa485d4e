"""From virtual Loom to Loom: predicates to seven, block layout, and the way to and from the common allocator.

`predicates` brings them to seven, by live ranges over `flat_routine`; `block_order` and `layout` put the blocks one
behind the other; `virtualise` makes the virtual code that `transform` gives registers and emits; `program` goes through
the call graph.
"""
