#!/usr/bin/env python3
"""Asks the reference tokenizer library about every code point and writes src/encode/text/unicode_data.cpp.

The library's parts come from different versions of Unicode; asking it is the only way to give the same ids. What is asked: how its
BertNormalizer, BertPreTokenizer, ByteLevel, Whitespace, Strip, StripAccents, Lowercase, NFD and NFKD treat each code point, canonical
combining classes (by the order that NFD gives), and grapheme clusters (by a Precompiled map that turns each cluster into one letter).

Run:  python3 -m venv VENV && VENV/bin/pip install tokenizers==0.23.3 && VENV/bin/python unicode_tables.py    (about a minute)
"""

import struct
import unicodedata
from pathlib import Path

import tokenizers
from tokenizers import normalizers, pre_tokenizers

OUTPUT = Path(__file__).resolve().parents[2] / "src" / "encode" / "text" / "unicode_data.cpp"
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"
HANGUL = range(0xAC00, 0xAC00 + 11172)
# Bits of a code point's properties, as in src/encode/text/unicode.h.
FLAGS = ("white_space", "bert_dropped", "bert_space", "chinese", "bert_mark", "bert_punctuation", "combining_mark", "letter", "number",
         "space", "word", "conjunct_consonant", "conjunct_linker", "conjunct_extend", "picture")
CLUSTERS = ("other", "control", "extend", "prepend", "leading", "vowel", "trailing", "leading_vowel", "leading_vowel_trailing")


def cluster_map() -> bytes:
    """A map in which every first byte, so every cluster of up to five bytes, becomes X."""
    units = [0] * 1024
    units[0] = 256 << 10
    for byte in range(1, 256):
        units[256 ^ byte] = byte | 256 | ((256 ^ byte ^ 512) << 10)
    units[512] = 1 << 31
    trie = struct.pack("<1024I", *units)
    return struct.pack("<I", len(trie)) + trie + b"X\0"


def bert(**flags: bool) -> normalizers.BertNormalizer:
    return normalizers.BertNormalizer(**{"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False, **flags})


CLEAN, CHINESE, ACCENTS = bert(clean_text=True), bert(handle_chinese_chars=True), bert(strip_accents=True)
STRIP, COMBINING, LOWER = normalizers.Strip(), normalizers.StripAccents(), normalizers.Lowercase()
NFC, NFD, NFKC, NFKD = normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()
PUNCTUATION, WORDS, BYTES = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(add_prefix_space=False)
MAPPED = normalizers.Precompiled(cluster_map())


def pieces(splitter: object, text: str) -> int:
    return len(splitter.pre_tokenize_str(text))


def clusters(text: str) -> int:
    return len(MAPPED.normalize_str(text))


def flags_of(char: str) -> set[str]:
    flags = set()
    cleaned = CLEAN.normalize_str(f"a{char}b")
    flags |= {"bert_dropped"} if cleaned == "ab" else {"bert_space"} if cleaned == "a b" else set()
    if CHINESE.normalize_str(char) == f" {char} ":
        flags.add("chinese")
    if ACCENTS.normalize_str(char) == "":
        flags.add("bert_mark")
    if STRIP.normalize_str(char) == "":
        flags.add("white_space")
    if COMBINING.normalize_str(char) == "":
        flags.add("combining_mark")
    if pieces(PUNCTUATION, f"a{char}b") == 3:
        flags.add("bert_punctuation")
    for name, beside in (("letter", "a"), ("number", "1")):
        if pieces(BYTES, beside + char) == 1:
            flags.add(name)
    if not flags & {"letter", "number"} and pieces(BYTES, "!" + char) == 2:
        flags.add("space")
    if len(WORDS.pre_tokenize_str("a" + char)) == 1 and WORDS.pre_tokenize_str("a" + char)[0][0] == "a" + char:
        flags.add("word")
    return flags


def cluster_of(char: str) -> str:
    """Which kind of character it is in the rules for extended grapheme clusters; two marks behind make the count tell."""
    if char in "\r\n":
        return "control"
    if clusters("a" + char) == 1:
        return "extend"  # spacing marks and the zero width joiner with them: the rules treat them alike after a character
    if clusters(char + "a") == 1:
        return "prepend"
    if clusters(char + "\u0300\u0301") == 2:
        return "control"
    after_leading, before_vowel = clusters("\u1100" + char + "\u0300") == 3, clusters(char + "\u1161\u0300") == 3
    after_vowel, before_trailing = clusters("\u1161" + char + "\u0300") == 3, clusters(char + "\u11a8\u0300") == 3
    if len(char.encode()) != 3 or not (after_leading or before_vowel or after_vowel or before_trailing):
        return "other"
    match after_leading, before_vowel, after_vowel, before_trailing:
        case True, True, False, False: return "leading"
        case True, True, True, True: return "vowel"
        case False, False, True, True: return "trailing"
        case True, True, False, True: return "leading_vowel"
        case True, False, False, True: return "leading_vowel_trailing"
    raise SystemExit(f"U+{ord(char):04X} has an unknown place in grapheme clusters")


def conjunct_flags(char: str, cluster: str) -> set[str]:
    flags = set()
    if clusters(char + "\u094d\u0915\u0300") == 4 and cluster == "other":
        flags.add("conjunct_consonant")
    if cluster == "extend":
        if clusters("\u0915" + char + "\u0915\u0300") == 4:
            flags.add("conjunct_linker")
        elif clusters("\u0915" + char + "\u094d\u0915\u0300") == 5:
            flags.add("conjunct_extend")
    size = len(char.encode())
    joined = clusters(char + "\u200d\xa9\u0300")
    if cluster == "other" and joined == 4:
        flags.add("picture")
    assert joined in (2, 3, 4) or size == 1, hex(ord(char))
    return flags


def combining_classes() -> dict[int, int]:
    """By the places that NFD gives to a pair of marks."""
    known: dict[int, str] = {}
    for code in CODES:
        value = unicodedata.combining(chr(code))
        moves = value == 240 or NFD.normalize_str(f"a\u0345{chr(code)}") == f"a{chr(code)}\u0345"  # the library may be older than Python
        if value and value not in known and moves and NFD.normalize_str(chr(code)) == chr(code):
            known[value] = chr(code)
    order = sorted(known)
    found = {}
    for code in CODES:
        char = chr(code)
        if NFD.normalize_str(char) != char:
            continue
        before = [value for value in (order[0], order[-1]) if NFD.normalize_str(f"a{known[value]}{char}") != f"a{known[value]}{char}"]
        after = NFD.normalize_str(f"a{char}{known[order[0]]}") != f"a{char}{known[order[0]]}"
        if not before and not after:
            continue  # class 0, or between the same class
        smaller = [value for value in order if NFD.normalize_str(f"a{known[value]}{char}") == f"a{known[value]}{char}"]
        found[code] = smaller[-1]
    for value in (order[0], order[-1]):
        found[ord(known[value])] = value
    for code, value in found.items():  # the smallest class stays in place beside its own kind only
        assert unicodedata.combining(chr(code)) in (value, 0), hex(code)
    return found


def number(value: int) -> str:
    """Five bits a digit, lowest first; the sixth says that more follow."""
    text = ""
    while True:
        value, digit = value >> 5, value & 31
        text += DIGITS[digit | (32 if value else 0)]
        if not value:
            return text


def signed(value: int) -> str:
    return number(value * 2 if value >= 0 else -value * 2 - 1)


def runs(values: list[int]) -> str:
    """Length and value of each run of equal values."""
    text, begin = "", 0
    for place in range(1, len(values) + 1):
        if place == len(values) or values[place] != values[begin]:
            text += number(place - begin) + number(values[begin])
            begin = place
    return text


def mappings(table: dict[int, tuple[int, str]]) -> str:
    """Each entry: distance from the one before, size and mark, then each code point as a difference from the one before or the key."""
    text, last = "", 0
    for code in sorted(table):
        mark, target = table[code]
        text += number(code - last) + number(len(target) * 2 + mark)
        last = before = code
        for char in target:
            text += signed(ord(char) - before)
            before = ord(char)
    return text


def literal(name: str, text: str) -> str:
    lines = [text[i:i + 122] for i in range(0, len(text), 122)]
    return f"const std::string_view {name} =\n" + "\n".join(f'    "{line}"' for line in lines) + ";\n"


def main() -> None:
    properties = [0] * 0x110000
    for code in CODES:
        char = chr(code)
        cluster = cluster_of(char)
        flags = flags_of(char) | conjunct_flags(char, cluster)
        properties[code] = CLUSTERS.index(cluster) | sum(16 << FLAGS.index(flag) for flag in flags)
    kinds = sorted(set(properties))
    index = {kind: place for place, kind in enumerate(kinds)}
    lower = {code: (0, LOWER.normalize_str(chr(code))) for code in CODES if LOWER.normalize_str(chr(code)) != chr(code)}
    canonical, compatible = {}, {}
    for code in CODES:
        if code in HANGUL:
            continue
        char = chr(code)
        plain, wide = NFD.normalize_str(char), NFKD.normalize_str(char)
        if plain != char:
            canonical[code] = (int(NFC.normalize_str(plain) == char), plain)
        if wide != plain:
            compatible[code] = (0, wide)
    for code in HANGUL:
        assert NFD.normalize_str(chr(code)) == unicodedata.normalize("NFD", chr(code)) and NFC.normalize_str(NFD.normalize_str(chr(code))) == chr(code)
    classes = combining_classes()
    text = f"""// Made by tests/reference/unicode_tables.py, which asks tokenizers {tokenizers.__version__} about every code point. Do not edit; how to read
// it is in unicode.cpp.
#include "encode/text/unicode_data.h"

namespace l0gm::unicode_data {{

"""
    text += literal("property_kinds", "".join(number(kind) for kind in kinds))
    text += literal("properties", runs([index[value] for value in properties]))
    text += literal("combining_classes", runs([classes.get(code, 0) for code in range(0x110000)]))
    text += literal("lower_case", mappings(lower))
    text += literal("canonical", mappings(canonical))
    text += literal("compatible", mappings(compatible))
    OUTPUT.write_text(text + "\n}  // namespace l0gm::unicode_data\n")
    print(f"{OUTPUT.name}: {len(text)} characters, {len(kinds)} kinds, {len(lower)} lower, {len(canonical)} canonical, "
          f"{len(compatible)} compatible, {len(classes)} combining")


if __name__ == "__main__":
    main()
