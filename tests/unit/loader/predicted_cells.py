"""What the model says of a cell, made by hand."""

from stampede.model.prediction import Prediction

AT_HALF = Prediction(
    count=5000,
    min_s=9.0,
    p25_s=12.0,
    avg_s=12.8,
    p75_s=13.0,
    max_s=14.4,
    p99_s=14.2,
    time_to_n_s=99.2,
    share_at_n=0.5,
    most_at_once=500,
    span_s=190.0,
    drain_s=191.0,
    peak_requests_per_s=4900.0,
    requests_limit_per_s=5500.0,
    failed=0,
    dead_lettered=0,
    throttled=0,
    bottleneck="the trigger's ramp",
)
