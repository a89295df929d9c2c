-- A text that an entry already has was looked at when that entry was admitted.
PERFORM pg_advisory_xact_lock_shared(hashtextextended({canonical_text} || {tenant_p}::text, 0));
hit := coalesce(hit, {shadow}({tenant_p}, {shadow_scope_root} item.body));
IF item.copy_of IS NULL THEN
    hit := coalesce(hit, {restated}({anchor_p}, {shadow_scope_root} item.body, '', NULL, NULL));
END IF;
