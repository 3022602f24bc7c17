"""The queue as the loader sees it: batches on their way in, and what came to rest in the
dead-letter queue."""
