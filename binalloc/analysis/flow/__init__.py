"""This room analyses control flow: blocks and edges, dominators, loops, the call graph."""
