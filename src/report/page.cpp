#include "report/page.h"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/base64.h"

namespace l0gm {

// The files of page/, embedded at configuration.
extern const std::string_view report_page_html, report_page_css, report_elements_js, report_figure_js, report_plain_figure_js,
    report_plotly_figure_js, report_run_figures_js, report_run_page_js, report_runs_page_js, report_start_js;

namespace {

std::string script_of_page() {
  std::string script;
  for (const std::string_view part : {report_elements_js, report_figure_js, report_plain_figure_js, report_plotly_figure_js,
                                      report_run_figures_js, report_run_page_js, report_runs_page_js, report_start_js}) {
    script += part;
  }
  return script;
}

std::string policy(std::string_view script, const PlotlyScript& plotly) {
  std::string sources = fmt::format("'sha256-{}'", base64_sha256(script));
  if (!plotly.packed.empty()) sources += fmt::format(" 'sha256-{}'", plotly.sha256_base64);
  // Plotly sets styles of its own and makes pictures to save out of the page's memory.
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
      "form-action 'none'",
      sources);
}

}  // namespace

std::string json_for_page(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {  // no tag can begin, no comment either
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string report_html(const nlohmann::json& data, const PlotlyScript& plotly) {
  // The browser hashes what lies between the tags: the line break after <script> belongs to it.
  const std::string script = "\n" + script_of_page();
  const std::string policy_text = policy(script, plotly), data_text = json_for_page(data);
  const std::initializer_list<std::pair<std::string_view, std::string_view>> places = {{"@POLICY@", policy_text},
                                                                                       {"@STYLE@", report_page_css},
                                                                                       {"@DATA@", data_text},
                                                                                       {"@PLOTLY@", plotly.packed},
                                                                                       {"\n@SCRIPT@", script}};
  std::string page;
  std::string_view rest = report_page_html;
  for (const auto& [name, text] : places) {  // in the order of the file; what is put in is not looked at again
    const size_t place = rest.find(name);
    if (place == rest.npos) throw std::logic_error(fmt::format("page.html has no {}", name));
    page += rest.substr(0, place);
    page += text;
    rest = rest.substr(place + name.size());
  }
  return page += rest;
}

}  // namespace l0gm
