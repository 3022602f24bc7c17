"""What SQS takes at once (Amazon SQS quotas): the loader keeps to it, and the bill counts by it."""

# Of one SendMessageBatch. It takes 1 MiB in all, and JSON escaping is counted with a margin.
MAX_ENTRIES = 10
MAX_BATCH_BYTES = 1_000_000
