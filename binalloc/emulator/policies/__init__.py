"""Users choose these policies of the emulated SM. There is a table for each kind of policy, and a list of the events
that all policies can hear of."""
