"""Language models of transformers with their heads and without dropout, for perfmodel_tools: each function returns (module, example_input)."""

import torch
from torch import nn


class Logits(nn.Module):
    """The logits alone, of token numbers."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(input_ids=x, use_cache=False).logits


def _gpt(layers, hidden, heads, seq):
    import transformers
    config = transformers.GPT2Config(n_layer=layers, n_embd=hidden, n_head=heads, n_positions=max(seq, 1024), resid_pdrop=0.0, embd_pdrop=0.0,
                                     attn_pdrop=0.0, attn_implementation="sdpa")
    return Logits(transformers.GPT2LMHeadModel(config)), torch.ones(1, seq, dtype=torch.long)


def _llama(layers, hidden, heads, kv_heads, ffn, seq):
    import transformers
    config = transformers.LlamaConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv_heads,
                                      intermediate_size=ffn, vocab_size=32000, max_position_embeddings=max(seq, 2048), attn_implementation="sdpa")
    return Logits(transformers.LlamaForCausalLM(config)), torch.ones(1, seq, dtype=torch.long)


def gpt2_124m(seq=1024):
    return _gpt(12, 768, 12, seq)


def gpt2_355m(seq=1024):
    return _gpt(24, 1024, 16, seq)


def llama_160m(seq=1024):
    return _llama(12, 768, 12, 12, 3072, seq)


def llama_1b(seq=1024):
    return _llama(22, 2048, 32, 4, 5632, seq)


def llama_3b(seq=1024):
    return _llama(26, 3200, 32, 32, 8640, seq)
