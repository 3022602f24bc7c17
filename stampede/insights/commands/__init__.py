"""What each command does: stages of SQL over the events, one after the other."""
