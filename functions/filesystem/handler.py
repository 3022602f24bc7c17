"""The Lambda function of the file system experiment: one timed copy and one record a message.

`handler` is the entry point. Lambda imports this module before the first event, which makes what a
sandbox needs once: its id, the settings, the S3 client.
"""

from common.sandbox import Sandbox
from filesystem.timed_copy import Copies

handler = Sandbox(Copies()).handle
