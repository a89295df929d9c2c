"""Every boundary takes out what its gates name, says how much, and leaves the rest alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from idetic.gates.gate import Gates, Passed, Pipeline, Redaction
from idetic.gates.redaction import Detection
from idetic.model import Claim
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, Gate, GateKind
from tests.unit import gates_corpus as corpus
from tests.unit.gates_corpus import Case

BECAUSE = "A test wants to see what it does."


def gated(gates: dict[Boundary, tuple[GateKind, ...]]) -> MemorySpec:
    declared = tuple(Gate(boundary=b, apply=kinds, because=BECAUSE) for b, kinds in gates.items())
    return load("world_agent").model_copy(update={"gates": declared})


def pipeline(*kinds: GateKind) -> Pipeline:
    return Gates(gated({Boundary.INGEST: kinds})).at(Boundary.INGEST)


INGEST = pipeline(GateKind.SECRETS, GateKind.PII)
STRIP = pipeline(GateKind.STRIP_IDENTIFIERS)
EVERYWHERE = gated(
    {
        Boundary.INGEST: (GateKind.SECRETS, GateKind.PII),
        Boundary.AGGREGATION: (GateKind.STRIP_IDENTIFIERS,),
        Boundary.OPERATOR: (GateKind.HEDGE,),
        Boundary.CUSTOMER: (GateKind.HEDGE, GateKind.READ_ONLY),
    }
)


# --- what is taken ------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*corpus.SECRETS, *corpus.PII], ids=lambda case: case.text[:40])
def test_it_is_removed_and_counted(case: Case) -> None:
    assert case.removed in case.text
    passed = INGEST.apply(case.text)
    assert passed.changes == (Redaction(case.kind, 1),)
    assert f"[{case.kind.replace('_', ' ')} removed]" in passed.text
    assert case.removed not in repr(passed)


@pytest.mark.parametrize("case", corpus.SECRETS, ids=lambda case: case.text[:40])
def test_secrets_alone_find_secrets(case: Case) -> None:
    assert case.removed not in pipeline(GateKind.SECRETS).apply(case.text).text


@pytest.mark.parametrize("case", corpus.PII, ids=lambda case: case.text[:40])
def test_personal_data_alone_are_found(case: Case) -> None:
    assert case.removed not in pipeline(GateKind.PII).apply(case.text).text


@pytest.mark.parametrize("case", corpus.IDENTIFIERS, ids=lambda case: case.text[:40])
def test_identifiers_are_stripped_and_the_pattern_stays(case: Case) -> None:
    passed = STRIP.apply(case.text)
    assert case.removed in case.text
    assert case.removed not in repr(passed)
    assert passed.changes == (Redaction(case.kind, 1),)
    assert "[identifier]" in passed.text
    assert passed.refused is None


def test_the_corpus_is_large_enough_to_say_something() -> None:
    assert len(corpus.SECRETS) + len(corpus.PII) + len(corpus.IDENTIFIERS) > 200
    assert len(corpus.BENIGN) > 200
    kinds = {case.kind for case in (*corpus.SECRETS, *corpus.PII, *corpus.IDENTIFIERS)}
    assert kinds >= set("secret email iban card national_id phone ip birth_date address".split())


def test_several_of_a_kind_are_counted() -> None:
    passed = INGEST.apply(
        "jane@example.com and joe@example.com share 4111 1111 1111 1111; the password=hunter2"
    )
    assert passed.changes == (Redaction("card", 1), Redaction("email", 2), Redaction("secret", 1))
    assert passed.text == (
        "[email removed] and [email removed] share [card removed]; the password=[secret removed]"
    )


def test_a_private_key_goes_from_its_first_line_to_its_last() -> None:
    passed = INGEST.apply(f"Before it.\n{corpus.PEM}\nAfter it.")
    assert passed.text == "Before it.\n[secret removed]\nAfter it."


def test_a_url_stays_useful_without_its_password() -> None:
    passed = INGEST.apply("It connects to postgres://app:S3cr3tPw@db.internal:5432/main at start.")
    assert passed.text == ("It connects to postgres://app:[secret removed]:5432/main at start."), (
        "what is left of the password and the host would read as an e-mail address"
    )


def test_telephone_numbers_without_a_country_belong_to_the_given_regions() -> None:
    said = "Ask at 01 42 68 53 00 tomorrow"
    spec = gated({Boundary.INGEST: (GateKind.PII,)})
    french = Gates(spec, regions=("FR",)).at(Boundary.INGEST)
    assert french.apply(said).text == "Ask at [phone removed] tomorrow"
    assert Gates(spec, regions=()).at(Boundary.INGEST).apply(said).text == said
    assert Gates(spec, regions=()).at(Boundary.INGEST).apply("+33 1 42 68 53 00").changes


# --- what is left -------------------------------------------------------------------------


@pytest.mark.parametrize("text", corpus.BENIGN, ids=lambda text: text[:40])
def test_a_clean_text_passes_as_the_same_object(text: str) -> None:
    passed = INGEST.apply(text)
    assert passed == Passed(text)
    assert passed.text is text


def test_of_harmless_texts_at_most_one_in_fifty_is_touched() -> None:
    everything = (*corpus.BENIGN, *corpus.TAKEN_ALL_THE_SAME)
    taken = [text for text in everything if INGEST.apply(text).changes]
    assert taken == list(corpus.TAKEN_ALL_THE_SAME)
    assert len(taken) / len(everything) <= 0.02


@pytest.mark.parametrize("text", corpus.PATTERNS, ids=lambda text: text[:40])
def test_a_pattern_without_identifiers_passes_as_it_is(text: str) -> None:
    assert STRIP.apply(text) == Passed(text)


# --- refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["jane@example.com", "+49 30 901820!", "the 4111 1111 1111 1111"])
def test_a_text_of_which_nothing_is_left_is_refused(text: str) -> None:
    passed = INGEST.apply(text)
    assert passed.changes
    assert passed.refused is not None
    assert passed.refused.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "ORD-12345 failed on db-01.prod.internal",
        "See https://acme.example/x",
        "acct_1NffrFeUfNV2Hib acct_1NffrFeUfNV2Hic acct_1NffrFeUfNV2Hid are slow",
    ],
)
def test_a_pattern_that_needs_its_identifiers_is_refused(text: str) -> None:
    refused = STRIP.apply(text).refused
    assert refused is not None
    assert "identifiers" in refused


def test_more_than_half_identifiers_are_refused_even_with_enough_words() -> None:
    codes = " ".join(f"ORD-{n}" for n in range(1000, 1009))
    assert STRIP.apply(f"refund approval limits exceeded weekend shift {codes}").refused
    assert (
        STRIP.apply(f"refund approval limits exceeded weekend shift {codes[:17]}").refused is None
    )


def test_words_are_counted_in_scripts_that_do_not_space_them() -> None:
    assert STRIP.apply("订单ORD-12345在周末需要人工审批因为超过限额").refused is None
    assert STRIP.apply("订单ORD-12345").refused


# --- names --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling", ["Acme Bank", "acme-bank", "ACME_BANK", "AcmeBank", "Ácme Bank"]
)
def test_names_of_the_anchor_are_stripped_in_any_spelling(spelling: str) -> None:
    said = f"Operators at {spelling} override the weekend limit whenever queues grow"
    passed = STRIP.apply(said, identifiers=["Acme Bank"])
    assert (
        passed.text == "Operators at [identifier] override the weekend limit whenever queues grow"
    )
    assert passed.changes == (Redaction("name", 1),)


def test_names_are_whole_words_and_too_short_ones_are_none() -> None:
    said = "The team at Northern overrides 7 of 12 limits in the north, teams elsewhere do not"
    assert STRIP.apply(said, identifiers=["north", "7", "12", "T", ""]).text == said.replace(
        "the north,", "the [identifier],"
    )


def test_names_are_stripped_only_where_identifiers_are() -> None:
    assert INGEST.apply("Acme pays late", identifiers=["Acme"]).text == "Acme pays late"


# --- envelopes ----------------------------------------------------------------------------


def test_an_envelope_is_gated_at_every_depth_and_its_keys_are_not() -> None:
    envelope: dict[str, Any] = {
        "topic": "payments/wire",
        "people": ["jane@example.com", ["+49 30 901820", 12]],
        "joe@example.com": {"note": ("password=hunter2", None, True)},
        "amount": 1250.5,
    }
    result, changes, refused = INGEST.apply_envelope(envelope)
    assert result == {
        "topic": "payments/wire",
        "people": ["[email removed]", ["[phone removed]", 12]],
        "joe@example.com": {"note": ("password=[secret removed]", None, True)},
        "amount": 1250.5,
    }
    assert changes == (Redaction("email", 1), Redaction("phone", 1), Redaction("secret", 1))
    assert refused is None
    assert INGEST.apply_envelope(result) == (result, (), None)


def test_a_clean_envelope_passes_as_the_same_object() -> None:
    envelope = {"topic": "payments", "rules": ["R-1201"], "claim": Claim("a", "b", "c").as_dict()}
    assert INGEST.apply_envelope(envelope)[0] is envelope


def test_the_key_says_what_a_value_is() -> None:
    given = {"password": "hunter2", "phone": 4155552671, "ssn": "536904399", "version": "1.2.3.4"}
    result, changes, _ = INGEST.apply_envelope(given)
    assert result == {
        "password": "[secret removed]",
        "phone": "[phone removed]",
        "ssn": "[national id removed]",
        "version": "1.2.3.4",
    }
    assert changes == (Redaction("national_id", 1), Redaction("phone", 1), Redaction("secret", 1))


def test_a_card_number_is_one_even_as_a_number() -> None:
    assert INGEST.apply_envelope({"n": 4111111111111111})[0] == {"n": "[card removed]"}
    assert INGEST.apply_envelope({"n": 4111111111111112, "huge": 10**5000})[1] == ()


@pytest.mark.parametrize(
    "claim",
    [
        Claim("jane@example.com", "prefers", "short answers"),
        Claim("the customer", "pays with", "4111 1111 1111 1111"),
        Claim("the database", "password", "hunter2"),
        Claim("the customer", "mail to jane@example.com", "bounces"),
    ],
)
@pytest.mark.parametrize("as_data", [True, False])
def test_a_claim_that_would_change_is_refused(claim: Claim, as_data: bool) -> None:
    """Two redacted claims would compare as equal, and one would supersede the other."""
    given: Any = claim.as_dict() if as_data else claim
    result, changes, refused = INGEST.apply_envelope({"topic": "x", "claim": given})
    assert refused is not None
    assert "claim" in refused
    assert changes
    assert result["claim"] == given, "a claim is refused, never rewritten"
    for part in claim.as_dict().values():
        assert part not in refused


def test_a_claim_without_anything_to_remove_passes() -> None:
    envelope = {"claim": Claim("rule 1201", "holds", "on weekends").as_dict()}
    assert INGEST.apply_envelope(envelope) == (envelope, (), None)


def test_envelopes_lose_the_names_too() -> None:
    result, changes, _ = STRIP.apply_envelope({"site": "Acme north"}, identifiers=["Acme"])
    assert result == {"site": "[identifier] north"}
    assert changes == (Redaction("name", 1),)


# --- boundaries ---------------------------------------------------------------------------


def test_a_boundary_without_a_gate_lets_everything_pass() -> None:
    open_gate = Gates(EVERYWHERE).at(Boundary.PROMOTION)
    said = "password=hunter2, jane@example.com"
    envelope = {"claim": Claim("jane@example.com", "a", "b").as_dict()}
    assert open_gate.apply(said) == Passed(said)
    assert open_gate.apply_envelope(envelope)[0] is envelope
    assert not any((open_gate.transforms, open_gate.hedges, open_gate.read_only))


def test_hedging_and_read_only_change_no_text() -> None:
    gates = Gates(EVERYWHERE)
    operator, customer = gates.at(Boundary.OPERATOR), gates.at(Boundary.CUSTOMER)
    assert operator.hedges
    assert not operator.read_only
    assert customer.hedges
    assert customer.read_only
    assert customer.apply("password=hunter2") == Passed("password=hunter2")


def test_each_boundary_has_its_own_gate_made_once() -> None:
    gates = Gates(EVERYWHERE)
    assert gates.at(Boundary.INGEST) is gates.at(Boundary.INGEST)
    said = "Retries against db-01.prod.internal hide slow queries; jane@example.com was told"
    assert gates.at(Boundary.INGEST).apply(said).changes == (Redaction("email", 1),)
    assert {c.kind for c in gates.at(Boundary.AGGREGATION).apply(said).changes} == {
        "email",
        "hostname",
    }
    assert gates.at(Boundary.PROMOTION).apply(said).text is said


def test_all_gates_at_once_name_what_has_a_name() -> None:
    everything = pipeline(GateKind.STRIP_IDENTIFIERS, GateKind.PII, GateKind.SECRETS)
    passed = everything.apply(
        "Customers such as jane@example.com retry ORD-12345 with password=hunter2 on slow nights"
    )
    assert passed.text == (
        "Customers such as [email removed] retry [identifier] with password=[secret removed] "
        "on slow nights"
    )


def test_a_recogniser_of_ones_own_is_asked_for_personal_data() -> None:
    def names(text: str) -> list[Detection]:
        at = text.find("Jane")
        return [Detection(at, at + 4, "person")] if at >= 0 else []

    gates = Gates(gated({Boundary.INGEST: (GateKind.PII,)}), recognisers=[names])
    assert gates.at(Boundary.INGEST).apply("Jane met Jane").text == (
        "[person removed] met [person removed]"
    )


def test_detectors_are_loaded_when_a_boundary_needs_them() -> None:
    code = (
        "import json, sys\nfrom idetic.gates.gate import Gates\n"
        "from idetic.spec.loader import load\n"
        "from idetic.spec.primitives import Boundary\n"
        "gates = Gates(load('world_agent'))\ngates.at(Boundary.CUSTOMER).apply('x')\n"
        "before = sorted(sys.modules)\ngates.at(Boundary.INGEST).apply('x')\n"
        "print(json.dumps([before, sorted(sys.modules)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    before, after = map(set, json.loads(done.stdout))
    assert {"detect_secrets", "phonenumbers", "stdnum"}.isdisjoint(before)
    assert {"detect_secrets", "phonenumbers", "stdnum"} <= after
