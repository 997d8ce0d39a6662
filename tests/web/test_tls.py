"""TLS: a real certificate on a real socket, and what cannot be one in one line."""

import http.client
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from tests.cli.calls import refused
from tests.cli.processes import PATIENCE_S, SIGTERM
from tests.web.serving import MANIFEST, Server


def test_it_serves_tls_and_says_so(tmp_path: Path, files: tuple[Path, Path]) -> None:
    certificate, key = files
    server = Server(f"sqlite:///{tmp_path / 'store.db'}")
    with server.process(tmp_path, "web", "--tls-cert", str(certificate), "--tls-key", str(key)) as process:
        trusted = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=PATIENCE_S, context=trusted
        )
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("strict-transport-security")) == (200, "max-age=31536000")
        connection.close()
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            server.ask("GET", "/healthz")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert f"address=https://127.0.0.1:{server.port}" in process.said


def test_what_cannot_be_served_is_one_line(url: str, tmp_path: Path, files: tuple[Path, Path]) -> None:
    certificate, key = files
    other = tmp_path / "other.pem"
    shutil.copy(certificate, other)
    missing = tmp_path / "missing.pem"
    for given, told in [
        (("--tls-cert", certificate), "TLS: give both --tls-cert and --tls-key"),
        (("--tls-key", key), "TLS: give both --tls-cert and --tls-key"),
        (("--tls-cert", missing, "--tls-key", key), "No such file"),
        (("--tls-cert", certificate, "--tls-key", other), "cannot be used together"),
    ]:
        for verb in ("web", "run"):
            line = refused(verb, str(MANIFEST), "--bind", "127.0.0.1:0", "--store", url, *map(str, given))
            assert told in line
    assert not Path(url.removeprefix("sqlite:///")).exists()


def test_a_key_with_a_password_is_refused_without_a_question(
    url: str, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    certificate, key = files
    locked = tmp_path / "locked.pem"
    command = ["openssl", "pkey", "-in", str(key), "-aes256", "-passout", "pass:x", "-out", str(locked)]
    subprocess.run(command, check=True, capture_output=True)
    line = refused(
        "web", str(MANIFEST), "--store", url, "--tls-cert", str(certificate), "--tls-key", str(locked)
    )
    assert line == "TLS: the key has a password; a server needs one without"
