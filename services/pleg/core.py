"""Which pods to look at, and what to publish of them: a pure function of listings and inspections.

    Listed ──► pods that differ from their record ──► Inspect ──► Inspected ──► PutRow
           ├─► pods that are gone ──► DeleteRow
           └─► once each Inspect of a full listing was answered ──► Mark

As upstream (`pleg`, generic relist): two listings are compared object by object, sandboxes like containers; a pod with
any difference is inspected, all others are not; a pod whose inspection failed is inspected again by each listing; a
pod without addresses keeps those it had while none of its sandboxes is ready. What upstream sends as events (started,
died, removed) readers derive from two rows.

Listings of one pod run beside listings of everything here, so results may come in any order. One rule makes that safe:
per pod, the listing that began last wins, and an older result changes nothing.
"""

from dataclasses import replace

import msgspec

from services.pleg.model import (
    EVERYTHING,
    Action,
    DeleteRow,
    Event,
    Inspect,
    Inspected,
    InspectedPod,
    Listed,
    Mark,
    PutRow,
    Record,
    View,
)
from shared.messages.pleg import RuntimePod, SandboxState


def step(view: View, event: Event) -> tuple[View, list[Action]]:
    """Take in one listing or inspection. Repeated and late ones are legal and change nothing."""
    match event:
        case Listed(only=only):
            return _listed_all(view, event) if only == EVERYTHING else _listed_one(view, event)
        case Inspected():
            return _inspected(view, event)


def _listed_all(view: View, event: Listed) -> tuple[View, list[Action]]:
    start = event.as_of_mono
    if start <= view.listed_mono:
        return view, []
    actions: list[Action] = []
    records: dict[str, Record] = {}
    asked: set[str] = set()
    for uid, listed in event.pods.items():
        record = records[uid] = view.records.get(uid) or Record(view.listed_mono, None, None)
        if record.as_of_mono >= start:
            continue
        if record.listed == listed and not record.failed:
            records[uid] = Record(start, record.listed, record.row)
            continue
        asked.add(uid)
        actions.append(Inspect(uid, start, listed))
    for uid, record in view.records.items():
        if uid in event.pods:
            continue
        if record.as_of_mono >= start:
            records[uid] = record
        elif record.row is not None:
            actions.append(DeleteRow(uid))
    view, marks = _close(View(records, {**view.open, start: frozenset(asked)}, start, view.as_of_mono))
    return view, actions + marks


def _listed_one(view: View, event: Listed) -> tuple[View, list[Action]]:
    uid = event.only
    if event.as_of_mono <= known_since(view, uid):
        return view, []
    if (listed := event.pods.get(uid)) is not None:
        return view, [Inspect(uid, event.as_of_mono, listed)]
    record = view.records.get(uid)
    actions: list[Action] = [DeleteRow(uid)] if record is not None and record.row is not None else []
    return replace(view, records={**view.records, uid: Record(event.as_of_mono, None, None)}), actions


def _inspected(view: View, event: Inspected) -> tuple[View, list[Action]]:
    actions: list[Action] = []
    if event.as_of_mono > known_since(view, event.uid):
        record = view.records.get(event.uid)
        old = record.row if record is not None else None
        row = build_row(event, old)
        if old is None or _content(old) != _content(row):
            actions.append(PutRow(event.uid, row))
        else:
            row = old
        new = Record(event.as_of_mono, event.listed, row, failed=event.pod is None)
        view = replace(view, records={**view.records, event.uid: new})
    if event.as_of_mono in view.open:
        rest = view.open[event.as_of_mono] - {event.uid}
        view = replace(view, open={**view.open, event.as_of_mono: rest})
    view, marks = _close(view)
    return view, actions + marks


def known_since(view: View, uid: str) -> float:
    """Start of the newest listing that what is known of the pod agrees with, be it that the pod is not there."""
    record = view.records.get(uid)
    return view.listed_mono if record is None else record.as_of_mono


def _close(view: View) -> tuple[View, list[Action]]:
    """Mark the newest full listing that is answered, and forget it and all older ones."""
    answered = [start for start, asked in view.open.items() if not asked]
    if not answered:
        return view, []
    newest = max(answered)
    still = {start: asked for start, asked in view.open.items() if start > newest}
    return replace(view, open=still, as_of_mono=newest), [Mark(newest)]


def build_row(event: Inspected, old: RuntimePod | None) -> RuntimePod:
    """The row for what was seen; for a failed inspection the old one (or an empty one) with the error."""
    if event.pod is None:
        empty = RuntimePod(name=event.listed.name, namespace=event.listed.namespace, listed_at_mono=event.as_of_mono)
        return msgspec.structs.replace(old or empty, listed_at_mono=event.as_of_mono, error=event.error)
    return RuntimePod(
        name=event.listed.name,
        namespace=event.listed.namespace,
        listed_at_mono=event.as_of_mono,
        sandboxes=_sandboxes(event.pod, old),
        containers=sorted(event.pod.containers, key=lambda c: (-c.created_at_ns, -c.attempt, c.id)),
    )


def _sandboxes(pod: InspectedPod, old: RuntimePod | None) -> list[SandboxState]:
    """Newest first (upstream `kuberuntime`: attempt, creation, id), with the addresses that outlive a sandbox."""
    ordered = sorted(pod.sandboxes, key=lambda s: (-s.attempt, -s.created_at_ns, s.id))
    if ordered and old is not None and old.sandboxes:
        unaddressed = not any(s.ready or s.ips for s in ordered)
        if unaddressed and old.sandboxes[0].ips:
            ordered[0] = msgspec.structs.replace(ordered[0], ips=old.sandboxes[0].ips)
    return ordered


def _content(row: RuntimePod) -> RuntimePod:
    return msgspec.structs.replace(row, listed_at_mono=0.0)
