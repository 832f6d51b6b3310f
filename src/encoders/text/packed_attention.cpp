#include "encoders/text/packed_attention.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <mutex>

#include "encoders/text/sequence_attention.h"

namespace l0gm {

namespace {

constexpr int64_t most_scores = int64_t{1} << 26;  // of padded sequences that are computed together: bounds the memory
constexpr double closed = -1e30;  // a score that leaves nothing of its key; not infinite: rows of padding stay finite

// Rows of sequences [begin, begin + count) as [count, longest]: padding repeats the last row of all.
struct PaddedRows {
  torch::Tensor rows;   // int64 [count, longest]
  torch::Tensor valid;  // bool [count, longest]
  int64_t longest;
};

PaddedRows pad_rows(const SequenceRows& sequences, int64_t begin, int64_t count) {
  const auto first = sequences.lengths.begin() + begin;
  const int64_t longest = *std::max_element(first, first + count);
  const torch::Tensor offsets = sequences.offsets.narrow(0, begin, count + 1).to(torch::kInt64);
  const torch::Tensor step = at::arange(longest, offsets.options());
  const torch::Tensor starts = offsets.narrow(0, 0, count).unsqueeze(1), ends = offsets.narrow(0, 1, count).unsqueeze(1);
  const torch::Tensor rows = starts + step;
  return {at::minimum(rows, ends - 1), rows.lt(ends), longest};
}

torch::Tensor padded(const torch::Tensor& x, const PaddedRows& rows) {  // [count, heads, longest, width]
  return x.index_select(0, rows.rows.reshape(-1)).view({rows.rows.size(0), rows.longest, x.size(1), x.size(2)}).transpose(1, 2);
}

torch::Tensor dropped(const torch::Tensor& weights, const AttentionDropout& dropout, const PaddedRows& queries) {
  const int64_t heads = weights.size(1);
  const torch::Tensor ids = dropout.ids.index_select(0, queries.rows.reshape(-1)).view({-1, 1, queries.longest}) * heads +
                            at::arange(heads, dropout.ids.options()).view({1, heads, 1});
  const torch::Tensor flat = weights.reshape({-1, weights.size(3)});
  return dropout.pass->dropout(flat, dropout.share, dropout.place, ids.reshape(-1)).view(weights.sizes());
}

bool fused_type(torch::Dtype type) { return type == torch::kFloat16 || type == torch::kBFloat16; }

torch::Tensor cuda_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, const SequenceRows& queries,
                             const SequenceRows& keys, double scale, const AttentionDropout& dropout) {
  if (dropout.share > 0) seed_fused_dropout(q.device(), dropout.pass->dropout_key(dropout.place).value);
  if (fused_type(q.scalar_type())) {
    return std::get<0>(at::_flash_attention_forward(q, k, v, queries.offsets, keys.offsets, queries.longest, keys.longest,
                                                    dropout.share, /*is_causal=*/false, /*return_debug_mask=*/false, scale));
  }
  return std::get<0>(at::_efficient_attention_forward(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), /*bias=*/{},
                                                      queries.offsets, keys.offsets, queries.longest, keys.longest, dropout.share,
                                                      /*custom_mask_type=*/0,
                                                      /*compute_log_sumexp=*/at::GradMode::is_enabled(), scale))
      .squeeze(0);
}

}  // namespace

void seed_fused_dropout(torch::Device device, uint64_t key) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(key);
}

torch::Tensor packed_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const SequenceRows& queries, const SequenceRows& keys, double scale,
                               const AttentionDropout& dropout) {
  const int64_t width = q.size(2);
  const bool fused = fused_type(q.scalar_type()) && width % 8 == 0 && width <= 256;
  const bool efficient = q.scalar_type() == torch::kFloat32 && width % 4 == 0;
  if (q.is_cuda() && (fused || efficient)) return cuda_attention(q, k, v, queries, keys, scale, dropout);
  if (q.is_cpu() && dropout.share <= 0) return sequence_attention(q, k, v, queries, keys, scale);
  return padded_attention(q, k, v, queries, keys, scale, dropout);
}

torch::Tensor padded_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const SequenceRows& queries, const SequenceRows& keys, double scale,
                               const AttentionDropout& dropout, const ScoreBias& bias) {
  const int64_t sequences = keys.sequences(), heads = q.size(1);
  const int64_t scores_of_one = heads * queries.longest * keys.longest;
  const int64_t together = std::clamp<int64_t>(most_scores / std::max<int64_t>(1, scores_of_one), 1, sequences);
  std::vector<torch::Tensor> outputs;
  for (int64_t begin = 0; begin < sequences; begin += together) {
    const int64_t count = std::min(together, sequences - begin);
    const PaddedRows of_queries = pad_rows(queries, begin, count), of_keys = pad_rows(keys, begin, count);
    const torch::Tensor pq = padded(q, of_queries), pk = padded(k, of_keys), pv = padded(v, of_keys);
    torch::Tensor scores = at::matmul(pq * scale, pk.transpose(2, 3));
    if (bias) scores = scores + bias(begin, count, pq, pk);
    scores = scores.masked_fill(of_keys.valid.logical_not().view({count, 1, 1, of_keys.longest}), closed);
    torch::Tensor weights = at::softmax(scores.to(torch::promoteTypes(scores.scalar_type(), torch::kFloat32)), -1);
    if (dropout.share > 0) weights = dropped(weights, dropout, of_queries);
    const torch::Tensor y = at::matmul(weights.to(pv.scalar_type()), pv).transpose(1, 2).reshape({-1, heads, v.size(2)});
    outputs.push_back(y.index_select(0, of_queries.valid.reshape(-1).nonzero().squeeze(1)));
  }
  return outputs.size() == 1 ? outputs.front() : at::cat(outputs);
}

}  // namespace l0gm
