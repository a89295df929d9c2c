-- query: shape
-- The columns of the family's tables and, in order, those of their primary keys; which of these
-- are texts, because two databases may sort texts differently. From the catalog and not from a
-- list: a column that is added some day must not be forgotten.
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum),
       array_agg(a.attname::text ORDER BY array_position(i.indkey::smallint[], a.attnum))
           FILTER (WHERE a.attnum = ANY (i.indkey)),
       coalesce(array_agg(a.attname::text) FILTER (WHERE a.attcollation <> 0), '{}')
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE n.nspname = %(schema)s::text AND c.relname = ANY (%(tables)s::text[])
GROUP BY c.relname

-- query: specs
-- Every version of the agent's spec: what an entry's spec_version stands for.
SELECT jsonb_build_object('version', v.version, 'digest', v.digest, 'spec', v.spec)::text
FROM idetic.spec_versions v WHERE v.agent = %(agent)s::text ORDER BY v.version

-- query: profiles
-- The models that made this anchor's vectors, and which of them the tenant's recalls use.
SELECT jsonb_build_object('profile', p.name || '@' || p.fingerprint, 'name', p.name,
    'fingerprint', p.fingerprint, 'dimensions', p.dimensions, 'active', p.profile_id IS NOT DISTINCT FROM (
        SELECT t.profile_id FROM {family}_memory_profiles t WHERE {of_tenant t}
        ORDER BY t.activation_id DESC LIMIT 1))::text
FROM idetic.embedding_profiles p
WHERE p.profile_id IN (SELECT e.profile_id FROM {family}_memory_embeddings e WHERE {scope e})
ORDER BY p.name COLLATE "C", p.fingerprint COLLATE "C"

-- query: supersessions
-- Which entry replaced which, apart from the entries: a reader of the file then never meets an id
-- that it has not read yet.
SELECT jsonb_build_object('memory_id', m.memory_id, 'superseded_at', m.superseded_at,
                          'superseded_by', m.superseded_by)::text
FROM {family}_memory m WHERE {scope m} AND m.superseded_by IS NOT NULL ORDER BY m.memory_id

-- query: embeddings
-- Vectors, each with the name of its profile: the profile's id is this database's own.
SELECT (to_jsonb(m) - %(without)s::text[] || jsonb_build_object(
    'profile', (SELECT p.name || '@' || p.fingerprint FROM idetic.embedding_profiles p
                WHERE p.profile_id = m.profile_id)))::text
FROM {table} m WHERE {scope m} ORDER BY {order}

-- query: rows
-- The rows of one table, in the order of their keys.
SELECT (to_jsonb(m) - %(without)s::text[])::text FROM {table} m WHERE {scope m} ORDER BY {order}

-- query: count
-- How many rows a query gives: said at the head of the file, before any of them.
SELECT count(*) FROM ({rows}) AS rows

-- query: open
DECLARE leaving NO SCROLL CURSOR FOR {rows}

-- query: fetch
FETCH 500 FROM leaving

-- query: close
CLOSE leaving

-- query: begin
-- Hold the anchor to commit; its row is made if it is not there. 0 while it has no memory.
SELECT h.position FROM {family}_head_v1(%(tenant)s, %(anchor_id)s) h

-- query: take
SELECT {function}(%(tenant)s, %(anchor_id)s, %(rows)s::jsonb, %(without)s::text[])

-- query: taken
SELECT {family}_taken_v1(%(tenant)s, %(anchor_id)s)

-- query: added
-- The links that added entries, also those that are gone by now: who, how, and what they say.
SELECT l.memory_id, l.position, l.transition, l.actor_kind, l.actor, l.detail
FROM {family}_memory_ledger l
WHERE {scope l} AND l.position > %(after)s AND l.state_from IS NULL
  AND l.detail ->> 'content_hash' IS NOT NULL
ORDER BY l.position LIMIT %(limit)s

-- query: promoters
-- Who promoted some entries, by kind.
SELECT DISTINCT l.memory_id, l.actor_kind FROM {family}_memory_ledger l
WHERE {scope l} AND l.memory_id = ANY (%(ids)s::uuid[])
  AND l.transition IN ('promoted', 'escalated')

-- query: ahead
-- The first link that is dated later than the server's clock, by more than clocks may differ.
SELECT l.position FROM {family}_memory_ledger l
WHERE {scope l} AND l.at > clock_timestamp() + %(far)s ORDER BY l.position LIMIT 1

-- query: events
-- What was said, word for word.
SELECT l.position, l.event_id, l.content, l.metadata FROM {family}_log l
WHERE {scope l} AND l.position > %(after)s ORDER BY l.position LIMIT %(limit)s

-- query: channel
-- Notes that one persona leaves the other.
SELECT n.note_id, n.body FROM {family}_notes n WHERE {scope n}

-- query: texts
-- What entries say, and whether somebody wrote it: of the others, the words went in before.
SELECT m.memory_id, m.body_text, m.envelope, (
    SELECT l.transition FROM {family}_memory_ledger l WHERE {scope l} AND l.memory_id = m.memory_id
    ORDER BY l.position LIMIT 1) IN ('observed', 'preferred', 'imported')
FROM {family}_memory m
WHERE {scope m} AND m.memory_id > %(after)s AND m.digest_salt IS NOT NULL
ORDER BY m.memory_id LIMIT %(limit)s

-- query: reasons
-- Each reason once, with the first link that gives it.
SELECT min(l.position), l.reason FROM {family}_memory_ledger l WHERE {scope l} GROUP BY l.reason ORDER BY 1

-- query: notes
SELECT m.memory_id, m.{column} FROM {table} m WHERE {scope m} AND m.{column} IS NOT NULL
