"""This package lowers the PTX syntax tree to virtual Loom, instruction by instruction.

The code of an instruction is composed by its opcode, type and modifiers. Every instruction's lowering uses `context`;
its `modifiers` take an instruction's suffixes apart. In `program`, `dispatch` joins the tables of the instruction
modules and `routine` goes through a function's body.
"""
