"""The Lambda function of the download experiment: for each message one timed download and one
record.

`handler` is the entry point. What is made once per sandbox (its id, the settings, the S3 client) is
made when this module is imported, which Lambda does before the first event.
"""

from common.sandbox import Sandbox
from download.timed_download import Download

handler = Sandbox(Download()).handle
