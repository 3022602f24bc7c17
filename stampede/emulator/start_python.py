"""Starts a Python function as Lambda does: its runtime's own client comes first, and the package
after it.

Run by the interpreter of `python_runtime`: HANDLER FOLDER...; the folders are where the handler
imports from.
"""

import sys

from awslambdaric.__main__ import main

if __name__ == "__main__":  # and not in a process of multiprocessing, which imports this file
    handler, *folders = sys.argv[1:]
    sys.path[:0] = folders
    main([sys.argv[0], handler])
