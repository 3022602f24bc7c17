"""LocalStack as `python -m localstack.runtime.main` starts it, but on loopback and without asking
anybody else.

For LocalStack's own Python: nothing here can import the project, and the project doesn't import
this.
"""

import functools

from localstack.runtime.main import main
from localstack.utils.aws import aws_stack
from twisted.internet import endpoints

# Its server takes the port of GATEWAY_LISTEN and not the address, and would listen to the network
# (localstack/runtime/server/twisted.py, "TODO: interface = host?").
endpoints.TCP4ServerEndpoint = functools.partial(
    endpoints.TCP4ServerEndpoint, interface="127.0.0.1"
)
# For the first bucket it would ask the network's DNS for s3.127.0.0.1.
aws_stack.CACHE_S3_HOSTNAME_DNS_STATUS = False

if __name__ == "__main__":
    main()
