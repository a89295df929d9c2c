-- query: proposals
-- Proposals of an anchor, oldest first: all, or by id, contradiction, statement or status.
SELECT p.proposal_id, p.memory_id, p.proposal_kind, p.about_id, p.statement, p.support, p.proposed_at,
       p.proposed_by, p.proposal_status, p.decided_at, p.decided_by, p.decision_reason
FROM {family}_memory_proposals p
WHERE {scope p} AND (%(ids)s::uuid[] IS NULL OR p.proposal_id = ANY (%(ids)s::uuid[]))
  AND (%(about)s::uuid IS NULL OR p.about_id = %(about)s)
  AND (%(statements)s::text[] IS NULL OR p.statement::text = ANY (%(statements)s::text[]))
  AND (%(status)s::idetic.proposal_status[] IS NULL
       OR p.proposal_status = ANY (%(status)s::idetic.proposal_status[]))
ORDER BY p.proposed_at, p.proposal_id LIMIT %(limit)s

-- query: behind
-- The entries that proposals rest on: the action that a proposal is has its id.
SELECT a.action_id, a.memory_id FROM {family}_memory_actions a
WHERE {scope a} AND a.action_id = ANY (%(ids)s::uuid[]) ORDER BY a.action_id, a.memory_id

-- query: acknowledged
-- How far the receiver has come, as its last acknowledgement says in the chain.
SELECT coalesce((SELECT (d.detail ->> 'through')::bigint FROM {family}_memory_ledger d
    WHERE {scope d} AND d.transition = 'delivered' ORDER BY d.position DESC LIMIT 1), 0)

-- query: outbox
-- The links that the receiver has not acknowledged yet, in their order.
SELECT l.position, l.transition, l.at, (l.detail ->> 'proposal')::uuid
FROM {family}_memory_ledger l
WHERE {scope l} AND l.decision <> 'NOOP' AND l.detail ->> 'kind' IS DISTINCT FROM 'sameness'
  AND l.transition IN ('rule_proposed', 'revision_signalled', 'proposal_withdrawn')
  AND l.position > coalesce((SELECT (d.detail ->> 'through')::bigint FROM {family}_memory_ledger d
    WHERE {scope d} AND d.transition = 'delivered' ORDER BY d.position DESC LIMIT 1), 0)
ORDER BY l.position LIMIT %(limit)s
