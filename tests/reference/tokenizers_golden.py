#!/usr/bin/env python3
"""Token ids by the reference library for the tests of src/encode/text: three small tokenizers trained on made text, changed in many ways, on
made strings of all kinds of characters.

Run:  python3 -m venv VENV && VENV/bin/pip install tokenizers==0.23.3 sentencepiece==0.2.2 && VENV/bin/python tokenizers_golden.py
It writes tokenizers/ beside itself: the tokenizers, a SentencePiece model, and cases.json.
"""

import json
import random
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = Path(__file__).resolve().parent / "tokenizers"
rng = random.Random(20240611)
ASSIGNED = [code for code in range(1, 0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
CHANGING = [code for code in ASSIGNED if unicodedata.normalize("NFKD", chr(code)) != chr(code) and not 0xAC00 <= code < 0xD7A4]
MARKS = [code for code in ASSIGNED if unicodedata.category(chr(code))[0] == "M"]
SPACES = [code for code in ASSIGNED if chr(code).isspace()] + [0x200B, 0x200D, 0x2060, 0xFEFF, 0xAD, 0x180E]
JAMO = [*range(0x1100, 0x1200), *range(0xA960, 0xA97D), *range(0xD7B0, 0xD7FC), *range(0xAC00, 0xAC20)]
PICTURES = [*range(0x1F300, 0x1F700), 0x2764, 0xFE0F, 0x200D, 0xA9, 0x1F1E6, 0x1F1FF]
TOKENS = ["[CLS]", "[MASK]", "[SEP]", "[UNK]", "<s>", "</s>", "<mask>", "[mask]"]
EDGES = ["", " ", "a" * 101, "\u00e9" * 101, "\u0301" * 5, "don't I'll we've you're he'd I'm 'S 'LL ''s", "a  b   c ", "\n\n x \t\r\n", "x\u0000y\ufffdz",
         "\u0130stanbul \u01c5 STRASSE stra\u00dfe \u03a3\u0391\u03a3", "\ufb01ne \uff26\uff55\uff4c\uff4c \u00bd \u2460 x\u00b2", "\u4e2d\u6587\u5b57 \u65e5\u672c\u8a9e\u30c6\u30b9\u30c8",
         "\uac01\ud558 \ud55c\uad6d\uc5b4", "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e01\u0e33", "\u2581a\u2581\u2581b \u2581", "[MASK] [mask] x[MASK]y  [MASK]  ", "1,234.5 http://a.b/c?d=e&f#g a_b",
         "e\u0323\u0307 e\u0307\u0323 q\u0307\u0323", "\u1fef\u037e\u226e\u0340", "\u00a9\u200d\u00a9\u0300 \U0001F468\u200d\U0001F469 \U0001F1E6\U0001F1FF", "a\u302e\u302fb \U0001d15e", "\uf900\ufa30\U0002f800"]


def made_words(count: int) -> list[str]:
    syllables = [a + b + c for a in ("b", "k", "m", "pr", "s", "t", "") for b in "aeiou" for c in ("", "n", "l", "st")]
    return ["".join(rng.choice(syllables) for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(count)]


def made_sentences(count: int) -> list[str]:
    words = made_words(300)
    weights = [1 / (place + 1) for place in range(len(words))]
    ends = [".", "!", "?", ", it's", " 123.", "..."]
    return [" ".join(rng.choices(words, weights, k=rng.randrange(4, 14))).capitalize() + rng.choice(ends) for _ in range(count)]


def made_piece(words: list[str]) -> str:
    pool = rng.choice([ASSIGNED, CHANGING, MARKS, SPACES, JAMO, PICTURES, range(32, 127), range(0xA0, 0x250), range(0x370, 0x500), None, None, None])
    if pool is None:
        return rng.choice([rng.choice(words), rng.choice(words).upper(), rng.choice(TOKENS)])
    base = rng.choice("aeZ1.\u0915\u00a9") if pool is MARKS else ""
    return base + "".join(chr(rng.choice(pool)) for _ in range(rng.choice([1, 1, 2, 3, 5])))


def made_texts(count: int) -> list[str]:
    words = made_words(40)
    return ["".join(made_piece(words) + rng.choice(["", " ", " ", "  "]) for _ in range(rng.choice([1, 3, 6, 10]))) for _ in range(count)]


def wordpiece(sentences: list[str], texts: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    # Every second text is part of the training, so that about half of the rare characters are known.
    tokenizer.train_from_iterator(sentences + texts[::2], trainers.WordPieceTrainer(
        vocab_size=1500, limit_alphabet=600, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    vocabulary = tokenizer.get_vocab()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")])
    return tokenizer


def byte_pairs(sentences: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(sentences, trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def unigram(sentences: list[str]) -> tuple[bytes, Tokenizer]:
    """A SentencePiece model with a map of characters of our own, and what the reference's converter for DeBERTa makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        text, rules = Path(folder) / "text", Path(folder) / "rules.tsv"
        text.write_text("\n".join(sentences))
        changes = {"\u00e9": "e", "\uff26": "F", "\ufb01": "fi", "\u00a0": " ", "\t": " ", "\u200d": "", "a\u0300": "\u00e0", "\u0344": "\u0308\u0301", "\u00a9": "(c)", "\u3000": " "}
        rules.write_text("".join(f"{' '.join(f'{ord(c):04X}' for c in old)}\t{' '.join(f'{ord(c):04X}' for c in new)}\n" for old, new in changes.items()))
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=str(Path(folder) / "m"), vocab_size=300, normalization_rule_tsv=str(rules), pad_id=0, bos_id=1, eos_id=2, unk_id=3,
            pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]", num_threads=1, minloglevel=2, hard_vocab_limit=False)
        model = (Path(folder) / "m.model").read_bytes()
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    proto.trainer_spec.ClearField("input")  # a path of this machine
    proto.trainer_spec.ClearField("model_prefix")
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    model = proto.SerializeToString()
    tokenizer = Tokenizer(models.Unigram([(piece.piece, piece.score) for piece in proto.pieces], proto.trainer_spec.unk_id))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Strip(), normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace()])
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return model, tokenizer


def added(number: int, content: str, **flags: bool) -> dict:
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False, **flags}


def groups(files: dict[str, dict]) -> list[dict]:
    """Which tokenizer, what of its file is changed, how many tokens at most, every how many texts."""
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    vocabulary = files["wordpiece"]["model"]["vocab"]
    tokens = list(files["wordpiece"]["added_tokens"])
    for content, flags in (("The", {"normalized": True}), ("  x", {"rstrip": True}), ("\u00c9", {"normalized": True, "lstrip": True, "rstrip": True}),
                           ("an", {"single_word": True}), ("[mask]", {"special": True, "lstrip": True})):
        new = len(vocabulary) + sum(token["id"] >= len(vocabulary) for token in tokens)
        tokens.append(added(vocabulary.get(content, new), content, **flags))
    pieces = files["unigram"]["model"]["vocab"] + [[f"<0x{byte:02X}>", -30.0] for byte in range(256)]
    with_bytes = {"model": {"vocab": pieces, "byte_fallback": True}, "added_tokens": [t for t in files["unigram"]["added_tokens"] if t["content"] != "[MASK]"]}
    result = [
        {"tokenizer": "wordpiece", "patch": {}}, {"tokenizer": "wordpiece", "patch": {}, "max_tokens": 9},
        {"tokenizer": "wordpiece", "patch": {"normalizer": {**bert, "lowercase": False}}},
        {"tokenizer": "wordpiece", "patch": {"normalizer": {**bert, "clean_text": False, "handle_chinese_chars": False, "strip_accents": False}}},
        {"tokenizer": "wordpiece", "patch": {"pre_tokenizer": {"type": "Whitespace"}, "post_processor": {
            "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}}},
        {"tokenizer": "wordpiece", "patch": {"added_tokens": tokens}},
        {"tokenizer": "byte_pairs", "patch": {}, "every": 2}, {"tokenizer": "byte_pairs", "patch": {"pre_tokenizer": {**files["byte_pairs"]["pre_tokenizer"], "add_prefix_space": True}}, "max_tokens": 12},
        {"tokenizer": "byte_pairs", "patch": {"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True},
                                              "model": {"unk_token": "<unk>", "fuse_unk": True}}},
        {"tokenizer": "unigram", "patch": {}}, {"tokenizer": "unigram", "patch": with_bytes, "every": 3},
    ]
    forms = [{"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")]
    forms += [bert, {"type": "Replace", "pattern": {"Regex": "\\s{2,}|[\\n\\r\\t]"}, "content": " "}, {"type": "Strip", "strip_left": True, "strip_right": False},
              {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}]
    return result + [{"tokenizer": "byte_pairs", "patch": {"normalizer": form}, "every": 6} for form in forms]


def patched(file: dict, patch: dict) -> dict:
    """Parts are replaced; of the model, single members."""
    return {**file, **patch, "model": {**file["model"], **patch.get("model", {})}}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    sentences, texts = made_sentences(1500), EDGES + made_texts(220)
    model, pieces = unigram(sentences)
    (FOLDER / "spm.model").write_bytes(model)
    files = {}
    for name, tokenizer in (("wordpiece", wordpiece(sentences, texts)), ("byte_pairs", byte_pairs(sentences)), ("unigram", pieces)):
        files[name] = json.loads(tokenizer.to_str())
        (FOLDER / f"{name}.json").write_text(json.dumps(files[name], separators=(",", ":"), ensure_ascii=False))
    cases = groups(files)
    for case in cases:
        tokenizer = Tokenizer.from_str(json.dumps(patched(files[case["tokenizer"]], case["patch"])))
        case.setdefault("max_tokens", 0)
        case.setdefault("every", 1)
        if case["max_tokens"]:
            tokenizer.enable_truncation(case["max_tokens"])
        case["ids"] = [tokenizer.encode(text).ids for text in texts[::case["every"]]]
    (FOLDER / "cases.json").write_text(json.dumps({"texts": texts, "groups": cases}, separators=(",", ":")))


if __name__ == "__main__":
    main()
