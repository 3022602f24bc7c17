"""What will happen before it is paid for: the flood, the ramp and the limits, from first message to
last record.

An experiment says what one message does, in quantities (`work`). `operation` makes seconds of them,
`flood` has N workers carry a queue of them out under the limits that they share, and `prediction`
says what that means for a cell. The figures of AWS are `parameters`: data, each with its source and
how well it is known.
"""
