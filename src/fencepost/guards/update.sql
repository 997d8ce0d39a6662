UPDATE ${table} SET ${changes} WHERE ${key} AND (${fence} IS NULL OR ${fence} <= ${limit})
