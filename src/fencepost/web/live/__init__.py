"""Live streams: many eyes, one look.

Everybody who has a page open wants to see what changes, and a store that is asked by each of them would work
for nobody else. So one loop a process, the `Hub`, asks the store for the news of all namespaces in one
statement, at most once a second, and only while somebody listens; and hands what it finds to every stream,
encoded once for each namespace. Two hundred open pages cost what one does.

What a stream says (server-sent events, the data as JSON):

- `counts`: how the namespace stands: `ready`, `running`, `dead`, `held`, closed `gates`, `oldest_ready_s`;
  `counted_max` is as far as they are counted.
- `runs`: `{"runs": [...], "cut": false}`, runs that began, failed for now or ended, the latest first. The
  same run may come again: whoever listens takes the last word. `cut` says that there was more.
- `schedules`, `leases`: something about them changed; read them again.
- `log`: `{"run_key", "chunks": [...], "place"}`, for a stream that watches a run: more of its log.
- `resync`: something may have been missed; read the page again. It comes first where a stream was resumed,
  because nothing is kept for those who are away.

Nobody is waited for. A reader who does not keep up loses what waits for it and hears `resync` instead. A
stream ends when its credential is not good any more, when it is an hour old, and at once when the server
stops; whoever still wants to listen comes again.
"""
