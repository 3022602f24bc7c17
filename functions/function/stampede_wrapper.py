"""The entry of the user's function: times its handler and writes a record of each message."""
