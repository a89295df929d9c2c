"""PostgreSQL: the embedded server, the pool, the schema compiler, the queries."""
