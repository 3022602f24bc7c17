"""Fakes of AWS, one for each service. Those over HTTP are a `Loopback`; `simulated_aws` has its
own clock."""
