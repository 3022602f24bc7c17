"""The Lambda function of the file system experiment: for each message one timed copy to /tmp and
one record.

`handler` is the entry point. What is made once per sandbox (its id, the settings, the S3 client) is
made when this module is imported, which Lambda does before the first event.
"""

from common.sandbox import Sandbox
from filesystem.timed_copy import Copies

handler = Sandbox(Copies()).handle
