"""The embedded PostgreSQL server: started on first use, shared, stopped by clear rules."""
