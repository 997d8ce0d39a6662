"""A private Kubernetes API server for the tests: the real program, on an etcd of its own.

There are no nodes and no controllers: objects are stored, versioned, watched and guarded by RBAC as in a
cluster, and nothing else happens to them. Pods do not start, and a deleted namespace stays for ever.

Two kinds of people come to it. The administrator's token stands in a file that the server reads once, at
its start. Everybody else is a service account, made while the server runs, with a token that the server
signed: what a pod would carry.
"""

import json
import os
import re
import shutil
import signal
import ssl
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException, HTTPSConnection
from itertools import count
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from tests.servers.binaries import ServerMissing, why_not_runnable
from tests.servers.certificates import Certificates
from tests.servers.etcd import EtcdServer
from tests.servers.process import Server, wait_until

START_TIMEOUT_S = 90.0
RIGHTS_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 10.0
TOKEN_TTL_S = 3600
ISSUER = "https://kubernetes.default.svc"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
HOW_TO_GET_IT = (
    "no kube-apiserver: scripts/kubernetes-server builds one, once; "
    "or set FENCEPOST_TEST_KUBE_APISERVER to the program"
)
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- name: private
  cluster:
    server: {url}
    certificate-authority-data: {authority}
users:
- name: {name}
  user:
    token: {token}
contexts:
- name: private
  context:
    cluster: private
    namespace: {namespace}
    user: {name}
current-context: private
"""


class Refused(Exception):
    """The server answered, and the answer was no."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


@dataclass(frozen=True)
class Rule:
    """A right: these verbs on one kind of resource, or only on those of the names."""

    verbs: tuple[str, ...]
    resource: str
    group: str = "coordination.k8s.io"
    names: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        names = {"resourceNames": list(self.names)} if self.names else {}
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": list(self.verbs)} | names


@dataclass(frozen=True)
class Access:
    """How one user reaches the server: the parts, and the same as a kubeconfig file."""

    url: str
    namespace: str
    token: str
    authority_file: Path
    kubeconfig: Path

    def context(self) -> ssl.SSLContext:
        """What a client needs to trust the server."""
        return ssl.create_default_context(cafile=str(self.authority_file))


class KubernetesServer(Server):
    """An API server and the etcd below it. What it stored outlives a restart."""

    faults = (OSError, HTTPException)
    stop_signal = signal.SIGKILL
    """Asked to end, it would first wait for open watches; all that it knows is in etcd anyway."""

    def __init__(self) -> None:
        self._program = kube_apiserver()
        self.etcd = EtcdServer()
        super().__init__("kubernetes", "https://127.0.0.1:{port}")
        self._certificates = Certificates(self.folder)
        self._token = token_urlsafe()
        self._namespaces = (f"fencepost-{number}" for number in count())
        (self.folder / "tokens.csv").write_text(f'{self._token},admin,admin,"system:masters"\n')
        self.admin = self._access("admin", self._token, "default")
        self.start()

    def command(self) -> Sequence[str | Path]:
        options = {
            "advertise-address": "127.0.0.1",
            "authorization-mode": "RBAC",
            "bind-address": "127.0.0.1",
            "cert-dir": self.folder,
            "endpoint-reconciler-type": "none",
            "etcd-servers": self.etcd.url,
            "secure-port": self.port,
            "service-account-issuer": ISSUER,
            "service-account-key-file": self._certificates.key_file,
            "service-account-signing-key-file": self._certificates.key_file,
            "service-cluster-ip-range": "10.0.0.0/24",
            "tls-cert-file": self._certificates.certificate_file,
            "tls-private-key-file": self._certificates.key_file,
            "token-auth-file": self.folder / "tokens.csv",
        }
        return [self._program, *(f"--{name}={value}" for name, value in options.items())]

    def is_up(self) -> bool:
        """Ready is not enough: the namespace `default` comes a moment later."""
        pages = ("/readyz", "/api/v1/namespaces/default")
        return all(self._ask("GET", page, None, self._token)[0] == 200 for page in pages)

    def wait_until_up(self) -> None:
        wait_until(self._answers, lambda: f"the server does not answer: {self.log}", START_TIMEOUT_S)

    def close(self) -> None:
        super().close()
        self.etcd.close()

    def create_namespace(self) -> str:
        """The name of an empty namespace."""
        name = next(self._namespaces)
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def create_user(self, name: str, *rules: Rule, namespace: str = "default") -> Access:
        """A service account that may do what the rules say, in its namespace only, from now on."""
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        rights = f"{RBAC}/namespaces/{namespace}"
        meta = {"metadata": {"name": name}}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        self.call("POST", account, meta)
        self.call("POST", f"{rights}/roles", meta | {"rules": [rule.as_json() for rule in rules]})
        self.call("POST", f"{rights}/rolebindings", meta | {"roleRef": role, "subjects": [subject]})
        asked = {"spec": {"audiences": [ISSUER], "expirationSeconds": TOKEN_TTL_S}}
        token = self.call("POST", f"{account}/{name}/token", asked)["status"]["token"]
        for rule in rules:
            self._wait_until_allowed(rule, namespace, token)
        return self._access(f"{namespace}-{name}", token, namespace)

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, token: str | None = None
    ) -> dict[str, Any]:
        """The server's answer to one request, the administrator's unless a token says otherwise."""
        status, text = self._ask(method, path, body, token or self._token)
        if status >= 400:
            raise Refused(status, text)
        answer: dict[str, Any] = json.loads(text)
        return answer

    def version(self) -> tuple[int, int]:
        """Its major and minor number."""
        told = self.call("GET", "/version")
        return int(told["major"]), int(re.sub(r"\D", "", told["minor"]))

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, token: str) -> tuple[int, str]:
        connection = HTTPSConnection(
            "127.0.0.1", self.port, timeout=ANSWER_TIMEOUT_S, context=self._certificates.context()
        )
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with closing(connection):
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def _access(self, name: str, token: str, namespace: str) -> Access:
        authority_file = self._certificates.authority_file
        text = KUBECONFIG.format(
            authority=b64encode(authority_file.read_bytes()).decode(),
            name=name,
            namespace=namespace,
            token=token,
            url=self.url,
        )
        kubeconfig = self.folder / f"{name}.kubeconfig"
        kubeconfig.write_text(text)
        return Access(self.url, namespace, token, authority_file, kubeconfig)

    def _wait_until_allowed(self, rule: Rule, namespace: str, token: str) -> None:
        """The server learns of new rights by a watch of its own, a moment after it has stored them."""
        attributes = {
            "namespace": namespace,
            "verb": rule.verbs[0],
            "group": rule.group,
            "resource": rule.resource,
            "name": rule.names[0] if rule.names else "",
        }

        def is_allowed() -> bool:
            review = self.call("POST", REVIEWS, {"spec": {"resourceAttributes": attributes}}, token)
            return bool(review["status"]["allowed"])

        wait_until(is_allowed, lambda: f"{rule} has no effect", RIGHTS_TIMEOUT_S)


@cache
def kube_apiserver() -> Path:
    """In order: the environment, PATH, what scripts/kubernetes-server has built."""
    if given := os.environ.get("FENCEPOST_TEST_KUBE_APISERVER") or shutil.which("kube-apiserver"):
        return runnable(Path(given))
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost"
    if built := sorted(cached.glob("kube-apiserver-*")):
        return runnable(built[-1])
    raise ServerMissing(HOW_TO_GET_IT)


def runnable(program: Path) -> Path:
    """A program that was named and does not run is a mistake, not a reason to skip."""
    complaint = why_not_runnable(program)
    assert not complaint, complaint
    return program
