-- The shared lock first, as in the trigger: what is looked up must hold until the commit.
PERFORM pg_advisory_xact_lock_shared(hashtextextended({canonical_text} || {tenant_p}::text, 0));
suspects := suspects || {suspects}({tenant_p}, {shadow_scope_root} p_items);
