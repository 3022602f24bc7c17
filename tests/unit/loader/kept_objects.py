"""A bucket in memory behind the calls of boto3 that the loader makes, which can fail where a test says so."""

from __future__ import annotations

import threading
from typing import Any

from botocore.exceptions import ClientError

from loader.dataset import crc32
from stampede.stacks.target import Target


class KeptObjects(Target):
    """`kept`: {key: (body, metadata)}; `calls`: (operation, key) in order. Puts after `refuse_after` of them fail."""

    def begin(self, refuse_after: int | None = None) -> KeptObjects:
        vars(self).update(kept={}, calls=[], lock=threading.Lock())
        return self.let(refuse_after)

    def let(self, puts: int | None) -> KeptObjects:
        self.__dict__["refuse_after"] = puts
        return self

    def client(self, service: str, **config: Any) -> KeptObjects:
        return self

    def count(self, operation: str) -> int:
        return sum(name == operation for name, _ in self.calls)

    def head_object(self, Bucket: str, Key: str) -> dict[str, Any]:
        self.calls.append(("head", Key))
        if Key not in self.kept:
            raise ClientError({"Error": {"Code": "404"}, "ResponseMetadata": {"HTTPStatusCode": 404}}, "HeadObject")
        body, metadata = self.kept[Key]
        return {"ContentLength": len(body), "Metadata": metadata}

    def put_object(self, Bucket: str, Key: str, Body: bytes, ChecksumCRC32: str, **more: Any) -> None:
        with self.lock:
            self.calls.append(("put", Key))
            if self.refuse_after is not None and self.count("put") > self.refuse_after:
                raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "PutObject")
        assert ChecksumCRC32 == crc32(Body)
        self.kept[Key] = (Body, more.get("Metadata", {}))

    def copy_object(self, Bucket: str, Key: str, CopySource: dict[str, str], MetadataDirective: str) -> None:
        self.calls.append(("copy", Key))
        assert MetadataDirective == "COPY"
        self.kept[Key] = self.kept[CopySource["Key"]]

    def get_paginator(self, operation: str) -> KeptObjects:
        assert operation == "list_objects_v2"
        return self

    def paginate(self, Bucket: str, Prefix: str) -> list[dict[str, Any]]:
        keys = sorted(key for key in self.kept if key.startswith(Prefix))
        pages = [keys[first : first + 2] for first in range(0, len(keys), 2)]
        return [{"Contents": [{"Key": key, "Size": len(self.kept[key][0])} for key in page]} for page in pages] or [{}]
