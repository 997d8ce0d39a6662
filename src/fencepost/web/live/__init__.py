"""Live streams: many readers, one query.

Every open page shows what changes; a store that each of them asked would do little else. So one loop per
process, the `Hub`, asks the store for the news of all namespaces in one statement, at most once a second, and
only while there is a listener. It hands what it finds to every stream, encoded once for each namespace. Two
hundred open pages cost what one does.

What a stream says (server-sent events, the data as JSON):

- `counts`: how the namespace stands: `ready`, `running`, `dead`, `held`, closed `gates`, `oldest_ready_s`;
  `counted_max` is as far as they are counted.
- `runs`: `{"runs": [...], "cut": false}`, runs that began, failed for now or ended, the latest first. The
  same run may come again: its last entry counts. `cut` says that there was more.
- `schedules`, `leases`: something about them changed; read them again.
- `log`: `{"run_key", "chunks": [...], "place"}`, for a stream that watches a run: more of its log.
- `resync`: something may have been missed; read the page again. It comes first where a stream was resumed,
  because nothing is kept for readers that are away.

The hub waits for no reader. A reader that does not keep up loses what waits for it and gets `resync` instead.
A stream ends when its credential is not good any more, when it is an hour old, and at once when the server
stops; a reader that still wants to listen connects again.
"""
