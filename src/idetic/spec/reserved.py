"""Names that the engine uses itself, so that no spec may."""

from __future__ import annotations

# Anchor keys become columns of every table of the family, provenance of most: a name must be
# free in all of them. A test compares this with the store's templates.
_MEMORY = (
    "anchor_id memory_id tier typology session_id interaction_id body_text envelope "
    "claim_subject claim_attribute claim_value lexemes provenance origin trust "
    "valid_at invalid_at archived_at superseded_at superseded_by invalidated_at deleted_at "
    "exempt_at candidate meta_at core_at embedding_id embed_attempts embed_error spec_version "
    "content_hash digest_salt created_at created_by event_id loop_id importance"
)
_LOG = "ts visibility content metadata salt log_position log_hash note_id body"
_JUNCTIONS = (
    "ref_id action_id action_kind linked_at linked_by corroboration_id source_type source_ref "
    "corroborated_at corroborated_by source_by withdrawn_at notes contradiction_id observed_at "
    "observed_by status resolution_notes resolved_at resolved_by previous_status previous_notes "
    "previous_at previous_by source_id relation print notes_salt previous_salt "
    "proposal_id proposal_kind about_id statement support proposed_at proposed_by proposal_status "
    "decision_reason decided_at decided_by statement_salt reason_salt"
)
_EMBEDDINGS = (
    "profile_id embedding embedded_at piece activation_id activated_at activated_by "
    "read_id read_at read_by witness"
)
_SCOPES = "scope_id opened_at opened_by renewed_at closed_at kind marked_at"
_LEDGER = (
    "position receipt_id at transition decision actor_kind actor reason state_from state_to "
    "detail prev_hash hash idempotency_key request_digest"
)
_WORDS = "segment_id after through entries cells ids members times speakers places lexeme postings"
_VIEWS = "retention_state referenced_at pinned_version current_version"
_POSTGRESQL = "tableoid xmin cmin xmax cmax ctid"

COLUMNS = frozenset(
    " ".join(
        (_MEMORY, _LOG, _JUNCTIONS, _EMBEDDINGS, _SCOPES, _LEDGER, _WORDS, _VIEWS, _POSTGRESQL)
    ).split()
)

# PostgreSQL cuts an identifier here, silently.
IDENTIFIER_MAX = 63
# The longest that the compiler makes of a family and a canonical noun, or a family and a cell.
LONGEST_OF_NOUN = "{family}_{noun}_contradictions_canonical"
LONGEST_OF_CELL = "{family}_hnsw_{tier}_{typology}"

# PostgreSQL's own schemas, the one every role may write to, and the core registry's.
SCHEMAS = frozenset({"public", "information_schema", "idetic"})
SCHEMA_PREFIX = "pg_"

# The envelope's one reserved part: (subject, attribute, value), what conflicts compare.
ENVELOPE_KEYS = frozenset({"claim"})


def is_reserved_schema(name: str) -> bool:
    """Whether a schema belongs to PostgreSQL or to Idetic's core."""
    return name in SCHEMAS or name.startswith(SCHEMA_PREFIX)
