"""Fetching the servers: where they are kept, and what is said when something is missing."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench import tools
from bench.errors import BenchError

MAVEN = "{http://maven.apache.org/POM/4.0.0}"


@pytest.fixture
def empty_machine(tmp_path, monkeypatch):
    """A machine with an empty cache and nothing on its PATH; gives the folder that is its PATH."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    return programs


def program(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"STAMPEDE_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/stampede"),
        ({"STAMPEDE_CACHE_DIR": "", "XDG_CACHE_HOME": "/b"}, "/b/stampede"),
    ],
)
def test_the_cache_folder_follows_the_environment(environment, folder):
    assert tools.cache_dir(environment) == Path(folder)


def test_without_settings_the_cache_is_under_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert tools.cache_dir({}) == Path("/home/someone/.cache/stampede")


@pytest.mark.parametrize(
    ("fetch", "line"),
    [
        (tools.elasticmq_jars, "mvn is missing: fetching ElasticMQ needs it; install Apache Maven"),
        (
            lambda: tools.go_binary(tools.TOXIPROXY),
            "go is missing: building github.com/Shopify/.* needs it; install Go",
        ),
    ],
)
def test_a_missing_tool_is_named_with_what_needs_it_and_the_way_out(empty_machine, fetch, line):
    with pytest.raises(BenchError, match=f"^{line}") as caught:
        fetch()
    assert "\n" not in str(caught.value)


def test_a_failing_fetch_says_its_error_in_one_line_and_leaves_nothing_behind(empty_machine):
    program(empty_machine, "mvn", "echo '[INFO] hello'; echo '[ERROR] no such artifact'; echo '[INFO] bye'; exit 3")
    with pytest.raises(BenchError, match=r"failed with status 3: \[ERROR\] no such artifact$"):
        tools.elasticmq_jars()
    assert list((tools.cache_dir() / "bench").iterdir()) == []


def test_what_was_fetched_once_is_not_fetched_again(empty_machine):
    program(empty_machine, "go", 'echo run >> "$STAMPEDE_CACHE_DIR/calls"; echo binary > "$GOBIN/server"')
    first, second = tools.go_binary(tools.TOXIPROXY), tools.go_binary(tools.TOXIPROXY)
    assert first == second == tools.cache_dir() / "bench" / f"toxiproxy-{tools.TOXIPROXY.version}" / "server"
    assert first.read_text() == "binary\n"
    assert (tools.cache_dir() / "calls").read_text() == "run\n"


def test_go_is_asked_for_exactly_the_pinned_version(empty_machine):
    program(empty_machine, "go", 'echo "$@" > "$GOBIN/versitygw"')
    asked = tools.go_binary(tools.VERSITYGW).read_text().strip()
    assert asked == f"install github.com/versity/versitygw/cmd/versitygw@{tools.VERSITYGW.version}"


def test_a_fetch_that_hangs_is_ended(empty_machine, monkeypatch):
    program(empty_machine, "go", "exec /bin/sleep 60")
    monkeypatch.setattr(tools, "FETCH_TIMEOUT_S", 0.2)
    with pytest.raises(BenchError, match=r"took more than 0.2 s"):
        tools.go_binary(tools.TOXIPROXY)


def test_every_java_dependency_has_one_exact_version():
    versions = [one.text for one in ElementTree.parse(tools.POM).iter(f"{MAVEN}version")]
    assert len(versions) == 3
    assert not [version for version in versions if version.strip("0123456789.")]


def test_the_version_of_elasticmq_is_read_from_its_jar(tmp_path):
    (tmp_path / "elasticmq-server_2.13-9.8.7.jar").touch()
    (tmp_path / "elasticmq-core_2.13-1.0.0.jar").touch()
    assert tools.elasticmq_version(tmp_path) == "9.8.7"
