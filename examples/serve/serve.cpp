// Serves one row from C++: serve_cpp MODEL.l0gm COLUMN=VALUE ..., the columns in any order.
#include <l0gm/error.h>
#include <l0gm/runtime.h>

#include <algorithm>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc < 2) throw l0gm::UserError("usage: serve_cpp MODEL.l0gm COLUMN=VALUE ...");
  const l0gm::CompactModel model = l0gm::CompactModel::load(argv[1]);
  std::vector<std::string> names;
  std::vector<std::string_view> cells;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i], name = word.substr(0, word.find('='));
    names.emplace_back(name);
    cells.push_back(word.substr(std::min(name.size() + 1, word.size())));
  }
  const l0gm::RowLayout layout = model.layout(names);  // names the columns that are absent
  std::vector<float> probabilities(model.classes().size());
  model.predict(cells, probabilities, &layout);
  for (size_t c = 0; c < probabilities.size(); ++c) std::cout << model.classes()[c] << ": " << probabilities[c] << '\n';
} catch (const l0gm::UserError& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
