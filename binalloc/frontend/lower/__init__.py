"""From the PTX syntax tree to virtual Loom, instruction by instruction, by composition of opcode, type and modifiers.

`context` is what every instruction's lowering works with, `modifiers` takes an instruction's suffixes apart, `dispatch`
joins the tables of the instruction modules, `routine` goes through a function's body.
"""
