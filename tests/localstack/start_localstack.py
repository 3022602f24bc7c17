"""LocalStack as `python -m localstack.runtime.main` starts it, but on loopback and without calls to
the network.

LocalStack's own Python runs this file, which can't import the project; nor does the project import
it.
"""

import functools

from localstack.runtime.main import main
from localstack.utils.aws import aws_stack
from twisted.internet import endpoints

# Its server uses the port of GATEWAY_LISTEN but not the address, and would listen on all interfaces
# (localstack/runtime/server/twisted.py, "TODO: interface = host?").
endpoints.TCP4ServerEndpoint = functools.partial(
    endpoints.TCP4ServerEndpoint, interface="127.0.0.1"
)
# For the first bucket it would look s3.127.0.0.1 up in DNS.
aws_stack.CACHE_S3_HOSTNAME_DNS_STATUS = False

if __name__ == "__main__":
    main()
