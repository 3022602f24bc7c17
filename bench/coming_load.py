"""Load that comes and goes: one process that is busy for one to five seconds, then idle for as long, until it is ended.

python -m bench.coming_load SEED
"""

import random
import sys
import time

SHORTEST_S, LONGEST_S = 1.0, 5.0


def main(seed: int) -> None:
    """Never ends by itself. Processes with the same seed come and go together."""
    draw = random.Random(seed)
    while True:
        until_s = time.monotonic() + draw.uniform(SHORTEST_S, LONGEST_S)
        while time.monotonic() < until_s:
            pass
        time.sleep(draw.uniform(SHORTEST_S, LONGEST_S))


if __name__ == "__main__":
    main(int(sys.argv[1]))
