"""Where the slots of a called procedure start: the unified paper's three layouts (section 3.2.1, Fig. 3), by name."""

LAYOUTS = {
    "moving": "behind the values live across the call, which are brought to the lowest slots",
    "register": "behind the highest slot of a value live across the call",
    "traditional": "behind the caller's whole frame",
}
DEFAULT_LAYOUT = "moving"
