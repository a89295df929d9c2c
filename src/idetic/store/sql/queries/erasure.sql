-- query: suspect
-- A first look, which may find too much and never too little: a text of ASCII alone names the
-- subject only if it holds one of these runs, and any other text is looked at outside.
({text} ~ '[^\x01-\x7f]' OR {text} ILIKE ANY (%(runs)s::text[]))

-- query: mentioned
-- Entries in every tier and state that may name the subject. One without a salt is empty.
SELECT m.memory_id, m.body_text, m.envelope, m.claim_subject, m.claim_attribute, m.claim_value
FROM {family}_memory m WHERE {scope m} AND m.digest_salt IS NOT NULL AND {suspect}

-- query: entry_text
concat_ws(' ', m.body_text, m.envelope::text, m.claim_subject, m.claim_attribute, m.claim_value)

-- query: derived
-- What was made of some entries, and of that, and so on. What only said the same again was not
-- made of it. Empty ones have nothing left to lose.
WITH RECURSIVE made (memory_id) AS (
    SELECT l.memory_id FROM {family}_memory_lineage l
    WHERE {scope l} AND l.source_id = ANY (%(ids)s::uuid[]) AND l.relation <> 'recurred'
    UNION
    SELECT l.memory_id FROM made JOIN {family}_memory_lineage l
        ON {scope l} AND l.source_id = made.memory_id AND l.relation <> 'recurred')
SELECT m.memory_id FROM made JOIN {family}_memory m ON {scope m} AND m.memory_id = made.memory_id
WHERE m.digest_salt IS NOT NULL

-- query: noted
SELECT m.{row_id}, m.memory_id, m.{column} FROM {table} m WHERE {scope m} AND {suspect}

-- query: named
-- Who acted, by one column that says so: each value once.
SELECT m.{column}, count(*) FROM {table} m WHERE {scope m} AND {suspect} GROUP BY 1

-- query: provided
-- Contextual provenance by its name, each value once.
SELECT p.key, p.value, count(*) FROM {table} m CROSS JOIN LATERAL jsonb_each_text(m.provenance) AS p
WHERE {scope m} AND {suspect} GROUP BY 1, 2 ORDER BY 1, 2

-- query: told
SELECT l.position, l.reason, l.actor, l.detail FROM {family}_memory_ledger l
WHERE {scope l} AND {suspect}

-- query: told_text
concat_ws(' ', l.reason, l.actor, l.detail::text)

-- query: keyed
SELECT m.position, m.idempotency_key FROM {family}_memory_receipts m WHERE {scope m} AND {suspect}

-- query: digests
-- The requests that wrote some entries, or notes that go.
SELECT r.position FROM {family}_memory_receipts r
JOIN {family}_memory_ledger l ON {scope l} AND l.position = r.position
WHERE {scope r} AND (l.memory_id = ANY (%(ids)s::uuid[])
    OR coalesce(l.detail ->> 'corroboration', l.detail ->> 'contradiction',
                l.detail ->> 'proposal')::uuid
       = ANY (%(rows)s::uuid[]))

-- query: logged
-- Events that may name the subject. One without a salt is empty.
SELECT m.event_id, m.content, m.metadata FROM {family}_log m
WHERE {scope m} AND m.salt <> '' AND {suspect}

-- query: event_text
concat_ws(' ', m.content, m.metadata::text)

-- query: operational
SELECT m.note_id, m.body FROM {family}_notes m
WHERE {scope m} AND m.body <> '[erased]' AND {suspect}

-- query: mirrored
-- Entries of the long-term mirror with their events: neither goes without the other.
SELECT m.event_id, m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.event_id IS NOT NULL AND m.digest_salt IS NOT NULL
  AND (m.event_id = ANY (%(events)s::uuid[]) OR m.memory_id = ANY (%(ids)s::uuid[]))

-- query: erase_log
SELECT e.r_table, e.r_ids
FROM {family}_erase_log_v1(%(tenant)s, %(anchor_id)s, %(events)s::uuid[], %(notes)s::uuid[]) e

-- query: erase
SELECT e.r_table, e.r_ids
FROM {family}_erase_v1(%(tenant)s, %(anchor_id)s, %(ids)s::uuid[], %(moment)s, %(noted)s::uuid[],
                       %(rows)s::uuid[], %(digests)s::bigint[], %(keys)s::bigint[]) e

-- query: remaining_entries
-- What an anchor still holds, some at a time: each part is empty after it, so the next begins anew.
SELECT m.memory_id FROM {family}_memory m WHERE {scope m} AND m.digest_salt IS NOT NULL
ORDER BY m.memory_id LIMIT %(limit)s

-- query: remaining_events
SELECT m.event_id FROM {family}_log m WHERE {scope m} AND m.salt <> '' ORDER BY m.position
LIMIT %(limit)s

-- query: remaining_notes
SELECT m.note_id FROM {family}_notes m WHERE {scope m} AND m.body <> '[erased]' LIMIT %(limit)s

-- query: erase_rest
SELECT e.r_table, e.r_count FROM {family}_erase_rest_v1(%(tenant)s, %(anchor_id)s) e

-- query: unsay
SELECT {family}_unsay_v1(%(tenant)s, %(anchor_id)s, %(ids)s::uuid[])

-- query: unsay_links
SELECT u FROM {family}_unsay_links_v1(%(tenant)s, %(anchor_id)s, %(positions)s::bigint[]) AS u

-- query: unsaid
-- What is left of the links whose reason was emptied: how many, up to where, and a hash over theirs
-- as they read now. One that somebody wrote with that very reason still has its own hash.
SELECT count(*), max(u.position), encode(sha256(string_agg(u.own, ''::bytea ORDER BY u.position)), 'hex')
FROM (SELECT l.position, l.hash, sha256(l.prev_hash || idetic.link_content_v1(l.position,
          l.receipt_id, l.at, l.transition, l.decision, l.memory_id, l.actor_kind, l.actor, l.reason,
          l.state_from, l.state_to, l.detail)) AS own
      FROM {family}_memory_ledger l WHERE {scope l} AND l.reason = '[erased]') u
WHERE u.own <> u.hash

-- query: parts
-- How much the parts of an erasure emptied since the last whole one, by table: also those of a run
-- that did not come to its end.
SELECT p.key, sum(jsonb_array_length(p.value))::bigint
FROM {family}_memory_ledger l CROSS JOIN LATERAL jsonb_each(l.detail -> 'removed') AS p
WHERE {scope l} AND l.transition = 'erasure' AND l.detail -> 'part' IS NOT NULL
  AND l.position > coalesce((SELECT max(w.position) FROM {family}_memory_ledger w
      WHERE {scope w} AND w.transition = 'erasure' AND w.detail -> 'counts' IS NOT NULL), 0)
GROUP BY p.key ORDER BY p.key

-- query: shells
SELECT count(*) FROM {family}_memory m WHERE {scope m}

-- query: edges
-- What was made of some entries, however many steps away: each with every source of its own that
-- still says something, or went with its scope.
WITH RECURSIVE made (memory_id) AS (
    SELECT l.memory_id FROM {family}_memory_lineage l
    WHERE {scope l} AND l.source_id = ANY (%(ids)s::uuid[]) AND l.relation <> 'recurred'
    UNION
    SELECT l.memory_id FROM made JOIN {family}_memory_lineage l
        ON {scope l} AND l.source_id = made.memory_id AND l.relation <> 'recurred')
SELECT l.memory_id, l.source_id FROM made
JOIN {family}_memory_lineage l ON {scope l} AND l.memory_id = made.memory_id
JOIN {family}_memory m ON {scope m} AND m.memory_id = made.memory_id AND m.digest_salt IS NOT NULL
LEFT JOIN {family}_memory s ON {scope s} AND s.memory_id = l.source_id
WHERE l.relation <> 'recurred' AND (s.memory_id IS NULL OR s.digest_salt IS NOT NULL)

-- query: origins
-- What some entries were made of, as far as it is still there.
WITH RECURSIVE source (memory_id) AS (
    SELECT l.source_id FROM {family}_memory_lineage l
    WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[])
    UNION
    SELECT l.source_id FROM source JOIN {family}_memory_lineage l
        ON {scope l} AND l.memory_id = source.memory_id)
SELECT m.memory_id FROM source JOIN {family}_memory m ON {scope m} AND m.memory_id = source.memory_id
WHERE m.digest_salt IS NOT NULL

-- query: filled
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.memory_id = ANY (%(ids)s::uuid[]) AND m.digest_salt IS NOT NULL

-- query: carrying
-- Of some entries, those that hold a word of others: any word that is no mere filler, by its stem.
-- Where texts are not of ASCII alone, words cannot be told apart here: those count as carrying.
WITH said AS (
    SELECT concat_ws(' ', m.body_text, m.claim_value) AS text FROM {family}_memory m
    WHERE {scope m} AND m.memory_id = ANY (%(roots)s::uuid[]))
SELECT m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.memory_id = ANY (%(ids)s::uuid[]) AND EXISTS (
    SELECT FROM said s WHERE s.text ~ '[^\x01-\x7f]'
       OR tsvector_to_array(to_tsvector('pg_catalog.english', s.text)) && tsvector_to_array(
           to_tsvector('pg_catalog.english', concat_ws(' ', m.body_text, m.claim_value))))
