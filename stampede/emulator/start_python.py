"""Starts a Python function as Lambda does: the runtime's own client loads before the package.

The interpreter of `python_runtime` runs it with HANDLER FOLDER...; the handler imports from these
folders.
"""

import sys

from awslambdaric.__main__ import main

if __name__ == "__main__":  # and not in a process of multiprocessing, which imports this file
    handler, *folders = sys.argv[1:]
    sys.path[:0] = folders
    main([sys.argv[0], handler])
