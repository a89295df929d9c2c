IF careful THEN
    hit := coalesce(hit, {shadow}({tenant_p}, {shadow_scope_root} item ->> 'body'));
END IF;
IF suspect THEN
    hit := coalesce(hit, {restated}({anchor_p}, {shadow_scope_root} item ->> 'body', writer, session,
                                    spent));
END IF;
