-- Which numbered migrations this database has. Made before the first of them.
CREATE SCHEMA IF NOT EXISTS idetic;
CREATE TABLE IF NOT EXISTS idetic.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT migrations_pkey PRIMARY KEY (number)
);
GRANT USAGE ON SCHEMA idetic TO idetic_app;
GRANT SELECT ON idetic.migrations TO idetic_app;
