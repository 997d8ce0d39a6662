-- The tables of schema 9 that are alike in every SQL database, with their indexes but for those of runs. A word in braces
-- is a kind of column in the words of the database; a `name` is text that is compared byte by byte. What is not alike, the
-- tables of steps and leases and some indexes, is in the first migration of each store.

CREATE TABLE meta (
    name  {name} PRIMARY KEY,
    value {text} NOT NULL
){strict};

CREATE TABLE jobs (
    namespace  {name} NOT NULL,
    name       {name} NOT NULL,
    spec       {text} NOT NULL,
    queue      {name} NOT NULL,
    priority   {smallint} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (namespace, name)
){strict};

-- A job without limits has no row. `terms` are those of its spec; `paid_until` is how far ahead its starts have
-- used up its rate, and `next_at` when the rate lets the next one start.
CREATE TABLE limits (
    namespace   {name} NOT NULL,
    job         {name} NOT NULL,
    terms       {text} NOT NULL,
    concurrency {integer},
    paid_until  {time},
    next_at     {time},
    PRIMARY KEY (namespace, job)
){strict};

CREATE TABLE schedules (
    namespace   {name} NOT NULL,
    schedule_id {name} NOT NULL,
    shard       {integer} NOT NULL,
    version     {integer} NOT NULL,
    state       {text} NOT NULL CHECK (state IN ('active', 'paused', 'removed')),
    spec        {text} NOT NULL,
    job         {name} NOT NULL,
    queue       {name},
    priority    {smallint},
    labels      {json} NOT NULL DEFAULT '{}',
    code_spec   {text},
    code_digest {text},
    updated_at  {time} NOT NULL,
    frozen      {boolean} NOT NULL DEFAULT {false},
    PRIMARY KEY (namespace, schedule_id)
){strict};

CREATE TABLE schedule_versions (
    namespace      {name} NOT NULL,
    schedule_id    {name} NOT NULL,
    version        {integer} NOT NULL,
    spec           {text} NOT NULL,
    job            {name} NOT NULL,
    in_force_from  {time} NOT NULL,
    in_force_until {time},
    tzdata         {text} NOT NULL,
    PRIMARY KEY (namespace, schedule_id, version)
){strict};

-- One for each version, apart from the schedule's own row, so that planning and claiming do not wait for each other.
-- `until` is the end of the version's time in force, `tzdata` the zone rules by which it was last planned.
CREATE TABLE cursors (
    namespace       {name} NOT NULL,
    schedule_id     {name} NOT NULL,
    shard           {integer} NOT NULL,
    version         {integer} NOT NULL,
    planned_through {time} NOT NULL,
    until           {time},
    next_fire_at    {time},
    tzdata          {name} NOT NULL DEFAULT '',
    frozen          {boolean} NOT NULL DEFAULT {false},
    touched         {integer} NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, schedule_id, version)
){strict};
CREATE INDEX cursors_next ON cursors (shard, next_fire_at) WHERE next_fire_at IS NOT NULL;
CREATE INDEX cursors_by_rules ON cursors (shard, tzdata) WHERE until IS NULL AND next_fire_at IS NOT NULL;

-- The row of a calendar that was removed has no definition; it remembers the revision.
CREATE TABLE calendars (
    namespace  {name} NOT NULL,
    name       {name} NOT NULL,
    revision   {integer} NOT NULL,
    definition {text},
    updated_at {time} NOT NULL,
    PRIMARY KEY (namespace, name)
){strict};

-- The calendars of the latest version of each schedule.
CREATE TABLE calendar_uses (
    namespace   {name} NOT NULL,
    schedule_id {name} NOT NULL,
    calendar    {name} NOT NULL,
    revision    {integer} NOT NULL,
    PRIMARY KEY (namespace, schedule_id, calendar)
){strict};
CREATE INDEX calendar_uses_by_revision ON calendar_uses (namespace, calendar, revision, schedule_id);

-- `through` is where the cursor stood after the last tick of the range: planning from there extends the range.
CREATE TABLE missed_ranges (
    namespace   {name} NOT NULL,
    schedule_id {name} NOT NULL,
    version     {integer} NOT NULL,
    first_at    {time} NOT NULL,
    last_at     {time} NOT NULL,
    through     {time} NOT NULL,
    ticks       {bigint} NOT NULL,
    reason      {text} NOT NULL,
    PRIMARY KEY (namespace, schedule_id, version, first_at)
){strict};

-- `held` is a set of `model.run.Hold`; `slot` is what a run of a limited job counts for.
CREATE TABLE runs (
    namespace        {name} NOT NULL,
    run_key          {name} NOT NULL,
    schedule_id      {name},
    job              {name} NOT NULL,
    fire_time        {time} NOT NULL,
    version          {integer} NOT NULL DEFAULT 0,
    state            {text} NOT NULL CHECK (state IN ('planned', 'ready', 'running', 'succeeded', 'dead',
                                                      'skipped', 'missed', 'cancelled', 'withdrawn')),
    reason           {text},
    attempt          {integer} NOT NULL DEFAULT 0,
    fence            {bigint} NOT NULL DEFAULT 0,
    epoch            {bigint} NOT NULL DEFAULT 0,
    queue            {name} NOT NULL,
    priority         {smallint} NOT NULL,
    run_at           {time} NOT NULL,
    started_at       {time},
    finished_at      {time},
    alive_until      {time},
    worker           {name},
    error            {text},
    progress         {text},
    cancel_requested {boolean} NOT NULL DEFAULT {false},
    payload          {text},
    stripped         {boolean} NOT NULL DEFAULT {false},
    origin           {text} NOT NULL DEFAULT 'live',
    held             {smallint} NOT NULL DEFAULT 0,
    met              {name},
    begun_at         {time},
    spent            {integer} NOT NULL DEFAULT 0,
    backfill_id      {bigint},
    slot             {name},
    note             {text},
    progress_at      {time},
    PRIMARY KEY (namespace, run_key)
){strict};

CREATE TABLE attempts (
    namespace   {name} NOT NULL,
    run_key     {name} NOT NULL,
    attempt     {integer} NOT NULL,
    fence       {bigint} NOT NULL,
    worker      {name},
    started_at  {time},
    finished_at {time} NOT NULL,
    outcome     {text} NOT NULL,
    error       {text},
    detail      {text},
    output      {text},
    PRIMARY KEY (namespace, run_key, attempt)
){strict};
CREATE INDEX attempts_by_time ON attempts (finished_at);

CREATE TABLE run_logs (
    namespace  {name} NOT NULL,
    run_key    {name} NOT NULL,
    attempt    {integer} NOT NULL,
    number     {integer} NOT NULL,
    first_line {bigint} NOT NULL,
    lines      {integer} NOT NULL,
    text       {text} NOT NULL,
    at         {time} NOT NULL,
    PRIMARY KEY (namespace, run_key, attempt, number)
){strict};

-- A gate that was never closed has no row. `let_through` is the newest fire time that was released when it was last opened.
CREATE TABLE gates (
    namespace   {name} NOT NULL,
    schedule_id {name} NOT NULL,
    closed_at   {time},
    reason      {text},
    opened_at   {time},
    let_through {time},
    PRIMARY KEY (namespace, schedule_id)
){strict};
CREATE INDEX gates_closed ON gates (namespace) WHERE closed_at IS NOT NULL;

CREATE TABLE freezes (
    namespace {name} NOT NULL,
    kind      {name} NOT NULL CHECK (kind IN ('all', 'label', 'queue', 'schedule')),
    value     {name} NOT NULL,
    since     {time} NOT NULL,
    author    {text} NOT NULL,
    source    {text} NOT NULL,
    reason    {text},
    PRIMARY KEY (namespace, kind, value)
){strict};

CREATE TABLE backfills (
    backfill_id    {serial},
    namespace      {name} NOT NULL,
    schedule_id    {name} NOT NULL,
    since          {time} NOT NULL,
    until          {time} NOT NULL,
    mode           {text} NOT NULL CHECK (mode IN ('missing', 'missed', 'all')),
    at_once_max    {integer} NOT NULL,
    every_s        {real} NOT NULL,
    state          {text} NOT NULL CHECK (state IN ('active', 'filled', 'cancelled')),
    filled_through {time} NOT NULL,
    next_run_at    {time} NOT NULL,
    created_at     {time} NOT NULL
){strict};
CREATE INDEX backfills_by_namespace ON backfills (namespace, backfill_id);
CREATE INDEX backfills_active ON backfills (backfill_id) WHERE state = 'active';

-- What people did, and with which credential. Entries are never removed, so the numbers rise.
CREATE TABLE audit_log (
    number     {serial},
    namespace  {name} NOT NULL,
    at         {time} NOT NULL,
    author     {text} NOT NULL,
    source     {text} NOT NULL,
    reason     {text},
    action     {name} NOT NULL,
    subject    {name} NOT NULL,
    before     {text} NOT NULL,
    after      {text} NOT NULL,
    credential {name}
){strict};
CREATE INDEX audit_log_by_number ON audit_log (namespace, number);
CREATE INDEX audit_log_by_subject ON audit_log (namespace, subject, number);

-- The ledger's own record of epochs, which every plan is compared with, and of the grants that it accepted. A plan is
-- written only under a lock on its shard's row here.
CREATE TABLE epochs (
    shard       {integer} PRIMARY KEY,
    epoch       {bigint} NOT NULL,
    holder      {name},
    lineage     {name} NOT NULL DEFAULT '',
    lease_epoch {bigint} NOT NULL DEFAULT 0,
    since       {time},
    transitions {bigint} NOT NULL DEFAULT 0
){strict};

-- Who led which shard when. A term ends when the next one of its shard begins; `until` is set only where the shard was
-- cut away.
CREATE TABLE terms (
    number  {serial},
    shard   {integer} NOT NULL,
    epoch   {bigint} NOT NULL,
    holder  {name} NOT NULL,
    lineage {name} NOT NULL,
    since   {time} NOT NULL,
    until   {time},
    UNIQUE (shard, epoch)
){strict};

-- Plans and registrations of stale leaders.
CREATE TABLE refusals (
    number       {serial},
    at           {time} NOT NULL,
    shard        {integer} NOT NULL,
    epoch        {bigint} NOT NULL,
    holder       {name} NOT NULL,
    known_epoch  {bigint} NOT NULL,
    known_holder {name}
){strict};

CREATE TABLE nodes (
    node_id     {name} PRIMARY KEY,
    about       {text} NOT NULL,
    started_at  {time} NOT NULL,
    alive_until {time} NOT NULL,
    skew_s      {real} NOT NULL,
    report      {text} NOT NULL DEFAULT '{}',
    reported_at {time},
    draining    {boolean} NOT NULL DEFAULT {false}
){strict};

-- Of tokens, sessions and sign-in links only digests are kept.
CREATE TABLE tokens (
    number       {serial},
    token_id     {name} NOT NULL UNIQUE,
    digest       {name} NOT NULL,
    name         {text} NOT NULL,
    role         {name} NOT NULL CHECK (role IN ('worker', 'viewer', 'operator', 'admin')),
    namespace    {name} NOT NULL,
    created_at   {time} NOT NULL,
    created_by   {text} NOT NULL,
    expires_at   {time},
    last_used_at {time},
    revoked_at   {time},
    rotated_from {name} UNIQUE
){strict};
CREATE INDEX tokens_by_namespace ON tokens (namespace, number);

CREATE TABLE sessions (
    number       {serial},
    session_id   {name} NOT NULL UNIQUE,
    digest       {name} NOT NULL,
    name         {text} NOT NULL,
    role         {name} NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace    {name} NOT NULL,
    opened_with  {name} NOT NULL,
    rests_on     {name},
    created_at   {time} NOT NULL,
    expires_at   {time} NOT NULL,
    last_used_at {time} NOT NULL,
    ended_at     {time}
){strict};
CREATE INDEX sessions_by_namespace ON sessions (namespace, number);
CREATE INDEX sessions_by_what_they_rest_on ON sessions (rests_on);

-- A link is used once: `session_id` is what became of it. It ends with the token, or the setting, that it rests on.
CREATE TABLE sign_in_links (
    link_id    {name} PRIMARY KEY,
    digest     {name} NOT NULL,
    name       {text} NOT NULL,
    role       {name} NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace  {name} NOT NULL,
    created_at {time} NOT NULL,
    created_by {text} NOT NULL,
    expires_at {time} NOT NULL,
    session_id {name},
    rests_on   {name}
){strict};
CREATE INDEX sign_in_links_over ON sign_in_links (expires_at);

-- Answers to calls with an idempotency key. Until `held_until` the caller that began is waited for.
CREATE TABLE answers (
    namespace    {name} NOT NULL,
    principal_id {name} NOT NULL,
    key          {name} NOT NULL,
    fingerprint  {name} NOT NULL,
    asked_at     {time} NOT NULL,
    held_until   {time} NOT NULL,
    status       {integer},
    body         {bytes},
    headers      {text},
    PRIMARY KEY (namespace, principal_id, key)
){strict};
CREATE INDEX answers_by_age ON answers (asked_at);

