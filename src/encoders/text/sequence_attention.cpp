#include "encoders/text/sequence_attention.h"

#include <ATen/Functions.h>
#include <torch/autograd.h>

namespace l0gm {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor of_sequence(const torch::Tensor& x, int64_t begin, int64_t rows) {  // [1, heads, rows, width]
  return x.narrow(0, begin, rows).unsqueeze(0).transpose(1, 2);
}

// Calls work(sequence, first query, queries, first key, keys).
template <class Work>
void for_each_sequence(const std::vector<int64_t>& queries, const std::vector<int64_t>& keys, const Work& work) {
  int64_t query = 0, key = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    work(i, query, queries[i], key, keys[i]);
    query += queries[i];
    key += keys[i];
  }
}

class SequenceAttention : public torch::autograd::Function<SequenceAttention> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const SequenceRows& queries, const SequenceRows& keys, double scale) {
    torch::Tensor out = at::empty({q.size(0), q.size(1), v.size(2)}, q.options());
    variable_list saved = {q, k, v, out};
    for_each_sequence(queries.lengths, keys.lengths, [&](size_t, int64_t query, int64_t rows, int64_t key, int64_t key_rows) {
      auto [y, normaliser] =
          at::_scaled_dot_product_flash_attention_for_cpu(of_sequence(q, query, rows), of_sequence(k, key, key_rows),
                                                          of_sequence(v, key, key_rows), 0.0, false, {}, scale);
      out.narrow(0, query, rows).copy_(y.squeeze(0).transpose(0, 1));
      saved.push_back(normaliser);
    });
    context->save_for_backward(saved);
    context->saved_data["queries"] = queries.lengths;
    context->saved_data["keys"] = keys.lengths;
    context->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3], gradient = gradients[0].contiguous();
    torch::Tensor dq = at::empty(q.sizes(), q.options()), dk = at::empty(k.sizes(), k.options()),
                  dv = at::empty(v.sizes(), v.options());
    const auto put = [](torch::Tensor& to, int64_t begin, int64_t rows, const torch::Tensor& part) {
      to.narrow(0, begin, rows).copy_(part.squeeze(0).transpose(0, 1));
    };
    for_each_sequence(context->saved_data["queries"].toIntVector(), context->saved_data["keys"].toIntVector(),
                      [&](size_t i, int64_t query, int64_t rows, int64_t key, int64_t key_rows) {
                        auto [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
                            of_sequence(gradient, query, rows), of_sequence(q, query, rows), of_sequence(k, key, key_rows),
                            of_sequence(v, key, key_rows), of_sequence(out, query, rows), saved[4 + i], 0.0, false, {},
                            context->saved_data["scale"].toDouble());
                        put(dq, query, rows, gq);
                        put(dk, key, key_rows, gk);
                        put(dv, key, key_rows, gv);
                      });
    return {dq, dk, dv, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor sequence_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                 const SequenceRows& queries, const SequenceRows& keys, double scale) {
  return SequenceAttention::apply(q, k, v, queries, keys, scale);
}

}  // namespace l0gm
