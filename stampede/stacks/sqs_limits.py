"""SQS's limits (Amazon SQS quotas), for the loader and the bill."""

# Of one SendMessageBatch, which takes 1 MiB in all; this leaves a margin for JSON escaping.
MAX_ENTRIES = 10
MAX_BATCH_BYTES = 1_000_000
