"""A file system, its mount targets and access points take their time: creating, available, deleting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ministack.services import efs

from stampede.emulator.manners.manner import Answer, Call, Manner

NOT_YET = (
    "EFS file system {} referenced by access point {} has mount targets created in all availability zones the function "
    "will execute in, but not all are in the available life cycle state yet. Please wait for them to become available "
    "and try the request again."
)


class FileSystems(Manner):
    """LifeCycleState `creating` for seconds (file system, access point) or minutes (mount target), and `deleting` of a
    mount target (EFS API reference: CreateFileSystem, CreateMountTarget, DeleteMountTarget). Meanwhile a file system
    takes no mount target (IncorrectFileSystemLifeCycleState), a function doesn't take the file system (the README of
    AWS CDK's aws-lambda quotes the text), and DeleteFileSystem says FileSystemInUse.

    The provider's users see 1 to 3 minutes for a mount target.
    """

    SYSTEM_S, TARGET_S, POINT_S, DELETING_S = (3, 10), (60, 180), (2, 6), (20, 60)
    members: Mapping[str, str] = {
        "FileSystems": "FileSystemId",
        "MountTargets": "MountTargetId",
        "AccessPoints": "AccessPointId",
    }
    calls = frozenset(
        f"efs.{name}"
        for name in [
            *("CreateFileSystem", "CreateMountTarget", "CreateAccessPoint"),
            *("DescribeFileSystems", "DescribeMountTargets", "DescribeAccessPoints"),
            *("DeleteFileSystem", "DeleteMountTarget"),
        ]
    ) | {"lambda.CreateFunction", "lambda.UpdateFunctionConfiguration"}

    def __init__(self, pace: Any) -> None:
        super().__init__(pace)
        self._available_from: dict[str, float] = {}
        self._gone: dict[str, dict[str, Any]] = {}  # mount targets as they were
        self._gone_from: dict[str, float] = {}

    def before(self, call: Call) -> Answer | None:
        """Refuse what comes too early; show a mount target that is going."""
        given = call.given
        if call.service == "lambda":
            return self._not_mounted_yet(call)
        if call.operation == "CreateMountTarget" and self._is_creating(given["FileSystemId"]):
            return call.refused(409, "IncorrectFileSystemLifeCycleState", "The file system is being created.")
        target = given.get("MountTargetId", "")
        if call.operation == "DeleteMountTarget" and target in efs._mount_targets:
            self._gone[target] = efs._mt_response(efs._mount_targets[target])
            self._gone_from[target] = self.pace.now() + self.pace.seconds(*self.DELETING_S, target)
        elif call.operation == "DescribeMountTargets" and target in self._going():
            return call.answered({"MountTargets": [self._gone[target] | {"LifeCycleState": "deleting"}]})
        elif call.operation == "DeleteFileSystem" and given["FileSystemId"] in self._going().values():
            return call.refused(409, "FileSystemInUse", "The file system has mount targets.")
        return None

    def after(self, call: Call, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Note what was made, and show what is being made."""
        for made, key, takes_s in (
            ("CreateMountTarget", "MountTargetId", self.TARGET_S),
            ("CreateAccessPoint", "AccessPointId", self.POINT_S),
            ("CreateFileSystem", "FileSystemId", self.SYSTEM_S),
        ):
            if call.operation == made:
                ready = self.pace.now() + self.pace.seconds(*takes_s, made, len(self._available_from))
                self._available_from.setdefault(answer[key], ready)
                return self._shown(answer, key)
        for listed, key in self.members.items():
            if listed in answer:
                return {**answer, listed: [self._shown(item, key) for item in answer[listed]]}
        return answer

    def _shown(self, item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        return {**item, "LifeCycleState": "creating"} if self._is_creating(item[key]) else item

    def _is_creating(self, name: str) -> bool:
        return self.pace.now() < self._available_from.get(name, 0.0)

    def _going(self) -> dict[str, str]:
        """Mount targets that are being deleted, with their file systems."""
        now = self.pace.now()
        return {target: self._gone[target]["FileSystemId"] for target, until in self._gone_from.items() if now < until}

    def _not_mounted_yet(self, call: Call) -> Answer | None:
        """Refuse a function whose file system has a mount target, in a subnet of the function's, that is being made."""
        subnets = (call.given.get("VpcConfig") or {}).get("SubnetIds") or []
        for wanted in call.given.get("FileSystemConfigs") or []:
            point = efs._access_points.get(wanted["Arn"].rpartition("/")[2]) or {}
            for target in efs._mount_targets.values():
                is_its = target["FileSystemId"] == point.get("FileSystemId") and target["SubnetId"] in subnets
                if is_its and self._is_creating(target["MountTargetId"]):
                    text = NOT_YET.format(point["FileSystemId"], wanted["Arn"])
                    return call.refused(400, "InvalidParameterValueException", text)
        return None
