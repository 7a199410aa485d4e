"""What users can choose about the emulated SM: a table for each kind of policy, and the events that all can hear of."""
