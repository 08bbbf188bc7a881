"""Keeps workers that serve some tenants only from doing anything for another one."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.contracts import Pass
from headwater.models import Scope

REFUSED: Final = "AccessError"


def tenant_guards(tenants: Collection[str]) -> Sequence[Interceptor]:
    """The interceptors of a worker that serves ``tenants``; none where that is everybody (empty)."""
    return [TenantGuard(tenants)] if tenants else []


class TenantGuard(Interceptor):
    """Fails each activity of another tenant for good, before it touches anything."""

    def __init__(self, tenants: Collection[str]) -> None:
        self._tenants = frozenset(tenants)

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Guarded(next, self._tenants)


class _Guarded(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, tenants: frozenset[str]) -> None:
        super().__init__(next)
        self._tenants = tenants

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        tenant = tenant_of(input.args[0] if input.args else None)
        if tenant not in self._tenants:
            raise ApplicationError(_sentence(tenant), type=REFUSED, non_retryable=True)
        return await super().execute_activity(input)


def tenant_of(argument: object) -> str:
    """Whose task it is; empty where it does not say."""
    scope = getattr(argument, "scope", None)
    if isinstance(scope, Scope):
        return scope.tenant_id
    in_pass = getattr(argument, "in_pass", None)
    if isinstance(in_pass, Pass):
        return in_pass.tenant_id
    tenant = getattr(argument, "tenant_id", "")
    return tenant if isinstance(tenant, str) else ""


def _sentence(tenant: str) -> str:
    if tenant:
        return f"This worker does not serve tenant {tenant}; see HEADWATER_TENANTS."
    return (
        "This worker serves only the tenants of HEADWATER_TENANTS, and the task names none: start its workflow again."
    )
