"""A web page can't change a running embedded AWS, nor take a function's event."""

import json
import queue
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import boto3
import pytest

from stampede.emulator import functions, ministack

POLICY = json.dumps({"Version": "2012-10-17", "Statement": []})
# Everything that a page may send without permission: fetch, an image, forms in frames.
TRIES = """(async () => {
  const urls = %s;
  const open = tag => new Promise(done => {
    tag.onload = tag.onerror = done; setTimeout(done, 3000); document.body.append(tag);
  });
  for (const url of urls) {
    for (const method of ['GET', 'POST']) {
      for (const mode of ['no-cors', 'cors']) {
        await fetch(url, {method, mode, referrerPolicy: 'no-referrer'}).catch(() => 0);
      }
    }
    await open(Object.assign(new Image(), {src: url}));
    await open(Object.assign(document.createElement('iframe'), {src: url}));
    const frame = Object.assign(document.createElement('iframe'), {name: 'f' + Math.random()});
    const form = Object.assign(document.createElement('form'),
      {method: 'POST', action: url, target: frame.name});
    document.body.append(form);
    const sent = open(frame); form.submit(); await sent;
  }
  return document.body.childElementCount;
})()"""


@contextmanager
def serving(handler):
    """The URL of a server with this handler, on its own port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield "http://{}:{}".format(*server.server_address)
        finally:
            server.shutdown()


@pytest.fixture
def page(browser, tmp_path):
    """A browser with a page from another port of this machine."""
    (tmp_path / "index.html").write_text("<!doctype html><body></body>")
    with serving(partial(SimpleHTTPRequestHandler, directory=tmp_path)) as url:
        browser.open(url)
        yield browser


def create_role(endpoint_url, key, name):
    """A URL that creates a role, signed with `key`."""
    region = ministack.REGION
    iam = boto3.client("iam", endpoint_url=endpoint_url, region_name=region, **key)
    role = {"RoleName": name, "AssumeRolePolicyDocument": POLICY}
    return iam.generate_presigned_url("create_role", role, HttpMethod="GET")


def test_a_page_creates_nothing_even_with_a_url_signed_by_the_runs_key(page, tmp_path):
    emulator = ministack.start(tmp_path / "state", follow_parent=True)
    try:
        url, own = emulator.endpoint_url, emulator.access.key
        foreign = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        urls = [create_role(url, foreign, "a"), create_role(url, own, "b")]
        assert page.run(TRIES % json.dumps([*urls, f"{url}/_ministack/reset"]))
        iam = boto3.client("iam", endpoint_url=url, region_name=ministack.REGION, **own)
        assert iam.list_roles()["Roles"] == []
    finally:
        ministack.stop(tmp_path / "state")


def test_a_page_takes_no_function_event(page):
    worker, events = functions.Environment("f", {}, b""), queue.Queue()
    worker._stopping = False
    events.put(("id", {}, 0, "", ""))
    with serving(worker._build_handler_class(0, events)) as url:
        assert page.run(TRIES % json.dumps([f"{url}/2018-06-01/runtime/invocation/next"]))
    assert events.qsize() == 1
