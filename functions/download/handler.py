"""The Lambda function of the download experiment: one timed download and one record a message.

`handler` is the entry point. Lambda imports this module before the first event, which makes what a
sandbox needs once: its id, the settings, the S3 client.
"""

from common.sandbox import Sandbox
from download.timed_download import Download

handler = Sandbox(Download()).handle
