#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/plotly_file.h"

namespace l0gm {

// One HTML file that holds all it needs: style, scripts, the data as JSON, Plotly packed. Its policy names each script by hash
// and allows no address, so that nothing in the data can become a script and nothing is asked of another machine.
std::string report_html(const nlohmann::json& data, const PlotlyScript& plotly);

// JSON as it may stand between script tags.
std::string json_for_page(const nlohmann::json& data);

}  // namespace l0gm
