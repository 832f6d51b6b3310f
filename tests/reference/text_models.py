#!/usr/bin/env python3
"""Writes tests/encoders/text/files/NAME: tiny encoders with random weights, and what the reference library computes with them.

Each folder holds config.json and model.safetensors as the library saves them, and expected.safetensors:
  tokens, lengths   texts, one after the other
  states            states of all tokens after the last layer, in double precision, every text by itself
  gradient.NAME     the gradient of sum(probe * mean state of each text) for each weight
  probe             [texts, hidden]
Needs torch, transformers, safetensors; run it without arguments after a change. The output is committed.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertModel, DebertaV2Config, DebertaV2Model, DistilBertConfig, DistilBertModel,
                          RobertaConfig, RobertaModel)

SIZES = dict(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=40)
MODELS = {
    "bert": lambda: BertModel(BertConfig(**SIZES), add_pooling_layer=True),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(
        vocab_size=50, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=40, activation="relu")),
    "roberta": lambda: RobertaModel(RobertaConfig(**SIZES, pad_token_id=1, type_vocab_size=1, layer_norm_eps=1e-5,
                                                  hidden_act="gelu_new"), add_pooling_layer=False),
    "deberta": lambda: DebertaV2Model(DebertaV2Config(
        **SIZES, relative_attention=True, position_buckets=8, max_relative_positions=-1, norm_rel_ebd="layer_norm",
        share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0, layer_norm_eps=1e-7)),
    "deberta-own-projections": lambda: DebertaV2Model(DebertaV2Config(
        **SIZES, relative_attention=True, max_relative_positions=12, share_att_key=False, pos_att_type="c2p|p2c",
        position_biased_input=True, type_vocab_size=2)),
}
LENGTHS = [7, 1, 12, 30]


def write(name: str, folder: Path) -> None:
    torch.manual_seed(sum(map(ord, name)))
    model = MODELS[name]().eval()
    model.config._attn_implementation = "eager"
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (0.5 if parameter.dim() == 1 else 0))
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    for key in ("transformers_version", "dtype", "torch_dtype"):
        config.pop(key, None)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    model = model.double()
    tokens = torch.randint(3, 50, (sum(LENGTHS),))
    states = [model(input_ids=text[None], attention_mask=torch.ones_like(text[None])).last_hidden_state[0]
              for text in tokens.split(LENGTHS)]
    probe = torch.randn(len(LENGTHS), 16).double()
    sum((p * s.mean(0)).sum() for p, s in zip(probe, states)).backward()
    expected = {"tokens": tokens, "lengths": torch.tensor(LENGTHS), "states": torch.cat(states).detach(), "probe": probe}
    for key, parameter in model.named_parameters():
        if parameter.grad is not None and not key.startswith("pooler."):
            expected["gradient." + key] = parameter.grad.float().contiguous()
    save_file(expected, folder / "expected.safetensors")


if __name__ == "__main__":
    for name in MODELS:
        write(name, Path(__file__).parent.parent / "encoders" / "text" / "files" / name)
