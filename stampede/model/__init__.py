"""What will happen, before it is paid for: the flood, the ramp and the limits, from the first
message to the last record.

An experiment states what one message does, in quantities (`work`). `operation` turns them into
seconds, `flood` has N workers empty a queue of such messages under shared limits, and `prediction`
says what that means for a cell. `parameters` holds the figures of AWS: data, each with its source
and how well it is known.
"""
