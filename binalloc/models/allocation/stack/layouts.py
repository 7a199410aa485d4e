"""This table has the unified paper's three layouts (section 3.2.1, Fig. 3) by name: where the slots of a callee
start."""

LAYOUTS = {
    "moving": "behind the values live across the call, which are brought to the lowest slots",
    "register": "behind the highest slot of a value live across the call",
    "traditional": "behind the caller's whole frame",
}
"""For each layout, where the callee's slots start."""
DEFAULT_LAYOUT = "moving"
"""The moving stack, which is the layout that the paper proposes; it needs the fewest slots."""
