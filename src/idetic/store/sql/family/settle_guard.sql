hit := coalesce(hit, {shadow}({tenant_p}, {shadow_scope_root} item.body));
