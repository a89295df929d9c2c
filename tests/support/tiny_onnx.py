"""A cross-encoder small enough to write by hand, yet one that onnxruntime really runs.

The `onnx` package is no dependency, so the few messages of its format are encoded here: field
numbers are those of onnx.proto. The model's score is the summed weight of a text's words,

    scores = ReduceSum(Gather(weights, input_ids) * attention_mask * token_type_ids)

so a score can be told in advance, and padding or the query counted in would show.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import tokenizers
from tokenizers import models, pre_tokenizers, processors

_FLOAT, _INT64 = 1, 7
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def write(
    directory: Path,
    words: Mapping[str, Sequence[float]],
    *,
    weights: str = "model.onnx",
    axes: Sequence[int] = (1,),
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
) -> Path:
    """A cross-encoder's directory. Each word has one weight for each logit.

    Summing over `axes` (1,) gives (n, logits); over (1, 2), (n,).
    """
    path = directory / weights
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model(list(words.values()), axes=axes, inputs=inputs))
    tokenizer(list(words)).save(str(directory / "tokenizer.json"))
    return directory


def tokenizer(words: Sequence[str]) -> tokenizers.Tokenizer:
    """Whole words, in pairs as BERT has them: [CLS] query [SEP] text [SEP]."""
    made = tokenizers.Tokenizer(
        models.WordLevel({word: i for i, word in enumerate([*SPECIAL, *words])}, unk_token="[UNK]")
    )
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", SPECIAL.index("[CLS]")), ("[SEP]", SPECIAL.index("[SEP]"))],
    )
    return made


def model(words: Sequence[Sequence[float]], *, axes: Sequence[int], inputs: Sequence[str]) -> bytes:
    """The model's bytes: a ModelProto with its graph."""
    logits = len(words[0])
    # Padding and unknown words weigh much, so that a mask left out would be seen.
    table = [[1000.0] * logits, *[[0.0] * logits] * (len(SPECIAL) - 1), *words]
    nodes = [_node("Gather", ["weights", "input_ids"], "product_0")]
    masks = [name for name in inputs if name != "input_ids"]
    for number, name in enumerate(masks):
        nodes += [
            _node("Cast", [name], f"float_{name}", _integer("to", _FLOAT)),
            _node("Unsqueeze", [f"float_{name}", "last"], f"column_{name}"),
            _node("Mul", [f"product_{number}", f"column_{name}"], f"product_{number + 1}"),
        ]
    total = [f"product_{len(masks)}", "axes"]
    nodes.append(_node("ReduceSum", total, "logits", _integer("keepdims", 0)))
    graph = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _text(2, "tiny"),
            _bytes(5, _floats("weights", table)),
            _bytes(5, _integers("axes", axes)),
            _bytes(5, _integers("last", [2])),
            *(_bytes(11, _value(name, _INT64, 2)) for name in inputs),
            _bytes(12, _value("logits", _FLOAT, 3 - len(axes))),
        ]
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 17))


# --- messages of onnx.proto ---------------------------------------------------------------


def _node(operator: str, inputs: Sequence[str], output: str, attribute: bytes = b"") -> bytes:
    named = b"".join(_text(1, name) for name in inputs) + _text(2, output)
    return named + _text(4, operator) + (_bytes(5, attribute) if attribute else b"")


def _integer(name: str, value: int) -> bytes:
    return _text(1, name) + _number(3, value) + _number(20, 2)


def _floats(name: str, rows: Sequence[Sequence[float]]) -> bytes:
    flat = [value for row in rows for value in row]
    shape = _number(1, len(rows)) + _number(1, len(rows[0]))
    raw = _bytes(9, struct.pack(f"<{len(flat)}f", *flat))
    return shape + _number(2, _FLOAT) + _text(8, name) + raw


def _integers(name: str, values: Sequence[int]) -> bytes:
    raw = _bytes(9, struct.pack(f"<{len(values)}q", *values))
    return _number(1, len(values)) + _number(2, _INT64) + _text(8, name) + raw


def _value(name: str, kind: int, dimensions: int) -> bytes:
    """A tensor of this type whose dimensions have names instead of sizes."""
    shape = b"".join(_bytes(1, _text(2, f"{name}_{n}")) for n in range(dimensions))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


# --- protobuf's wire format ---------------------------------------------------------------


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
