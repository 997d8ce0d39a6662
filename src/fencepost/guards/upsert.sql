INSERT INTO ${table} AS kept (${columns}) VALUES (${places})
ON CONFLICT (${key}) DO UPDATE SET ${changes}
WHERE kept.${fence} IS NULL OR kept.${fence} <= excluded.${fence}
