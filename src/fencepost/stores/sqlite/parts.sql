-- What the indexes on what is due say of their rows.
-- part: due_direct
state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0

-- part: due_ticks
state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0

-- A planned run whose time has come is shown as ready.
-- part: shown_state
iif(state = 'planned' AND run_at <= :now, 'ready', state)
