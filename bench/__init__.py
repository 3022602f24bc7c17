"""Side-by-side measurements against peers: real servers on loopback, both sides in turn in one
run."""
