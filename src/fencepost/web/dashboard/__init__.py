"""The dashboard: pages made on the server, forms that carry out operations, a small script on top.

How to add a page. A module in `pages/` is found by itself; what it declares with `@page` is served.

    class Wanted(Struct, frozen=True):               # the query: texts are read by type, with bounds
        state: RunState | None = None
        limit: Annotated[int, Meta(ge=1, le=200)] = 50

    @page("/runs", Role.VIEWER, title="Runs", template="runs.html", section="runs", query=Wanted)
    async def runs_page(visit: Visit[Wanted]) -> Shown:
        return {"runs": await find_runs(visit.control, ...)}

A page answers with what its template is given (a dict), or with `Rendered` where it wants another title or
status. `visit.control` acts in the namespace of whoever looks; what is not there raises `UnknownSchedule` and
its like, and becomes a 404 page; any other `UsageError` a 400; `StoreUnavailable` a 503. Path values come
decoded in `visit.path`. A schedule's id and a run's key may hold `/` and `#`: links to them are made by
`links.py` only (`links.schedule(id)` in templates too).

A field that may hold a secret is named in `posted=("payload",)`: the page is then served to a form that is
posted to its own path, with `csrf` in it, too (`visit.posted`), and takes that field from no address.

How to write a template. It extends `base.html` and fills `block content`; the h1 is the page's title
(`block heading` replaces it). It finds `visit`, `tell` (times in the viewer's zone: `tell.time(m)`,
`tell.until(m)`, `tell.ago(m)`, `tell.span(seconds)`), `links`, `may(role)`, and the macros of `parts.html`:
`parts.state(run.state)`, `parts.action(...)`, `parts.fact(...)`, `parts.empty(...)`, `parts.pager(...)`. No
inline script, style or handler, no `style=`: the browser refuses them. Everything is escaped; only `charts/`
and `tell` make markup. Undefined names fail. A table is `<div class="table-box"><table class="cards">`, with
`data-name` on every `td`: on a phone its rows become cards.

How to change something. A form posts to `/do/NAME-OF-THE-OPERATION` and has no handler of its own:

    {{ parts.action("schedules.pause", "Pause", fields={"schedule_id": one.schedule_id}) }}
    {% call parts.action("runs.hold", "Hold", fields={...}) %}<input name="reason">{% endcall %}

Fields are those of the operation's struct: several of one name make a list, `payload` as JSON text makes an
object, `catch_up.mode` a field of a field, an empty text counts as not given. `back` is where to go when it
is done, with `{field}` filled in from the form; `stay` where to go when it was refused. Operations named in
`actions/asking.py` are asked about first, on a page of its own; `actions/telling.py` says what was done.

What the script finds. `data-live="counts.ready"` is a number that follows the news. `data-run="KEY"` is an
element about one run; in it `data-field="state"` (or `late`, `took`, `attempt`, `worker`, and on a `<time>`
`started_at`, `finished_at`) is filled in from the news, and `<a data-to="run">` leads there.
`data-live-list="runs"` is a `<tbody>` that grows at its top by its `<template data-row>`, where a run fits
`data-filter` (JSON: field to value or values) and is no older than `data-oldest`, up to `data-most` rows; it
is left away where the page filters by more than a run's news say. `data-live-part="needs"` and
`data-live-chart="traffic"` are read anew when something happened, at most every ten seconds; with
`data-live-of="ID"` only when it happened to that schedule or run. `data-strip="ID"` is a strip that moves on.
`data-live-log="KEY"` is a log that grows, behind `data-after="1.17"`, of `data-attempt="1"`. `data-countdown`
and `data-ago` are times that go on, `data-key="s"` on a link of the navigation is its letter after `g`,
`data-all="name"` a checkbox that sets all of that name, `data-copy="text"` a button that copies it,
`data-submit` a choice that takes
effect at once, `data-refresh="2"` something to be looked at again in so many seconds.
"""
