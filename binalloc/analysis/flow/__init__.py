"""Control flow: blocks and edges, dominators, loops, the call graph."""
