"""Measurements against peers on real loopback servers, with both sides in turn in one run."""
