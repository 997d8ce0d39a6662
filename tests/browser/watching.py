"""What a browser complains about while somebody looks: nothing of it is allowed on any page.

Messages of the console, errors of scripts, what the content security policy stopped, requests that failed or
were refused, and every request that leaves this host.
"""

from __future__ import annotations

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`stopped by the policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
GRAVE = ("error", "warning", "assert")
LEFT_BEHIND = ("eventsource", "fetch", "image", "other")
"""What a page has under way for its live view, and its icon, are dropped when somebody goes elsewhere."""
DROPPED = "net::ERR_ABORTED"


class Watch:
    """The complaints about one context, and about every page in it."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.complaints: list[str] = []
        self._address = address
        context.add_init_script(TELL_VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", self._script)
        context.on("request", self._request)
        context.on("requestfailed", self._failed)
        context.on("response", self._response)

    def check(self) -> None:
        """There has been nothing since the last look."""
        found, self.complaints = self.complaints, []
        assert found == []

    def forget(self) -> None:
        """What was provoked is no complaint."""
        self.complaints = []

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in GRAVE:
            self.complaints.append(f"console {message.type}: {message.text}")

    def _script(self, error: WebError) -> None:
        self.complaints.append(f"script: {error.error}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self._address}/", "data:", "blob:")):
            self.complaints.append(f"leaves the house: {request.url}")

    def _failed(self, request: Request) -> None:
        if request.failure != DROPPED or request.resource_type not in LEFT_BEHIND:
            self.complaints.append(f"failed: {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")
