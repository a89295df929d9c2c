-- object: column {table_name}.{column_name}
-- Contextual provenance (D5): what was active when this was written. Nullable, never a filter.
ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column} text;
