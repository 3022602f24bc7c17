"""Runs Terraform (or OpenTofu) in one folder, and prints every command: a user could run it by
hand."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from stampede import full_disk, own_folder, user_json
from stampede.emulator.process import end_with_parent
from stampede.emulator.providers import terraform_binary
from stampede.errors import RunError
from stampede.interruption import held_back
from stampede.progress import detail, say
from stampede.stacks import hcl

# Long enough for subnets that wait for Lambda's network interfaces, short enough to notice a hung
# provider. Buckets of many objects are emptied before, without a limit (loader/dataset.py).
COMMAND_TIMEOUT_S = 3600
INTERRUPT_PATIENCE_S = 120
# A killed sweep's Terraform works on, and releases the state's lock at its end: an apply takes a
# minute, a destroy three.
LOCK_TIMEOUT = "-lock-timeout=3m"
# The messages of `init` in Terraform and OpenTofu.
_REGISTRY_DOES_NOT_ANSWER = (
    "Could not retrieve the list of available versions",
    "could not connect to registry",
)
_WRITTEN = re.compile(r"^(\S+): (?:Creation|Modifications) complete", re.MULTILINE)
_ERROR_LINE = re.compile(r"^[\s│╷╵]*Error: (?P<text>.+)$", re.MULTILINE)


class StateLockedError(RunError):
    """Another Terraform holds the lock of the state, so this one has done nothing."""


@dataclass(frozen=True)
class Terraform:
    """Terraform in `directory`, with the complete `environment` and a log file for all output."""

    directory: Path
    environment: Mapping[str, str]
    log_file: Path
    # Name and version of the providers that `environment` has as development overrides
    # (`providers.prepare_for`).
    built_providers: Mapping[str, str] = field(default_factory=dict)
    # Ends Terraform in an orderly way when this process dies (Linux).
    follow_parent: bool = False

    def init(self) -> None:
        """`terraform init`; raises RunError with Terraform's first error line.

        Runs `terraform get` instead with built_providers, which need no init, and when no registry
        answers in a folder that was initialised earlier: `init` needs it even for installed
        providers.
        """
        locked = (self.directory / ".terraform.lock.hcl").is_file()
        try:
            if not self.built_providers:
                self._run("init", "-input=false", "-no-color")
                return
        except RunError as error:
            if not locked or not any(words in str(error) for words in _REGISTRY_DOES_NOT_ANSWER):
                raise
            using = "using the providers that were installed earlier"
            say(f"the provider registry doesn't answer; {using}")
        self._run("get", "-no-color")

    def apply(self, variables: Mapping[str, Any]) -> list[str]:
        """`terraform apply -auto-approve -var name=value ...`; returns the addresses of created and
        changed resources. Raises RunError."""
        flags = ("-auto-approve", "-input=false", "-no-color", LOCK_TIMEOUT)
        output = self._run("apply", *flags, *self._variable_flags(variables))
        return _WRITTEN.findall(output)

    def destroy(self, variables: Mapping[str, Any], *, refresh: bool = True) -> None:
        """`terraform destroy -auto-approve`; the variables must be as valid as for apply. Raises
        RunError.

        Without `refresh` Terraform deletes what is in its state, without checking first whether it
        still exists.
        """
        flags = ("-auto-approve", "-input=false", "-no-color", LOCK_TIMEOUT)
        unrefreshed = () if refresh else ("-refresh=false",)
        self._run("destroy", *flags, *unrefreshed, *self._variable_flags(variables))

    def destroy_command(self, variables: Mapping[str, Any]) -> str:
        """The command that destroys the stack, for a user to copy."""
        program = terraform_binary()
        if shutil.which(name := Path(program).name) == program:
            program = name
        command = [program, f"-chdir={self.directory}", "destroy", *self._variable_flags(variables)]
        if self.built_providers:
            config = f"TF_CLI_CONFIG_FILE={self.environment['TF_CLI_CONFIG_FILE']}"
            command = ["env", config, *command]
        return shlex.join(command)

    def resources(self) -> list[str]:
        """Addresses of the resources in the state, without data sources; [] without a state.
        Raises RunError."""
        try:
            listed = self._run("state", "list", quiet=True)
        except RunError as error:
            if "No state file was found" in str(error):
                return []
            raise
        return [
            address for address in listed.splitlines() if not re.search(r"(^|\.)data\.", address)
        ]

    def outputs(self) -> dict[str, Any]:
        """`terraform output -json` as {name: value}, empty if nothing is applied. Raises
        RunError."""
        try:
            return plain_outputs(self._run("output", "-json", quiet=True))
        except (ValueError, KeyError, TypeError, AttributeError):
            problem = f"`{terraform_binary()} output -json` doesn't print what Terraform prints"
            raise RunError(problem, "set STAMPEDE_TERRAFORM to Terraform or OpenTofu") from None

    def version(self) -> dict[str, Any]:
        """`terraform version -json`: Terraform's version and the providers selected in this
        folder."""
        versions = json.loads(self._run("version", "-json", quiet=True))
        if self.built_providers:
            versions["provider_selections"] = dict(self.built_providers)
        return versions

    def _variable_flags(self, variables: Mapping[str, Any]) -> list[str]:
        """A -var for each variable, and a file for those that are null: `-var=sink=null` would be
        the text "null"."""
        flags = [
            f"-var={name}={hcl.text_of(value)}"
            for name, value in variables.items()
            if value is not None
        ]
        if nulls := {name: None for name, value in variables.items() if value is None}:
            file = self.log_file.absolute().with_name("null.tfvars.json")
            own_folder.make(file.parent)
            file.write_text(json.dumps(nulls))
            flags.append(f"-var-file={file}")
        return flags

    def _run(self, *arguments: str, quiet: bool = False) -> str:
        command = [terraform_binary(), f"-chdir={self.directory}", *arguments]
        if not quiet:
            detail(f"$ {shlex.join(command)}")
        own_folder.make(self.log_file.parent)
        self._log(f"$ {shlex.join(command)}")
        # Files, not pipes: the output can be read even after several Ctrl-C.
        with self._text_file() as output_file, self._text_file() as errors_file:
            start = partial(
                subprocess.Popen,
                command,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output_file,
                stderr=errors_file,
                start_new_session=True,  # _status_of passes Ctrl-C on, once
                preexec_fn=end_with_parent() if self.follow_parent else None,
            )
            try:
                status = _status_of(start, quiet=quiet)
            except subprocess.TimeoutExpired:
                raise RunError(
                    f"terraform {arguments[0]} was stopped after {COMMAND_TIMEOUT_S / 60:.0f} min; "
                    "what it had created and not yet destroyed is still there and billed: repeat "
                    "the command, or remove the stack with `terraform destroy`"
                ) from None
            finally:
                output, errors = _whole(output_file), _whole(errors_file)
                self._log(f"{output if not quiet else ''}{errors}")
        if status != 0 or quiet:  # Terraform doesn't notice lost output
            full_disk.refuse(self.log_file.parent)
        if status < 0:
            raise RunError(
                f"terraform {arguments[0]} was ended by signal {-status} "
                f"({signal.strsignal(-status)}); its whole output: {self.log_file}"
            )
        if status != 0:
            kind = StateLockedError if "Error acquiring the state lock" in errors else RunError
            why = first_error(errors or output).rstrip(".")
            raise kind(f"terraform {arguments[0]} failed: {why}; its whole output: {self.log_file}")
        return output

    def _text_file(self) -> TextIO:
        """A file for a command's output, which a kill may cut in the middle of a character."""
        return tempfile.TemporaryFile("w+", errors="replace", dir=self.log_file.parent)

    def _log(self, text: str) -> None:
        """Log a command's output. A full disk must not prevent destroying a stack."""
        with contextlib.suppress(OSError), self.log_file.open("a") as log:
            log.write(f"{text.rstrip()}\n" if text.strip() else "")


def plain_outputs(text: str) -> dict[str, Any]:
    """The text of `terraform output -json` as {name: value}. Raises ValueError, KeyError, TypeError
    or AttributeError for any other text."""
    return {name: entry["value"] for name, entry in user_json.value_of(text).items()}


# Lines that quote the source; the explanation follows them.
_WHERE = re.compile(r"on |with |\d+: |├|var\.\w+ is |This was checked by ")


def first_error(text: str) -> str:
    """The first error in Terraform's output with the beginning of its explanation, as one line."""
    match = _ERROR_LINE.search(text)
    if not match:
        return " ".join(text.split())[-300:] or "no message"
    following = _ERROR_LINE.search(text, match.end())
    after = text[match.end() : following and following.start()].splitlines()
    detail = [line.strip(" │╷╵") for line in after[:14]]
    words = [line for line in detail if line and not _WHERE.match(line)]
    return ": ".join(filter(None, [match["text"].strip(" :."), " ".join(words)]))[:600]


def _status_of(start: Callable[[], subprocess.Popen], *, quiet: bool) -> int:
    """The exit status of the command that `start` starts. On Ctrl-C Terraform finishes its current
    work, so that the state has every resource; a `quiet` command only reads, and ends at once."""
    process = None
    try:
        with held_back():  # Ctrl-C before the assignment would leave Terraform running
            process = start()
        return process.wait(timeout=COMMAND_TIMEOUT_S)
    except BaseException as error:
        if process is not None:
            # Further Ctrl-C must not leave Terraform behind: its lock of the state would block the
            # destroy.
            with held_back():
                process.send_signal(signal.SIGINT)
                if isinstance(error, KeyboardInterrupt) and not quiet:
                    how_long = f"up to {INTERRUPT_PATIENCE_S / 60:.0f} min"
                    say(f"stopping terraform ({how_long}): it records what it has created")
                _wait_until_stopped(process)
        raise


def _wait_until_stopped(process: subprocess.Popen) -> None:
    try:
        process.wait(timeout=INTERRUPT_PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the providers
        process.wait()


def _whole(file: TextIO) -> str:
    file.seek(0)
    return file.read()
