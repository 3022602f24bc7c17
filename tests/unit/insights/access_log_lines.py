"""Lines of S3's server access logs as CloudWatch Logs gets them.

The fields are those of the S3 User Guide, "Log format in CloudWatch Logs" and the queries beside it; the values are
made up. What a request doesn't have is null there.
"""

import json
from typing import Any

ROLE = "stampede-download-us-east-1"
WORKER = f"arn:aws:sts::123456789012:assumed-role/{ROLE}/stampede-download"


def line(number: int, **changes: Any) -> dict[str, Any]:
    """A log event: one part of a download, by the function, `number` seconds after the first."""
    fields = {
        "schema_version_id": "V_1_0",
        "bucket_arn": "arn:aws:s3:::stampede-download-123456789012-us-east-1",
        "bucket_name": "stampede-download-123456789012-us-east-1",
        "request_time": f"2026-11-22T10:00:{number:02}.250Z",
        "bucket_owner_id": "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be",
        "remote_ip": "192.0.2.3",
        "requester": WORKER,
        "request_id": f"3E57427F3EX{number:05}",
        "operation": "REST.GET.OBJECT",
        "key_name": "sample_large_file.dat",
        "request_uri": "GET /sample_large_file.dat HTTP/1.1",
        "http_status": 206,
        "error_code": None,
        "bytes_sent_size": 8_388_608,
        "object_size": 16_777_216,
        "total_duration": 91,
        "user_agent": "Boto3/1.43.106 md/Botocore#1.43.106 md/awscrt#0.28.2 ua/2.1 os/linux#5.10 lang/python#3.12.11",
        "version_id": None,
        "signature_version": "SigV4",
        "authentication_type": "AuthHeader",
        "tls_version": "TLSv1.3",
    }
    return {"timestamp": 1_795_341_600_000 + 1000 * number, "message": json.dumps(fields | changes), "logStream": "s3"}
