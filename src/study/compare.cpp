#include "study/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "study/peer_cells.h"
#include "study/present_data.h"

namespace l0gm {

namespace {

constexpr const char* seed_word = "{seed}";  // in settings

std::vector<std::string> keys_of_cells(const std::vector<StudyCell>& cells) {
  std::vector<std::string> keys;
  for (const StudyCell& cell : cells) keys.push_back(cell.key);
  return keys;
}

// Seconds of training, as ours and peers' programs write them.
std::optional<double> seconds_of_run(const std::filesystem::path& run) {
  const auto file = run / "summary.json";
  if (!std::filesystem::exists(file)) return std::nullopt;
  const nlohmann::json summary = nlohmann::json::parse(read_file(file), nullptr, false);
  for (const char* key : {"seconds", "train_seconds"}) {
    if (summary.is_object() && summary.contains(key) && summary[key].is_number()) return summary[key].get<double>();
  }
  return std::nullopt;
}

}  // namespace

Comparison::Comparison(const std::vector<const Modality*>& modalities, ComparePlan plan, CompareOptions options,
                       const StudyFolder& folder)
    : modalities_(modalities), plan_(std::move(plan)), options_(std::move(options)), folder_(folder) {
  for (const ComparedData& data : plan_.data) data_.push_back(make(data));
}

std::vector<std::string> Comparison::settings(const ComparedData& data, const std::vector<std::string>& of_line,
                                              int64_t seed) const {
  std::vector<std::string> all = plan_.set;
  for (const std::vector<std::string>* further : {&data.set, &of_line, &options_.set})
    all.insert(all.end(), further->begin(), further->end());
  for (std::string& text : all) {
    for (size_t at = text.find(seed_word); at != std::string::npos; at = text.find(seed_word))
      text.replace(at, std::string_view(seed_word).size(), std::to_string(seed));
  }
  return all;
}

Comparison::OfData Comparison::make(const ComparedData& data) const {
  OfData out;
  out.entries.resize(plan_.lines.size());
  std::filesystem::path config = data.config;
  if (config.empty()) {
    config = folder_.path() / "empty.toml";
    std::filesystem::create_directories(folder_.path());
    write_file_atomically(config, "# All settings of this data are in the plan.\n");
  }
  if (!std::filesystem::exists(config)) {
    out.missing = fmt::format("{} does not exist", config.string());
    log_warning(fmt::format("{}: {}", data.name, out.missing));
    return out;
  }
  const RunCells runs(modalities_, config, {}, folder_);
  try {
    out.config = runs.config(settings(data, {}, 0), 0);
  } catch (const UserError&) {  // each line says for itself what is wrong
  }
  for (const size_t i : plan_.order()) {
    if (!plan_.lines[i].is_for(data.name)) continue;
    Entry& entry = out.entries[i];
    try {
      entry = make_entry(runs, data, plan_.lines[i], out);
    } catch (const UserError& error) {
      entry = {{}, {}, error.what()};
    }
    if (!entry.missing.empty()) log_warning(fmt::format("{}, {}: {}", data.name, plan_.lines[i].name, entry.missing));
  }
  return out;
}

Comparison::Entry Comparison::make_entry(const RunCells& runs, const ComparedData& data, const ComparedLine& line,
                                         const OfData& before) const {
  const Entry* teacher = nullptr;
  if (!line.teacher.empty()) {
    teacher = &before.entries[static_cast<size_t>(plan_.line(line.teacher) - plan_.lines.data())];
    if (!teacher->missing.empty()) return {{}, {}, fmt::format("its teacher '{}' is missing", line.teacher)};
  }
  if (!line.peer.empty() && !options_.programs) return {{}, {}, why_missing(peer_named(line.peer).modules, options_.programs)};
  Entry entry;
  const std::vector<Trial> trials =
      line.choose.empty() ? std::vector<Trial>{{}} : grid_of(line.choose, static_cast<int64_t>(points_of(line.choose)));
  for (const Trial& trial : trials) {
    Point& point = entry.points.emplace_back(Point{trial.name, {}});
    for (int64_t seed = 0; seed < plan_.seeds; ++seed) {
      const std::string label =
          fmt::format("{}, {}{}, seed {}", data.name, line.name, trial.name.empty() ? "" : ", " + trial.name, seed);
      std::vector<std::string> of_point = line.set;
      of_point.insert(of_point.end(), trial.settings.begin(), trial.settings.end());
      point.cells.push_back(line.peer.empty() ? own_cell(runs, label, settings(data, of_point, seed), seed, teacher)
                                              : cell_of_peer(runs, label, line, of_point, data, seed, entry));
    }
  }
  if (line.peer.empty()) return entry;
  std::vector<StudyCell> cells;
  for (const Point& point : entry.points) cells.insert(cells.end(), point.cells.begin(), point.cells.end());
  const std::string lacking = what_is_lacking(cells, peer_named(line.peer), *options_.programs, folder_);
  return lacking.empty() ? entry : Entry{{}, {}, lacking};
}

StudyCell Comparison::own_cell(const RunCells& runs, const std::string& label, const std::vector<std::string>& settings,
                               int64_t seed, const Entry* teacher) const {
  std::vector<std::string> all = settings, needs;
  if (teacher != nullptr) {
    needs = {teacher->points[0].cells[static_cast<size_t>(seed)].key};
    all.push_back("distill.from=" + folder_.run(needs[0]).string());
  }
  StudyCell cell = runs.cell(label, all, seed, needs);
  if (options_.test) judge_on_test_rows(cell, Perturbed::no);
  if (options_.test && plan_.perturb) judge_on_test_rows(cell, Perturbed::figures);
  return cell;
}

StudyCell Comparison::cell_of_peer(const RunCells& runs, const std::string& label, const ComparedLine& line,
                                   const std::vector<std::string>& of_point, const ComparedData& data, int64_t seed,
                                   Entry& entry) const {
  const Peer& peer = peer_named(line.peer);
  const bool perturbed = plan_.perturb;  // rows are the same whether test rows are judged or not
  entry.rows.push_back(runs.rows(settings(data, {}, seed), seed, perturbed));
  StudyCell cell = peer_cell(label, peer, of_point, entry.rows.back(), seed, *options_.programs);
  if (options_.test) judge_peer_on_test_rows(cell, perturbed);
  return cell;
}

void Comparison::leave_out_absent_data() {
  for (size_t d = 0; d < data_.size(); ++d) {
    OfData& data = data_[d];
    if (!data.config) continue;
    bool done = true;
    for (const Entry& entry : data.entries) {
      for (const Point& point : entry.points)
        done = done && std::all_of(point.cells.begin(), point.cells.end(), [&](const auto& cell) { return folder_.done(cell); });
    }
    if (done) continue;
    try {
      require_data(*data.config);
    } catch (const UserError& error) {
      data.missing = error.what();
      log_warning(fmt::format("{}: {}", plan_.data[d].name, data.missing));
    }
  }
}

std::vector<StudyCell> Comparison::cells() const {
  std::vector<StudyCell> all;
  for (const OfData& data : data_) {
    if (!data.missing.empty()) continue;
    for (const size_t i : plan_.order()) {
      all.insert(all.end(), data.entries[i].rows.begin(), data.entries[i].rows.end());
      for (const Point& point : data.entries[i].points) all.insert(all.end(), point.cells.begin(), point.cells.end());
    }
  }
  return all;
}

ComparedResult Comparison::result(const ComparedLine& line, const Entry& entry) const {
  ComparedResult out;
  out.line = &line;
  out.missing = entry.missing;
  if (!entry.missing.empty()) return out;
  std::vector<Line> found;
  for (const Point& point : entry.points) {
    found.push_back(read_line(line.name, keys_of_cells(point.cells), folder_, "train"));
    out.tried += found.back().complete() ? 1 : 0;
  }
  // Complete ones first, then by validation loss; where none is complete, what there is of the first.
  size_t best = 0;
  const auto rank = [&](size_t i) {
    const bool complete = found[i].complete();
    return std::pair(!complete, complete ? found[i].mean(Measure::nll).mean : 0);
  };
  for (size_t i = 1; i < found.size(); ++i) best = rank(i) < rank(best) ? i : best;
  out.chosen = entry.points[best].name;
  out.valid = out.judged = found[best];
  if (options_.test) {
    out.judged = read_line(line.name, out.valid.keys, folder_, "test");
    for (size_t i = 0; plan_.perturb && i < out.judged.seeds.size(); ++i) {
      const std::string& key = out.judged.keys[out.judged.seeds[i]];
      if (std::filesystem::exists(folder_.product(key, "perturbed")))
        out.judged.evaluations[i].robustness = folder_.evaluation(key, "perturbed").robustness;
    }
  }
  for (const std::string& key : out.judged.keys) {
    if (const auto seconds = seconds_of_run(folder_.run(key))) out.seconds.push_back(*seconds);
  }
  if (out.judged.evaluations.empty()) out.missing = "not run";
  return out;
}

std::vector<ComparedTable> Comparison::tables() const {
  std::vector<ComparedTable> tables;
  for (size_t d = 0; d < data_.size(); ++d) {
    ComparedTable& table = tables.emplace_back();
    table.data = &plan_.data[d];
    table.missing = data_[d].missing;
    if (!table.missing.empty()) continue;
    for (size_t i = 0; i < plan_.lines.size(); ++i) {
      if (plan_.lines[i].is_for(table.data->name)) table.results.push_back(result(plan_.lines[i], data_[d].entries[i]));
    }
    const auto reference = std::find_if(table.results.begin(), table.results.end(),
                                        [&](const ComparedResult& one) { return one.line->name == plan_.reference; });
    if (reference == table.results.end() || !reference->judged.complete()) continue;
    for (ComparedResult& one : table.results) {
      if (&one == &*reference || !one.judged.complete()) continue;
      try {
        const Split split = options_.test ? Split::test : Split::valid;
        one.difference = compare_lines(one.judged, reference->judged, folder_, split, Measure::nll);
      } catch (const UserError& error) {  // a line with rows of its own
        log_warning(fmt::format("{}, {}: {}", table.data->name, one.line->name, error.what()));
      }
    }
  }
  return tables;
}

}  // namespace l0gm
