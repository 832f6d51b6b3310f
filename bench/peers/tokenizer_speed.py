#!/usr/bin/env python3
"""Our tokenizers beside the reference library: the same ids on real and made texts, and the speed of both in one run.

Usage: bench/peers/tokenizer_speed.py [check|time ...] [--build build/release] [--out runs/tokenizers] [--texts N] [--rounds 3]
  check   ids of all 50,000 IMDB reviews with the vocabulary of gte-small, of the test reviews with byte pairs and unigrams that the
          library trains on IMDB, and of 10,000 made strings per tokenizer, many of them with other normalizers and splits
  time    MB/s at one thread, at two, and one text at a time, without a limit and with 512 tokens; rounds of ours and theirs alternate
Needs peers/setup (run it with .venv-peers/bin/python, or any Python with tokenizers and sentencepiece), g++, the archives of --build, and
L0GM_DATA and L0GM_WEIGHTS or ../shared/{data,weights}. Prints Markdown; what was trained is kept in OUT.
"""

import argparse
import array
import json
import lzma
import os
import random
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("L0GM_DATA", ROOT / ".." / "shared" / "data"))
WEIGHTS = Path(os.environ.get("L0GM_WEIGHTS", ROOT / ".." / "shared" / "weights"))
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}


def reviews(name: str) -> list[str]:
    with lzma.open(DATA / "imdb" / f"{name}.tsv.xz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").split("\t", 1)[1] for line in file]


def made_strings(count: int) -> list[str]:
    """Characters of all kinds, side by side in ways that no text has them."""
    rng = random.Random(17)
    assigned = [code for code in range(1, 0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
    marks = [code for code in assigned if unicodedata.category(chr(code))[0] == "M"]
    pools = [assigned, [code for code in assigned if unicodedata.normalize("NFKD", chr(code)) != chr(code) and not 0xAC00 <= code < 0xD7A4], marks,
             [code for code in marks if unicodedata.combining(chr(code))], [code for code in assigned if chr(code).isspace()] + [0x200B, 0x200D, 0xFEFF, 0xAD],
             [*range(0x1100, 0x1200), *range(0xA960, 0xA97D), *range(0xD7B0, 0xD7FC), *range(0xAC00, 0xD7A4)], [*range(0x1F300, 0x1FB00), 0x2764, 0xFE0F, 0x200D, 0xA9],
             range(0x900, 0xE00), range(32, 127), range(0xA0, 0x250), range(0x370, 0x600), range(0x1E00, 0x2200), range(1, 0xD800), range(0xE000, 0x110000)]
    words = "the movie was n't GREAT don't I'll we've Straße naïve ΌΣΟΣ İstanbul ﬁne 中文字 한국어 1,234.5 ½ a_b ... <br /><br /> ▁ ▁a 's 'LL".split(" ")
    tokens = ["[CLS]", "[MASK]", "[SEP]", "[UNK]", "<s>", "</s>", "<mask>", "<pad>", "[mask]"]

    def piece() -> str:
        kind = rng.randrange(len(pools) + 4)
        if kind >= len(pools):
            return rng.choice(words if kind > len(pools) else tokens)
        base = rng.choice("aeZ1.क©한") if pools[kind] is marks else ""
        return base + "".join(chr(rng.choice(pools[kind])) for _ in range(rng.choice([1, 1, 2, 3, 5, 8])))

    return ["".join(piece() + rng.choice(["", " ", " ", "  "]) for _ in range(rng.choice([1, 2, 4, 8, 20]))) for _ in range(count)]


def trained(out: Path) -> dict[str, Path]:
    """Tokenizers of the three families; byte pairs and unigrams are trained on IMDB by the library, once."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    files = {"wordpiece": WEIGHTS / "gte-small" / "tokenizer.json", "byte pairs": out / "byte_pairs.json", "unigram": out / "unigram.json"}
    if files["unigram"].exists():
        return files
    texts = reviews("train")[::4]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=20000, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(files["byte pairs"]))
    (out / "reviews.txt").write_text("\n".join(texts))
    sentencepiece.SentencePieceTrainer.train(
        input=str(out / "reviews.txt"), model_prefix=str(out / "spm"), vocab_size=16000, character_coverage=0.9999, pad_id=0, bos_id=1, eos_id=2, unk_id=3,
        pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]", num_threads=1, minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString((out / "spm.model").read_bytes())
    tokenizer = Tokenizer(models.Unigram([(piece.piece, piece.score) for piece in proto.pieces], proto.trainer_spec.unk_id))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Strip(), normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace()])
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    tokenizer.save(str(files["unigram"]))
    return files


def changed(files: dict[str, Path], out: Path, strings: list[str]) -> dict[str, Path]:
    """The same tokenizers with other parts. Byte pairs show every change of a text; a vocabulary of all characters does so for WordPiece."""
    from tokenizers import normalizers

    plain = {name: json.loads(path.read_text()) for name, path in files.items()}
    variants = {f"byte pairs, {name}": ("byte pairs", {"normalizer": {"type": name}}) for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")}
    variants["byte pairs, the unigram's normalizer"] = ("byte pairs", {"normalizer": plain["unigram"]["normalizer"]})
    variants["byte pairs, BertNormalizer"] = ("byte pairs", {"normalizer": BERT})
    variants["byte pairs, prefix"] = ("byte pairs", {"pre_tokenizer": {**plain["byte pairs"]["pre_tokenizer"], "add_prefix_space": True}})
    for name, flags in {"uncased": {}, "cased": {"lowercase": False}, "accents kept": {"strip_accents": False}, "as it is": {"clean_text": False, "handle_chinese_chars": False}}.items():
        normalizer = normalizers.BertNormalizer(**{key: value for key, value in {**BERT, **flags}.items() if key != "type"})
        characters = sorted({char for text in strings for char in normalizer.normalize_str(text)})
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *("##" + char for char in characters)]
        vocabulary = {token: place for place, token in enumerate(dict.fromkeys(tokens))}
        added = [{**token, "id": vocabulary[token["content"]]} for token in plain["wordpiece"]["added_tokens"]]
        variants[f"wordpiece of all characters, {name}"] = ("wordpiece", {
            "normalizer": {**BERT, **flags}, "added_tokens": added, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "model": {**plain["wordpiece"]["model"], "vocab": vocabulary}})
    result = {}
    for place, (name, (family, patch)) in enumerate(variants.items()):
        result[name] = out / f"changed{place}.json"
        result[name].write_text(json.dumps({**plain[family], **patch}))
    return result


def build(arguments: argparse.Namespace) -> Path:
    program = arguments.out / "tokenize_texts"
    archives = [arguments.build / f"libl0gm_{name}.a" for name in ("encode", "base")]
    command = ["g++", "-std=c++20", "-O2", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", str(ROOT / "bench" / "peers" / "tokenize_texts.cpp"),
               *map(str, archives), "-lpthread", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def reference(path: Path, max_tokens: int) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_tokens:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def write_texts(path: Path, texts: list[str]) -> Path:
    path.write_bytes(b"\0".join(text.replace("\0", "").encode() for text in texts))
    return path


def count_differences(program: Path, path: Path, file: Path, max_tokens: int) -> tuple[int, int]:
    texts = file.read_bytes().decode().split("\0")
    ours = array.array("i", subprocess.run([program, "ids", path, file, str(max_tokens)], stdout=subprocess.PIPE, check=True).stdout)
    tokenizer, place, different = reference(path, max_tokens), 0, 0
    for begin in range(0, len(texts), 1000):
        for encoding in tokenizer.encode_batch(texts[begin:begin + 1000]):
            size = ours[place]
            different += ours[place + 1:place + 1 + size].tolist() != encoding.ids
            place += 1 + size
    assert place == len(ours)
    return len(texts), different


def check(arguments: argparse.Namespace, program: Path) -> int:
    files = trained(arguments.out)
    strings = made_strings(10000)
    made, train, test = (write_texts(arguments.out / f"{name}.txt", texts)
                         for name, texts in (("made", strings), ("train", reviews("train")), ("test", reviews("test"))))
    jobs = [("wordpiece", "IMDB train", files["wordpiece"], train, 0), ("wordpiece", "IMDB test", files["wordpiece"], test, 0),
            ("wordpiece", "IMDB test, 512 tokens", files["wordpiece"], test, 512)]
    jobs += [(name, "IMDB test", files[name], test, 0) for name in ("byte pairs", "unigram")]
    jobs += [(name, "made strings", path, made, 0) for name, path in {**files, **changed(files, arguments.out, strings)}.items()]
    print("| tokenizer | texts | compared | different |\n|---|---|---:|---:|")
    total = 0
    for name, what, path, file, max_tokens in jobs:
        compared, different = count_differences(program, path, file, max_tokens)
        total += different
        print(f"| {name} | {what} | {compared:,} | {different} |", flush=True)
    return 1 if total else 0


def reference_seconds(path: Path, file: Path, max_tokens: int, threads: int) -> float:
    """In a process of its own: the library reads its number of threads once."""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(max(threads, 1)), "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false"}
    command = [sys.executable, __file__, "--worker", str(path), str(file), str(max_tokens), str(threads)]
    return float(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def worker(path: str, file: str, max_tokens: str, threads: str) -> None:
    tokenizer, texts = reference(Path(path), int(max_tokens)), Path(file).read_bytes().decode().split("\0")
    tokenizer.encode_batch(texts[:200])
    begin = time.perf_counter()
    if threads == "0":
        for text in texts:
            tokenizer.encode(text)
    else:
        for first in range(0, len(texts), 1000):
            tokenizer.encode_batch(texts[first:first + 1000])
    print(time.perf_counter() - begin)


def measure(arguments: argparse.Namespace, program: Path) -> int:
    files = trained(arguments.out)
    file = write_texts(arguments.out / "timed.txt", reviews("test")[::max(25000 // arguments.texts, 1)])
    megabytes = file.stat().st_size / 1e6
    print(f"{megabytes:.1f} MB of reviews, best of {arguments.rounds} rounds, MB/s\n")
    print("| tokenizer | tokens at most | threads | ours | reference | times |\n|---|---:|---|---:|---:|---:|")
    for name, path in files.items():
        for max_tokens, threads in ((0, 1), (0, 2), (0, 0), (512, 1)):
            ours, theirs = [], []
            for _ in range(arguments.rounds):
                output = subprocess.run([program, "time", path, file, str(max_tokens), str(threads), "3"], stdout=subprocess.PIPE, check=True, text=True).stdout
                ours += [float(line) for line in output.split()]
                theirs.append(reference_seconds(path, file, max_tokens, threads))
            fast, slow = megabytes / min(ours), megabytes / min(theirs)
            print(f"| {name} | {max_tokens or 'no limit'} | {threads or 'one text at a time'} | {fast:.1f} | {slow:.2f} | {fast / slow:.0f} |", flush=True)
    return 0


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="default: both")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "tokenizers")
    parser.add_argument("--texts", type=int, default=5000, help="reviews that are timed")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if unknown := set(arguments.what) - {"check", "time"}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: check, time")
    arguments.out.mkdir(parents=True, exist_ok=True)
    program = build(arguments)
    jobs = {"check": check, "time": measure}
    return max(jobs[what](arguments, program) for what in arguments.what or jobs)


if __name__ == "__main__":
    sys.exit(main())
