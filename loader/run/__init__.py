"""One run: its plan, its folder, the flood and the drain of its cells, its account, and the stack that it holds."""
