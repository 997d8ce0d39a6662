"""The state of the house, in one answer."""

from __future__ import annotations

from fencepost.model.access import Role
from fencepost.operations.leases import shown_leases
from fencepost.operations.operation import Request, operation
from fencepost.operations.responses.status import StatusResponse, status_response
from fencepost.services.control import Control


class StatusRequest(Request, frozen=True, kw_only=True):
    """Nothing."""


@operation("status.show", "GET /status", Role.VIEWER)
async def show_status(control: Control, request: StatusRequest) -> StatusResponse:
    """Show the fleet, the queue, how the ticks of the last day stand, and what needs a person."""
    status = await control.status(control.settings.skew_warning_s)
    return status_response(status, shown_leases(control, status.fleet))
