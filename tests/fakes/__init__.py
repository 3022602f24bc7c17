"""Fakes of AWS, one for each service. Those that answer over HTTP are a `Loopback`; `simulated_aws`
runs on a clock."""
