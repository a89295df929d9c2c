PERFORM pg_advisory_xact_lock_shared(hashtextextended({canonical_text} || {tenant_p}::text, 0));
